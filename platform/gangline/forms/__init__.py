"""How fields are drawn: one view of a field, one template."""
