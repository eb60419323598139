"""A draft in the shape that the steps work with; the row holds the same as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gangline.spec.problems import Role
from gangline.spec.sources import YOU, Source
from gangline.spec_forms.raw import RoleInputs, Typed

CLUSTER, PROJECT, FRAMEWORK = "clusterId", "projectId", "distributedFramework"
CONFIGURATION, TEMPLATE, NAME = "configuration", "templateId", "name"
SETUP_FIELDS = (CLUSTER, PROJECT, FRAMEWORK, CONFIGURATION, TEMPLATE, NAME)
SCRATCH = ""
"""Chosen "From scratch" in the gallery of templates."""


@dataclass(frozen=True, slots=True)
class Written:
    """What somebody wrote as YAML. ``body``: what the form said then."""

    text: str
    body: Mapping[str, Any] = field(default_factory=dict)
    unread: str = ""
    """A newer text that cannot be read; the form has what the last readable one said."""
    is_strange: bool = False
    """The text says what no field of the form can hold."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Written":
        return cls(
            str(data.get("text", "")),
            data.get("body", {}),
            str(data.get("unread", "")),
            bool(data.get("strange", False)),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "body": self.body,
            "unread": self.unread,
            "strange": self.is_strange,
        }


@dataclass(frozen=True, slots=True)
class DraftState:
    """Everything typed so far. Nothing is ever discarded, also not what a choice hides."""

    setup: Mapping[str, Typed] = field(default_factory=dict)
    worker: RoleInputs = field(default_factory=RoleInputs)
    master: RoleInputs = field(default_factory=RoleInputs)
    different: bool | None = None
    """The master's toggle; None: never touched."""
    is_own: bool = False
    """A master that differs follows the workers in nothing, as the API's ``masterSpec``."""
    written: Written | None = None
    copied_from: str = ""
    assets: Mapping[str, str] = field(default_factory=dict)
    """Chosen assets: id by ``<role>.<kind>``."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "DraftState":
        setup = data.get("setup", {})
        return cls(
            setup={
                k: Typed(str(v["text"]), "", Source.from_json(v.get("from")))
                for k, v in setup.items()
            },
            worker=RoleInputs.from_json(data.get("workers", {})),
            master=RoleInputs.from_json(data.get("master", {})),
            different=data.get("different"),
            is_own=bool(data.get("own", False)),
            written=Written.from_json(data["yaml"]) if data.get("yaml") else None,
            copied_from=str(data.get("copiedFrom", "")),
            assets={str(k): str(v) for k, v in data.get("assets", {}).items()},
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "setup": {
                k: {"text": t.text, "from": t.source.to_json()} for k, t in self.setup.items()
            },
            "workers": self.worker.to_json(),
            "master": self.master.to_json(),
            "different": self.different,
            **({"own": True} if self.is_own else {}),
            **({"yaml": self.written.to_json()} if self.written else {}),
            "copiedFrom": self.copied_from,
            "assets": dict(self.assets),
        }

    def text(self, name: str) -> str:
        """Text of a field of Set-up; empty when nothing was typed."""
        typed = self.setup.get(name)
        return typed.text if typed else ""

    def inputs(self, role: Role) -> RoleInputs:
        return self.master if role is Role.MASTER else self.worker

    def with_inputs(self, role: Role, inputs: RoleInputs) -> "DraftState":
        is_master = role is Role.MASTER
        return replace(self, master=inputs) if is_master else replace(self, worker=inputs)

    def with_asset(self, key: str, chosen: str) -> "DraftState":
        """The same with another asset, or none for the empty text."""
        rest = {k: v for k, v in self.assets.items() if k != key}
        return replace(self, assets=rest | ({key: chosen} if chosen else {}))

    def with_setup(self, name: str, text: str, source: Source = YOU) -> "DraftState":
        """The same with ``text`` in a field of Set-up; equal text keeps its source."""
        if name in self.setup and self.setup[name].text == text:
            return self
        return replace(self, setup={**self.setup, name: Typed(text, "", source)})

    def without_setup(self, name: str) -> "DraftState":
        """The same with nothing said in a field of Set-up."""
        return replace(self, setup={k: t for k, t in self.setup.items() if k != name})

    def without_source(self, source: Source) -> "DraftState":
        """The same without what came from ``source``."""
        return replace(
            self,
            setup={k: t for k, t in self.setup.items() if t.source != source},
            worker=self.worker.without_source(source),
            master=self.master.without_source(source),
        )
