"""What may happen to a request on its way through `tests.support.fault_proxy`."""

import http.client
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from .fault_proxy import Action, Exchange


def answers(status: int, message: str = "", *, headers: Mapping[str, str] | None = None) -> Action:
    """Answer so, and let nothing happen."""

    def act(exchange: Exchange) -> None:
        exchange.tell(status, _status(status, message), headers)

    return act


def answers_after(status: int, message: str = "") -> Action:
    """Let it happen, and answer so."""

    def act(exchange: Exchange) -> None:
        exchange.ask()
        exchange.tell(status, _status(status, message))

    return act


def loses_the_answer(exchange: Exchange) -> None:
    """Let it happen, and cut the connection."""
    exchange.ask()
    exchange.cut()


def delays(seconds: float) -> Action:
    """Pass it on that much later."""

    def act(exchange: Exchange) -> None:
        time.sleep(seconds)
        exchange.pass_on()

    return act


def throttles(rate: float) -> Action:
    """Pass the answer on at ``rate`` bytes per second."""
    return lambda exchange: exchange.pass_on(rate=rate)


def streams(*events: Mapping[str, Any], then_passes: bool = False) -> Action:
    """Tell these events of a watch first; ``then_passes``: what the cluster tells, after them."""
    said = b"".join(json.dumps(event).encode() + b"\n" for event in events)

    def act(exchange: Exchange) -> None:
        if then_passes:
            exchange.pass_on(first=said)
        else:
            exchange.tell(200, said)

    return act


def ends_after(seconds: int) -> Action:
    """Let the server itself end a watch so soon."""

    def act(exchange: Exchange) -> None:
        url = exchange.request.url
        exchange.request.url = re.sub(r"timeoutSeconds=\d+", f"timeoutSeconds={seconds}", url)
        exchange.pass_on()

    return act


class Late:
    """Cuts the connection, and carries the request to the cluster when `land` is called."""

    def __init__(self) -> None:
        self.held: list[Exchange] = []

    def __call__(self, exchange: Exchange) -> None:
        self.held.append(exchange)
        exchange.cut()

    def land(self) -> list[int]:
        """The effects happen now; the cluster's answers, which nobody hears."""
        for exchange in self.held:
            exchange.ask()
        told = [exchange.request.status or 0 for exchange in self.held]
        self.held = []
        return told


def _status(status: int, message: str) -> bytes:
    """As the API server words an error."""
    return json.dumps(
        {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status,
         "reason": http.client.responses.get(status, ""), "message": message}
    ).encode()  # fmt: skip
