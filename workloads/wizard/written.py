"""The text of a draft that somebody wrote as YAML, with what the form says put into it."""

from collections.abc import Mapping
from typing import Any

from gangline.access.actor import Actor
from gangline.lib import yaml_edit, yaml_text
from gangline.lib.yaml_edit import Path
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.workload import SPEC
from workloads.services import bodies, submission
from workloads.services.submission_types import Preview, SubmissionRequest
from workloads.wizard.state import CLUSTER, CONFIGURATION, PROJECT, Written

MASTER = "masterSpec"
HALVES = ("spec", MASTER)


def text_of(written: Written | None, body: Mapping[str, Any]) -> str:
    """``body`` as text: that of the person, where only what the form changed is changed."""
    if written is None or not written.text:
        return yaml_text.write(dict(body))
    return yaml_edit.edited(written.text, written.body, body, _key_of)


def _key_of(path: Path) -> str:
    """What tells the items of a list of the specification apart."""
    if not path or path[0] not in HALVES:
        return ""
    fields = catalogue(SPEC.master if path[0] == MASTER else SPEC.worker)
    spec = fields.get(".".join(map(str, path[1:])))
    return spec.item_key if spec else ""


def strange_problems(
    actor: Actor, text: str, judged: Preview, mine: SubmissionRequest
) -> list[Problem]:
    """What the API would say to ``text`` beyond what is said to the form, which asks for ``mine``.

    It holds even more than the API: what the form would do otherwise than the text says.
    """
    asked = bodies.read(actor.user, yaml_text.read(text).data)
    told = submission.preview(actor=actor, request=asked).problems
    paths = {p.path for p in told}
    told += [p for p in unheld(mine, asked) if p.path not in paths]
    known = {(p.role, p.path, p.rule) for p in judged.problems}
    return [p for p in told if (p.role, p.path, p.rule) not in known]


def unheld(mine: SubmissionRequest, asked: SubmissionRequest) -> list[Problem]:
    """Places that the text names and the form cannot choose."""
    return [
        Problem.of(
            Role.WORKLOAD, path, "options:here", value=said,
            accepted=str(held), label=label,
        )
        for path, label, said, held in (
            (PROJECT, "Project", str(asked.project_id), mine.project_id),
            (CLUSTER, "Cluster", str(asked.cluster_id).lower(), mine.cluster_id),
            (CONFIGURATION, "Configuration", asked.configuration, mine.configuration),
        )
        if said and said != str(held)
    ]  # fmt: skip


def line_of(document: yaml_text.YamlDocument, problem: Problem) -> int:
    """Where in the text the value stands that a problem is about."""
    parts = [int(part) if part.isdigit() else part for part in problem.path.split(".") if part]
    halves = {"worker": "spec", "master": MASTER}
    half = halves.get(problem.role, "")
    if not half and parts and (parts[0],) not in document.lines:
        half = "spec"
    path: Path = ((half,) if half else ()) + tuple(parts)
    return document.line(path)
