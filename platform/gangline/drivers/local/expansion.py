"""``$(NAME)`` in commands, arguments and values of variables, as Kubernetes expands it (R19a).

https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
"""

import re
from collections.abc import Iterable, Mapping

_REFERENCE = re.compile(r"(\$?)\$\(([^()]*)\)")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` of a known variable; ``$$(NAME)`` stands for ``$(NAME)`` itself.

    Everything else is literal, also ``$$``, which shells read as their own pid.
    """

    def value(match: re.Match[str]) -> str:
        escape, name = match.groups()
        if escape:
            return match[0][1:]
        return variables.get(name, match[0])

    return _REFERENCE.sub(value, text)


def expand_variables(
    base: Mapping[str, str], declared: Iterable[tuple[str, str]]
) -> dict[str, str]:
    """``base`` with ``declared`` over it; each may refer to the ones before it."""
    variables = dict(base)
    for name, text in declared:
        variables[name] = expand(text, variables)
    return variables
