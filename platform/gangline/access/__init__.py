"""Who may do what where: permissions, roles, grants."""
