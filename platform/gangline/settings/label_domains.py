"""Domains of labels and annotations that nobody may use on this installation."""

import re

from gangline.spec.reserved import is_of, reserved_domain

from .catalogue import LABEL_DOMAINS
from .values import value_of


def refused_domain(key: str) -> str:
    """The reserved domain of ``key`` that the administrator has not allowed, or nothing."""
    domain = reserved_domain(key)
    if not domain:
        return ""
    allowed = re.split(r"[,\s]+", value_of(LABEL_DOMAINS))
    prefix = key.partition("/")[0]
    return "" if any(one and is_of(prefix, one) for one in allowed) else domain
