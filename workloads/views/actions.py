"""What a person does to workloads from a page: each asks where something would be lost."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import ngettext

from gangline.access.actor import Actor, actor_of
from gangline.access.permissions import Permission
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.lib.texts import as_uuid
from gangline.lib.urls import parts_of
from gangline.organization.selectors import visible_projects
from gangline.settings.catalogue import DELETED_DAYS
from gangline.settings.values import value_of
from gangline.spec.problems import InvalidSpec
from gangline.web.confirm import Question, ask
from workloads.models import Workload
from workloads.selectors.details import visible_workload
from workloads.services import lifecycle
from workloads.statuses import statuses_with

MAX_BULK = 200
MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class Verb:
    """One action: the service behind it, and the words before and after."""

    run: Callable[..., Workload]
    done: str
    done_to_several: str
    question: str = ""
    texts: tuple[str, str] = ("", "")
    """The consequence for one workload, and for several."""
    verb: str = ""
    only: str = ""
    """Why it is nothing for the rest of those that were chosen."""
    is_harmful: bool = False
    until: str = ""
    """The status with which what was done is over, and its message goes."""

    def text(self, is_several: bool) -> str:
        days = value_of(DELETED_DAYS)
        return self.texts[is_several].format(days=ngettext("%d day", "%d days", days) % days)


VERBS: Mapping[str, Verb] = {
    "stop": Verb(
        lifecycle.stop,
        "{} is being stopped.",
        "{} are being stopped.",
        "Stop {}?",
        (
            "The pods stop and release their resources. Run starts the workload again, from its"
            " last checkpoint if the program writes one.",
            "The pods stop and release their resources. Run starts the workloads again, each from"
            " its last checkpoint if the program writes one.",
        ),
        "Stop",
        "Only waiting or running workloads can be stopped.",
        is_harmful=True,
        until="Stopped",
    ),
    "resume": Verb(
        lifecycle.resume,
        "{} starts again.",
        "{} start again.",
        verb="Run",
        only="Only stopped workloads can be run.",
    ),
    "rerun": Verb(
        lifecycle.rerun,
        "{} runs again.",
        "{} run again.",
        verb="Run again",
        only="Only finished workloads can be run again.",
    ),
    "delete": Verb(
        lifecycle.delete,
        "{} is being deleted.",
        "{} are being deleted.",
        "Delete {}?",
        (
            "Its page and log stay under Deleted for {days}, then they are erased.",
            "Their pages and logs stay under Deleted for {days}, then they are erased.",
        ),
        "Delete",
        "The others are already being deleted.",
        is_harmful=True,
    ),
}


_UNTIL_DELETED: tuple[tuple[frozenset[str], str, str, str], ...] = (
    (
        frozenset({"Running", "Degraded", "Initializing"}),
        "The workload is running and will be stopped.",
        "%d running workload will be stopped.",
        "%d running workloads will be stopped.",
    ),
    (
        frozenset({"Creating", "Pending", "Cannot start", "Preempted", "Resuming"}),
        "The workload is not running and will not start.",
        "%d that is waiting will not start.",
        "%d that are waiting will not start.",
    ),
    (
        frozenset({"Stopping"}),
        "The pods are stopping already.",
        "%d is stopping already.",
        "%d are stopping already.",
    ),
    (
        frozenset({"Unknown"}),
        "Pods that are running will be stopped.",
        "%d of unknown status will be stopped.",
        "%d of unknown status will be stopped.",
    ),
)
"""What deletion does to workloads that have not ended: their statuses; words for a workload that is
deleted alone, for one among others, for several."""


@login_required
def act(request: HttpRequest, workload_id: UUID, action: str) -> HttpResponse:
    """GET asks (for stop and delete), POST does it."""
    actor, verb = actor_of(request, "form"), VERBS[action]
    workload = visible_workload(actor.user, workload_id)
    back = back_from(request, reverse("workload-detail", args=[workload_id]))
    if request.method == "GET" and verb.question:
        return ask(request, _question(verb, workload, request.path, back))
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    if _one(request, actor, verb, workload):
        _tell(request, verb, workload)
    # What is being deleted has no page to go back to.
    is_leaving = action == "delete" and str(workload_id) in back
    return redirect("workload-list" if is_leaving else back)


def act_on_checked(request: HttpRequest) -> HttpResponse:
    """The same for the checked rows. What cannot be done is said row by row; the rest, at once."""
    actor = actor_of(request, "form")
    back = back_from(request, reverse("workload-list"))
    action = request.POST.get("action", "")
    verb = VERBS.get(action)
    ids = [part for part in request.POST.getlist("id")[:MAX_BULK] if as_uuid(part)]
    if verb is None or not ids:
        messages.info(request, "Select workloads first.")
        return redirect(back)
    if verb.question and "sure" not in request.POST:
        fitting = _fitting(actor, ids, action)
        if not fitting:
            messages.info(request, f"{left_out(len(ids), 0)} {verb.only}")
            return redirect(back)
        count, names = len(fitting), [row.name for row in fitting]
        what = f"{count} workload{'s' if count > 1 else ''}"
        hidden = {"id": [str(row.pk) for row in fitting], "action": action, "sure": "1"}
        text = consequence(verb, action, Counter(row.status for row in fitting))
        if count < len(ids):
            text = f"{text} {left_out(len(ids), count)} {verb.only}"
        return ask(
            request,
            Question(
                items=names[:MOST_NAMED],
                more=len(names[MOST_NAMED:]),
                crumbs=crumbs((verb.verb, "")),
                title=verb.question.format(what),
                text=text,
                verb=f"{verb.verb} {what}",
                action=reverse("workload-bulk"),
                cancel_url=back,
                is_harmful=verb.is_harmful,
                hidden=hidden | {"next": back},
            ),
        )
    done: list[Workload] = []
    for workload_id in ids:
        try:
            workload = visible_workload(actor.user, UUID(workload_id))
        except NotVisible:
            messages.error(request, "One of the workloads no longer exists.")
            continue
        if _one(request, actor, verb, workload):
            done.append(workload)
    if len(done) == 1:
        _tell(request, verb, done[0])
    elif done:
        messages.success(request, verb.done_to_several.format(f"{len(done)} workloads"))
    return redirect(back)


def _tell(request: HttpRequest, verb: Verb, workload: Workload) -> None:
    until = f"{workload.pk} {verb.until}" if verb.until else ""
    messages.success(request, verb.done.format(workload.name), extra_tags=until)


def crumbs(*further: tuple[str, str]) -> list[tuple[str, str]]:
    return [("Workloads", reverse("workload-list")), *further]


def consequence(verb: Verb, action: str, statuses: Mapping[str, int]) -> str:
    """What is lost; a deletion ends what has not ended. ``statuses``: how many are in each."""
    total = sum(statuses.values())
    text = verb.text(total > 1)
    if action != "delete":
        return text
    ends = []
    for words, alone, one, several in _UNTIL_DELETED:
        if count := sum(statuses.get(word, 0) for word in words):
            ends.append(alone if total == 1 else ngettext(one, several, count) % count)
    return " ".join((*ends, text))


def _fitting(actor: Actor, ids: list[str], action: str) -> list[Workload]:
    """Those that the person may see and for which there is something to do, by name."""
    visible = visible_projects(actor.user, Permission.WORKLOAD_VIEW)
    rows = Workload.objects.filter(
        pk__in=ids, project__in=visible, deleted_at__isnull=True, status__in=statuses_with(action)
    )
    return list(rows.order_by("name", "pk").only("name", "status"))


def left_out(chosen: int, fitting: int) -> str:
    """``1 of the 4 selected was skipped.``"""
    rest = chosen - fitting
    if not fitting:
        return "Nothing was changed."
    return f"{rest} of the {chosen} selected {'was' if rest == 1 else 'were'} skipped."


def _one(request: HttpRequest, actor: Actor, verb: Verb, workload: Workload) -> bool:
    """Whether it was done; what could not be done is said."""
    try:
        verb.run(actor=actor, workload_id=workload.pk)
    except (lifecycle.AlreadyEnded, lifecycle.BeingDeleted, lifecycle.NotEnded) as late:
        # The page was older than the workload: somebody else acted, or a double click.
        messages.info(request, str(late))
    except NotVisible:
        messages.error(request, f"{workload.name} no longer exists.")
    except NotAllowed as refusal:
        messages.error(request, f"{workload.name}: {refusal.sentence}")
    except InvalidSpec as refusal:
        why = " ".join(problem.sentence for problem in refusal.problems)
        messages.error(
            request,
            f"{workload.name} does not comply with the current policy: {why}"
            " Use Copy & edit to change it.",
        )
    else:
        return True
    return False


def _question(verb: Verb, workload: Workload, action: str, back: str) -> Question:
    page = reverse("workload-detail", args=[workload.pk])
    return Question(
        crumbs=crumbs((workload.name, page), (verb.verb, "")),
        title=verb.question.format(workload.name),
        text=consequence(verb, verb.verb.lower(), {workload.status: 1}),
        verb=verb.verb,
        action=action,
        cancel_url=back,
        is_harmful=verb.is_harmful,
        hidden={"next": back},
    )


def back_from(request: HttpRequest, otherwise: str) -> str:
    """Where the person came from: only paths of this installation."""
    wanted = request.POST.get("next") or request.GET.get("next") or _referring_page(request)
    is_local = wanted.startswith("/") and url_has_allowed_host_and_scheme(
        wanted, allowed_hosts=None
    )
    return wanted if is_local else otherwise


def _referring_page(request: HttpRequest) -> str:
    """The page of ours that leads to a question, with its filters; its own address never."""
    page = parts_of(request.headers.get("Referer", ""))
    if page.netloc != request.get_host() or page.path == request.path:
        return ""
    return f"{page.path}?{page.query}" if page.query else page.path
