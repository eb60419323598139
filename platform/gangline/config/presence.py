"""Whether there is an installation where the settings point to. Looks only; makes nothing."""

import sqlite3
from urllib.parse import quote, urlsplit

from gangline.config.env import Env


def is_there(known: Env) -> bool:
    """False when it is certain that there is none. A server's tables are asked for later."""
    if known.database_url:
        return bool(known.secret_key) or known.key_file.exists()
    file = known.database_file
    if not file.is_file():
        return False
    try:
        opened = sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)
    except sqlite3.Error:
        return True  # it is there and cannot be opened: the command itself says why
    try:
        row = opened.execute("SELECT 1 FROM sqlite_master WHERE name = 'django_migrations'")
        return row.fetchone() is not None
    except sqlite3.DatabaseError:
        return True
    finally:
        opened.close()


def sentence(known: Env) -> str:
    """That there is none, and what to run."""
    if not known.database_url:
        return (
            f"There is no Gangline in {known.data_dir}. Set GANGLINE_DATA_DIR to your data folder, "
            f"or create one there with: gangline-manage run"
        )
    where = urlsplit(known.database_url)
    place = f"the database {where.path.lstrip('/')} at {where.hostname} with the data folder"
    return (
        f"There is no Gangline in {place} {known.data_dir}. Set GANGLINE_DATABASE_URL and"
        " GANGLINE_DATA_DIR to yours, or create one there with: gangline-manage migrate,"
        " then gangline-manage bootstrap --admin USER"
    )
