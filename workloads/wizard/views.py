"""The pages of the form (R25a, R26). GET never writes; every button works without scripts (R27)."""

import uuid
from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from gangline.access.actor import Actor, actor_of
from gangline.access.refusals import NotAllowed, NotVisible
from gangline.lib.texts import whole
from gangline.spec.problems import InvalidSpec, Problem, Role
from gangline.spec_forms.gestures import CONTINUE, Gesture
from gangline.web.confirm import Question, ask
from gangline.web.errors import Refusal
from workloads.models import Attempt, Draft
from workloads.services.submission import ClusterUnreachable, NameTaken, TooManyWaiting
from workloads.wizard import (
    answers,
    creation,
    drafts,
    explaining,
    gestures,
    new_asset,
    origins,
    rehearsal,
)
from workloads.wizard.answers import SeeOther
from workloads.wizard.choices import as_uuid
from workloads.wizard.desk import Desk
from workloads.wizard.drafts import AlreadySubmitted, CannotBeStored, ChangedElsewhere, Page
from workloads.wizard.galleries import NEW
from workloads.wizard.pages import StepPage, step_url
from workloads.wizard.reading import PostedStep
from workloads.wizard.review import CLUSTER_CHECK
from workloads.wizard.state import DraftState
from workloads.wizard.steps import Step
from workloads.wizard.yaml_page import YamlPage, yaml_url
from workloads.wizard.yaml_reading import PostedYaml

AUTOSAVE, CREATE, LEAVE, EXPLAIN, TO_STEP = "autosave", "create", "leave", "explain", "step"
CHECK = "check"
ANYWAY = "anyway"
"""What Create is about where the cluster has said that it will not take the workload."""
MINE, THEIRS = "mine", "theirs"


@login_required
@require_GET
@never_cache
def new(request: HttpRequest) -> HttpResponse:
    """A fresh address for a draft that does not exist yet."""
    query = f"?{request.GET.urlencode()}" if request.GET else ""
    return redirect(reverse("draft-step", args=[uuid.uuid4(), Step.SETUP]) + query)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def step(request: HttpRequest, draft: uuid.UUID, step: str) -> HttpResponse:
    """One step of one draft."""
    desk, here = _desk(request, draft), Step(step)
    if desk.draft is not None and desk.draft.workload_id is not None:
        return _submitted(request, desk.draft)
    if (key := request.GET.get(NEW)) and desk.draft is not None:
        return new_asset.page(request, desk, here, key)
    if request.method == "POST":
        return _post(request, desk, here)
    return _get(request, desk, here)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def as_yaml(request: HttpRequest, draft: uuid.UUID, step: str) -> HttpResponse:
    """The whole draft as text; ``step`` is where the form goes on."""
    desk, here = _desk(request, draft), Step(step)
    if desk.draft is not None and desk.draft.workload_id is not None:
        return _submitted(request, desk.draft)
    if request.method == "POST":
        return _post_yaml(request, desk, here)
    return answers.as_yaml(request, YamlPage(desk, here))


def _desk(request: HttpRequest, draft: uuid.UUID) -> Desk:
    """The draft as it is stored; one that is not begins as the address says."""
    actor = actor_of(request, "form")
    try:
        row = drafts.find(owner=actor.user, draft_id=draft)
        state = DraftState.from_json(row.inputs) if row else origins.start(actor.user, request.GET)
    except NotVisible as error:
        raise Http404 from error
    return Desk(actor, draft, state, row)


@login_required
@require_http_methods(["GET", "HEAD"])
@never_cache
def equivalent(request: HttpRequest, draft: uuid.UUID, key: str) -> HttpResponse:
    """The draft said in another way, as a file."""
    desk = _desk(request, draft)
    if desk.draft is None:
        raise Http404
    return answers.download(request, desk, key)


def _post_yaml(request: HttpRequest, desk: Desk, here: Step) -> HttpResponse:
    gesture = Gesture.of(request.POST.get("_go", ""))
    if gesture.verb == THEIRS:
        return SeeOther(yaml_url(desk, here))
    posted = PostedYaml(desk, request.POST.get("yaml", ""))
    try:
        saved = drafts.save(
            owner=desk.actor.user,
            draft_id=desk.draft_id,
            step=drafts.WHOLE,
            page=_page(request.POST, gesture),
            change=posted.change,
            start=desk.state,
        )
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    except CannotBeStored:
        page = YamlPage(desk, here, posted=posted.text)
        return answers.as_yaml(request, page, status=422)
    except ChangedElsewhere as late:
        at = f"{timezone.localtime(late.at):%H:%M}"
        page = YamlPage(desk, here, conflict_at=at, posted=posted.text)
        by_scripts = gesture.verb == AUTOSAVE
        return answers.changed_elsewhere(request, page, by_scripts=by_scripts)
    except NotVisible as error:
        raise Http404 from error
    now = YamlPage(Desk(desk.actor, desk.draft_id, saved.state, saved.draft), here)
    return _answer_yaml(request, now, posted, gesture)


