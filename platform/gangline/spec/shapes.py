"""Other JSON than the spec declares that is taken for a field, such as Kubernetes' own.

Each function lets pass what it does not know: the spec then says what is wrong with it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

_LISTS = frozenset({"authorizedUsers", "authorizedGroups"})
PAIRS = "addedAttrValues"
_KEY = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PLAIN = " !\"#$&'()*+-./:;<=>?@[\\]^_`{|}~"
"""What of a value stands for itself: all of ASCII but commas, percent signs and controls."""
MOST_TERMS = 16
"""Alternatives among the requirements of nodes."""
_CUSTOM = {"url": "customUrl", "external": "customExternalPort"}


def named_tolerations(value: Any) -> Any:
    """A toleration without a name takes one from its key; Equals is another word for Equal."""
    items = _named(value, "key", _name_of_key)
    if not isinstance(items, list):
        return items
    return [
        {**item, "operator": "Equal"}
        if isinstance(item, dict) and item.get("operator") == "Equals"
        else item
        for item in items
    ]


def named_volumes(value: Any) -> Any:
    """A volume without a name takes one from its path."""
    return _named(value, "path", _name_of_path)


def named_mounts(value: Any) -> Any:
    """What is mounted without a name takes one from where it is mounted."""
    return _named(value, "mountPath", _name_of_path)


def named_claims(value: Any) -> Any:
    """As `named_volumes`; the parameters of a claim as one text."""
    items = named_volumes(value)
    return [_with_pairs(one) for one in items] if isinstance(items, list) else items


def shown_claims(value: Any) -> Any:
    """The opposite: parameters as a list of keys and values."""
    return [_with_list(one) for one in value] if isinstance(value, list) else value


def pairs_schema(schema: dict[str, Any]) -> None:
    """In the JSON Schema of a claim, which has a list of keys and values."""
    text = {"type": "string"}
    one = {"type": "object", "required": ["key"], "properties": {"key": text, "value": text}}
    listed = {"type": "array", "items": one, "maxItems": 16}
    about = schema.get("properties", {}).get(PAIRS)
    if about is not None:
        plain = {key: about[key] for key in ("title", "description") if key in about}
        new = {"anyOf": [listed, {"type": "null"}], "default": None, **plain}
        schema["properties"][PAIRS] = new


def split_pairs(text: str) -> list[tuple[str, str]]:
    """Keys and values of ``iops=100, tier=gold``; commas in values are escaped as in addresses."""
    parts = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return [(key.strip(), unquote(value)) for key, _, value in parts]


def join_pairs(pairs: Iterable[tuple[str, str | None]]) -> str:
    """The opposite of `split_pairs`."""
    return ", ".join(f"{key}={quote(value or '', safe=_PLAIN)}" for key, value in pairs)


def _with_pairs(item: Any) -> Any:
    if isinstance(item, dict) and item.get("dataSharing") in (None, False):
        item = {name: value for name, value in item.items() if name != "dataSharing"}
    claim = item.get("claimInfo") if isinstance(item, dict) else None
    if not isinstance(claim, dict):
        return item
    given = claim.get(PAIRS)
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        return item
    if any(one.keys() - {"key", "value"} or not _text(one, "key") for one in given):
        return item
    texts = [(one["key"], "" if (value := one.get("value")) is None else value) for one in given]
    if any(not isinstance(value, str) or not _KEY.fullmatch(key) for key, value in texts):
        return item
    return {**item, "claimInfo": {**claim, PAIRS: join_pairs(texts) or None}}


def _with_list(item: Any) -> Any:
    claim = item.get("claimInfo") if isinstance(item, dict) else None
    if not isinstance(claim, dict) or not isinstance(given := claim.get(PAIRS), str):
        return item
    listed = [{"key": key, "value": value} for key, value in split_pairs(given)]
    return {**item, "claimInfo": {**claim, PAIRS: listed}}


def split_names(text: str) -> list[str]:
    """The names in a text that separates them by commas."""
    return [one for part in text.split(",") if (one := part.strip())]


def named_tools(value: Any) -> Any:
    """Tools with a name from what they are, and their lists of people as texts.

    A given address or node port is a custom one.
    """
    if not isinstance(value, list):
        return value
    items = [_tool(one) if isinstance(one, dict) else one for one in value]
    return _named(items, "toolType", _tool_name)


def shown_tools(value: Any) -> Any:
    """The opposite: lists of people as lists."""
    return [
        {**one, **{n: split_names(one[n]) for n in _LISTS if isinstance(one.get(n), str)}}
        for one in value
    ]


def tool_schema(schema: dict[str, Any]) -> None:
    """In the JSON Schema of a tool, which may have no name and has lists of people."""
    name_may_be_left_out(schema)
    names = {"type": "array", "items": {"type": "string"}, "maxItems": 100}
    for name in _LISTS & schema.get("properties", {}).keys():
        about = schema["properties"][name]
        plain = {key: about[key] for key in ("title", "description") if key in about}
        schema["properties"][name] = {"anyOf": [names, {"type": "null"}], "default": None, **plain}


def _tool(one: dict[str, Any]) -> dict[str, Any]:
    found = dict(one)
    for name in _LISTS & one.keys():
        names = one[name]
        if isinstance(names, list) and all(isinstance(each, str) for each in names):
            found[name] = ", ".join(names)
    for given, custom in _CUSTOM.items():
        if found.get(given) not in (None, "") and found.get(custom) is None:
            found[custom] = True
    if not (found.get("name") or found.get("toolType")):
        found["toolType"] = "custom"
    return found


def _tool_name(kind: str) -> str:
    return "tool" if kind == "custom" else kind.partition("-")[0][:20]


def named_repositories(value: Any) -> Any:
    """The same of repositories, with the Secret as older clients give it."""
    items = named_volumes(value)
    return [_with_secret_ref(one) for one in items] if isinstance(items, list) else items


def _with_secret_ref(item: Any) -> Any:
    if not isinstance(item, dict) or not item.get("passwordSecret") or "secretRef" in item:
        return item
    keys = ("secretKeyOfUser", "secretKeyOfPassword")
    rest = {k: v for k, v in item.items() if k not in (*keys, "passwordSecret")}
    given = {name: item[name] for name in keys if item.get(name) is not None}
    return {**rest, "secretRef": {"name": item["passwordSecret"], **given}}


def names_schema(most: int) -> Mapping[str, Any]:
    """JSON Schema of what `to_names` gives."""
    names = {"type": "array", "items": {"type": "string"}, "maxItems": most}
    return {"anyOf": [names, {"type": "null"}]}


def from_names(value: Any) -> Any:
    """``["h100", "default"]`` as items."""
    if not isinstance(value, list):
        return value
    return [{"name": one} if isinstance(one, str) else one for one in value]


def to_names(value: Any) -> Any:
    """The opposite of `from_names`."""
    return [one["name"] for one in value]


def node_requirements(value: Any) -> Any:
    """Kubernetes' own shape as requirements, each of one of its terms; with a name for each."""
    if not isinstance(value, dict):
        return _named(value, "key", _name_of_key)
    terms = value.get("nodeSelectorTerms")
    if value.keys() != {"nodeSelectorTerms"} or not isinstance(terms, list) or not terms:
        return value
    found = []
    for number, term in enumerate(terms, start=1):
        listed = term.get("matchExpressions") if isinstance(term, dict) else None
        if not isinstance(listed, list) or not listed or len(term) > 1:
            return value  # of nothing, and of fields of nodes, the spec knows nothing
        of_term = {"term": number} if len(terms) > 1 else {}
        found += [
            {**_requirement(one), **of_term} if isinstance(one, dict) else one for one in listed
        ]
    return _named(found, "key", _name_of_key)


