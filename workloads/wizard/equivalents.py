"""The same workload said in other ways: YAML, curl, command line, Python, and natively."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from gangline.drivers.kind import ClusterKind, Unconnectable
from gangline.drivers.registry import DRIVERS
from gangline.spec.types import is_workload_name
from workloads.services.dry_run import native_text
from workloads.wizard.context import WizardContext
from workloads.wizard.programs import command_line, python_lines

YAML, CURL, CLI, PYTHON = "yaml", "curl", "cli", "python"


@dataclass(frozen=True, slots=True)
class Equivalent:
    """One way. ``why_not``: why it has no text now."""

    key: str
    title: str
    text: str = ""
    help: str = ""
    why_not: str = ""
    ending: str = "yaml"


def equivalents(wizard: WizardContext, address: str) -> Iterator[Equivalent]:
    """All of them, each for what is in the form now; ``address`` is that of the API."""
    yaml = "Accepted by the API as application/yaml, and edited in the YAML tab."
    yield Equivalent(YAML, "YAML", wizard.yaml, yaml)
    curl = "The token comes from your shell. Sending it twice creates one workload."
    yield Equivalent(CURL, "curl", _curl(wizard, address), curl, ending="sh")
    if wizard.choices.project is not None:
        yield from _programs(wizard, address)
    yield from (_native(wizard, kind) for kind in DRIVERS.values() if kind.native_word)


def _programs(wizard: WizardContext, address: str) -> Iterator[Equivalent]:
    project = wizard.choices.project
    assert project is not None  # noqa: S101  asked before
    line = command_line(wizard.body, project.name, project.cluster.name)
    yield Equivalent(CLI, "Command line", line, "After gangline login.", ending="sh")
    server = address.removesuffix(urlsplit(address).path)
    help_text = "With what gangline login stored, or GANGLINE_TOKEN."
    yield Equivalent(PYTHON, "Python", python_lines(wizard.body, server), help_text, ending="py")


def _native(wizard: WizardContext, kind: ClusterKind) -> Equivalent:
    preview, request = wizard.preview, wizard.request
    cluster = wizard.choices.cluster
    if preview is None or request is None or cluster is None:
        return Equivalent(kind.key, kind.native_word, why_not="There is no project.")
    if cluster.engine is not kind:
        project = wizard.choices.project
        place = f"Project {project.name}" if project else "This workload"
        why = f"{place} runs on {cluster.engine.phrase(cluster.name)}, which does not use it."
        return Equivalent(kind.key, kind.native_word, why_not=why)
    if preview.problems:
        why = "Shown once every problem is fixed."
        return Equivalent(kind.key, kind.native_word, why_not=why)
    try:
        text = native_text(preview, request, wizard.draft_id)
    except Unconnectable as error:
        return Equivalent(kind.key, kind.native_word, why_not=str(error))
    about = (
        f"What {cluster.engine.phrase(cluster.name)} receives, with policy and defaults applied."
    )
    return Equivalent(kind.key, kind.native_word, text, about, ending=kind.native_ending)


def _curl(wizard: WizardContext, address: str) -> str:
    """The same submission through the API."""
    body = json.dumps(wizard.body, indent=2, ensure_ascii=False).replace("'", "'\\''")
    # Sent twice it is one workload; what is changed before is another request.
    key = hashlib.sha256(body.encode()).hexdigest()[:32]
    return (
        f"curl -X POST {address} \\\n"
        '  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n'
        f'  -H "Idempotency-Key: {key}" \\\n'
        f"  -d '{body}'\n"
    )


def file_name(wizard: WizardContext, equivalent: Equivalent) -> str:
    """Of a download: the workload's name, where it is one."""
    name = wizard.choices.name
    stem = name if is_workload_name(name) else "workload"
    middle = "" if equivalent.key in (YAML, CURL, PYTHON) else f".{equivalent.key}"
    return f"{stem}{middle}.{equivalent.ending}"
