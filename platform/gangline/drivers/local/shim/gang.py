"""What one shim knows and does about the other replicas of its gang."""

import os
import time
from typing import Any

from . import files, gang_end, tree, words

INCOMPLETE_AFTER = 10.0
"""Seconds all claims may take; then those who started end again (R7)."""
PATIENCE = 5.0
"""Seconds in which who serves the others may end by itself once they are done."""
RANK_VARIABLES = (b"OMPI_COMM_WORLD_RANK", b"HOROVOD_RANK")


class Gang:
    """The plan's replicas as seen from ``name``."""

    def __init__(self, ctl: str, plan: dict[str, Any], name: str) -> None:
        self.ctl, self.plan, self.name = ctl, plan, name
        self.names = [str(r["name"]) for r in plan["replicas"]]
        self.failure_grace = min(float(plan["grace"]), gang_end.FAILURE_GRACE)
        self.pause = 0.2 if plan["ranks"] else 1.0
        """Seconds to the next look: shorter while MPI ranks are awaited."""
        self._awaited = {str(r["rank"]): str(r["name"]) for r in plan["ranks"]}
        self._is_complete = False

    def fail(self, reason: str) -> bool:
        """End the gang because this replica failed; False when another one was first."""
        return self._end(gang_end.FAILURE, self.name, reason)

    def fail_for_good(self, reason: str) -> None:
        """As ``fail`` of a replica that has ended: it can wait until the disk has room."""
        files.once_there_is_room(lambda: self._ask(gang_end.FAILURE, self.name, reason))

    def look_after_others(self, began: float) -> None:
        """End the gang when it never became whole, or when a neighbour is gone without a word."""
        if not self._is_complete:
            here = len([n for n in self.names if os.path.exists(f"{self.ctl}/claims/{n}")])
            self._is_complete = here == len(self.names)
            if not self._is_complete:
                if time.time() - began > INCOMPLETE_AFTER:
                    reason = f"{here} of {len(self.names)} processes started."
                    self._end(gang_end.INCOMPLETE, "", reason)
                return
        gone = self._gone_neighbour()
        if gone:
            self._end(gang_end.FAILURE, gone, words.DISAPPEARED)
            tree.kill_marked(self.plan["marks"][gone])

    def is_served(self) -> bool:
        """Whether all that others serve have ended well, long enough ago for these to see it."""
        served = [r["name"] for r in self.plan["replicas"] if not r.get("serves")]
        ends = [files.read_json(f"{self.ctl}/exits/{name}") for name in served]
        return all(
            end is not None
            and end["state"] == "Succeeded"
            and time.time() > end["ended"] + PATIENCE
            for end in ends
        )

    def new_ranks(self, processes: list[tree.Process]) -> list[tuple[str, tree.Process]]:
        """MPI ranks seen for the first time among the launcher's processes."""
        if not self._awaited:
            return []
        found: list[tuple[str, tree.Process]] = []
        for process in processes:
            for variable in tree.environment(process.pid):
                name, _, value = variable.partition(b"=")
                rank = value.decode(errors="replace")
                if name in RANK_VARIABLES and rank in self._awaited:
                    found.append((self._awaited.pop(rank), process))
        if not self._awaited:
            self.pause = 1.0
        return found

    def _gone_neighbour(self) -> str:
        """Each looks at the next one that has not ended, so whoever disappears is seen."""
        here = self.names.index(self.name)
        for name in self.names[here + 1 :] + self.names[:here]:
            if os.path.exists(f"{self.ctl}/exits/{name}"):
                continue
            claim = files.read_json(f"{self.ctl}/claims/{name}")
            if claim is None or tree.is_alive(claim["pid"], claim["start_time"]):
                return ""
            if not os.path.exists(f"{self.ctl}/exits/{name}"):
                return name
        return ""

    def _end(self, cause: str, replica: str, reason: str) -> bool:
        """False also while the disk is full: whoever looks again or ends asks again."""
        try:
            return self._ask(cause, replica, reason)
        except OSError as problem:
            if not files.is_full(problem):
                raise
            return False

    def _ask(self, cause: str, replica: str, reason: str) -> bool:
        return gang_end.request(
            self.ctl, cause=cause, grace=self.failure_grace, replica=replica, reason=reason
        )
