"""Numbers, sizes, durations and times as people read them."""

from datetime import datetime, timedelta

from django.utils import timezone

from gangline.lib.sizes import bytes_in_words

NOTHING = "–"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def duration(seconds: float | timedelta | None, *, coarse: bool = False) -> str:
    """`1 h 04 min`, `6 min 12 s`, `2 d 03 h`; coarse leaves the seconds out above a minute."""
    if seconds is None:
        return NOTHING
    total = int(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
    total = max(total, 0)
    if total < _MINUTE:
        return f"{total} s"
    if total < _HOUR:
        minutes, rest = divmod(total, _MINUTE)
        return f"{minutes} min" if coarse or not rest else f"{minutes} min {rest} s"
    if total < _DAY:
        hours, rest = divmod(total, _HOUR)
        return f"{hours} h {rest // _MINUTE:02d} min"
    days, rest = divmod(total, _DAY)
    return f"{days} d {rest // _HOUR:02d} h" if rest >= _HOUR else f"{days} d"


def span(seconds: float | timedelta, *, coarse: bool = False) -> str:
    """A length of time in a sentence: what took less than a second is not said to take none."""
    total = seconds.total_seconds() if isinstance(seconds, timedelta) else seconds
    return duration(total, coarse=coarse) if total >= 1 else "under 1 s"


def grouped(number: int) -> str:
    """A whole number with spaces between its thousands: `32 000 000`."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")


def size(count: int | None, *, exact: bool = False) -> str:
    """`32 GB`, `1.5 MB`, `512 bytes`; exact writes every byte: `32 000 000 000 bytes`."""
    if count is None:
        return NOTHING
    if exact:
        return "1 byte" if count == 1 else f"{grouped(count)} bytes"
    return bytes_in_words(count)


def absolute(moment: datetime, *, seconds: bool = True) -> str:
    """`3 Nov 2026, 14:03:11 UTC`, in the current time zone."""
    local = timezone.localtime(moment)
    return f"{local.day} {local.strftime('%b %Y, %H:%M:%S %Z' if seconds else '%b %Y, %H:%M %Z')}"


def relative(moment: datetime, *, now: datetime | None = None) -> str:
    """`4 min ago` within a day, then `3 Nov, 14:03`, then `3 Nov 2025`."""
    now = now or timezone.now()
    away = (now - moment).total_seconds()
    if abs(away) >= _DAY:
        local = timezone.localtime(moment)
        today = now.astimezone(local.tzinfo)
        if local.year == today.year:
            return f"{local.day} {local:%b, %H:%M}"
        return f"{local.day} {local:%b %Y}"
    if -5 <= away < _MINUTE:
        return "just now"
    distance = _distance(abs(away))
    return f"{distance} ago" if away > 0 else f"in {distance}"


def _distance(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{int(seconds)} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    return f"{int(seconds // _HOUR)} h"
