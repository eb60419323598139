"""What administrators have beside the organisation: settings, environment, audit log."""
