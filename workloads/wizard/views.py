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
from gangline.lib.texts import as_uuid, whole
from gangline.spec.problems import InvalidSpec, Problem, Role
from gangline.spec_forms.form_actions import CONTINUE, FormAction
from gangline.web.confirm import Question, ask
from gangline.web.errors import Refusal
from workloads.models import Attempt, Draft
from workloads.services.submission import ClusterUnreachable, NameTaken, TooManyWaiting
from workloads.wizard import (
    answers,
    asset_details,
    creation,
    drafts,
    explanation,
    form_actions,
    last_dry_run,
    new_asset,
    origins,
)
from workloads.wizard.answers import SeeOther
from workloads.wizard.context import WizardContext
from workloads.wizard.drafts import AlreadySubmitted, CannotBeStored, ChangedElsewhere, Page
from workloads.wizard.galleries import NEW, SHOW
from workloads.wizard.pages import StepPage, step_url
from workloads.wizard.posted_step import PostedStep
from workloads.wizard.review import CLUSTER_CHECK
from workloads.wizard.state import DraftState
from workloads.wizard.steps import Step
from workloads.wizard.yaml_input import PostedYaml
from workloads.wizard.yaml_page import YamlPage, yaml_url

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
    wizard, here = _desk(request, draft), Step(step)
    if wizard.draft is not None and wizard.draft.workload_id is not None:
        return _submitted(request, wizard.draft)
    if (key := request.GET.get(NEW)) and wizard.draft is not None:
        return new_asset.page(request, wizard, here, key)
    if request.method == "POST":
        return _post(request, wizard, here)
    return _get(request, wizard, here)


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def as_yaml(request: HttpRequest, draft: uuid.UUID, step: str) -> HttpResponse:
    """The whole draft as text; ``step`` is where the form goes on."""
    wizard, here = _desk(request, draft), Step(step)
    if wizard.draft is not None and wizard.draft.workload_id is not None:
        return _submitted(request, wizard.draft)
    if request.method == "POST":
        return _post_yaml(request, wizard, here)
    return answers.as_yaml(request, YamlPage(wizard, here))


def _desk(request: HttpRequest, draft: uuid.UUID) -> WizardContext:
    """The draft as it is stored; one that is not begins as the address says."""
    actor = actor_of(request, "form")
    try:
        row = drafts.find(owner=actor.user, draft_id=draft)
        state = DraftState.from_json(row.inputs) if row else origins.start(actor.user, request.GET)
    except NotVisible as error:
        raise Http404 from error
    return WizardContext(actor, draft, state, row)


@login_required
@require_http_methods(["GET", "HEAD"])
@never_cache
def equivalent(request: HttpRequest, draft: uuid.UUID, key: str) -> HttpResponse:
    """The draft said in another way, as a file."""
    wizard = _desk(request, draft)
    if wizard.draft is None:
        raise Http404
    return answers.download(request, wizard, key)


def _post_yaml(request: HttpRequest, wizard: WizardContext, here: Step) -> HttpResponse:
    form_action = FormAction.of(request.POST.get("_go", ""))
    if form_action.verb == THEIRS:
        return SeeOther(yaml_url(wizard, here))
    posted = PostedYaml(wizard, request.POST.get("yaml", ""))
    try:
        saved = drafts.save(
            owner=wizard.actor.user,
            draft_id=wizard.draft_id,
            step=drafts.WHOLE,
            page=_page(request.POST, form_action),
            change=posted.change,
            start=wizard.state,
        )
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    except CannotBeStored:
        page = YamlPage(wizard, here, posted=posted.text)
        return answers.as_yaml(request, page, status=422)
    except ChangedElsewhere as late:
        at = f"{timezone.localtime(late.at):%H:%M}"
        page = YamlPage(wizard, here, conflict_at=at, posted=posted.text)
        by_scripts = form_action.verb == AUTOSAVE
        return answers.changed_elsewhere(request, page, by_scripts=by_scripts)
    except NotVisible as error:
        raise Http404 from error
    now = YamlPage(WizardContext(wizard.actor, wizard.draft_id, saved.state, saved.draft), here)
    return _answer_yaml(request, now, posted, form_action)


def _answer_yaml(
    request: HttpRequest, page: YamlPage, posted: PostedYaml, form_action: FormAction
) -> HttpResponse:
    if form_action.verb == AUTOSAVE:
        return answers.yaml_autosaved(request, page)
    if form_action.verb == form_actions.AS_FORM:
        return SeeOther(step_url(page.wizard, page.step))
    if form_action.verb == LEAVE:
        return answers.leave(request, page.wizard)
    if posted.unreadable is not None:
        return answers.as_yaml(request, replace(page, posted=posted.text), status=422)
    if form_action.verb == TO_STEP:
        return answers.to_step(page.wizard, page.step, form_action.what)
    if form_action.verb == CONTINUE:
        return SeeOther(step_url(page.wizard, Step.REVIEW, check="1"))
    return SeeOther(yaml_url(page.wizard, page.step))


def _get(request: HttpRequest, wizard: WizardContext, here: Step) -> HttpResponse:
    if wizard.draft is None and here is not Step.SETUP:
        return redirect(f"{step_url(wizard, Step.SETUP)}?{request.GET.urlencode()}".rstrip("?"))
    if here not in wizard.steps:
        return redirect(step_url(wizard, Step.REVIEW))
    if path := request.GET.get("explain", ""):
        return explanation.page(request, wizard, here, path)
    if key := request.GET.get(SHOW, ""):
        return asset_details.page(request, wizard, here, key)
    check = request.GET.get("check")
    focus = CLUSTER_CHECK if check == answers.CLUSTER and here is Step.REVIEW else ""
    return answers.page(request, StepPage(wizard, here, checked=check is not None, focus=focus))


