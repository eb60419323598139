"""Texts encrypted at rest, with the key's name in every one and the place where it belongs inside.

A sealed text is ``v1.<key id>.<Fernet token>``; inside stand the context and the text, because
Fernet has no associated data: a token copied into another row would open there.
https://cryptography.io/en/latest/fernet/

The key file has a line ``<key id>:<key>`` per key; new texts are sealed with the first.
"""

import fcntl
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

VERSION = "v1"
_LINE = re.compile(r"([0-9a-z]{1,32}):([A-Za-z0-9_-]{43}=)")


class CannotSeal(Exception):
    """There is no key to seal with, or the key file cannot be read; with the way out."""


class CannotOpen(Exception):
    """The text cannot be opened, in words why."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """Keys by their ids; the first one seals, each one opens."""

    keys: Mapping[str, Fernet] = field(repr=False)

    @property
    def current(self) -> str:
        """Id of the key that seals."""
        return next(iter(self.keys))

    def seal(self, context: str, text: str) -> str:
        """``text`` sealed for ``context``, such as ``cluster/<id>``."""
        inside = json.dumps({"ctx": context, "v": text}).encode()
        return f"{VERSION}.{self.current}.{self.keys[self.current].encrypt(inside).decode()}"

    def open(self, context: str, sealed: str) -> str:
        """What was sealed for ``context``. Raises CannotOpen for anything else."""
        kid = key_of(sealed)
        if kid not in self.keys:
            raise CannotOpen(f"It is sealed with the key {kid}, which the key file does not have.")
        try:
            inside = json.loads(self.keys[kid].decrypt(sealed.split(".", 2)[2].encode()))
        except (InvalidToken, ValueError) as error:
            raise CannotOpen("It was changed after it was encrypted.") from error
        if inside["ctx"] != context:
            raise CannotOpen("It was encrypted for something else.")
        return str(inside["v"])

    def resealed(self, context: str, sealed: str) -> str:
        """The same under the current key; unchanged when it is there already."""
        if key_of(sealed) == self.current:
            return sealed
        return self.seal(context, self.open(context, sealed))


def key_of(sealed: str) -> str:
    """Id of the key that a text is sealed with. Raises CannotOpen for what is no sealed text."""
    parts = sealed.split(".", 2)
    if len(parts) != 3 or parts[0] != VERSION:
        raise CannotOpen("It is not a sealed text of this version.")
    return parts[1]


class KeyFile:
    """The file of the keys, mode 0600; read anew whenever it changed."""

    def __init__(self, path: Path, *, may_make: bool = True) -> None:
        self.path = path
        self._may_make = may_make
        self._seen: tuple[tuple[int, int, int], Keyring] | None = None

    def keyring(self) -> Keyring:
        """The keys of now; the first key is made where none was. Raises CannotSeal."""
        try:
            stamp = self._stamp()
        except FileNotFoundError:
            if not self._may_make:
                raise CannotSeal(
                    f"The key file {self.path} is missing. Restore it, or create a first key "
                    f"with: gangline-manage keys add."
                ) from None
            self._make_first()
            stamp = self._stamp()
        if self._seen is None or self._seen[0] != stamp:
            self._seen = stamp, Keyring(self._read())
        return self._seen[1]

    def add(self) -> str:
        """Make a key that seals from now on; returns its id."""
        with self._alone():
            kid, key = _new()
            lines = self._lines() if self.path.exists() else []
            self._write([f"{kid}:{key}", *lines])
        return kid

    def remove(self, kid: str) -> str:
        """Take a key away and return its line. Raises CannotSeal for the one that seals."""
        with self._alone():
            if kid == self.keyring().current:
                raise CannotSeal(f"{kid} is the key that seals. Add another one first.")
            lines = self._lines()
            found = [line for line in lines if line.startswith(f"{kid}:")]
            if not found:
                raise CannotSeal(f"There is no key {kid}.")
            self._write([line for line in lines if line not in found])
        return found[0]

    def put_back(self, line: str) -> None:
        """Undo `remove`; the key opens again and does not seal."""
        with self._alone():
            self._write([*self._lines(), line])

    def _stamp(self) -> tuple[int, int, int]:
        found = self.path.stat()
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _lines(self) -> list[str]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise CannotSeal(f"The key file {self.path} cannot be read.") from error
        return [line.strip() for line in text.splitlines() if line.strip()]

    def _read(self) -> dict[str, Fernet]:
        found: dict[str, Fernet] = {}
        for number, line in enumerate(self._lines(), 1):
            match = _LINE.fullmatch(line)
            if match is None or match[1] in found:
                raise CannotSeal(f"Line {number} of the key file {self.path} is not “id:key”.")
            found[match[1]] = Fernet(match[2])
        if not found:
            raise CannotSeal(f"The key file {self.path} has no key. gangline-manage keys add")
        return found

    def _make_first(self) -> None:
        with self._alone():
            if not self.path.exists():
                self._write([":".join(_new())])

    def _write(self, lines: list[str]) -> None:
        """All or nothing: a half-written key file would lose every secret."""
        temporary = self.path.with_name(f"{self.path.name}.{secrets.token_hex(4)}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One writer at a time, whichever process it is in."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(
            self.path.with_name(f"{self.path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600
        )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _new() -> tuple[str, str]:
    return secrets.token_hex(4), Fernet.generate_key().decode()
