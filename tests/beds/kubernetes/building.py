"""Build the programs of the bed from their pinned Go modules, once, into a cache of the user.

The cache lies outside the work tree: ``$GANGLINE_BED_CACHE``, or ``gangline/beds/kubernetes`` in
``$XDG_CACHE_HOME`` or ``~/.cache``. A component's folder there bears the hash of all that decides
what comes out: wrapper module, build flags, Go version. What is there is never built again; the
whole cache may be deleted at any time. ``$GANGLINE_BED_GOFLAGS`` may hold more flags for Go, such
as ``-p=1`` on a busy machine; they do not change what comes out. Standard
library only, but for reading YAML while building.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from . import golang
from .components import ALWAYS, COMPONENTS, Component, needed

MANIFESTS = "manifests.json"
HEARTBEAT_SECONDS = 15
_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false")

Say = Callable[[str], None]


class BuildFailed(Exception):
    """Why a part of the bed cannot be built, in words, with the end of what Go said."""


def cache_folder() -> Path:
    """The folder that holds what was built."""
    if given := os.environ.get("GANGLINE_BED_CACHE"):
        return Path(given).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().absolute() / "gangline" / "beds" / "kubernetes"


def say(sentence: str) -> None:
    """Print one line of progress at once."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def folder_of(component: Component) -> Path:
    """Where the component's files are, or will be."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((component.folder / name).read_bytes())
    decides = [golang.version(), _FLAGS, _linker_flags(component)]
    digest.update(repr([*decides, component.programs, component.manifests]).encode())
    return cache_folder() / f"{component.name}-{digest.hexdigest()[:16]}"


def program(name: str) -> Path:
    """The built program of this name, which need not exist yet."""
    given = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/nowhere") / name
    if given.exists():
        return given
    component = next(one for one in COMPONENTS.values() if name in one.programs)
    return folder_of(component) / name


def manifests(component: Component) -> list[dict[str, object]]:
    """The objects of the component's manifest files."""
    if not component.manifests:
        return []
    found: list[dict[str, object]] = json.loads((folder_of(component) / MANIFESTS).read_text())
    return found


def missing(components: Iterable[Component]) -> dict[str, list[str]]:
    """Files that still have to be made, by component; empty when everything is there."""
    lacking = {}
    for component in components:
        files = [name for name in component.programs if not program(name).exists()]
        if component.manifests and not (folder_of(component) / MANIFESTS).exists():
            files.append(MANIFESTS)
        if files:
            lacking[component.name] = files
    return lacking


def is_built(names: Sequence[str] = ALWAYS) -> bool:
    """Whether these components are there; runs no process."""
    return not missing(COMPONENTS[name] for name in names)


def build(with_: Iterable[str] = (), say: Say = say) -> None:
    """Make what a bed with these add-ons lacks. Raises BuildFailed."""
    lacking = missing(needed(with_))
    if not lacking:
        return
    cache_folder().mkdir(parents=True, exist_ok=True)
    try:
        go = golang.program(cache_folder(), say)
    except golang.NoGo as problem:
        raise BuildFailed(str(problem)) from problem
    began = time.monotonic()
    for number, component in enumerate((COMPONENTS[name] for name in lacking), 1):
        with _only_one(component, say):
            files = missing([component]).get(component.name, [])
            for name in files:
                _make(go, component, name, _titled(say, f"[{number}/{len(lacking)}] {name}"))
    say(f"Everything is built; it took {time.monotonic() - began:.0f} s.")


def _titled(say: Say, title: str) -> Say:
    return lambda words: say(f"{title}: {words}")


@contextlib.contextmanager
def _only_one(component: Component, say: Say) -> Iterator[None]:
    """Let a second build of the same component wait for the first."""
    with (cache_folder() / f"{folder_of(component).name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"{component.name} is being built by another process; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(go: Path, component: Component, name: str, say: Say) -> None:
    """Make one file beside its place and move it there: a half-made one is never found."""
    scratch = cache_folder() / f".building-{folder_of(component).name}"
    # One that was killed may have left it; a living one would hold the lock.
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        made = scratch / name
        if name == MANIFESTS:
            made.write_text(json.dumps(_collected(go, component)))
        else:
            flags = [*_FLAGS, "-ldflags", _linker_flags(component), "-o", str(made)]
            _run([str(go), "build", *flags, component.programs[name]], component, say)
        folder_of(component).mkdir(exist_ok=True)
        made.replace(folder_of(component) / name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _linker_flags(component: Component) -> str:
    written = (f"-X {name}={value}" for name, value in component.variables.items())
    return " ".join(["-s", "-w", *written])


def _collected(go: Path, component: Component) -> list[dict[str, object]]:
    import yaml  # only here: what merely asks whether all is built must do without it

    command = [str(go), "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", component.module]
    source = Path(_run(command, component, lambda _: None).strip())
    chosen: dict[Path, None] = {}
    for pattern in component.manifests:
        found = dict.fromkeys(sorted(source.glob(pattern.removeprefix("!"))))
        if not found:
            raise BuildFailed(f"{component.name} has no file {pattern}.")
        if pattern.startswith("!"):
            chosen = {path: None for path in chosen if path not in found}
        else:
            chosen |= found
    objects: list[dict[str, object]] = []
    for path in chosen:
        documents = yaml.load_all(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
        objects += [one for one in documents if one]
    return objects


def _run(command: list[str], component: Component, say: Say) -> str:
    """Run Go in the wrapper module, tell now and then that it still runs, and return its output."""
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOFLAGS": os.environ.get("GANGLINE_BED_GOFLAGS", ""),
    }
    began = time.monotonic()
    with subprocess.Popen(
        command,
        cwd=component.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while True:
            try:
                output, errors = process.communicate(timeout=HEARTBEAT_SECONDS)
                break
            except subprocess.TimeoutExpired:
                say(f"{time.monotonic() - began:.0f} s …")
            except BaseException:
                process.terminate()
                raise
    if process.returncode != 0:
        end = "\n".join(errors.strip().splitlines()[-15:])
        raise BuildFailed(f"{component.name} cannot be built:\n{end}")
    say(f"done after {time.monotonic() - began:.0f} s.")
    return output
