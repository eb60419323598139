"""The same values under the same policies get one verdict by form, JSON, YAML and command line.

Random values of every field, random rules of every kind that a field takes.
"""

import io
import json
import os
import shlex
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
import yaml
from django.db import transaction
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gangline.lib.yaml_text import read
from gangline.policies.document import Imposable, InvalidPolicy, rules_of
from gangline.policies.effective import EffectivePolicy, Layer, effective_policy
from gangline.policies.engine import Request, inherited_values, resolve
from gangline.policies.parser import parse
from gangline.policies.services import save
from gangline.resources.services import make
from gangline.spec.catalogue import Kind, SpecField, catalogue
from gangline.spec.frameworks import FRAMEWORKS, WORKERS_ONLY
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import Value
from gangline.spec.values import flatten, nest
from gangline.spec.workload import SPEC
from gangline.spec_forms.raw import RoleInputs, Row, Typed
from gangline.spec_forms.said import typed_values
from gangline.spec_forms.spec_form import RoleForm
from gangline_cli.main import main
from tests.security.matrix import OF_ROOT
from tests.security.matrix import Row as BadRow
from tests.support.examples import examples
from tests.support.forms import Filler
from tests.support.inside import served
from tests.support.world import World
from workloads.models import Draft
from workloads.services import bodies, submission
from workloads.wizard import drafts
from workloads.wizard.context import WizardContext
from workloads.wizard.programs import command_line
from workloads.wizard.state import DraftState
from workloads.wizard.yaml_input import PostedYaml

FRAMEWORK = "distributedFramework"
Gang = tuple[str, str]
"""A framework and a configuration of it."""
TORCH: Gang = ("PyTorch", WORKERS_ONLY)
GANGS: list[Gang] = [
    (one.name, configuration)
    for one in FRAMEWORKS.values()
    if not one.runs_script
    for configuration in one.configurations
]


def fields_of(framework: str) -> dict[str, SpecField]:
    """Those that the form has: what is there for another framework is hidden and not sent."""
    return {
        path: field
        for path, field in catalogue(SPEC.worker).items()
        if path != FRAMEWORK and (not field.only or framework in field.only)
    }


FIELDS = fields_of("PyTorch")
TEXTS = ("a", "b-1", "reg.lab/ddp:1.4", "/data", "python train.py", "16", "h100", "gpu é", "x 'y")
SIZES = ("256M", "1G", "16Gi", "1000M", "64G")


def scalars(field: SpecField) -> st.SearchStrategy[Any]:
    """Values that a form can hold as well as JSON: what they are good for is not asked."""
    match field.kind:
        case Kind.BOOLEAN:
            return st.booleans()
        case Kind.CHOICE:
            return st.sampled_from((*field.choices, "bogus"))
        case Kind.INTEGER | Kind.DURATION:
            return st.integers(-1, 400)
        case Kind.NUMBER:
            return st.sampled_from((0.1, 0.25, 0.5, 1, 2, 3.5, 5000))
        case Kind.QUANTITY:
            return st.sampled_from(SIZES)
        case _:
            return st.sampled_from(TEXTS)


@st.composite
def items(draw: st.DrawFn, field: SpecField) -> dict[str, Any]:
    """An item with one of its alternatives, and any of the rest."""
    one = draw(st.sampled_from(tuple(field.alternatives) or ("",)))
    found = {}
    for attribute in field.items:
        if attribute.alternative and attribute.path.partition(".")[0] != one:
            continue
        needed = (attribute.required, attribute.path == field.item_key, attribute.alternative)
        if any(needed) or draw(st.booleans()):
            found[attribute.path] = draw(scalars(attribute))
    return dict(nest(found))


def values_of(field: SpecField) -> st.SearchStrategy[Any]:
    if field.kind is Kind.ITEMIZED:
        return st.lists(items(field), min_size=1, max_size=3)
    return scalars(field)


