"""Static files: hashed names once collected, plain names in a checkout that never collected."""

import re
from collections.abc import Callable
from typing import Any

from servestatic.storage import CompressedManifestStaticFilesStorage


class Storage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Manifest storage. Module imports in scripts are rewritten to hashed names too."""

    support_js_module_import_aggregation = True

    def url_converter(
        self, name: str, hashed_files: dict[str, str], template: str | None = None
    ) -> Callable[[re.Match[str]], str]:
        """Rewrites addresses, but not in htmx: it imports nothing, and its comments name files."""
        if name.startswith("django_htmx/"):
            return lambda match: match[0]
        converter: Any = super().url_converter(name, hashed_files, template)
        return lambda match: str(converter(match))

    def stored_name(self, name: str) -> str:
        """The hashed name; the plain one as long as nothing was collected."""
        if not self.hashed_files:
            return name
        stored: str = super().stored_name(name)
        return stored
