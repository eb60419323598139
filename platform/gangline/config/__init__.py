"""Composition root: settings, URLs, ASGI, Celery; the only package that knows all others."""
