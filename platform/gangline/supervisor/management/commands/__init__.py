"""Commands that start and prepare Gangline's processes."""