def _answer_yaml(
    request: HttpRequest, page: YamlPage, posted: PostedYaml, gesture: Gesture
) -> HttpResponse:
    if gesture.verb == AUTOSAVE:
        return answers.yaml_autosaved(request, page)
    if gesture.verb == gestures.AS_FORM:
        return SeeOther(step_url(page.desk, page.step))
    if gesture.verb == LEAVE:
        return answers.leave(request, page.desk)
    if posted.unreadable is not None:
        return answers.as_yaml(request, replace(page, posted=posted.text), status=422)
    if gesture.verb == TO_STEP:
        return answers.to_step(page.desk, page.step, gesture.what)
    if gesture.verb == CONTINUE:
        return SeeOther(step_url(page.desk, Step.REVIEW, check="1"))
    return SeeOther(yaml_url(page.desk, page.step))


def _get(request: HttpRequest, desk: Desk, here: Step) -> HttpResponse:
    if desk.draft is None and here is not Step.SETUP:
        return redirect(f"{step_url(desk, Step.SETUP)}?{request.GET.urlencode()}".rstrip("?"))
    if here not in desk.steps:
        return redirect(step_url(desk, Step.REVIEW))
    if path := request.GET.get("explain", ""):
        return explaining.page(request, desk, here, path)
    check = request.GET.get("check")
    focus = CLUSTER_CHECK if check == answers.CLUSTER and here is Step.REVIEW else ""
    return answers.page(request, StepPage(desk, here, checked=check is not None, focus=focus))


def _post(request: HttpRequest, desk: Desk, here: Step) -> HttpResponse:
    gesture = Gesture.of(request.POST.get("_go", ""))
    if gesture.verb == THEIRS:
        return SeeOther(step_url(desk, here))
    posted = PostedStep(desk.actor, desk.draft, here, request.POST, gesture, desk)
    try:
        saved = drafts.save(
            owner=desk.actor.user,
            draft_id=desk.draft_id,
            step=here,
            page=_page(request.POST, gesture),
            change=posted.change,
            start=desk.state,
        )
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    except CannotBeStored as error:
        page = StepPage(replace(desk, state=error.mine), here, checked=True)
        return answers.page(request, page, status=422)
    except ChangedElsewhere as late:
        return _conflict(request, replace(desk, state=late.mine), here, late, gesture)
    except NotVisible as error:
        raise Http404 from error
    posted.audit()
    now = desk.after_saving(saved.state, saved.draft)
    return _answer(request, now, here, gesture, posted)


def _answer(
    request: HttpRequest, desk: Desk, here: Step, gesture: Gesture, posted: PostedStep
) -> HttpResponse:
    if gesture.verb == AUTOSAVE:
        return answers.autosaved(request, desk, here, checked="check" in request.GET)
    if gesture.verb == CREATE and here is Step.REVIEW:
        if desk.objections and not desk.problems and gesture.what != ANYWAY:
            return _ask_to_create(request, desk)
        return _create(request, desk)
    if gesture.verb == CHECK:
        return answers.rehearsed(request, desk)
    if gesture.verb == TO_STEP:
        return answers.to_step(desk, here, gesture.what)
    if gesture.verb == LEAVE:
        return answers.leave(request, desk)
    if gesture.verb == gestures.AS_YAML:
        return SeeOther(yaml_url(desk, here))
    if gesture.verb in (EXPLAIN, NEW):
        return answers.opened(desk, here, gesture)
    if gesture.verb == CONTINUE and here is not Step.REVIEW:
        extra = desk.setup_problems(request.POST) if here is Step.SETUP else []
        return answers.go_on(request, desk, here, extra)
    checked = "check" in request.GET
    return answers.again(request, desk, here, focus=posted.focus, checked=checked)


def _page(data: QueryDict, gesture: Gesture) -> Page:
    return Page(
        tab=data.get("_tab", "").replace("\0", "")[:64],
        seen=whole(data.get("_version", "")) or 0,
        wins=gesture.verb == MINE,
    )


def _conflict(
    request: HttpRequest, desk: Desk, here: Step, late: ChangedElsewhere, gesture: Gesture
) -> HttpResponse:
    at = f"{timezone.localtime(late.at):%H:%M}"
    page = StepPage(desk, here, conflict_at=at)
    return answers.changed_elsewhere(request, page, by_scripts=gesture.verb == AUTOSAVE)


def _create(request: HttpRequest, desk: Desk) -> HttpResponse:
    try:
        workload = creation.create(actor=desk.actor, draft_id=desk.draft_id)
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    except (InvalidSpec, NameTaken, TooManyWaiting, ClusterUnreachable) as refusal:
        problems, status = _told(refusal)
        page = StepPage(desk, Step.REVIEW, checked=True, extra=problems)
        return answers.page(request, page, status=status)
    except NotAllowed as refusal:
        raise PermissionDenied(Refusal(refusal.sentence)) from refusal
    except NotVisible as error:
        raise Http404 from error
    return SeeOther(_detail(workload.pk))


