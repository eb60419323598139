"""The multi-step form for a new training and its drafts."""
