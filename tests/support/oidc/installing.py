"""Installs the provider of `tests.support.identity` by npm, once, into the user's cache.

Usage: `python3 -m tests.support.oidc.installing`. Only the standard library is used.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
FILES = ("package.json", "package-lock.json")


def folder() -> Path:
    """Where its packages are, or will be: another one for other versions."""
    lock = (HERE / "package-lock.json").read_bytes()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    name = f"oidc-provider-{hashlib.sha256(lock).hexdigest()[:12]}"
    return Path(base).expanduser() / "gangline" / name


def is_installed() -> bool:
    return (folder() / "node_modules").is_dir() and shutil.which("node") is not None


def install() -> None:
    made = folder().with_name(f"{folder().name}.{os.getpid()}")
    made.mkdir(parents=True)
    try:
        for name in FILES:
            shutil.copy(HERE / name, made)
        line = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(line, cwd=made, check=True)
        made.rename(folder())
    except OSError:
        # Somebody else has just installed it.
        if not is_installed():
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    if not is_installed():
        install()
