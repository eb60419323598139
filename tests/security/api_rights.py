"""Who gets which status of the routes of the API that no resource brings."""

from assets.credentials.types import TYPES

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
HERE = ("administrator", "head", "project_administrator-vision", "researcher-vision")
LOOKING = ("colleague", "viewer-vision", "own-role")
"""The last one has a custom role of one permission: to view workloads."""
ELSEWHERE = ("project_administrator-nlp", "researcher-nlp", "viewer-nlp", "stranger")
OUT = ("anonymous", "expired", "revoked", "deactivated")
PEOPLE = (*HERE, *LOOKING, *ELSEWHERE, *OUT)
Codes = dict[str, int]


def codes(here: int, looking: int, elsewhere: int, **others: int) -> Codes:
    """Status per person: those who work here, those who only look, those of elsewhere."""
    table = dict.fromkeys(HERE, here) | dict.fromkeys(LOOKING, looking)
    table |= dict.fromkeys(ELSEWHERE, elsewhere) | dict.fromkeys(OUT, 401)
    return table | {name.replace("__", "-"): code for name, code in others.items()}


EVERYBODY = codes(200, 200, 200)
SEEN = codes(200, 200, 404)
BAD = codes(400, 400, 400)
ABSENT = codes(404, 404, 404)
SETTINGS = codes(403, 403, 403, administrator=200)
NO_SETTING = SETTINGS | {"administrator": 404}
ACTS = codes(202, 403, 404)
_WORKLOAD = "<uuid:workload_id>"
API: dict[str, dict[str, Codes]] = {
    "v1/workloads": {"GET": EVERYBODY},
    "v1/workloads/count": {"GET": EVERYBODY},
    "v1/workloads/telemetry": {"GET": BAD},
    "v1/workloads/batch": {"POST": BAD},
    "v1/workloads/pods": {"GET": EVERYBODY},
    "v1/workloads/pods/count": {"GET": EVERYBODY},
    "v1/workload-categories": {"GET": EVERYBODY},
    "v1/workload-categories/<uuid:category_id>": {"GET": ABSENT},
    "v1/workload-types": {"GET": EVERYBODY},
    "v1/workload-types/<uuid:type_id>": {"GET": ABSENT},
    "v1/workload-priorities": {"GET": EVERYBODY},
    "v1/org-unit/priorities": {"GET": EVERYBODY},
    "v1/workloads/distributed": {"POST": codes(202, 202, 404, viewer__vision=403, own__role=404)},
    f"v1/workloads/distributed/{_WORKLOAD}": {"GET": SEEN, "DELETE": ACTS},
    f"v1/workloads/distributed/{_WORKLOAD}/suspend": {"POST": ACTS},
    f"v1/workloads/distributed/{_WORKLOAD}/resume": {"POST": ACTS},
    f"v1/workloads/distributed/{_WORKLOAD}/rerun": {"POST": ACTS},
    f"v1/workloads/{_WORKLOAD}": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/pods": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/metrics": {"GET": BAD},
    f"v1/workloads/{_WORKLOAD}/pods/<str:pod_id>/metrics": {"GET": BAD},
    f"v1/workloads/{_WORKLOAD}/pods/<slug:pod>/exec": {"POST": BAD},
    f"v1/workloads/{_WORKLOAD}/pods/<slug:pod>/port-forward": {"POST": BAD},
    "v1/clusters/<uuid:cluster_id>/metrics": {"GET": BAD},
    "v1/clusters/<uuid:cluster_id>/nodepools/<str:name>/metrics": {"GET": BAD},
    "v1/nodes/<str:node>/metrics": {"GET": BAD},
    "v1/org-unit/projects/<int:pk>/metrics": {"GET": BAD},
    "v1/org-unit/departments/<int:pk>/metrics": {"GET": BAD},
    f"v1/workloads/{_WORKLOAD}/events": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/history": {"GET": SEEN},
    f"v1/workloads/{_WORKLOAD}/logs": {
        "GET": codes(200, 200, 404, viewer__vision=403, own__role=403)
    },
    f"v1/workloads/{_WORKLOAD}/files": {
        "GET": codes(409, 409, 404, viewer__vision=403, own__role=403)
    },
    f"v1/workloads/{_WORKLOAD}/files/content": {"GET": BAD},
    "v1/clusters/<uuid:cluster_id>/jobs": {"GET": ABSENT},
    "v1/clusters/<uuid:cluster_id>/jobs/<str:number>": {"GET": ABSENT, "DELETE": ABSENT},
    "v1/asset/workload-template": {"GET": EVERYBODY, "POST": BAD},
    "v1/asset/workload-template/<uuid:pk>": dict.fromkeys(("GET", "PUT", "DELETE"), ABSENT),
    "v1/audit/log": {"GET": BAD},
    "v1/audit/log/file": {"GET": BAD},
    "v1/security/settings": {"GET": SETTINGS},
    "v1/security/settings/<str:key>": {"GET": NO_SETTING, "PUT": NO_SETTING},
    "v1/me": {"GET": EVERYBODY},
    "v1/me/password": {"POST": BAD},
    "v1/authorization/permissions": {"GET": EVERYBODY},
    "v1/authorization/permitted-scopes": {"POST": BAD},
    "v1/authorization/me/access-rules": {"GET": EVERYBODY},
    "v1/authorization/me/access-rules/count": {"GET": EVERYBODY},
    "v2/storage-classes": {"GET": BAD},
    "v2/policy": {"GET": EVERYBODY},
    "v2/policy/distributed": dict.fromkeys(("GET", "PUT", "PATCH", "DELETE"), BAD),
}
OF_KEYS = {
    f"v1/{path}{end}"
    for path, ends in {
        "apps": ("", "/<uuid:pk>", "/<uuid:pk>/secret"),
        "administration/access-keys": ("", "/<uuid:pk>"),
        "administration/user-applications": ("", "/<uuid:pk>"),
        "user-applications": ("", "/<uuid:pk>", "/<uuid:pk>/secret"),
    }.items()
    for end in ends
}
"""Service accounts and access keys at their older addresses: tests/programs."""
OF_TYPES = {
    f"v1/asset/credentials/{one.path}{end}"
    for one in TYPES.values()
    for end in ("", "/count", "/<uuid:pk>")
}
"""Credentials at the addresses of their types: tests/assets/test_credentials.py."""
_LISTS = "/<uuid:pk>/repositories"
OF_TYPES |= {
    f"v1/asset/registries{end}" for end in ("", "/count", "/<uuid:pk>", _LISTS, f"{_LISTS}/tags")
}
"""Those of one type once more, and what a registry holds: tests/assets/test_registries.py."""
SIGN_IN = {"v1/token", "v2/token", "v1/device"}
"""They take credentials; the last lets a program ask for some."""
DESCRIBED = {"v1/openapi.json", "v1/openapi.yaml", "v1/docs", r"^.*\Z"}
"""The description names no data; the last one is the 404."""
WITHOUT_RIGHTS = OF_KEYS | OF_TYPES | SIGN_IN | DESCRIBED

TOOL_GATE = "tools/<uuid:workload_id>/<slug:name>/auth"
"""Asked by an ingress, which wants a status and no page."""
SIGNING_IN = {"login/with/<slug:alias>", "login/with/<slug:alias>/back"}
"""404 for a provider that there is not: tests/identity."""
PUBLIC_PAGES = {"login", "logout", "enter/<str:secret>", "theme", TOOL_GATE, *SIGNING_IN}
FOR_DEVELOPERS = {"styleguide"}
"""404 unless the server runs in debug mode."""
