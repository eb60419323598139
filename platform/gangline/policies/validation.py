"""What keeps a policy from being saved under those above it (R22), and what to think over."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gangline.lib.problems import Problem, Severity
from gangline.spec.catalogue import SpecField
from gangline.spec.images import within
from gangline.spec.problems import Role
from gangline.spec.values import size
from gangline.spec.workload import SPEC, SpecModels

from .document import HALVES, GivenDefault, Imposable, PolicyDocument, RuleSet, fields_of
from .effective import SYSTEM, Layer, effective_policy
from .rules import FieldRule, breaches
from .wording import PREFIX, line_of

THIS = "this policy"


def check_document(
    document: PolicyDocument,
    above: Sequence[Layer],
    models: SpecModels = SPEC,
    kind: str = "tenant",
) -> list[Problem]:
    """What is wrong with ``document`` under ``above``, ordered from far to near (R22).

    ``kind``: that of its scope. Warnings do not keep it from being saved.
    """
    before = effective_policy(above, models)
    after = effective_policy([*above, Layer(kind, "", document, called=THIS)], models)
    found: list[Problem] = list(document.warnings)
    for role in HALVES:
        half = document.half(role)
        computed = frozenset(p for p, rule in after.half(role).items() if rule.computed)
        for path, spec in fields_of(models, role).items():
            default, rules = half.defaults.get(path), half.rules.get(path)
            one = _Check(role, spec, before.rule(role, path), after.rule(role, path), computed)
            if rules is not None:
                found.extend(one.rules(rules))
            if default is not None:
                found.extend(one.default(default))
    return _in_order(found)


def check_imposed(document: PolicyDocument, found: Mapping[str, Imposable]) -> list[Problem]:
    """What cannot be imposed; ``found``: the data sources that hold in its scope."""
    problems: list[Problem] = []
    for role in HALVES:
        for key, line in document.half(role).imposed.items():
            one = found.get(key)
            params = {"line": line, "value": one.name if one else key}
            if one is None:
                problems.append(
                    Problem(f"{PREFIX}imposed_unknown", f"imposedAssets.{role}", params)
                )
            elif one.needs_credential:
                problems.append(
                    Problem(f"{PREFIX}imposed_credential", f"imposedAssets.{role}", params)
                )
    return _in_order(problems)


def check_keys(document: PolicyDocument, refused: Callable[[str], str]) -> list[Problem]:
    """Default labels and annotations with which every workload would be refused.

    ``refused``: the reserved domain of a key, or empty.
    """
    problems: list[Problem] = []
    for role in HALVES:
        for path in ("labels", "annotations"):
            given = document.half(role).defaults.get(path)
            for item, line in zip(given.value, given.item_lines, strict=True) if given else ():
                key = item["name"]
                if domain := refused(key):
                    params = {"line": line, "value": key, "domain": domain}
                    problems.append(Problem(f"{PREFIX}domain", f"defaults.{role}.{path}", params))
    return _in_order(problems)


def _in_order(problems: Sequence[Problem]) -> list[Problem]:
    """By line, each once: a flat document applies to both halves."""
    unique: list[Problem] = []
    said: dict[int, list[Problem]] = {}
    for problem in problems:
        at_line, bare = said.setdefault(line_of(problem), []), problem.at(path="")
        if bare not in at_line:
            at_line.append(bare)
            unique.append(problem)
    return sorted(unique, key=line_of)


@dataclass(frozen=True, slots=True)
class _Check:
    """One field of a document before and after it joins the policies above."""

    role: Role
    spec: SpecField
    before: FieldRule
    after: FieldRule
    computed: frozenset[str] = frozenset()
    """Fields of the half whose default follows from another one."""
    in_list: bool = False

    def _problem(
        self, line: int, part: str, code: str, severity: Severity = "error", **params: Any
    ) -> Problem:
        path = f"{part}.{self.role}.{self.spec.path}"
        return Problem(f"{PREFIX}{code}", path, {**params, "line": line}, severity)

    def default(self, given: GivenDefault) -> Iterator[Problem]:
        if self.spec.is_by_item:
            yield from self._default_items(given)
        elif self.before.fixed and self.after.fixed and self.after.fixed.source != THIS:
            by = self.before.fixed.source
            yield self._problem(given.line, "defaults", "fixed_above", by=by)
        elif not self.after.conflict:
            for breach in breaches(self.spec, self.after, given.value):
                yield self._problem(
                    given.line, "defaults", "default_refused",
                    reason=breach.of(Problem("")).message, by=breach.source,
                )  # fmt: skip

    def _default_items(self, given: GivenDefault) -> Iterator[Problem]:
        for path, default in given.attributes.items():
            yield from self._inside(path).default(default)
        closed = self.after.can_add
        for item, line in zip(given.value, given.item_lines, strict=True):
            key = item[self.spec.item_key]
            lock = self.after.locked.get(key, THIS)
            if lock != THIS:
                yield self._problem(line, "defaults", "locked_above", key=key, by=lock)
            elif closed and closed.source != THIS and key not in self.before.item_sources:
                yield self._problem(line, "defaults", "closed_above", key=key, by=closed.source)

    def rules(self, stated: RuleSet) -> Iterator[Problem]:
        first = min(stated.lines.values(), default=0)
        if self.after.conflict and not self.before.conflict:
            yield self._problem(first, "rules", "conflict", reason=self.after.conflict)
        for kind, value in stated.kinds.items():
            if (found := self._without_effect(kind, value)) is not None:
                code, params = found
                yield self._problem(stated.lines[kind], "rules", code, **params)
        for path, rules in stated.attributes.items():
            yield from self._inside(path).rules(rules)
        for key in stated.kinds.get("locked", ()):
            if key not in self.after.item_sources:
                yield self._problem(stated.lines["locked"], "rules", "locks_unknown", key=key)
        yield from self._unfilled(stated, first)
        computed = self.after.computed
        if computed and computed.value.field in self.computed:
            line = stated.lines.get("defaultFrom", 0)
            yield self._problem(line, "rules", "chain", value=computed.value.field)

    def _unfilled(self, stated: RuleSet, line: int) -> Iterator[Problem]:
        """Of a field without a default: it cannot be filled in, or must always be."""
        fixed, kinds = self.after.fixed, stated.kinds
        if fixed and self.after.required and fixed.value is None and stated.lines:
            yield self._problem(line, "rules", "nobody")
        elif fixed and fixed.value is None and kinds.get("canEdit") is False:
            yield self._problem(line, "rules", "empty_fixed", "warning")
        elif (
            kinds.get("required") is True
            and not (self.after.default or self.after.computed or self.before.required)
            and not self.in_list
        ):
            yield self._problem(line, "rules", "to_fill", "warning")

    def _without_effect(self, kind: str, value: Any) -> tuple[str, dict[str, Any]] | None:
        """Why a rule looser than one above does not count; nothing below may loosen (R22)."""
        after = self.after
        if kind == "min" and after.minimum and self._less(value, after.minimum.value):
            low = after.minimum
            return "looser_min", {"value": value, "by": low.source, "bound": low.value}
        if kind == "max" and after.maximum and self._less(after.maximum.value, value):
            high = after.maximum
            return "looser_max", {"value": value, "by": high.source, "bound": high.value}
        if kind == "maxTotal" and after.total and self._less(after.total.value, value):
            most = after.total
            return "looser_max", {"value": value, "by": most.source, "bound": most.value}
        if kind == "registries" and (above := self.before.registries) and after.registries:
            extra = [one for one in value if not any(within(one, p) for p in above.value)]
            if extra and after.registries.value:
                return "looser_options", {"value": extra[0], "by": above.source}
        if kind == "options" and self.before.options and after.options and after.options.value:
            allowed = {option.value for option in after.options.value}
            extra = [option.value for option in value if option.value not in allowed]
            source = self.before.options.source
            return ("looser_options", {"value": extra[0], "by": source}) if extra else None
        loosened = {
            ("canEdit", True): after.fixed,
            ("canAdd", True): after.can_add,
            ("required", False): after.required,
            ("digestRequired", False): after.digest,
            ("blocked", False): after.fixed if after.is_blocked else None,
        }
        upper = loosened.get((kind, value)) if isinstance(value, bool) else None
        if upper is not None and upper.source != THIS:
            params = {"kind": kind, "value": str(value).lower(), "by": upper.source}
            return ("own" if upper.source == SYSTEM else "opposite"), params
        return None

    def _inside(self, path: str) -> "_Check":
        """The same for an attribute of the list."""
        attribute = next(one for one in self.spec.items if one.path == path)
        nothing = FieldRule()
        return _Check(
            self.role,
            replace(attribute, path=f"{self.spec.path}.attributes.{path}"),
            self.before.attributes.get(path, nothing),
            self.after.attributes.get(path, nothing),
            in_list=True,
        )

    def _less(self, one: Any, other: Any) -> bool:
        return bool(size(self.spec, one) < size(self.spec, other))
