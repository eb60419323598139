"""The table of desired against observed state, every pair of it."""

import pytest

from gangline.drivers.base import ObservedState as Seen
from workloads.services.phases import Action, Situation, derive_phase, plan
from workloads.statuses import PILLS, STATUSES, status_of, statuses_of

ROWS: dict[tuple[str, Seen], tuple[Action, str]] = {
    ("Running", Seen.UNKNOWN): (Action.WAIT, "Unknown"),
    ("Running", Seen.HELD): (Action.COMMIT, "Creating"),
    ("Running", Seen.PENDING): (Action.NOTHING, "Pending"),
    ("Running", Seen.STARTING): (Action.WAIT, "Initializing"),
    ("Running", Seen.RUNNING): (Action.NOTHING, "Running"),
    ("Running", Seen.SUSPENDED): (Action.RESUME, "Resuming"),
    ("Running", Seen.SUCCEEDED): (Action.NOTHING, "Completed"),
    ("Running", Seen.FAILED): (Action.NOTHING, "Failed"),
    ("Running", Seen.TERMINATING): (Action.WAIT, "Terminating"),
    ("Running", Seen.CONFLICT): (Action.NOTHING, "Failed"),
    ("Stopped", Seen.UNKNOWN): (Action.WAIT, "Stopping"),
    ("Stopped", Seen.HELD): (Action.SUSPEND, "Stopping"),
    ("Stopped", Seen.PENDING): (Action.SUSPEND, "Stopping"),
    ("Stopped", Seen.STARTING): (Action.SUSPEND, "Stopping"),
    ("Stopped", Seen.RUNNING): (Action.SUSPEND, "Stopping"),
    ("Stopped", Seen.SUSPENDED): (Action.NOTHING, "Stopped"),
    ("Stopped", Seen.SUCCEEDED): (Action.NOTHING, "Stopped"),
    ("Stopped", Seen.FAILED): (Action.NOTHING, "Stopped"),
    ("Stopped", Seen.TERMINATING): (Action.WAIT, "Stopping"),
    ("Stopped", Seen.CONFLICT): (Action.END, "Stopped"),
    ("Deleted", Seen.UNKNOWN): (Action.WAIT, "Deleting"),
    ("Deleted", Seen.HELD): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.PENDING): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.STARTING): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.RUNNING): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.SUSPENDED): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.SUCCEEDED): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.FAILED): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.TERMINATING): (Action.DELETE, "Deleting"),
    ("Deleted", Seen.CONFLICT): (Action.VANISH, "Deleting"),
}
"""What was seen on the cluster at least once."""

ABSENT: dict[tuple[str, str], tuple[Action, str]] = {
    ("Running", "none"): (Action.CREATE, "Creating"),
    ("Running", "sent"): (Action.WAIT, "Creating"),
    ("Running", "seen"): (Action.NOTHING, "Failed"),
    ("Stopped", "none"): (Action.END, "Stopped"),
    ("Stopped", "sent"): (Action.WAIT, "Stopping"),
    ("Stopped", "seen"): (Action.END, "Stopped"),
    ("Stopped", "gone"): (Action.END, "Stopped"),
    ("Deleted", "none"): (Action.VANISH, "Deleting"),
    ("Deleted", "sent"): (Action.WAIT, "Deleting"),
    ("Deleted", "seen"): (Action.VANISH, "Deleting"),
    ("Deleted", "gone"): (Action.VANISH, "Deleting"),
}


def test_the_table_names_every_pair() -> None:
    wanted = {(d, s) for d in ("Running", "Stopped", "Deleted") for s in Seen if s != Seen.ABSENT}
    assert set(ROWS) == wanted


@pytest.mark.parametrize("pair", ROWS, ids=lambda pair: f"{pair[0]}-{pair[1].value}")
def test_every_pair_has_its_action_and_phase(pair: tuple[str, Seen]) -> None:
    situation = Situation(desired=pair[0], observed=pair[1], create_state="seen")
    assert (plan(situation), derive_phase(situation)) == ROWS[pair]


