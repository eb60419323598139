"""Fixtures of settings."""

from tests.wizard.conftest import filler

__all__ = ["filler"]
