"""A launcher as the parent of its ranks: what it takes over from the workers, whose ranks they are.

With a chosen launcher, the program that people type is the workers'. Where ranks are processes that
inherit from the launcher, it therefore has what the program needs, and of its own what is left.
"""

from collections.abc import Mapping
from typing import Any

_TAKEN = ("runtime", "command", "arguments", "workingDirectory", "data", "mounts")
_JOINED = ("variables", "late")


def led(own: Mapping[str, Any], workers: Mapping[str, Any]) -> dict[str, Any]:
    """The native values of a launcher, whose ``own`` variables give way to those of the workers."""
    made = {key: value for key, value in own.items() if key not in _TAKEN}
    made |= {key: workers[key] for key in _TAKEN if key in workers}
    for key in _JOINED:
        both = {one[0]: one for one in (*own.get(key, ()), *workers.get(key, ()))}
        if both:
            made[key] = list(both.values())
    return made
