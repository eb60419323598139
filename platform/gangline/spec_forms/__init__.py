"""Forms made from the workload spec."""
