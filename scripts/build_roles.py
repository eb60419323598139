"""Write the roles of `deploy/kubernetes/` from the one table of rights; --check only compares.

Usage: `python -m scripts.build_roles [--check]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gangline.drivers.kubernetes.permissions import role_manifests

FOLDER = Path(__file__).resolve().parent.parent / "deploy" / "kubernetes"


def main(arguments: list[str]) -> int:
    """Write the files, or name those that are not as they would be written."""
    stale = []
    for name, text in role_manifests().items():
        path = FOLDER / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8")
            print(f"Wrote {path.relative_to(FOLDER.parent.parent)}.")
    if stale and "--check" in arguments:
        print(f"Not current: {', '.join(stale)}. Run python -m scripts.build_roles.")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
