"""What a connection to an API server trusts, and the certificate that it shows."""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from .access import Access


def trusting(access: Access) -> ssl.SSLContext:
    """Trusts the authority that the access names, or the system's; shows no certificate itself."""
    made = ssl.create_default_context(cadata=access.certificate_authority or None)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    # Python 3.13 sets it, and the authorities of many clusters are not made that strictly.
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return made


def context(access: Access) -> ssl.SSLContext:
    """… and shows the certificate of the access, where it has one."""
    made = trusting(access)
    if access.client_certificate:
        # The ssl module reads files only; these two live in memory and have no name.
        with _in_memory(access.client_certificate) as chain, _in_memory(access.client_key) as key:
            # Without a password given, OpenSSL would ask the terminal for that of a sealed key.
            made.load_cert_chain(chain, key, password="")
    return made


@contextmanager
def _in_memory(text: str) -> Iterator[str]:
    handle = os.memfd_create("gangline")
    try:
        os.write(handle, text.encode())
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
