"""Tags for the pages of workloads."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from gangline.drivers.kind import NativeObject
from gangline.drivers.metrics.declared import BY_NAME
from gangline.spec.catalogue import Kind, SpecField
from gangline.spec.frameworks import FRAMEWORKS
from gangline.spec.problems import Role
from gangline.spec.sources import Source
from gangline.spec.words import plain_number
from gangline.spec_forms.words import item_in_words, readable
from gangline.tables.cells import NONE, running_for
from gangline.web import components, formats
from gangline.web.templatetags.gangline import copy
from workloads.models import Attempt, Replica, Workload
from workloads.pods import status_of
from workloads.report import charts
from workloads.report.summary import Line
from workloads.report.words import figure
from workloads.selectors.details import SpecValue, native_object, rank_of, spec_values
from workloads.selectors.figures import Figures
from workloads.selectors.origins import Origin

register = template.Library()


_TONES = {"error": "bad", "warning": "warn"}
_ICONS = {"error": "alert-octagon", "warning": "alert-triangle"}
_OVERVIEW = ("image", "command", "args", "compute.cpuCoreRequest", "compute.cpuMemoryRequest")


@register.simple_tag
def replica_status(replica: Replica) -> SafeString:
    """Shape, word and reason of one pod."""
    return components.status(status_of(replica), replica.reason)


@register.simple_tag
def pod_figure(figures: Figures, replica: Replica, name: str) -> SafeString | str:
    """A small line of what the pod used of one metric, and its newest figure; of one that has
    ended, the mean."""
    series = figures.of(replica.name)
    if name not in series.names:
        return NONE
    label = f"{BY_NAME[name].label} of {replica.name}"
    top = max((one.peak(name) or 0.0 for one in figures.by_pod.values()), default=None)
    return format_html(
        '<span class="figure">{}<span class="num" title="{}">{}</span></span>',
        charts.spark(name, series, top=top, label=label),
        "On average" if replica.ended_at else "Now",
        figure(name, series.mean(name) if replica.ended_at else series.last(name)),
    )


@register.simple_tag
def use(line: Line, name: str) -> SafeString | str:
    """Mean and peak of one metric of a pod or node, as cells of a table have them."""
    found = line.uses.get(name)
    if found is None:
        return NONE
    return format_html('{} <span class="use-peak">{}</span>', found.first, found.second)


@register.simple_tag
def peak_memory(figures: Figures, replica: Replica) -> str:
    """Of a pod: as its supervisor tells at the end, and before that as far as it was measured."""
    measured = figures.of(replica.name).peak("memory")
    found = replica.peak_memory or (round(measured) if measured else None)
    return formats.size(found)


@register.simple_tag
def rank(replica: Replica, framework: str) -> str:
    """The rank of a pod; a launcher has none."""
    found = rank_of(replica, framework)
    return formats.NOTHING if found is None else str(found)


@register.simple_tag
def ran(replica: Replica) -> SafeString | str:
    """How long the pod ran, or has been running."""
    if replica.started_at is None:
        return NONE
    if replica.ended_at is None and replica.state == "Running":
        return running_for(replica.started_at)
    return formats.span((replica.ended_at or timezone.now()) - replica.started_at)


@register.simple_tag
def severity_tone(severity: str) -> str:
    return _TONES.get(severity, "info")


@register.simple_tag
def severity_icon(severity: str) -> SafeString:
    return components.icon(_ICONS.get(severity, "info-circle"))


@register.filter
def number(value: float) -> str:
    """Without needless zeros: 0.3, 2."""
    return plain_number(value)


@register.filter
def pods_in_words(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


@register.simple_tag
def what_runs(workload: Workload, attempt: Attempt) -> SafeString:
    """The few values that tell one workload from another."""
    values = {value.field.path: value for value in spec_values(attempt, Role.WORKER)}
    shown = [(v.field.label, _drawn(v)) for v in (values[p] for p in _OVERVIEW if p in values)]
    framework = FRAMEWORKS[workload.framework].label
    roles = FRAMEWORKS[workload.framework].roles_in_words(workload.configuration).lower()
    if native := native_object(workload, attempt):
        shown.append(("On the cluster", _on_cluster(native)))
    rows = format_html_join(
        "", "<dt>{}</dt><dd>{}</dd>", [("Framework", f"{framework}, {roles}"), *shown]
    )
    return format_html('<dl class="facts-list start">{}</dl>', rows)


@register.simple_tag
def spec_table(
    values: Sequence[SpecValue], label: str, origins: Mapping[Source, Origin]
) -> SafeString:
    """Field, value, origin."""
    rows = format_html_join(
        "",
        '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>',
        ((v.field.label, _drawn(v), _origin(origins[v.source])) for v in values),
    )
    return format_html(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}">'
        '<table class="trace values spec">'
        '<thead><tr><th scope="col">Field</th><th scope="col">Value</th><th scope="col">From</th>'
        "</tr></thead><tbody>{}</tbody></table></div>",
        label,
        rows,
    )


def _on_cluster(native: NativeObject) -> SafeString:
    """Its name and where it is, with the command that shows it."""
    return format_html(
        "<code>{}</code> in namespace <code>{}</code> {}",
        f"{native.kind.lower()}/{native.name}",
        native.namespace,
        copy(native.command, "Copy kubectl"),
    )


def _origin(origin: Origin) -> SafeString:
    chip = components.chip(origin.words, origin.kind)
    return format_html('<a href="{}">{}</a>', origin.url, chip) if origin.url else chip


def _item(field: SpecField, item: Mapping[str, Any]) -> str:
    """``SEED=1`` where there is a name and a value alone, and ``gpus: dedicated Exists`` else."""
    is_pair = item.keys() == {field.item_key, "value"}
    return f"{item.get(field.item_key)}{'=' if is_pair else ': '}{item_in_words(field, item)}"


def _drawn(value: SpecValue) -> SafeString | str:
    found: Any = value.value
    if isinstance(found, list):
        items = ((_item(value.field, item),) for item in found)
        return format_html_join("", "<code>{}</code><br>", items)
    if value.field.kind in (Kind.STRING, Kind.COMMAND):
        return components.command_line(str(found))
    return readable(value.field, found)
