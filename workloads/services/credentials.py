"""Credentials of workloads: whether the named ones hold, what drivers get in their place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assets.credentials import copies, store
from assets.credentials.references import PULL, VARIABLES, Reference, references, replaced
from assets.credentials.types import PREFIXES, serves
from assets.models import Credential
from gangline.accounts.models import User
from gangline.clusters.models import Cluster
from gangline.organization.models import Project
from gangline.policies.engine import Resolution
from gangline.spec import images
from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Problem, Role
from gangline.spec.sources import WORKERS, Values
from gangline.spec.values import item_label
from gangline.spec.words import lowered, one_of
from gangline.spec.workload import SPEC
from workloads.models import CredentialUse, Workload
from workloads.services.item_paths import as_sent, field_of

SHOWN = 12


@dataclass(frozen=True, slots=True)
class Bound:
    """Values as drivers see them, and the credentials that they use."""

    values: Mapping[str, Any]
    used: tuple[Credential, ...] = ()


def bound(values: Mapping[str, Any], project: Project, owner: User) -> Bound:
    """Personal credentials named by their Secrets; logins of registries in scope attached."""
    named = list(references(values))
    images = _images(values) if project.cluster.engine.keeps_secrets else {}
    if not named and not images:
        return Bound(values)
    known = list(store.usable(project.scope, owner))
    if not known:
        return Bound(values)
    by_name = store.by_name(known)
    used = {one.pk: one for ref in named if (one := _found(ref, by_name)) is not None}
    personal = {one.name: one.object_name for one in known if one.owner_id is not None}
    found = replaced(values, personal)
    for role, image in images.items():
        for one in attached(known, image):
            _attach(found, f"{role}.{PULL}", one)
            used[one.pk] = one
    return Bound(found, tuple(used.values()))


def attached(known: list[Credential], image: str) -> list[Credential]:
    """Those that pods with the image get by themselves: shared logins of its registry."""
    return [
        one
        for one in known
        if one.type.pulls and one.owner_id is None and serves(one.shown.get("url", ""), image)
    ]


def store_uses(workload: Workload, used: tuple[Credential, ...]) -> None:
    """Remember what the workload uses, in place of what it used before."""
    rows = CredentialUse.objects.filter(workload=workload)
    before = set(rows.values_list("credential_id", flat=True))
    now = {one.pk for one in used}
    if before - now:
        rows.exclude(credential__in=now).delete()
    CredentialUse.objects.bulk_create(
        CredentialUse(workload=workload, credential_id=pk) for pk in now - before
    )
    for one in Credential.objects.filter(pk__in=now | before):
        copies.keep(one)


def let_go(workload: Workload) -> None:
    """Take the copies away that only this workload needed; it is deleted by now."""
    for one in Credential.objects.filter(uses__workload=workload):
        copies.keep(one)


def values_of(workload: Workload) -> dict[str, Mapping[str, str]]:
    """What the credentials of a workload hold, by their names. Raises `store.CannotUse`."""
    rows = Credential.objects.filter(uses__workload=workload, is_ours=True)
    return {one.object_name: store.data_of(one) for one in rows}


def problems(
    resolution: Resolution,
    *,
    project: Project,
    cluster: Cluster,
    owner: User,
    known: list[Problem],
) -> Iterator[Problem]:
    """References that lead nowhere, and variables that must be filled in."""
    wrong = {(p.role, field_of(p.path)) for p in known}
    roles = [Role.WORKER] if resolution.master == "same" else [Role.WORKER, Role.MASTER]
    values = {
        path: value
        for path, value in resolution.plain.items()
        if (role := Role(path.partition(".")[0])) in roles
        and (role, path.partition(".")[2]) not in wrong
    }
    named = list(references(values))
    usable = list(store.usable(project.scope, owner)) if named else []
    missing = copies.missing_in(project, usable)
    judged = _Judge(values, usable, missing, takes_others=cluster.engine.keeps_secrets)
    found = [*(p for ref in named if (p := judged.problem(ref))), *_unfilled(values)]
    for problem in found:
        if problem.role is Role.MASTER and _follows(problem, resolution.effective):
            continue  # told of the workers already, where it can be mended
        yield problem.at(path=as_sent(problem, resolution.effective))


def _follows(problem: Problem, effective: Values) -> bool:
    """Whether the master has the item from the workers. A login is judged by its own image."""
    path = field_of(problem.path)
    value = effective.get(f"{Role.MASTER}.{path}")
    number = problem.path.removeprefix(f"{path}.").partition(".")[0]
    if path == PULL or value is None or not number.isdecimal() or int(number) >= len(value.items):
        return False
    return value.items[int(number)].source == WORKERS


@dataclass(frozen=True)
class _Judge:
    values: Mapping[str, Any]
    usable: list[Credential]
    missing: Mapping[Any, str]
    """Why the Secret of a credential is not there, by credential."""
    takes_others: bool
    """Secrets that people made on the cluster can be named too."""

    def problem(self, ref: Reference) -> Problem | None:
        """What is wrong with one reference; what one may not see is as unknown as what is not."""
        one = _found(ref, store.by_name(self.usable))
        if one is None:
            others = self.takes_others and not ref.is_personal
            if others and not ref.name.startswith(PREFIXES):
                return None
            code = "options:personal" if ref.is_personal else "options:credential"
            is_own = any(c.owner_id and c.name == ref.name for c in self.usable)
            if is_own and not ref.is_personal and ref.field.path not in (VARIABLES, PULL):
                code = "options:credential_own"
            return self._refused(ref, code, self._names(ref))
        if ref.note.kinds and one.kind not in ref.note.kinds:
            kind, code = one.type.label, "options:credential_type"
            return self._refused(ref, code, self._names(ref), type=kind)
        if not one.is_ours and not self.takes_others:
            return self._refused(ref, "options:secret_engine", self._names(ref))
        if why := self.missing.get(one.pk):
            return self._refused(ref, "options:secret_missing", self._names(ref), why=why)
        is_known = one.is_ours or bool(one.keys)
        if ref.key is not None and is_known and ref.key not in one.keys:
            accepted = one_of(one.keys) if one.keys else "a credential that has keys"
            return self._refused(ref, "options:credential_key", accepted, at_key=True)
        image = self.values.get(f"{ref.role}.image")
        if ref.field.path != PULL or not isinstance(image, str) or "url" not in one.shown:
            return None
        url, host = one.shown["url"], images.host(image)
        if serves(url, image):
            return None
        return self._refused(ref, "options:login", f"a login for {host}", url=url, host=host)

    def _names(self, ref: Reference) -> str:
        fit = [
            name
            for name, one in store.by_name(self.usable).items()
            if bool(one.owner_id) == ref.is_personal
            and (one.is_ours or self.takes_others)
            and one.pk not in self.missing
            and (not ref.note.kinds or one.kind in ref.note.kinds)
        ]
        return one_of(fit[:SHOWN]) if fit else "none yet: create a credential first"

    def _refused(
        self, ref: Reference, code: str, accepted: str, *, at_key: bool = False, **params: str
    ) -> Problem:
        item = self.values[f"{ref.role}.{ref.field.path}"][ref.index]
        key = item.get(ref.field.item_key)
        label = lowered(item_label(ref.field, ref.index, key if isinstance(key, str) else ""))
        attribute = ref.attribute
        if at_key:
            path = ref.key_path.partition(f"{ref.field.path}.{ref.index}.")[2]
            attribute = ref.field.attribute(path) or attribute
        return Problem.of(
            ref.role,
            ref.key_path if at_key else ref.path,
            code,
            value=ref.key if at_key else ref.name,
            accepted=accepted,
            **params,
            label=f"{attribute.label} of {label}",
        )


def _unfilled(values: Mapping[str, Any]) -> Iterator[Problem]:
    """Variables that came with instructions and without a value."""
    spec = catalogue(SPEC.worker)[VARIABLES]
    for role in (Role.WORKER, Role.MASTER):
        for index, item in enumerate(values.get(f"{role}.{VARIABLES}") or ()):
            if not isinstance(item, Mapping) or not item.get("description"):
                continue
            if any(item.get(name) for name in spec.alternatives):
                continue
            yield Problem.of(
                role,
                f"{VARIABLES}.{index}.value",
                "fill",
                description=item["description"],
                accepted="a value, a credential or another source",
                label=item_label(spec, index, str(item.get("name", ""))),
            )


def _found(ref: Reference, known: Mapping[str, Credential]) -> Credential | None:
    one = known.get(ref.name)
    return one if one is not None and bool(one.owner_id) == ref.is_personal else None


def _images(values: Mapping[str, Any]) -> dict[str, str]:
    found = {role: values.get(f"{role}.image") for role in (Role.WORKER, Role.MASTER)}
    return {role: image for role, image in found.items() if isinstance(image, str) and image}


def _attach(values: dict[str, Any], path: str, one: Credential) -> None:
    given = [dict(item) for item in values.get(path) or ()]
    if all(item.get("name") != one.object_name for item in given):
        values[path] = [*given, {"name": one.object_name}]
