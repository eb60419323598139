"""The product's own style sheet, for files that are opened elsewhere."""

import re
from functools import lru_cache
from pathlib import Path

from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage

_FONT_FACES = re.compile(r"@font-face\s*\{[^}]*\}\s*")


@lru_cache(maxsize=1)
def style() -> str:
    """Without the fonts, which are files of their own."""
    if path := finders.find("css/app.css"):
        text = Path(path).read_text(encoding="utf-8")
    else:
        with staticfiles_storage.open("css/app.css") as stored:
            text = bytes(stored.read()).decode()
    return _FONT_FACES.sub("", text)
