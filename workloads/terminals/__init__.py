"""Terminals in running pods: tickets, open ones, and the socket through which they are used."""