@st.composite
def given_values(draw: st.DrawFn, framework: str = "PyTorch") -> dict[str, Any]:
    fields = fields_of(framework)
    paths = draw(st.sets(st.sampled_from(sorted(fields)), min_size=1, max_size=6))
    return {path: draw(values_of(fields[path])) for path in sorted(paths)}


@st.composite
def policies(draw: st.DrawFn, framework: str = "PyTorch") -> tuple[tuple[str, str], ...]:
    """One to three documents; what of them cannot be read is left out."""
    layers = []
    for kind in ("tenant", "department", "project")[: draw(st.integers(1, 3))]:
        document: dict[str, Any] = {}
        for role in draw(st.sampled_from((("worker",), ("worker", "master")))):
            known = fields_of(framework)
            if role == "master":
                known = {path: known[path] for path in known.keys() & catalogue(SPEC.master).keys()}
            for path in sorted(draw(st.sets(st.sampled_from(sorted(known)), max_size=6))):
                document = with_field(document, role, path, draw(stated_of(known[path], known)))
        if draw(st.booleans()):
            document["imposedAssets"] = [IMPOSED.id]
        layers.append((kind, yaml.safe_dump(document)))
    return tuple(layers)


def with_field(
    document: dict[str, Any], role: str, path: str, stated: dict[str, Any]
) -> dict[str, Any]:
    """``document`` with defaults and rules of one field more, where they can be read."""
    more = deepcopy(document)
    for part, said in stated.items():
        *groups, name = path.split(".")
        place = more.setdefault(part, {}).setdefault(role, {})
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = said
    try:
        parse(yaml.safe_dump(more))
    except InvalidPolicy:
        return document
    return more


@st.composite
def stated_of(draw: st.DrawFn, field: SpecField, known: dict[str, SpecField]) -> dict[str, Any]:
    """What a document says of a field: its rules, and its default or the items of a list."""
    rules = draw(rule_sets(field, known))
    if field.kind is not Kind.ITEMIZED:
        default = {"defaults": draw(scalars(field))} if draw(st.booleans()) else {}
        return default | ({"rules": rules} if rules else {})
    if not field.is_by_item:
        return {"rules": rules} if rules else {}
    told = [one for one in field.items if not one.alternative and one.path != field.item_key]
    siblings = {one.path: one for one in told}
    attributes = {}
    for one in draw(st.lists(st.sampled_from(told), max_size=2)) if told else ():
        if inside := draw(rule_sets(one, siblings, in_list=True)):
            attributes[one.path] = inside
    instances = draw(st.lists(items(field), max_size=2))
    is_locked: bool = draw(st.booleans())
    if instances and is_locked:
        rules["locked"] = [str(one[field.item_key]) for one in instances]
    stated = {"instances": rules} if rules else {}
    stated |= {"attributes": nest(attributes)} if attributes else {}
    defaults = {"defaults": {"instances": instances}} if instances else {}
    return defaults | ({"rules": stated} if stated else {})


