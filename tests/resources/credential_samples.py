"""Credentials of scopes, and one's own."""

from typing import Any

from gangline.resources.services import make
from tests.support.world import World

from .sample import Sample

_LOGIN = {"user": "dana", "password": "c4n4ry-x1"}


def _user_of_credential(world: World, credential: Any) -> str:
    """An environment whose variable names it."""
    source = {"secret": {"name": credential.object_name, "key": "Password"}}
    made = make(
        "environment",
        scope=world.department.scope,
        name=f"of-{credential.name}",
        values={"image": "one:1", "environmentVariables": [{"name": "TOKEN", **source}]},
    )
    return str(made)


SAMPLES: dict[str, Sample] = {
    "credential": Sample(
        make=lambda world, name: make(
            "credential", scope=world.department.scope, name=name, kind="password", given=_LOGIN
        ),
        form=lambda world, name: {
            "scope": world.department.scope_id,
            "name": name,
            "kind": "password",
            "password.user": "dana",
            "password.password": "c4n4ry-x1",
        },
        body=lambda world, name: {
            "meta": {"name": name, "scope": "department", "departmentId": world.department.pk},
            "spec": {"password": _LOGIN},
        },
        copied_anew=("password.user", "password.password"),
        differs_in_copy=("object_name",),
        edit={"description": "of the registry"},
        body_edit={"spec": {"password": {"user": "dana", "password": "other"}}},
        bad=(
            ("name", ""),
            ("password.user", ""),
            ("password.password", "••••••••"),
            ("password.password", "$encrypted$"),
            ("scope", "x"),
        ),
        bad_body=(
            ("meta", {"name": 7}),
            ("spec", {}),
            ("spec", {"password": {"user": "dana"}}),
            ("spec", {"password": {"user": "dana", "password": ""}}),
            ("spec", {"password": {"user": "dana", "password": "********"}}),
            ("spec", {"password": {"user": "dana", "password": 7}}),
            ("spec", {"password": {**_LOGIN, "pasword": "x"}}),
            ("spec", {"password": _LOGIN, "sshKey": {}}),
            ("spec", {"genericSecret": {"keyValuePairs": []}}),
            ("spec", {"genericSecret": {"keyValuePairs": [{"key": "a/b", "value": "x"}]}}),
            ("spec", {"dockerRegistry": {**_LOGIN, "url": "not a host"}}),
            ("spec", {"sshKey": {"privateKey": "ssh-rsa AAAA"}}),
            ("spec", {"ngcApiKey": {"ngc_api_key": "a b"}}),
        ),
        secret_field="password.password",
        used=_user_of_credential,
    ),
    "personal_credential": Sample(
        make=lambda world, name: make(
            "personal_credential",
            owner=world.people["administrator"],
            scope=world.installation.scope,
            name=name,
            kind="password",
            given=_LOGIN,
        ),
        form=lambda world, name: {
            "name": name,
            "kind": "password",
            "password.user": "dana",
            "password.password": "c4n4ry-x1",
        },
        body=lambda world, name: {"meta": {"name": name}, "spec": {"password": _LOGIN}},
        copied_anew=("password.user", "password.password"),
        differs_in_copy=("object_name",),
        edit={"description": "of the registry"},
        body_edit={"spec": {"password": {"user": "dana", "password": "other"}}},
        bad=(("name", ""), ("name", "My Token"), ("password.user", "")),
        bad_body=(
            ("meta", {"name": 7}),
            ("meta", {"name": "a", "scope": "tenant"}),
            ("spec", {"password": {"user": "dana"}}),
        ),
        secret_field="password.password",
        left_out={"in_use": "as that of a credential of a scope"},
    ),
}