def _post(request: HttpRequest, wizard: WizardContext, here: Step) -> HttpResponse:
    form_action = FormAction.of(request.POST.get("_go", ""))
    if form_action.verb == THEIRS:
        return SeeOther(step_url(wizard, here))
    posted = PostedStep(wizard.actor, wizard.draft, here, request.POST, form_action, wizard)
    try:
        saved = drafts.save(
            owner=wizard.actor.user,
            draft_id=wizard.draft_id,
            step=here,
            page=_page(request.POST, form_action),
            change=posted.change,
            start=wizard.state,
        )
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    except CannotBeStored as error:
        page = StepPage(replace(wizard, state=error.mine), here, checked=True)
        return answers.page(request, page, status=422)
    except ChangedElsewhere as late:
        return _conflict(request, replace(wizard, state=late.mine), here, late, form_action)
    except NotVisible as error:
        raise Http404 from error
    posted.audit()
    now = wizard.after_saving(saved.state, saved.draft)
    return _answer(request, now, here, form_action, posted)


def _answer(
    request: HttpRequest,
    wizard: WizardContext,
    here: Step,
    form_action: FormAction,
    posted: PostedStep,
) -> HttpResponse:
    if form_action.verb == AUTOSAVE:
        return answers.autosaved(request, wizard, here, checked="check" in request.GET)
    if form_action.verb == CREATE and here is Step.REVIEW:
        if wizard.objections and not wizard.problems and form_action.what != ANYWAY:
            return _ask_to_create(request, wizard)
        return _create(request, wizard)
    if form_action.verb == CHECK:
        return answers.dry_run_answer(request, wizard)
    if form_action.verb == TO_STEP:
        return answers.to_step(wizard, here, form_action.what)
    if form_action.verb == LEAVE:
        return answers.leave(request, wizard)
    if form_action.verb == form_actions.AS_YAML:
        return SeeOther(yaml_url(wizard, here))
    if form_action.verb in (EXPLAIN, NEW, SHOW):
        return answers.opened(wizard, here, form_action)
    if form_action.verb == CONTINUE and here is not Step.REVIEW:
        extra = wizard.setup_problems(request.POST) if here is Step.SETUP else []
        return answers.go_on(request, wizard, here, extra)
    checked = "check" in request.GET
    return answers.again(request, wizard, here, focus=posted.focus, checked=checked)


def _page(data: QueryDict, form_action: FormAction) -> Page:
    return Page(
        tab=data.get("_tab", "").replace("\0", "")[:64],
        seen=whole(data.get("_version", "")) or 0,
        wins=form_action.verb == MINE,
    )


def _conflict(
    request: HttpRequest,
    wizard: WizardContext,
    here: Step,
    late: ChangedElsewhere,
    form_action: FormAction,
) -> HttpResponse:
    at = f"{timezone.localtime(late.at):%H:%M}"
    page = StepPage(wizard, here, conflict_at=at)
    return answers.changed_elsewhere(request, page, by_scripts=form_action.verb == AUTOSAVE)


def _create(request: HttpRequest, wizard: WizardContext) -> HttpResponse:
    try:
        workload = creation.create(actor=wizard.actor, draft_id=wizard.draft_id)
    except AlreadySubmitted as done:
        return SeeOther(_detail(done.workload_id))
    except (InvalidSpec, NameTaken, TooManyWaiting, ClusterUnreachable) as refusal:
        problems, status = _told(refusal)
        page = StepPage(wizard, Step.REVIEW, checked=True, extra=problems)
        return answers.page(request, page, status=status)
    except NotAllowed as refusal:
        raise PermissionDenied(Refusal(refusal.sentence)) from refusal
    except NotVisible as error:
        raise Http404 from error
    return SeeOther(_detail(workload.pk))


def _ask_to_create(request: HttpRequest, wizard: WizardContext) -> HttpResponse:
    """The cluster rejected the workload when it was asked: it may have changed since."""
    question = Question(
        title=f"Create {wizard.choices.name} anyway?",
        text="The cluster rejected it in the dry run, so it will probably fail immediately.",
        verb="Create anyway",
        action=step_url(wizard, Step.REVIEW),
        cancel_url=step_url(wizard, Step.REVIEW),
        hidden={
            "_go": f"{CREATE}:{ANYWAY}",
            "_tab": request.POST.get("_tab", ""),
            "_version": str(drafts.version_of(wizard.draft, Step.REVIEW)),
        },
        items=list(dict.fromkeys(one.sentence for one in wizard.objections)),
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
        _with_refusal(WizardContext(actor, draft.pk, state, draft))
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


def _with_refusal(wizard: WizardContext) -> None:
    """What the cluster had against the copied workload stands at the copy's fields."""
    attempt = Attempt.objects.filter(workload_id=wizard.state.copied_from).order_by("-no").first()
    fresh = wizard.draft is not None and not wizard.draft.last_dry_run
    if attempt and attempt.refusal and fresh and wizard.draft and wizard.preview and wizard.request:
        last_dry_run.carry_over(wizard.draft, attempt, wizard.preview, wizard.request)


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