@st.composite
def rule_sets(
    draw: st.DrawFn, field: SpecField, known: dict[str, SpecField], *, in_list: bool = False
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    kinds = [kind for kind in rules_of(field, in_list=in_list) if kind != "locked"]
    for kind in draw(st.sets(st.sampled_from(kinds), max_size=2)):
        if kind in ("min", "max"):
            bounded = scalars(field) if field.kind.is_numeric else st.integers(0, 20)
            found[kind] = draw(bounded)
        elif kind in ("step", "maxTotal"):
            found[kind] = draw(st.integers(1, 4))
        elif kind == "registries":
            places = st.sampled_from(["registry.lab", "registry.lab/team", "docker.io"])
            found[kind] = draw(st.lists(places, min_size=1, unique=True))
        elif kind == "options":
            value = field.items[0] if field.is_array else field
            found[kind] = draw(st.lists(scalars(value), min_size=1, max_size=3, unique=True))
        elif kind == "defaultFrom":
            section = field.path.rpartition(".")[0]
            near = [
                p
                for p, o in known.items()
                if o.kind is field.kind and p.rpartition(".")[0] == section and p != field.path
            ]
            if near:
                found[kind] = {"field": draw(st.sampled_from(near)), "factor": 0.5}
        else:
            found[kind] = draw(st.booleans())
    tells: bool = draw(st.booleans())
    gives_way: bool = draw(st.booleans())
    if found and tells:
        found["message"] = "Ask the lab."
    if found and gives_way and not field.guarded:
        found["overridable"] = True
    return found


def judged(request: Request, policy: EffectivePolicy) -> list[tuple[str, ...]]:
    made = resolve(request, policy)
    return sorted({(p.field_id, p.rule, p.message, p.source) for p in made.problems})


def request_of(gang: Gang, **said: Any) -> Request:
    framework, configuration = gang
    return Request(framework=framework, configuration=configuration, **said)


def by_json(values: dict[str, Any], policy: EffectivePolicy, gang: Gang = TORCH) -> Any:
    found, problems = flatten(SPEC.worker, nest(values), Role.WORKER)
    entries = {f"worker.{path}": Value(value) for path, value in found.items()}
    return judged(request_of(gang, given=entries, problems=tuple(problems)), policy)


def by_yaml(values: dict[str, Any], policy: EffectivePolicy, gang: Gang = TORCH) -> Any:
    text = yaml.safe_dump(nest(values), allow_unicode=True)
    found, problems = flatten(SPEC.worker, read(text).data, Role.WORKER)
    entries = {f"worker.{path}": Value(value) for path, value in found.items()}
    return judged(request_of(gang, given=entries, problems=tuple(problems)), policy)


def by_form(values: dict[str, Any], policy: EffectivePolicy, gang: Gang = TORCH) -> Any:
    standing = inherited_values(request_of(gang), Role.WORKER, policy)
    form = RoleForm(role=Role.WORKER, policy=policy, standing=standing, framework=gang[0])
    known = fields_of(gang[0])
    canonical = {path: known[path].canonical(value) for path, value in values.items()}
    inputs, _ = typed_values({f"worker.{path}": value for path, value in canonical.items()})
    said = form.said(inputs)
    return judged(request_of(gang, given=said.values, problems=tuple(said.problems)), policy)


SETS = {"name": "sets", "server": "lab", "path": "/sets", "mountPath": "/imposed"}
IMPOSED = Imposable("5a2d0f2e-5c0a-4b2b-9f4b-0e0a8f0d3c11", "sets", "storage.nfs", SETS)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Gang, dict[str, Any], tuple[tuple[str, str], ...]]:
    gang = draw(st.sampled_from(GANGS))
    return gang, draw(given_values(gang[0])), draw(policies(gang[0]))


@settings(max_examples=examples(120), suppress_health_check=list(HealthCheck))
@given(cases())
def test_one_verdict(case: tuple[Gang, dict[str, Any], tuple[tuple[str, str], ...]]) -> None:
    gang, values, documents = case
    layers = [Layer(kind, "a", parse(text)) for kind, text in documents]
    policy = effective_policy(layers).with_imposed({IMPOSED.id: IMPOSED})
    told = by_json(values, policy, gang)
    assert by_yaml(values, policy, gang) == told
    assert by_form(values, policy, gang) == told


@pytest.mark.parametrize("row", OF_ROOT, ids=lambda row: row.id)
def test_the_groups_and_the_user_0_are_closed_on_every_way_in(row: BadRow) -> None:
    values = {"security.uidGidSource": "custom", row.path: row.value}
    opened = parse(yaml.safe_dump({"rules": nest({row.path: {"min": 0}})}))
    for layers, rules in (([], ["min"]), ([Layer("cluster", "a", opened)], [])):
        policy = effective_policy(layers)
        told = by_json(values, policy)
        assert [(where, rule) for where, rule, *_ in told] == [
            (f"worker.{row.path}", rule) for rule in rules
        ]
        assert by_yaml(values, policy) == by_form(values, policy) == told


