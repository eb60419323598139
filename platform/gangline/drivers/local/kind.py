"""The local cluster as the rest of Gangline knows it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from gangline.drivers.checks import REACHABILITY, State, Step, Tell, tell_nobody
from gangline.drivers.facts import Capacity, Facts, Health
from gangline.drivers.kind import ClusterKind, Settings, Site
from gangline.drivers.logs.segments import Limits
from gangline.lib.sizes import bytes_in_words
from gangline.spec.frameworks import ROLE_NAMES

from . import rendering, sandbox
from .driver import LocalDriver, Options

ROOM, RUNTIMES, ISOLATION = "Capacity", "Runtimes", "Isolation"


class LocalConnection(Settings):
    """What an administrator decides about this machine."""

    runtimes: dict[str, str] = Field(default_factory=dict, title="Runtimes")
    roots: list[str] | None = Field(None, title="Folders for working directories")


class Local(ClusterKind):
    key = "local"
    unsupported = rendering.UNSUPPORTED
    label = "This machine"
    takes_secrets = True
    shares_claims = True
    connection = LocalConnection
    native_word = "Local plan"
    check_names = (REACHABILITY, ROOM, RUNTIMES, ISOLATION)
    good_to_know = (
        "Workloads run here as the user that runs Gangline. A gang starts as a whole or waits; it "
        "keeps running when the dashboard restarts, and ends with the machine."
    )

    def phrase(self, name: str) -> str:
        return "this machine"

    def open(
        self,
        connection: LocalConnection,
        access: None,
        *,
        site: Site,
        facts: Facts,
        host_id: str,
    ) -> LocalDriver:
        roots = site.roots if connection.roots is None else map(Path, connection.roots)
        return LocalDriver(
            site.data_dir,
            host_id,
            Options(
                runtimes={name: Path(path) for name, path in connection.runtimes.items()},
                declared_gpus=site.declared_gpus,
                examples_dir=site.examples_dir,
                roots=tuple(roots),
                hidden=site.hidden,
                tools_url=site.tools_url,
                use_sandbox=site.use_sandbox,
                log_limits=Limits(cap=site.log_cap),
            ),
        )

    def check(
        self,
        connection: LocalConnection,
        access: None,
        *,
        site: Site,
        host_id: str,
        tell: Tell = tell_nobody,
    ) -> Health:
        driver = self.open(connection, access, site=site, facts=Facts(""), host_id=host_id)
        room = driver.capacity()
        health = driver.probe()
        for step in _steps(health, room):
            tell(step)
        return replace(health, capacity=room)

    def queue_problem(self, connection: Any, facts: Facts, *, namespace: str, queue: str) -> str:
        return "Only schedulers of Kubernetes have queues."

    def tools(self, rendered: Mapping[str, Any], uid: str, site: Site) -> Mapping[str, str]:
        halves = (rendered.get(role) or {} for role in ROLE_NAMES)
        names = dict.fromkeys(name for half in halves for name in half.get("tools", ()))
        host = f"{uid.replace('-', '')}"
        return {name: site.tools_url.replace("*", f"{name}-{host}") for name in names}

    def is_isolated(self) -> bool:
        return sandbox.works()


def _steps(health: Health, room: Capacity) -> Iterator[Step]:
    if not health.reachable or health.facts is None:
        yield Step(REACHABILITY, State.FAILED, health.reason)
        return
    detail: Mapping[str, Any] = health.facts.detail
    yield Step(REACHABILITY, State.OK, f"{detail['system']}. The data folder can be used.")
    gpus = f"{len(room.gpus)} GPUs" if len(room.gpus) != 1 else "1 GPU"
    yield Step(ROOM, State.OK, f"{room.cpus:g} CPU cores, {bytes_in_words(room.memory)}, {gpus}.")
    usable = [one.title for one in health.facts.runtimes if one.available]
    if usable:
        yield Step(RUNTIMES, State.OK, f"Found: {', '.join(usable)}.")
    else:
        yield Step(RUNTIMES, State.WARNING, "None found.", str(detail.get("moreRuntimes", "")))
    if detail["sandbox"]:
        yield Step(ISOLATION, State.OK, "bubblewrap hides Gangline's own data from workloads.")
    else:
        says = "bubblewrap is not in use: workloads can read Gangline's own data."
        yield Step(ISOLATION, State.WARNING, says, "Run gangline-manage doctor to see why.")


LOCAL = Local()
