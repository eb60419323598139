"""Run every check that needs no running product, two at a time, and name the ones that failed.

Usage: `python -m scripts.lint [name …]`, names as printed; all of them unless said.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Check:
    """One program that exits with 0 when all is well."""

    name: str
    command: Callable[[], list[str]]


def _templates() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "templates").rglob("*.html"))


_DJLINT = ["djlint", "--lint", "--quiet", "templates"]
CHECKS = (
    Check("types", lambda: ["mypy"]),  # takes longest
    Check("style", lambda: ["ruff", "check", "."]),
    Check("format", lambda: ["ruff", "format", "--check", "."]),
    Check("layers", lambda: ["lint-imports"]),
    Check("template style", lambda: _DJLINT),
    Check("macro style", lambda: [*_DJLINT, "--extension", "jinja", "--profile", "jinja"]),
    Check("template form", lambda: ["djade", "--check", "--target-version", "5.2", *_templates()]),
    Check("repository", lambda: ["pytest", "-q", "-n", "0", "tests/repository"]),
    Check("static files", lambda: ["python", "-m", "scripts.build_static", "--check"]),
    Check("client files", lambda: ["python", "-m", "scripts.client_files", "--check"]),
    Check("system check", lambda: ["gangline-manage", "check", "--fail-level", "WARNING"]),
    Check("migrations", lambda: ["gangline-manage", "makemigrations", "--check", "--dry-run"]),
)


def main(names: list[str]) -> int:
    """Run the checks, all of them even after a failure."""
    unknown = sorted(set(names) - {check.name for check in CHECKS})
    if unknown:
        print(f"There is no check named {unknown[0]!r}.", file=sys.stderr)
        return 1
    chosen = [check for check in CHECKS if not names or check.name in names]
    with (
        tempfile.TemporaryDirectory(prefix="gangline-lint-") as folder,
        ThreadPoolExecutor(2) as pool,
    ):
        passed = pool.map(lambda check: _passes(check, folder), chosen)
        failed = [check.name for check, is_well in zip(chosen, passed, strict=True) if not is_well]
    if failed:
        print(f"\nFailed: {', '.join(failed)}.", flush=True)
    return 1 if failed else 0


def _passes(check: Check, data_folder: str) -> bool:
    began = time.monotonic()
    program, *arguments = check.command()
    done = subprocess.run(
        [str(BIN / program), *arguments],
        cwd=ROOT,
        env=_environment(data_folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    word = "ok" if done.returncode == 0 else "FAILED"
    said = "" if done.returncode == 0 else f"\n{done.stdout}"
    print(f"{check.name:15} {word:6} {time.monotonic() - began:5.1f} s{said}", flush=True)
    return done.returncode == 0


def _environment(data_folder: str) -> dict[str, str]:
    """Keep the developer's own settings and data out of the checks."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GANGLINE_")}
    # No check needs a browser, a database server or a cluster: they may be installed later.
    return {**kept, "GANGLINE_DATA_DIR": data_folder, "GANGLINE_MISSING": ""}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
