"""The rights that Gangline needs on a cluster: the shipped roles and the check are both made of it.

``CLUSTER`` is bound for the whole cluster. ``PROJECT`` is the ClusterRole ``gangline-project``,
which Gangline binds to itself in each project's namespace; ``bind`` on that one name is all that
lets it. https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-binding-creation-or-update
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .kinds import JOBSET, KINDS
from .resources import POD_METRICS, Resource
from .schedulers import kai, kueue, native, volcano
from .schedulers.kai import Kai
from .schedulers.kueue import Kueue
from .schedulers.native import Native
from .schedulers.volcano import Volcano

METRICS = "metrics-server"
"""As an operator: what rules about figures need."""
ROLE, PROJECT_ROLE = "gangline", "gangline-project"
RBAC = "rbac.authorization.k8s.io"
FOLLOW = ("list", "watch")
OWN = ("get", "list", "watch", "create", "patch", "delete")
GROUPS = ("get", "list", "create")
JOBS = tuple(sorted(kind.resource.plural for kind in KINDS.values() if not kind.is_extra))
SETS = KINDS["MXNet"].resource


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources of one API group, as in RBAC, and what for."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()
    needs: str = ""
    """Name of the scheduler's adapter, or of the operator, without which it does not matter."""
    is_wide: bool = False
    """What a site that lets nothing be followed on the whole cluster does without."""

    def yaml(self) -> str:
        """The rule as an item below ``rules:``."""
        lines = [f"apiGroups: {_listed((self.group,))}", f"resources: {_listed(self.resources)}"]
        if self.names:
            lines.append(f"resourceNames: {_listed(self.names)}")
        lines.append(f"verbs: {_listed(self.verbs)}")
        return "- " + "\n  ".join(lines)


def _of(resource: Resource, verbs: tuple[str, ...], needs: str, why: str) -> Rule:
    """A rule about objects of the scheduler whose adapter is named."""
    return Rule(resource.group, (resource.plural,), verbs, why, needs=needs)


