"""Files of people as the server reads them: what YAML can do beyond JSON is refused."""

import json
from typing import Any

import yaml


class _Plain(yaml.SafeLoader):
    """Without aliases, which can make a line of megabytes, and without a key that stands twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(
                problem="anchors and aliases are not allowed", problem_mark=event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"duplicate key “{key.value}”", problem_mark=key.start_mark
                )
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def plain(text: str) -> Any:
    """What ``text`` says as JSON could say it, too. Raises ValueError with the line."""
    try:
        found = yaml.load(text, Loader=_Plain)  # noqa: S506  a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{line}{error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("a date, or a number that JSON has no word for: quote it") from None
    return found