@pytest.mark.parametrize("pair", ABSENT, ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_what_absence_means_depends_on_what_was_sent(pair: tuple[str, str]) -> None:
    situation = Situation(desired=pair[0], observed=Seen.ABSENT, create_state=pair[1])
    assert (plan(situation), derive_phase(situation)) == ABSENT[pair]


@pytest.mark.parametrize(
    ("desired", "action"),
    [("Running", Action.CREATE), ("Stopped", Action.END), ("Deleted", Action.VANISH)],
)
def test_an_unseen_create_is_given_up_only_when_it_cannot_land_any_more(
    desired: str, action: Action
) -> None:
    sent = Situation(desired=desired, create_state="sent", absence_is_certain=True)
    assert plan(sent) == action


@pytest.mark.parametrize("desired", ["Stopped", "Deleted"])
def test_what_was_never_sent_ends_without_asking_the_cluster(desired: str) -> None:
    never_sent = Situation(desired=desired, observed=Seen.UNKNOWN, create_state="none")
    assert plan(never_sent) in (Action.END, Action.VANISH)


def test_where_slots_are_ours_nothing_is_created_without_them() -> None:
    waiting = Situation(hands_out_slots=True)
    assert plan(waiting) == Action.PLACE
    assert plan(Situation(hands_out_slots=True, placed=True)) == Action.CREATE


def test_a_gang_that_was_only_started_in_part_is_created_again_unless_it_was_answered() -> None:
    part = Situation(observed=Seen.STARTING, create_state="seen", incomplete=True)
    assert plan(part) == Action.CREATE
    answered = Situation(
        observed=Seen.STARTING, create_state="seen", incomplete=True, create_answered=True
    )
    assert plan(answered) == Action.WAIT


@pytest.mark.parametrize("seen", [Seen.RUNNING, Seen.TERMINATING, Seen.PENDING])
def test_run_pressed_during_a_stop_waits_for_the_end(seen: Seen) -> None:
    stopping = Situation(observed=seen, create_state="seen", stop_sent=True)
    assert plan(stopping) == Action.WAIT
    assert derive_phase(stopping) == "Resuming"


def test_a_fresh_stop_or_deletion_is_not_repeated() -> None:
    assert (
        plan(
            Situation(
                desired="Stopped", observed=Seen.RUNNING, create_state="seen", stop_is_fresh=True
            )
        )
        == Action.WAIT
    )
    assert (
        plan(
            Situation(
                desired="Deleted", observed=Seen.RUNNING, create_state="seen", delete_is_fresh=True
            )
        )
        == Action.WAIT
    )


@pytest.mark.parametrize("outcome", ["Succeeded", "Failed", "LostExternally"])
@pytest.mark.parametrize("seen", list(Seen))
def test_an_ended_attempt_is_never_started_again(outcome: str, seen: Seen) -> None:
    ended = Situation(observed=seen, create_state="seen", outcome=outcome)
    assert plan(ended) == Action.NOTHING
    assert derive_phase(ended) == ("Completed" if outcome == "Succeeded" else "Failed")


def test_a_late_landing_of_a_deleted_workload_is_deleted() -> None:
    late = Situation(desired="Deleted", observed=Seen.RUNNING, create_state="gone", is_deleted=True)
    assert plan(late) == Action.DELETE
    gone = Situation(desired="Deleted", create_state="gone", is_deleted=True)
    assert plan(gone) == Action.NOTHING


def test_replicas_that_failed_while_others_run_make_it_degraded() -> None:
    ill = Situation(observed=Seen.RUNNING, create_state="seen", ill=1)
    assert derive_phase(ill) == "Degraded"


@pytest.mark.parametrize("reason", ["pauses", "waits", "impossible"])
def test_without_slots_it_is_pending(reason: str) -> None:
    assert derive_phase(Situation(**{reason: True})) == "Pending"  # type: ignore[arg-type]


def test_a_suspended_object_of_kueue_is_pending_once_it_was_released() -> None:
    assert derive_phase(Situation(observed=Seen.HELD, released=True)) == "Pending"


def test_only_one_status_of_a_tone_has_a_shape() -> None:
    looks = [(status.tone, status.shape) for status in STATUSES.values()]
    assert len(looks) == len(set(looks))


def test_every_status_is_behind_exactly_one_pill() -> None:
    behind = [word for pill in PILLS for word in statuses_of(pill)]
    assert sorted(behind) == sorted(STATUSES)


PHASES = (
    "Creating", "Initializing", "Resuming", "Pending", "Deleting", "Running", "Updating",
    "Stopped", "Stopping", "Degraded", "Failed", "Completed", "Terminating", "Unknown",
)  # fmt: skip


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("cannot_start", [False, True])
def test_every_phase_of_the_api_has_a_word(phase: str, cannot_start: bool) -> None:
    assert status_of(phase, cannot_start=cannot_start) in STATUSES


def test_what_can_never_start_is_told_apart_from_what_waits() -> None:
    assert status_of("Pending", cannot_start=True) == "Cannot start"
    assert status_of("Running", cannot_start=True) == "Running"
