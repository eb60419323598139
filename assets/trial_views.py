"""Testing a stored data source or credential, from its own page."""

from typing import Any

from assets import trials
from gangline.clusters import trial_views
from gangline.drivers.trials.places import Outcome
from gangline.resources.resource import Panel


class TestView(trial_views.TestView):
    def outcome(self, obj: Any) -> Outcome | None:
        if not trials.can_be_tested(obj):
            return None
        return trials.stored(self.actor, self.resource, obj)


def panel_of(resource: Any) -> Panel:
    return trial_views.panel_of(resource, trials.can_be_tested)
