"""Which collections of a cluster are followed, and in which namespaces.

One stream for each kind sees all namespaces. Where a site does not grant that, each kind is
followed in the namespaces that this installation has made, until it may be done at once again.
"""

import threading
import time
from collections.abc import Sequence

from . import errors, labels
from .cancellation import Cancellation
from .client import Answer, Client, Unreachable
from .reflector import Reflector
from .resources import NAMESPACES, PODS, Resource
from .store import Store, Stream

LOOK_EVERY = 10.0
"""Seconds after which namespaces are looked for anew: a project may have got its own."""
PATIENCE = 0.5
"""Seconds for which the watch waits for them: while it does, nobody sees that it is alive."""


class Following:
    """The reflectors of one watch. Used by one thread."""

    def __init__(
        self, client: Client, install: str, resources: Sequence[Resource], store: Store
    ) -> None:
        self.client, self.resources, self.store = client, resources, store
        self._selector = labels.selector(install)
        self._reflectors: dict[Stream, Reflector] = {}
        self._namespaces: list[str] | None = None
        self._look: _Look | None = None
        """The one that is under way."""
        self._looked_at = float("-inf")
        self._why_not = ""
        self._may_not_look = False

    def start(self) -> None:
        for resource in self.resources:
            self._follow((resource, ""))

    def stop(self) -> None:
        """End all threads, whatever they wait for."""
        for reflector in self._reflectors.values():
            reflector.stop()
        if self._look is not None:
            self._look.cancellation.cut()

    @property
    def trouble(self) -> str:
        """Why a part of the cluster cannot be followed; empty when everything is."""
        whole = [r for r in self.resources if r not in self.store.forbidden]
        parts = [stream for stream in self._reflectors if stream[1]]
        said = self.store.trouble_of([*((r, "") for r in whole), *parts])
        if said or len(whole) == len(self.resources) or self._namespaces is not None:
            return said
        forbidden = [(r, "") for r in self.resources if r in self.store.forbidden]
        return self._why_not or self.store.trouble_of(forbidden)

    def is_ready(self, *, patient: bool) -> bool:
        """Whether enough was listed to judge by. A kind that may not be followed is not waited for
        for ever; without the pods nothing can be said of any."""
        missing = [resource for resource in self.resources if not self._is_heard(resource)]
        if patient or PODS in missing:
            return not missing
        return all((resource, "") in self.store.troubles for resource in missing)

    @property
    def is_whole(self) -> bool:
        """Whether everything was listed that may be listed at all; without the pods nothing is."""
        return all(
            self._is_heard(resource) or (resource != PODS and self._is_barred(resource))
            for resource in self.resources
        )

    def adapt(self) -> None:
        """Follow by namespace what may not be followed at once, and only that."""
        forbidden = {r for r in self.resources if r in self.store.forbidden}
        if self._look is not None or forbidden:
            self._look_for_namespaces()
        wanted = {(r, place) for r in forbidden for place in self._namespaces or ()}
        for stream in [s for s in self._reflectors if s[1] and s not in wanted]:
            self._reflectors.pop(stream).stop()
            if stream[0] in forbidden:
                self.store.forget(stream)  # the namespace is no more
        for stream in wanted - self._reflectors.keys():
            self._follow(stream)
        in_parts = {resource for resource in forbidden if self._is_heard(resource)}
        self.store.only(self._reflectors.keys(), in_parts)

    def _is_heard(self, resource: Resource) -> bool:
        if resource not in self.store.forbidden:
            return self.store.is_heard((resource, ""))
        if self._namespaces is None:
            return False
        return all(self.store.is_heard((resource, place)) for place in self._namespaces)

    def _is_barred(self, resource: Resource) -> bool:
        """Whether it may not be listed anywhere, as far as it was not."""
        if resource not in self.store.forbidden:
            return False
        if self._namespaces is None:
            return self._may_not_look
        streams = ((resource, place) for place in self._namespaces)
        return all(self.store.is_heard(one) or self.store.is_barred(one) for one in streams)

    def _follow(self, stream: Stream) -> None:
        resource, namespace = stream
        made = Reflector(self.client, resource, self._selector, self.store, namespace)
        self._reflectors[stream] = made
        made.start()

    def _look_for_namespaces(self) -> None:
        if self._look is None:
            if time.monotonic() - self._looked_at < LOOK_EVERY:
                return
            self._look = _Look(self.client, self._selector)
            self._look.start()
            self._look.join(PATIENCE)
        if self._look.is_alive():
            return
        # The next one counts from its end: a slow one is no reason to ask without a pause.
        look, self._look, self._looked_at = self._look, None, time.monotonic()
        answer = look.answer
        if answer is None:
            self._why_not = look.why_not
            return
        if not answer.ok:
            self._why_not = errors.reading(answer)
            self._may_not_look = answer.status == 403
            return
        items = answer.body.get("items") or ()
        self._namespaces = sorted(str(item["metadata"]["name"]) for item in items)


class _Look(threading.Thread):
    """Lists the namespaces of an installation, which may take as long as any request."""

    def __init__(self, client: Client, selector: str) -> None:
        super().__init__(name="look-for-namespaces", daemon=True)
        self.client, self.selector, self.cancellation = client, selector, Cancellation()
        self.answer: Answer | None = None
        self.why_not = "The answer of the cluster could not be read."

    def run(self) -> None:
        query = {"labelSelector": self.selector}
        try:
            self.answer = self.client.request(
                "GET", NAMESPACES.path(), query=query, cancellation=self.cancellation
            )
        except Unreachable as why:
            self.why_not = str(why)