def _ask_to_create(request: HttpRequest, desk: Desk) -> HttpResponse:
    """The cluster rejected the workload when it was asked: it may have changed since."""
    question = Question(
        title=f"Create {desk.choices.name} anyway?",
        text="The cluster rejected it in the dry run, so it will probably fail at once.",
        verb="Create anyway",
        action=step_url(desk, Step.REVIEW),
        cancel_url=step_url(desk, Step.REVIEW),
        hidden={
            "_go": f"{CREATE}:{ANYWAY}",
            "_tab": request.POST.get("_tab", ""),
            "_version": str(drafts.version_of(desk.draft, Step.REVIEW)),
        },
        items=list(dict.fromkeys(one.sentence for one in desk.objections)),
    )
    return ask(request, question)


def _told(refusal: Exception) -> tuple[list[Problem], int]:
    if isinstance(refusal, InvalidSpec):
        return refusal.problems, 422
    if isinstance(refusal, NameTaken):
        return [refusal.problem], 422
    status = 429 if isinstance(refusal, TooManyWaiting) else 503
    return [Problem.of(Role.WORKLOAD, "", "later", why=str(refusal), label="Workload")], status


def _submitted(request: HttpRequest, draft: Draft) -> HttpResponse:
    """The draft was sent: nothing can be changed in it any more."""
    if request.method == "POST":
        return SeeOther(_detail(draft.workload_id))
    return render(request, "wizard/submitted.html", {"workload": draft.workload})


def _detail(workload_id: object) -> str:
    return reverse("workload-detail", args=[workload_id])


@login_required
@require_POST
@never_cache
def start(request: HttpRequest) -> HttpResponse:
    """A draft from a template or an earlier workload (Copy & edit), stored at once."""
    actor = actor_of(request, "form")
    try:
        state = origins.start(actor.user, request.POST)
    except NotVisible as error:
        raise Http404 from error
    copied = bool(state.copied_from)
    draft = drafts.start(
        owner=actor.user,
        draft_id=as_uuid(request.POST.get("key", "")) or uuid.uuid4(),
        state=state,
        steps=tuple(Step) if copied else (),
    )
    if copied:
        _with_refusal(Desk(actor, draft.pk, state, draft))
    return SeeOther(reverse("draft-step", args=[draft.pk, Step.REVIEW if copied else Step.SETUP]))


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def discard(request: HttpRequest, draft: uuid.UUID) -> HttpResponse:
    """GET asks, POST discards the draft."""
    actor = actor_of(request, "form")
    try:
        row = drafts.find(owner=actor.user, draft_id=draft)
        if request.method != "POST":
            return _ask_to_discard(request, row)
        drafts.discard(owner=actor.user, draft_id=draft)
    except NotVisible as error:
        raise Http404 from error
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    messages.success(request, "Draft discarded.")
    return SeeOther(reverse("home"))


def _ask_to_discard(request: HttpRequest, draft: Draft | None) -> HttpResponse:
    if draft is None:
        raise NotVisible
    name = drafts.name_of(draft)
    question = Question(
        title=f"Discard the draft {name}?" if name else "Discard this draft?",
        text="A discarded draft cannot be recovered.",
        verb="Discard",
        action=request.path,
        cancel_url=reverse("home"),
        is_harmful=True,
    )
    return ask(request, question)


def _with_refusal(desk: Desk) -> None:
    """What the cluster had against the copied workload stands at the copy's fields."""
    attempt = Attempt.objects.filter(workload_id=desk.state.copied_from).order_by("-no").first()
    fresh = desk.draft is not None and not desk.draft.rehearsal
    if attempt and attempt.refusal and fresh and desk.draft and desk.preview and desk.request:
        rehearsal.carry_over(desk.draft, attempt, desk.preview, desk.request)


@login_required
@require_POST
@never_cache
def run_template(request: HttpRequest, template: uuid.UUID) -> HttpResponse:
    """One click: a draft from the template, created at once. What keeps it back is shown in Review.

    ``key`` in the form is the draft's id, so that a double click makes one workload.
    """
    actor = actor_of(request, "form")
    try:
        state = origins.from_template(
            actor.user, origins.template_of(actor.user, template), named=True
        )
        draft = drafts.start(
            owner=actor.user,
            draft_id=as_uuid(request.POST.get("key", "")) or uuid.uuid4(),
            state=state,
            steps=tuple(Step),
        )
        return _run(request, actor, draft)
    except NotVisible as error:
        raise Http404 from error


def _run(request: HttpRequest, actor: Actor, draft: Draft) -> HttpResponse:
    try:
        workload = creation.create(actor=actor, draft_id=draft.pk)
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    except (InvalidSpec, NameTaken, TooManyWaiting, ClusterUnreachable):
        drafts.discard_untouched(owner=actor.user, like=draft)
        return SeeOther(reverse("draft-step", args=[draft.pk, Step.REVIEW]) + "?check=1")
    except NotAllowed as refusal:
        raise PermissionDenied(Refusal(refusal.sentence)) from refusal
    return SeeOther(_detail(workload.pk))
