"""The checker of the fault tests can fail."""

from typing import Any, cast

import pytest

from tests.support.fault_proxy import FaultProxy
from tests.support.kubernetes_engine import KubernetesEngine
from tests.support.kubernetes_truth import assert_world

pytestmark = pytest.mark.thorough


class Unused:
    """A proxy that nothing went through."""

    def seen(self, *arguments: object) -> list[object]:
        return []


def test_a_world_in_which_nothing_was_made_proves_nothing() -> None:
    nobody: Any = None
    engine = KubernetesEngine(nobody, nobody, nobody, nobody, "install")
    with pytest.raises(AssertionError, match="nothing was submitted"):
        assert_world(engine, cast(FaultProxy, Unused()))
