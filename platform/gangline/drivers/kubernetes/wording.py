"""What a cluster says, fit to be shown: its events, its conditions, its answers. Pure."""

import re

from gangline.lib import sentences

LONGEST = 380
_INTERNAL = re.compile(
    r"https?://(?:[\w.-]+\.svc(?:\.[\w.-]+)?|[\w-]+|[0-9.]+|\[[0-9a-fA-F:.]+\])(?::\d+)?(?=[/?\s\"']|$)\S*"
)
"""An address that means something inside of the cluster only; others may help people."""
_STACK = re.compile(
    r"\s*(?:goroutine \d+ \[|Traceback \(most recent call last\)|panic: ).*", re.DOTALL
)


def cleaned(text: str) -> str:
    """One line without stack traces, addresses inside of the cluster and what a terminal obeys."""
    text = _STACK.sub("", sentences.one_line(text))
    text = _INTERNAL.sub("an address inside the cluster", text)
    text = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else text
    text = text.strip()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def sentence(text: str) -> str:
    """The same with a capital and a full stop; empty stays empty."""
    clean = sentences.sentence(cleaned(text))
    return clean[:1].upper() + clean[1:]
