"""References of container images: where they come from, and whether they can change."""

import re

LOCAL = "local://"
"""Begins the name of a runtime of the machine, which is pulled from nowhere."""
DOCKER_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")
_NAME = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9]{0,61}[A-Za-z0-9])?)"
_HOST = rf"(?:{_NAME}(?:\.{_NAME})+(?::[0-9]{{1,5}})?|{_NAME}:[0-9]{{1,5}}|localhost)"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DIGEST = r"@sha256:[0-9a-f]{64}"
_RUNTIME = re.compile(rf"{LOCAL}[a-z0-9](?:[-._a-z0-9]{{0,61}}[a-z0-9])?")
_IMAGE = re.compile(
    rf"(?:{_HOST}/)?{_PART}(?:/{_PART})*"
    rf"(?::[A-Za-z0-9_][-.A-Za-z0-9_]{{0,127}})?(?:{_DIGEST})?"
)
_REGISTRY = re.compile(rf"{_HOST}(?:/{_PART})*/?")
_TAG = re.compile(rf"(?::[^:/@]*)?(?:{_DIGEST})?$")


def problem(text: str) -> str | None:
    """What is wrong with the reference of an image, as a predicate."""
    if text.startswith(LOCAL):
        return None if _RUNTIME.fullmatch(text) else "must name a runtime after “local://”"
    if "://" in text:
        return "must be a container image without “://”, or local:// and the name of a runtime"
    return None if _IMAGE.fullmatch(text) else "must be the reference of a container image"


def host(image: str) -> str:
    """The registry that an image comes from: Docker Hub where its name has none."""
    first, slash, _ = image.partition("/")
    is_host = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return first.lower() if is_host else DOCKER_HUB[0]


def repository(image: str) -> str:
    """``docker.io/library/alpine`` of ``alpine:3``: whole, without tag and digest."""
    name, found = _TAG.sub("", image), host(image)
    first, _, rest = name.partition("/")
    path = rest if first.lower() == found else name
    if found in DOCKER_HUB:
        return f"{DOCKER_HUB[0]}/{path if '/' in path else f'library/{path}'}"
    return f"{found}/{path}"


def has_digest(image: str) -> bool:
    return re.search(f"{_DIGEST}$", image) is not None


def registry(text: str) -> str:
    """A registry, or a part of one, in the shape that `within` compares; empty: it is none."""
    if not _REGISTRY.fullmatch(text):
        return ""
    first, slash, rest = text.rstrip("/").partition("/")
    first = DOCKER_HUB[0] if first.lower() in DOCKER_HUB else first.lower()
    return f"{first}{slash}{rest}"


def within(name: str, place: str) -> bool:
    """Whether a repository, or a part of a registry, lies in ``place``."""
    return name == place or name.startswith(f"{place}/")
