"""Processes that never end: ticker, watchers, pruner, and the bell between them."""
