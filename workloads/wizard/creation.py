"""Create: one draft becomes one workload, however often the button is pressed (R25a)."""

import hashlib
import json
import uuid
from dataclasses import asdict

from django.db import transaction

from gangline.access.actor import Actor
from gangline.spec.problems import InvalidSpec
from workloads.models import Workload
from workloads.services import submission
from workloads.wizard import drafts
from workloads.wizard.context import WizardContext
from workloads.wizard.drafts import AlreadySubmitted
from workloads.wizard.state import DraftState


@transaction.atomic
def create(*, actor: Actor, draft_id: uuid.UUID) -> Workload:
    """Submit the draft. The row is locked first, so a second Create waits and then sees the first.

    Raises AlreadySubmitted, NotVisible, and everything that `submission.submit` raises.
    """
    draft = drafts.locked(owner=actor.user, draft_id=draft_id)
    if draft.workload_id is not None:
        raise AlreadySubmitted(draft.workload_id)
    wizard = WizardContext(actor, draft_id, DraftState.from_json(draft.inputs), draft)
    request = wizard.request
    if request is None or wizard.strange:
        raise InvalidSpec(wizard.problems)
    submitted = submission.submit(
        actor=actor, request=request, key=str(draft_id), request_hash=hash_of(request)
    )
    draft.workload = submitted.workload
    draft.save(update_fields=["workload"])
    return submitted.workload


def hash_of(request: submission.SubmissionRequest) -> str:
    """Fingerprint of what is asked, to tell a repeated request from another one."""
    text = json.dumps(asdict(request), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