def node_affinity_schema(most: int) -> Mapping[str, Any]:
    """JSON Schema of what `node_affinity` gives."""
    text = {"type": "string"}
    requirement = {
        "type": "object",
        "required": ["key", "operator"],
        "properties": {
            "key": text,
            "operator": text,
            "values": {"type": "array", "items": text},
        },
    }
    listed = {"type": "array", "items": requirement, "maxItems": most}
    term = {"type": "object", "properties": {"matchExpressions": listed}}
    terms = {"type": "array", "items": term, "maxItems": MOST_TERMS}
    affinity = {"type": "object", "properties": {"nodeSelectorTerms": terms}}
    return {"anyOf": [affinity, {"type": "null"}]}


def node_affinity(value: Any) -> Any:
    """The opposite of `node_requirements`."""
    terms: dict[int, list[Any]] = {}
    for one in value:
        expression = {
            name: [v for v in re.split(r"[,\s]+", said) if v] if name == "values" else said
            for name, said in one.items()
            if said not in (None, "") and name not in ("name", "term")
        }
        terms.setdefault(one.get("term") or 1, []).append(expression)
    listed = [{"matchExpressions": terms[number]} for number in sorted(terms)]
    return {"nodeSelectorTerms": listed}


def name_may_be_left_out(schema: dict[str, Any]) -> None:
    """In the JSON Schema of an item that is named where it has no name."""
    schema["required"] = [one for one in schema.get("required", ()) if one != "name"]


def _name_of_key(key: str) -> str:
    return re.sub(r"[^-._A-Za-z0-9]", "-", key)[:60]


def _name_of_path(path: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-")[:36].strip("-")


def _named(value: Any, source: str, name_of: Callable[[str], str]) -> Any:
    """``value`` with a name of its own for each item that has none."""
    if not isinstance(value, list):
        return value
    taken = {item["name"] for item in value if isinstance(item, dict) and _text(item, "name")}
    return [_item(item, source, name_of, taken) for item in value]


def _item(item: Any, source: str, name_of: Callable[[str], str], taken: set[str]) -> Any:
    if not isinstance(item, dict) or item.get("name") or not _text(item, source):
        return item
    base = name = name_of(item[source])
    number = 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return {**item, "name": name} if name else item


def _text(item: dict[str, Any], name: str) -> bool:
    return isinstance(item.get(name), str) and bool(item[name])


def _requirement(one: dict[str, Any]) -> dict[str, Any]:
    values = one.get("values")
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        return one
    rest = {name: said for name, said in one.items() if name != "values"}
    return {**rest, "values": ", ".join(values)} if values else rest
