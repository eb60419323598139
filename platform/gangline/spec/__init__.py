"""The workload spec, declared once: what a person may ask for, free of Django and of drivers."""
