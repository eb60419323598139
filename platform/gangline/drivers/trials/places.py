"""What is tried out, and how a trial ended. All of it travels to the program as JSON and back."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from gangline.drivers.checks import State
from gangline.lib.problems import Problem


@dataclass(frozen=True, slots=True)
class Repository:
    """A Git repository. ``key``: a private key, for SSH; user and password are for HTTP."""

    url: str
    branch: str = ""
    revision: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket of an S3 service; without a key it is tried as everybody."""

    service: str
    name: str
    key_id: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry of images, and a login there."""

    url: str
    user: str
    password: str = field(repr=False)
    lists: str | None = None
    """What is listed after the login: the tags of a repository, with ``""`` all repositories."""


@dataclass(frozen=True, slots=True)
class Issuer:
    """An OpenID Connect provider; it is asked what it says about itself, which is public."""

    url: str


Place = Repository | Bucket | Registry | Issuer
PLACES: Mapping[str, type[Any]] = {
    one.__name__: one for one in (Repository, Bucket, Registry, Issuer)
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a trial ended: ``problem`` has code and parameters, none of them from a server."""

    state: State
    problem: Problem
    names: tuple[str, ...] = ()
    """What was listed: these are a server's, each of them in the letters that it may have."""

    @property
    def code(self) -> str:
        """``refused``, as the API calls it."""
        return self.problem.code.partition(":")[2]

    @property
    def tone(self) -> str:
        """In which tone it is shown."""
        return {State.OK: "good", State.WARNING: "warn"}.get(self.state, "bad")

    def as_json(self) -> dict[str, Any]:
        stored = {"state": str(self.state), "problem": self.problem.as_stored()}
        return {**stored, "names": self.names}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        problem = Problem.from_stored(stored["problem"])
        return cls(State(stored["state"]), problem, tuple(stored["names"]))


def found(code: str, state: State = State.OK, **params: Any) -> Outcome:
    return Outcome(state, Problem(f"connection:{code}", "", params))


class Failed(Exception):
    """A trial has ended, and not well. ``code`` and ``params`` as in the words for it."""

    def __init__(self, code: str, **params: Any) -> None:
        super().__init__(code)
        self.outcome = found(code, State.FAILED, **params)


def packed(place: Place) -> dict[str, Any]:
    return {"kind": type(place).__name__, **asdict(place)}


def unpacked(stored: Mapping[str, Any]) -> Place:
    rest = {name: value for name, value in stored.items() if name != "kind"}
    made: Place = PLACES[stored["kind"]](**rest)
    return made
