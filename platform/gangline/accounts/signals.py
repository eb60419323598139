"""What happens to accounts, for whoever must know: the audit log stands above this package."""

from django.dispatch import Signal

token_made = Signal()
"""Sent with ``token`` and ``by`` (a user, or None for the command line)."""

token_revoked = Signal()
"""Sent with ``token`` and ``by``."""

link_made = Signal()
"""Sent with ``user`` and ``by`` (None for the command line): a link was made for ``user``."""

link_used = Signal()
"""Sent with ``user`` and ``request``."""

tokens_granted = Signal()
"""Sent with ``session`` (a TokenSession) and ``request``: a program signed in."""

device_decided = Signal()
"""Sent with ``asked`` (a DeviceRequest), ``user``, ``request`` and ``allowed``."""
