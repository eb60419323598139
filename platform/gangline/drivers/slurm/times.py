"""Lengths of time as Slurm writes and takes them: ``1-12:00:00`` is a day and a half."""

import re

from gangline.spec.words import split_duration

_LENGTH = re.compile(r"(?:([0-9]{1,4})-)?([0-9]{1,6})(?::([0-9]{1,2}))?(?::([0-9]{1,2}))?")
MINUTE, HOUR, DAY = 60, 60 * 60, 24 * 60 * 60


def seconds(text: str) -> int | None:
    """None: it is unlimited, or no length of time.

    https://slurm.schedmd.com/sbatch.html#OPT_time: without days a lone number counts minutes.
    """
    match = _LENGTH.fullmatch(text)
    if match is None:
        return None
    days, *rest = match.groups()
    first, second, third = (int(part) if part else 0 for part in rest)
    if days is not None:
        return int(days) * DAY + first * HOUR + second * MINUTE + third
    if rest[2] is not None:
        return first * HOUR + second * MINUTE + third
    return first * MINUTE + second


def in_words(length: int) -> str:
    """``36 h``, ``2 d``: the largest unit that divides it."""
    return "{} {}".format(*split_duration(length))


def written(length: int) -> str:
    """What sbatch takes for so many seconds; no less than was asked for."""
    hours, rest = divmod(length, HOUR)
    days, hours = divmod(hours, 24)
    return f"{days}-{hours:02}:{rest // MINUTE:02}:{rest % MINUTE:02}"
