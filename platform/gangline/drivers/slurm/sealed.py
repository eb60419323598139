"""What credentials hold, in files of the run folder that only the account can read, until the end.

Neither the batch script nor its environment may hold it: Slurm shows both to operators.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import data, script
from .commands import here, quoted

Secrets = Mapping[str, Mapping[str, str]]


def files(native: Mapping[str, Any], secrets: Secrets) -> Iterator[str]:
    """Lines of shell that write them. Raises `CannotWrite` where a credential does not exist."""
    for part in native["parts"]:
        yield from _exports(part.get("late", ()), f"secrets/{part['role']}", secrets)
        for path, login in data.logins(part):
            yield from _exports(login, path, secrets)
        for folder, credential, mode in data.files(part):
            yield from _keys(folder, credential, mode, secrets)


def _exports(late: Iterable[Sequence[str]], path: str, secrets: Secrets) -> Iterator[str]:
    """A file of variables, for a shell to read."""
    lines = []
    for name, credential, key in late:
        held = _held(credential, f"the variable {name}", secrets)
        if key not in held:
            says = f"The credential {credential} has no {key}, for the variable {name}."
            raise script.CannotWrite(says)
        lines.append(f"export {script.variable(name)}={quoted(held[key])}\n")
    if lines:
        yield here("".join(lines), path)


def _keys(folder: str, credential: str, mode: str, secrets: Secrets) -> Iterator[str]:
    """A file for each key, with its bytes as they are."""
    yield f"mkdir -p {folder} || {{ echo nofolder; exit 0; }}"
    for key, value in _held(credential, "files", secrets).items():
        if not data.is_file_name(key):
            raise script.CannotWrite(f"“{key}” of {credential} is not the name of a file.")
        text = base64.b64encode(value.encode()).decode()
        yield f"printf %s {text} | base64 -d > {folder}/{key} || exit 73"
        yield f"chmod {mode} {folder}/{key}"


def _held(credential: str, purpose: str, secrets: Secrets) -> Mapping[str, str]:
    if credential not in secrets:
        raise script.CannotWrite(f"The credential {credential}, for {purpose}, does not exist.")
    return secrets[credential]
