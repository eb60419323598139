"""Keys of login nodes and of the accounts on them, as people give them."""

import asyncssh


class Unfit(Exception):
    """What is wrong with a key, as a predicate."""


def pair(text: str) -> tuple[str, str]:
    """The private key, made where none is given, and the line for authorized_keys."""
    try:
        if text.strip():
            key = asyncssh.import_private_key(f"{text.strip()}\n")
        else:
            key = asyncssh.generate_private_key("ssh-ed25519", comment="gangline")
        private, public = key.export_private_key(), key.export_public_key()
    except (asyncssh.KeyImportError, asyncssh.KeyExportError) as error:
        # The library has one kind of error for both.
        is_locked = "passphrase" in str(error).lower()
        says = "has a passphrase: use one without" if is_locked else "is not a private key"
        raise Unfit(says) from error
    return private.decode(), public.decode().strip()


def host_key(text: str) -> str:
    """The key in a line of `ssh-keyscan` or of `known_hosts`, without the names before it."""
    words = text.split()
    at = next((n for n, word in enumerate(words) if word.startswith(("ssh-", "ecdsa-"))), None)
    if at is None or len(words) < at + 2:
        raise Unfit("is not a line with a host key")
    line = " ".join(words[at : at + 2])
    try:
        asyncssh.import_public_key(line)
    except asyncssh.KeyImportError as error:
        raise Unfit("is not a line with a host key") from error
    return line


def fingerprint(host_key: str) -> str:
    """As ssh-keygen -l prints it; empty where there is none."""
    return asyncssh.import_public_key(host_key).get_fingerprint() if host_key else ""
