"""Gangline: launch, govern and watch distributed training."""

__version__ = "0.1.0"
