"""Sizes in words."""

_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def bytes_in_words(size: int) -> str:
    """``2.1 GB``, ``512 bytes``: decimal units, as disks and Kubernetes' ``G`` count."""
    for unit, factor in _UNITS:
        if abs(size) >= factor:
            return f"{round(size / factor, 1):g} {unit}"
    return "1 byte" if size == 1 else f"{size} bytes"