@st.composite
def odd_values(draw: st.DrawFn) -> dict[str, Any]:
    """What YAML can say and no control can hold."""
    paths = draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=2))
    odd = st.sampled_from(([], [1], {"a": 1}, True, 7, -0.5, "", None, ["a"], [{"name": "a"}]))
    return {path: deepcopy(draw(odd)) for path in sorted(paths)}


def whole(problems: Iterable[Problem]) -> list[tuple[str, ...]]:
    return sorted({(p.field_id, p.rule, p.sentence, p.source) for p in problems})


def by_written_form(world: World, text: str) -> list[tuple[str, ...]]:
    """What the form says of a draft into which ``text`` was written as YAML."""
    actor, draft = world.actor("researcher-vision"), uuid4()
    empty = WizardContext(actor, draft, DraftState())
    written = PostedYaml(empty, text).change(DraftState())
    told = WizardContext(actor, draft, written).preview
    assert told is not None
    return whole(told.problems)


def by_posted_form(world: World, values: dict[str, Any]) -> list[tuple[str, ...]]:
    """What the form says once a browser has sent its pages as they were shown."""
    actor, filler = world.actor("researcher-vision"), Filler(world)
    canonical = {f"worker.{path}": FIELDS[path].canonical(v) for path, v in values.items()}
    inputs, _ = typed_values(canonical)
    body = world.body()
    setup = {
        "name": body["name"], "projectId": body["projectId"], "clusterId": body["clusterId"],
        "distributedFramework": TORCH[0], "configuration": TORCH[1],
    }  # fmt: skip
    state = DraftState(setup={n: Typed(text) for n, text in setup.items()}, worker=inputs)
    drafts.start(owner=actor.user, draft_id=filler.draft, state=state, steps=())
    for step in ("setup", "workers"):
        assert filler.post(step).status in (303, 422)
    draft = Draft.objects.get(pk=filler.draft)
    told = WizardContext(actor, filler.draft, DraftState.from_json(draft.inputs), draft).preview
    assert told is not None
    return whole(told.problems)


def by_api(world: World, text: str) -> list[tuple[str, ...]]:
    actor = world.actor("researcher-vision")
    asked = bodies.read(actor.user, read(text).data)
    return whole(submission.preview(actor=actor, request=asked).problems)


def stored(world: World, documents: tuple[tuple[str, str], ...]) -> None:
    """The policies of the installation, the department and the project; unsound ones not at all."""
    made = make("nfs", scope=world.installation.scope, name="sets", values={IMPOSED.path: [SETS]})
    scopes = (world.installation.scope, world.department.scope, world.vision.scope)
    for scope, (_, text) in zip(scopes, documents, strict=False):
        try:
            save(actor=None, scope=scope, text=text.replace(IMPOSED.id, str(made.pk)), version=None)
        except InvalidPolicy:
            assume(False)


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(given_values(), odd_values(), policies())
def test_one_verdict_on_a_text_by_api_and_by_the_form_that_it_was_written_into(
    world: World,
    values: dict[str, Any],
    odd: dict[str, Any],
    documents: tuple[tuple[str, str], ...],
) -> None:
    spec = {**nest(values | odd), "distributedFramework": "PyTorch"}
    text = yaml.safe_dump(
        world.body(spec=spec, configuration=WORKERS_ONLY), allow_unicode=True, sort_keys=False
    )
    with transaction.atomic():
        stored(world, documents)
        form, api = by_written_form(world, text), by_api(world, text)
        if not odd:
            assert form == api
        # Of what no control can hold, the form may say too what is missing without it.
        assert {told[:2] for told in api} <= {told[:2] for told in form}
        assert bool(form) is bool(api)
        transaction.set_rollback(True)


@settings(max_examples=examples(24), suppress_health_check=list(HealthCheck))
@given(given_values(), policies())
def test_one_verdict_by_api_and_by_the_form_that_is_posted(
    world: World, values: dict[str, Any], documents: tuple[tuple[str, str], ...]
) -> None:
    spec = {**nest(values), "distributedFramework": "PyTorch"}
    text = yaml.safe_dump(world.body(spec=spec, configuration=WORKERS_ONLY), allow_unicode=True)
    with transaction.atomic():
        stored(world, documents)
        assert by_posted_form(world, values) == by_api(world, text)
        transaction.set_rollback(True)


