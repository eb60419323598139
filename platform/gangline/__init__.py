"""Gangline: launch, govern and watch distributed training."""

__version__ = "0.2.0"
