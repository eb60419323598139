"""The manifests of Gangline's account and roles, made of the one table of rights."""

from collections.abc import Iterable

from .permissions import CLUSTER, PROJECT, PROJECT_ROLE, RBAC, ROLE, Rule

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


def manifests() -> dict[str, str]:
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