POOLS = "worker.nodePools"


def pools(values: dict[str, Any]) -> Any:
    """What the form sends of node pools where a policy's default is ``a, b``."""
    policy = effective_policy([Layer("project", "p", parse("defaults: {nodePools: [a, b]}"))])
    bare = Request(framework="PyTorch", configuration=WORKERS_ONLY)
    standing = inherited_values(bare, Role.WORKER, policy)
    form = RoleForm(role=Role.WORKER, policy=policy, standing=standing, framework="PyTorch")
    inputs, _ = typed_values(values)
    found = form.said(inputs).values.get(POOLS)
    return found and [item["name"] for item in found.value]


def test_a_list_of_names_that_came_from_elsewhere_is_all_there_is() -> None:
    assert pools({POOLS: [{"name": "c"}]}) == ["c"]
    assert pools({POOLS: []}) == []
    assert pools({}) is None


def test_a_row_that_is_added_stands_beside_the_default() -> None:
    policy = effective_policy([Layer("project", "p", parse("defaults: {nodePools: [a, b]}"))])
    bare = Request(framework="PyTorch", configuration=WORKERS_ONLY)
    standing = inherited_values(bare, Role.WORKER, policy)
    form = RoleForm(role=Role.WORKER, policy=policy, standing=standing, framework="PyTorch")
    rows = [Row("n", {"name": "c"}), Row("x", of="a", removed=True)]
    found = form.said(RoleInputs().with_rows("nodePools", rows)).values[POOLS]
    assert [item["name"] for item in found.value] == ["b", "c"]


def by_command_line(world: World, body: dict[str, Any], folder: Path) -> list[tuple[str, ...]]:
    """What the API says to the line that Review shows of ``body``, run as printed."""
    words, file = printed_words(command_line(body, "vision", "this-machine"))
    if file:
        (folder / "body.yaml").write_text(file)
        words[words.index("-")] = str(folder / "body.yaml")
    environment = {
        "GANGLINE_CONFIG_DIR": str(folder),
        "GANGLINE_URL": "http://testserver",
        "GANGLINE_TOKEN": world.token("researcher-vision"),
    }
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environment),
        served(),
        patch("gangline_cli.main.told", lambda error: [json.dumps(list(error.problems))]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = main([*words, "--dry-run", "-o", "json"])
    assert code in (0, 3), (words, err.getvalue())
    told = json.loads(err.getvalue()) if code else []
    return sorted({(f"{p['role']}.{p['path']}", p["rule"], p.get("source", "")) for p in told})


def printed_words(text: str) -> tuple[list[str], str]:
    """The words of a printed command without the program, and the file that it reads."""
    first, _, file = text.partition("\n") if "<<'GANGLINE'" in text else (text, "", "")
    line = first.replace(" <<'GANGLINE'", "").replace("\\\n", "")
    return shlex.split(line)[1:], file.removesuffix("GANGLINE\n")


@settings(max_examples=examples(25), suppress_health_check=list(HealthCheck))
@given(given_values(), policies())
def test_one_verdict_by_api_and_by_the_command_line_of_review(
    world: World,
    tmp_path: Path,
    values: dict[str, Any],
    documents: tuple[tuple[str, str], ...],
) -> None:
    canonical = {path: FIELDS[path].canonical(value) for path, value in values.items()}
    body = world.body(
        spec={**nest(canonical), "distributedFramework": "PyTorch"}, configuration=WORKERS_ONLY
    )
    actor = world.actor("researcher-vision")
    world.token("researcher-vision")  # made before what is taken back
    with transaction.atomic():
        stored(world, documents)
        asked = bodies.read(actor.user, body)
        told = submission.preview(actor=actor, request=asked).problems
        api = sorted({(p.field_id, p.rule, p.source) for p in told})
        assert by_command_line(world, body, tmp_path) == api
        transaction.set_rollback(True)