CLUSTER: tuple[Rule, ...] = (
    Rule("", ("nodes",), ("list",), "What the cluster has, and why a workload waits"),
    Rule("", ("namespaces",), ("get", "list", "create", "patch"), "One namespace per project"),
    Rule("storage.k8s.io", ("storageclasses",), ("list",), "Storage classes in the form"),
    Rule("networking.k8s.io", ("ingressclasses",), ("list",), "Whether tools can be guarded"),
    Rule("scheduling.k8s.io", ("priorityclasses",), ("list",), "Priorities in the form"),
    Rule(
        RBAC,
        ("rolebindings",),
        ("create", "patch"),
        "To give itself the role of projects in a project's namespace",
        is_wide=True,
    ),
    Rule(
        RBAC,
        ("clusterroles",),
        ("get", "bind"),
        "That one role and no other",
        names=(PROJECT_ROLE,),
    ),
    Rule("kubeflow.org", JOBS, FOLLOW, "One watch per kind for all projects", is_wide=True),
    Rule(
        SETS.group,
        (SETS.plural,),
        FOLLOW,
        "JobSet: MXNet in all projects",
        needs=JOBSET,
        is_wide=True,
    ),
    Rule("", ("pods",), FOLLOW, "One watch per kind for all projects", is_wide=True),
    Rule(
        POD_METRICS.group,
        (POD_METRICS.plural,),
        ("list",),
        "metrics-server: what pods use",
        needs=METRICS,
        is_wide=True,
    ),
    _of(volcano.QUEUES, ("list",), Volcano.name, "Volcano: queues and their limits"),
    _of(kueue.LOCAL_QUEUES, ("list",), Kueue.name, "Kueue: the queues of projects"),
    _of(kai.QUEUES, ("list",), Kai.name, "KAI: queues"),
)
PROJECT: tuple[Rule, ...] = (
    Rule("kubeflow.org", JOBS, OWN, "The workloads themselves"),
    Rule(
        "kubeflow.org",
        tuple(f"{plural}/finalizers" for plural in JOBS),
        ("update",),
        "OpenShift requires it to create objects that belong to a workload",
    ),
    Rule(
        SETS.group,
        (SETS.plural,),
        OWN,
        "JobSet: MXNet, and Horovod over Gloo",
        needs=JOBSET,
    ),
    Rule(
        SETS.group,
        (f"{SETS.plural}/finalizers",),
        ("update",),
        "JobSet: the same on OpenShift",
        needs=JOBSET,
    ),
    Rule("", ("pods",), (*FOLLOW, "create"), "Pods of workloads; create only to try a template"),
    Rule("", ("pods/log",), ("get",), "Logs"),
    # By WebSocket they are a GET, of which API servers since 1.35 ask for the right to create too.
    Rule("", ("pods/exec",), ("get", "create"), "Terminals in pods of workloads"),
    Rule("", ("pods/portforward",), ("get", "create"), "Ports of programs in pods of workloads"),
    Rule(
        POD_METRICS.group,
        (POD_METRICS.plural,),
        ("list",),
        "metrics-server: what pods use",
        needs=METRICS,
    ),
    Rule("", ("events",), ("list",), "What the cluster says about a workload"),
    Rule(
        "",
        ("persistentvolumeclaims",),
        ("get", "list", "create", "patch", "delete"),
        "Volumes of workloads and data sources",
    ),
    Rule(
        "",
        ("secrets",),
        ("get", "create", "patch", "delete"),
        "Credentials that workloads of the project use; others are neither listed nor read",
    ),
    Rule("", ("configmaps",), ("get",), "Whether the ConfigMap of a data source exists"),
    Rule("", ("services",), GROUPS, "The ports of tools, and what the cluster gave them"),
    Rule("networking.k8s.io", ("ingresses",), ("get", "create"), "The addresses of tools"),
    _of(volcano.POD_GROUPS, GROUPS, Volcano.name, "Volcano: gangs, and why one waits"),
    _of(native.POD_GROUPS, GROUPS, Native.name, "Gangs of Kubernetes itself, and why one waits"),
    _of(
        kueue.WORKLOADS,
        ("list", "patch"),
        Kueue.name,
        "Kueue: why a workload waits; to stop it and let it go",
    ),
    _of(kai.POD_GROUPS, ("list",), Kai.name, "KAI: why a gang waits"),
)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the API server: may I do ``verb`` on ``resource``, everywhere?"""

    group: str
    resource: str
    verb: str
    name: str = ""
    namespace: str = ""

    def as_review(self) -> dict[str, Any]:
        """A SelfSubjectAccessReview.

        https://kubernetes.io/docs/reference/kubernetes-api/authorization-resources/self-subject-access-review-v1/
        """
        resource, _, sub = self.resource.partition("/")
        wanted = {
            "group": self.group,
            "resource": resource,
            "subresource": sub,
            "verb": self.verb,
            "name": self.name,
            "namespace": self.namespace,
        }
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {key: text for key, text in wanted.items() if text}},
        }


EXCESS: Mapping[str, Question] = {
    "it may do everything (cluster-admin)": Question("*", "*", "*"),
    "it can read every secret": Question("", "secrets", "list"),
    "it can act as other people": Question("", "users", "impersonate"),
    "it can give itself any right": Question(RBAC, "clusterroles", "escalate"),
    "it can reach every kubelet": Question("", "nodes/proxy", "get"),
}
"""What Gangline does not need, the first one meaning all the others."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is missing and what is too much. ``asked``: how many rights were looked at."""

    missing_cluster: tuple[Rule, ...] = ()
    missing_project: tuple[Rule, ...] = ()
    excess: tuple[str, ...] = ()
    asked: int = 0
    role_missing: bool = False
    """The ClusterRole ``gangline-project`` does not exist or cannot be read."""


Ask = Callable[[Sequence[Question]], Sequence[bool]]


def applicable(rules: Iterable[Rule], present: frozenset[str]) -> tuple[Rule, ...]:
    """The rules that matter where the schedulers of these adapters are."""
    return tuple(rule for rule in rules if not rule.needs or rule.needs in present)


def questions(rule: Rule) -> Iterator[Question]:
    """What to ask for one rule: every resource with every verb."""
    for resource in rule.resources:
        for verb in rule.verbs:
            for name in rule.names or ("",):
                yield Question(rule.group, resource, verb, name)


def judge(ask: Ask, project_role: Mapping[str, Any] | None, present: frozenset[str]) -> Verdict:
    """Compare what is allowed with the table; ``project_role`` is the ClusterRole as it is there.

    Rights in projects come through the role, or are held on the whole cluster already.
    """
    cluster, project = applicable(CLUSTER, present), applicable(PROJECT, present)
    missing_cluster, asked = _denied(ask, cluster)
    can_bind = not any(rule.resources == ("clusterroles",) for rule in missing_cluster) and not any(
        rule.resources == ("rolebindings",) for rule in missing_cluster
    )
    if can_bind and project_role is not None:
        missing_project = _not_granted(project, project_role)
    else:
        missing_project, more = _denied(ask, project)
        asked += more
    said = list(EXCESS)
    allowed = ask([EXCESS[words] for words in said])
    excess = [words for words, is_allowed in zip(said, allowed, strict=True) if is_allowed]
    return Verdict(
        missing_cluster,
        missing_project,
        tuple(excess[:1] if allowed[0] else excess),
        asked + len(said),
        role_missing=project_role is None,
    )


def granted(rules: Any, question: Question) -> bool:
    """Whether the rules of an RBAC role (JSON) allow it."""
    for rule in rules or ():
        is_named = question.name in (rule.get("resourceNames") or [question.name])
        if is_named and all(
            {wanted, "*"} & set(rule.get(key) or ())
            for key, wanted in (
                ("apiGroups", question.group),
                ("resources", question.resource),
                ("verbs", question.verb),
            )
        ):
            return True
    return False


