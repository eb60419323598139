"""Where the values of a started workload come from, in words that the reader may see."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.urls import reverse

from assets.selectors.templates import usable_templates
from gangline.access.permissions import Permission
from gangline.accounts.models import User
from gangline.organization.selectors import visible_projects
from gangline.spec.sources import YOU, Source, SourceKind, copy_source, template_source
from gangline.spec_forms.words import source_in_words
from workloads.models import Workload


@dataclass(frozen=True, slots=True)
class Origin:
    """The words of one origin. ``url`` leads to it, empty where there is nothing to open."""

    words: str
    url: str = ""
    kind: str = ""
    """Of its chip."""


def origins_in_words(
    user: User, workload: Workload, sources: Iterable[Source]
) -> Mapping[Source, Origin]:
    """Every source as words: templates and workloads by name, for those who may see them."""
    wanted = set(sources)
    words = {source: _plain(source, user, workload) for source in wanted}
    if templates := _ids(wanted, SourceKind.TEMPLATE):
        found = usable_templates(user).filter(pk__in=templates).values_list("pk", "name")
        for pk, name in found:
            url = reverse("template-detail", args=[pk])
            words[template_source(pk)] = Origin(f"template {name}", url)
    if copies := _ids(wanted, SourceKind.COPY):
        rows = Workload.objects.filter(
            pk__in=copies,
            project__in=visible_projects(user, Permission.WORKLOAD_VIEW),
            deleted_at__isnull=True,
        )
        for pk, name in rows.values_list("pk", "name"):
            words[copy_source(pk)] = Origin(
                f"copy of {name}", reverse("workload-detail", args=[pk])
            )
    return words


def chip_kind(source: Source) -> str:
    """What a person set stands out, and what a policy did; the rest is quiet."""
    if source.is_policy:
        return "policy"
    return "own" if source == YOU else ""


def _plain(source: Source, user: User, workload: Workload) -> Origin:
    is_other = source == YOU and workload.owner_id != user.pk
    words = workload.owner_name if is_other else source_in_words(source)
    return Origin(words, kind=chip_kind(source))


def _ids(sources: Iterable[Source], kind: SourceKind) -> list[str]:
    return [source.id for source in sources if source.kind is kind]
