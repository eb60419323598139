"""Templates as a resource: filled-in forms to start a workload from."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.core.exceptions import ValidationError
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from assets.layers import Mode, field_at
from assets.models import Asset, Template
from assets.scopes import scope_choices
from assets.selectors.fitness import WhyNot, reasons
from assets.template_checks import LINKABLE, template_problems
from gangline.access.actor import Actor
from gangline.accounts.models import User
from gangline.lib.problems import Refused
from gangline.resources.registry import Uses, get, register_usage
from gangline.resources.resource import Nav, Panel, Resource, Wire
from gangline.resources.tables import column, name_column, table, time_column
from gangline.spec import frameworks
from gangline.spec import problems as spec_problems
from gangline.spec.catalogue import Kind, catalogue
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.problems import Role
from gangline.spec.values import half_of
from gangline.spec.workload import SPEC
from gangline.spec_forms.words import count, item_in_words, readable
from gangline.tables import filters
from gangline.web import components

_WORDS: Mapping[str, str] = {Mode.FIXED: "Fixed", Mode.ASK: "Required"}

starts: dict[str, str] = {}
"""What a new template may be filled in from, by its name in the address of the form: the dotted
name of a function of a person and a key. Higher apps add theirs."""


def pods_of(template: Template) -> str:
    """``2 workers + master``."""
    workers = half_of(template.values, Role.WORKER)
    if not isinstance(workers.get("numWorkers", 1), int):
        return ""
    gang = frameworks.framework_of(template.framework).gang(template.configuration)
    parts = [count(r.count(workers), r.name) if r.counts else r.name for r in reversed(gang)]
    return " + ".join(parts)


def framework_of(template: Template) -> str:
    known = FRAMEWORKS.get(template.framework)
    return known.label if known else template.framework


def _kind(row: Template) -> SafeString:
    return format_html('{} <span class="sub">{}</span>', framework_of(row), pods_of(row))


def _start(row: Template) -> Any:
    """Use and Run now, or why it cannot run; the buttons belong to a form of the page."""
    use = format_html(
        '<a class="button small" href="{}?template={}" aria-label="Use {}">Use</a>',
        reverse("workload-new"), row.pk, row.name,
    )  # fmt: skip
    if reason := getattr(row, "why_not", WhyNot()):
        words = "" if reason.is_to_fill else "Cannot run now: "
        why = format_html(
            '<span class="sub start-why" title="{}">{}{}</span>',
            reason.sentence,
            words,
            reason.sentence,
        )
        return format_html('<span class="start-cell">{}{}</span>', use, why)
    run = format_html(
        '<button class="button small" form="run-now" formaction="{}" name="key" value="{}"'
        ' aria-label="Run now: {}">{}Run now</button>',
        reverse("template-run", args=[row.pk]), uuid4(), row.name, components.icon("player-play"),
    )  # fmt: skip
    return format_html('<span class="start-cell">{}{}</span>', use, run)


def half_title(role: Role, framework: str) -> str:
    """What a half of the form is called where the workload has this framework."""
    return "Workers" if role is Role.WORKER else frameworks.framework_of(framework).leader.title


def _half(role: Role) -> Any:
    """What a panel shows of one role; nothing where the template says nothing of it."""

    def context(request: HttpRequest, obj: Template) -> dict[str, Any] | None:
        lines = list(_lines(obj, role))
        return {"title": half_title(role, obj.framework), "lines": lines} if lines else None

    return context


class Templates(Resource[Template]):
    model = Template
    key = "template"
    path = "templates"
    lede = "Filled-in forms to start from. Changing a template later changes no workload."
    empty_text = "A template saves everyone from filling in the form again."
    delete_text = "Workloads that were started from it stay as they are."
    related = ("scope__parent__parent__parent", "created_by", "updated_by")
    seen_from_below = True
    can_copy = True
    shows_yaml = True
    list_template = "assets/templates.html"
    detail_template = "assets/template.html"
    form_template = "assets/template_form.html"
    form = "assets.template_forms.TemplateForm"
    nav = Nav(group="Assets", icon="file-text", order=10)
    table = table(
        "templates",
        name_column("template", "Template"),
        column("framework", "Framework", cell=_kind, text=framework_of, width="l"),
        column("start", "Start", cell=_start, text=None),
        column("scope", "Scope", cell=lambda row: row.scope.title, sort="scope_name", width="l"),
        column("used", "Workloads", "used_count", sort="used_count", right=True, width="m"),
        column("creator", "Created by", "created_by", width="m", is_default=False),
        time_column("created", "Created", "created_at", sort="created_at", is_default=False),
        noun=("template", "templates"),
        search=("name", "description"),
        filters=(
            filters.choice("scope", "Scope", "scope_id"),
            filters.choice(
                "framework", "Framework", "framework",
                choices=tuple((name, known.label) for name, known in FRAMEWORKS.items()),
            ),
            filters.dates("created", "Created", "created_at", wire="createdAt"),
            filters.dates("updated", "Updated", "updated_at", wire="updatedAt"),
            filters.for_clients("name", "name"),
            filters.for_clients("scopeType", "scope__kind"),
            filters.for_clients("createdBy", "created_by__username"),
        ),
    )  # fmt: skip
    panels = tuple(
        Panel(title="", template="assets/half.html", context=_half(role))
        for role in (Role.WORKER, Role.MASTER)
    )
    wire = Wire(
        path="workload-templates/distributed",
        envelope="entries",
        serializer="assets.template_api.TemplateSerializer",
        viewset="assets.template_api.TemplateViewSet",
        created=202,
        methods=frozenset({"list", "count", "create", "get", "put", "patch", "delete"}),
    )

    def rows(self, user: User) -> QuerySet[Template]:
        return super().rows(user).annotate(scope_name=F("scope__name"))

    def choices(self, user: User) -> Any:
        return {"scope": scope_choices(self.visible(user))}

    def look_at(self, rows: Sequence[Template], user: User) -> None:
        for template, reason in reasons(user, rows).items():
            template.why_not = reason  # type: ignore[attr-defined]

    def check(self, obj: Template, *, actor: Actor | None, before: Any) -> None:
        if before is not None and before.scope_id != obj.scope_id:
            raise ValidationError({"scope": ValidationError("cannot be changed.", "fixed")})
        if found := template_problems(obj):
            raise Refused([p.at(path=_where(p)) for p in found])

    def facts_of(self, request: HttpRequest, obj: Template) -> Iterable[tuple[str, Any]]:
        yield "Framework", framework_of(obj)
        yield (
            "Configuration",
            frameworks.framework_of(obj.framework).roles_in_words(obj.configuration),
        )
        yield "Scope", obj.scope.title

    def detail_context(self, request: HttpRequest, obj: Template) -> dict[str, Any]:
        user = request.user
        assert isinstance(user, User)  # noqa: S101  the page is for people who signed in
        return {
            "why_not": reasons(user, [obj])[obj],
            "run_key": uuid4(),
        }


def _lines(template: Template, role: Role) -> Iterable[tuple[str, Any, str]]:
    """Label, value and what may be done with it, in the order of the form."""
    for kind in LINKABLE:
        if pk := template.links.get(f"{role}.{kind.key}"):
            asset = Asset.objects.filter(pk=pk).first()
            name = asset.name if asset else "deleted"
            url = reverse(f"{kind.key}-detail", args=[pk]) if asset else ""
            link = format_html('<a href="{}">{}</a>', url, name) if url else name
            yield kind.label, link, "Linked"
    spec_paths = {*template.values, *template.modes}
    for qualified in sorted(spec_paths, key=_order):
        spec = field_at(qualified)
        if spec is None or not qualified.startswith(f"{role}."):
            continue
        word = _WORDS.get(template.modes.get(qualified, ""), "")
        value = template.values.get(qualified)
        if spec.kind is Kind.ITEMIZED and value:
            for item in value:
                label = f"{capfirst(spec.ui.item)} {item.get(spec.item_key, '')}"
                yield label, format_html("<code>{}</code>", item_in_words(spec, item)), word
        else:
            words = readable(spec, value)
            is_code = spec.kind in (Kind.STRING, Kind.COMMAND) and value not in (None, "")
            yield spec.label, format_html("<code>{}</code>", words) if is_code else words, word


def _order(qualified: str) -> tuple[str, int]:
    role, _, path = qualified.partition(".")
    model = SPEC.worker if role == Role.WORKER else SPEC.master
    paths = list(catalogue(model))
    return role, paths.index(path) if path in paths else len(paths)


def _where(problem: spec_problems.Problem) -> str:
    """The path of a body: ``spec.image``, ``master.spec.args``, ``assets.environment``."""
    role, path = problem.role, problem.path
    if role is Role.WORKLOAD:
        return "spec.distributedFramework" if path == "framework" else path
    inner = "assets" if path in [kind.key for kind in LINKABLE] else "spec"
    at = f"master.{inner}.{path}" if role is Role.MASTER else f"{inner}.{path}"
    return f"modes.{at}" if problem.rule in ("mode", "ask") else at


def _linking(asset: Asset) -> Uses:
    """Templates that follow the asset: without it they would lose their values."""
    of = Q()
    for role in (Role.WORKER, Role.MASTER):
        of |= Q(**{f"links__{role}.{asset.kind}": str(asset.pk)})
    rows = Template.objects.filter(of)
    resource = get("template")
    return Uses("template", rows, resource.visible, resource.url)


for _linkable in LINKABLE:
    register_usage(_linkable.model, _linking)