def fix(verdict: Verdict) -> str:
    """YAML to copy: the missing rules, each below the role where it belongs."""
    parts = []
    for name, rules in ((ROLE, verdict.missing_cluster), (PROJECT_ROLE, verdict.missing_project)):
        if rules:
            text = "\n".join(rule.yaml() for rule in rules)
            parts.append(f"# Add below “rules:” (kubectl edit clusterrole {name}):\n{text}")
    return "\n\n".join(parts)


def in_words(rule: Rule) -> str:
    """``list, watch pods``, and the group where there is one."""
    group = f" ({rule.group})" if rule.group else ""
    return f"{', '.join(rule.verbs)} {', '.join(rule.resources)}{group}"


def _denied(ask: Ask, rules: Sequence[Rule]) -> tuple[tuple[Rule, ...], int]:
    """The part of each rule that is refused, and how many questions that took."""
    asked = [(rule, question) for rule in rules for question in questions(rule)]
    answers = ask([question for _, question in asked])
    refused: dict[Rule, list[Question]] = {}
    for (rule, question), is_allowed in zip(asked, answers, strict=True):
        if not is_allowed:
            refused.setdefault(rule, []).append(question)
    return tuple(narrow for rule, some in refused.items() for narrow in _narrowed(rule, some)), len(
        asked
    )


def _not_granted(rules: Sequence[Rule], role: Mapping[str, Any]) -> tuple[Rule, ...]:
    held = role.get("rules")
    found: list[Rule] = []
    for rule in rules:
        found += _narrowed(rule, [q for q in questions(rule) if not granted(held, q)])
    return tuple(found)


def _narrowed(rule: Rule, refused: Sequence[Question]) -> Iterator[Rule]:
    """The rule cut down to what is refused; resources with the same verbs stay together."""
    by_verbs: dict[tuple[str, ...], list[str]] = {}
    for resource in rule.resources:
        verbs = tuple(dict.fromkeys(q.verb for q in refused if q.resource == resource))
        if verbs:
            by_verbs.setdefault(verbs, []).append(resource)
    for verbs, resources in by_verbs.items():
        yield replace(rule, resources=tuple(resources), verbs=verbs)


def _listed(words: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


MADE = "# Made from Gangline's table of rights: change it there, not here."
ACCOUNT = "gangline"
NAMESPACE = "gangline"
LABELS = "  labels: {app.kubernetes.io/name: gangline}"
SUBJECT = f"subjects:\n- {{kind: ServiceAccount, name: {ACCOUNT}, namespace: {NAMESPACE}}}"

IDENTITY = f"""\
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
{LABELS}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {ACCOUNT}
  namespace: {NAMESPACE}
{LABELS}
automountServiceAccountToken: false"""


def role_manifests() -> dict[str, str]:
    """Every manifest by its file name."""
    return {
        "role.yaml": _file(
            "What Gangline may do on a cluster: kubectl apply -f role.yaml",
            IDENTITY,
            _role(ROLE, CLUSTER),
            _bound(ROLE),
            _role(PROJECT_ROLE, PROJECT),
        ),
        "role-per-namespace.yaml": _file(
            "Where Gangline may follow nothing on the whole cluster, and makes no namespaces."
            "\n# Apply it once per project, with the project's namespace in the last part.",
            IDENTITY,
            _role(ROLE, [_reading(rule) for rule in CLUSTER if not rule.is_wide]),
            _bound(ROLE),
            _role(PROJECT_ROLE, PROJECT),
            _bound(PROJECT_ROLE, namespace="gangline-PROJECT"),
        ),
    }


def _file(head: str, *documents: str) -> str:
    return f"# {head}\n{MADE}\n" + "\n---\n".join(documents) + "\n"


def _role(name: str, rules: Iterable[Rule]) -> str:
    lines = [
        f"apiVersion: {RBAC}/v1",
        "kind: ClusterRole",
        "metadata:",
        f"  name: {name}",
        LABELS,
        "rules:",
    ]
    for rule in rules:
        lines += [f"# {rule.why}.", rule.yaml()]
    return "\n".join(lines)


def _bound(name: str, namespace: str = "") -> str:
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    where = f"\n  namespace: {namespace}" if namespace else ""
    return (
        f"apiVersion: {RBAC}/v1\nkind: {kind}\nmetadata:\n  name: {name}{where}\n{LABELS}\n"
        f"roleRef: {{apiGroup: {RBAC}, kind: ClusterRole, name: {name}}}\n{SUBJECT}"
    )


def _reading(rule: Rule) -> Rule:
    verbs = tuple(verb for verb in rule.verbs if verb in ("get", "list", "watch"))
    return Rule(rule.group, rule.resources, verbs, rule.why, rule.names)
