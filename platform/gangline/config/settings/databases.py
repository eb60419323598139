"""Databases: SQLite in the data folder, or PostgreSQL by `GANGLINE_DATABASE_URL` (R14)."""

from typing import Any
from urllib.parse import unquote, urlsplit

from gangline.config.env import env

_SQLITE_START = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
    "PRAGMA busy_timeout=20000; PRAGMA wal_autocheckpoint=1000; PRAGMA foreign_keys=ON;"
)
_POSTGRES_LIMITS = (
    "-c statement_timeout=15000 -c lock_timeout=5000 -c idle_in_transaction_session_timeout=15000"
)


def _database(url: str) -> dict[str, Any]:
    if not url:
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": env().database_file,
            # Several threads write: wait for the lock at BEGIN, do not fail in mid-transaction.
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": _SQLITE_START,
            },
            # Threads that answer requests live long (`web.handlers`), and so may connections.
            "CONN_MAX_AGE": 600,
        }
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ValueError(
            f"GANGLINE_DATABASE_URL: must start with postgresql://, not {parts.scheme!r}"
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "pool": {"min_size": 1, "max_size": env().database_pool, "timeout": 10},
            "options": _POSTGRES_LIMITS,
        },
    }


DATABASES = {"default": _database(env().database_url)}
