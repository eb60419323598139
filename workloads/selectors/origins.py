"""Where the values of a started workload come from, in words that the reader may see."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from assets.selectors.templates import usable_templates
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.organization.selectors import visible_projects
from workloads.models import Workload


@dataclass(frozen=True, slots=True)
class Origin:
    """The words of one origin. ``url`` leads to it, empty where there is nothing to open."""

    words: str
    url: str = ""
    kind: str = ""
    """Of its chip."""


def origins_in_words(
    user: User, workload: Workload, sources: Iterable[str]
) -> Mapping[str, Origin]:
    """Every source as words: templates and workloads by name, for those who may see them."""
    wanted = set(sources)
    words = {source: _plain(source, user, workload) for source in wanted}
    if templates := _ids(wanted, "template"):
        found = usable_templates(user).filter(pk__in=templates).values_list("pk", "name")
        for pk, name in found:
            url = f"{reverse('template-list')}?{urlencode({'q': name})}"
            words[f"template:{pk}"] = Origin(f"template {name}", url)
    if copies := _ids(wanted, "copy"):
        rows = Workload.objects.filter(
            pk__in=copies,
            project__in=visible_projects(user, Permission.WORKLOAD_VIEW),
            deleted_at__isnull=True,
        )
        for pk, name in rows.values_list("pk", "name"):
            words[f"copy:{pk}"] = Origin(f"copy of {name}", reverse("workload-detail", args=[pk]))
    return words


def chip_kind(source: str) -> str:
    """What a person set stands out, and what a policy did; the rest is quiet."""
    if source.startswith(("policy ", "fixed by ")):
        return "policy"
    return "own" if source == "you" else ""


def _plain(source: str, user: User, workload: Workload) -> Origin:
    kind, _, rest = source.partition(":")
    if rest:
        return Origin({"template": "template", "copy": "copied"}.get(kind, kind))
    if source == "you" and workload.owner_id != user.pk:
        return Origin(workload.owner_name, kind=chip_kind(source))
    return Origin(source, kind=chip_kind(source))


def _ids(sources: Iterable[str], kind: str) -> list[str]:
    return [s.partition(":")[2] for s in sources if s.startswith(f"{kind}:")]
