"""A kubeconfig is taken over field by field, or refused with every reason at once."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangline.drivers.kubernetes.identities import identity_of
from gangline.drivers.kubernetes.kubeconfig import Parsed, parse
from tests.support.certificates import data, jwt, kubeconfig, pair

NOW = datetime.now(UTC)
LATER = int(NOW.timestamp()) + 86_400
ACCOUNT = "Create a service account for Gangline and use its token instead."
CANARY = "CANARY7f3a"


def read(config: Any, context: str = "") -> Parsed:
    return parse(json.dumps(config), context=context, now=NOW)


def said(config: Any, context: str = "") -> list[str]:
    parsed = read(config, context)
    assert parsed.access is None
    return [str(one) for one in parsed.refusals]


def test_address_authority_and_token_are_taken() -> None:
    parsed = read(kubeconfig({"tls-server-name": "k8s.lab"}))
    assert parsed.refusals == ()
    assert parsed.access is not None
    assert parsed.access.server == "https://192.0.2.7:6443"
    assert parsed.access.certificate_authority == pair("authority").certificate
    assert parsed.access.tls_server_name == "k8s.lab"
    assert parsed.access.token == "s3cr3t-t0ken"
    assert (parsed.contexts, parsed.context) == (("work",), "work")
    assert "s3cr3t" not in repr(parsed)


def test_a_client_certificate_is_taken_with_its_key() -> None:
    own = pair("dana")
    user = {
        "token": None,
        "client-certificate-data": data(own.certificate),
        "client-key-data": data(own.key),
    }
    access = read(kubeconfig(user=user)).access
    assert access is not None
    assert (access.client_certificate, access.client_key) == (own.certificate, own.key)
    identity = identity_of(access)
    assert (identity.kind, identity.name) == ("certificate", "dana")
    assert identity.ends_at is not None


def test_yaml_as_kubectl_writes_it() -> None:
    text = (
        "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: work\n"
        "clusters:\n- cluster:\n    server: https://192.0.2.7\n  name: lab\n"
        "contexts:\n- context:\n    cluster: lab\n    namespace: x\n    user: me\n  name: work\n"
        "users:\n- name: me\n  user:\n    token: abc\n"
    )
    access = parse(text, now=NOW).access
    assert access is not None
    assert access.certificate_authority == ""


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        (
            {"exec": {"command": "/usr/bin/aws", "args": [CANARY]}},
            f"users[0].user.exec runs a program (aws) to log in. {ACCOUNT}",
        ),
        (
            {"exec": {"command": f"x {CANARY}"}},
            f"users[0].user.exec runs a program to log in. {ACCOUNT}",
        ),
        (
            {"auth-provider": {"name": "gcp", "config": {"cmd-path": CANARY}}},
            "users[0].user.auth-provider names a login plug-in, which would run programs."
            f" {ACCOUNT}",
        ),
        (
            {"tokenFile": f"/etc/{CANARY}"},
            f"users[0].user.tokenFile names a file, which is on another machine. {ACCOUNT}",
        ),
        (
            {"client-key": f"/root/{CANARY}"},
            "users[0].user.client-key names a file, which is on another machine. Write its"
            " content into the file: kubectl config view --flatten --minify.",
        ),
        ({"as": CANARY}, f"users[0].user.as impersonates someone else. {ACCOUNT}"),
        ({"as-groups": [CANARY]}, f"users[0].user.as-groups impersonates someone else. {ACCOUNT}"),
        (
            {"password": CANARY},
            "users[0].user.password is a password login, which Kubernetes no longer supports."
            f" {ACCOUNT}",
        ),
        ({"colour": CANARY}, (
            "users[0].user.colour is not a field that Gangline supports. Remove it."
        )),
    ],
)  # fmt: skip
def test_what_a_user_must_not_have(user: dict[str, Any], sentence: str) -> None:
    assert said(kubeconfig(user=user)) == [sentence]


@pytest.mark.parametrize(
    ("cluster", "where", "part"),
    [
        ({"insecure-skip-tls-verify": True}, "insecure-skip-tls-verify", "read the credential"),
        ({"proxy-url": f"http://{CANARY}"}, "proxy-url", "through a proxy"),
        ({"certificate-authority": f"/x/{CANARY}"}, "certificate-authority", "names a file"),
        ({"extensions": [{"name": CANARY}]}, "extensions", "private to another program"),
        ({"server": "http://192.0.2.7"}, "server", "must start with https://"),
        ({"server": f"https://u:{CANARY}@192.0.2.7"}, "server", "user name or password"),
        ({"server": None}, "server", "is missing"),
        ({"server": 7}, "server", "must be text"),
        ({"certificate-authority-data": "%%%"}, "certificate-authority-data", "not base64"),
        ({"certificate-authority-data": data(CANARY)}, "certificate-authority-data", "PEM"),
        ({"tls-server-name": "a b"}, "tls-server-name", "not the name of a server"),
        ({"tls-server-name": "a..b"}, "tls-server-name", "not the name of a server"),
        ({"tls-server-name": "..:*"}, "tls-server-name", "not the name of a server"),
        ({"tls-server-name": "x" * 64}, "tls-server-name", "not the name of a server"),
    ],
)  # fmt: skip
def test_what_a_cluster_must_not_have(cluster: dict[str, Any], where: str, part: str) -> None:
    sentences = said(kubeconfig(cluster))
    assert any(s.startswith(f"clusters[0].cluster.{where} ") and part in s for s in sentences)
    assert CANARY not in " ".join(sentences)


def test_dates_are_named() -> None:
    old, young = pair("old", begins=-9, ends=-3), pair("young", begins=4, ends=9)
    [expired] = said(kubeconfig({"certificate-authority-data": data(old.certificate)}))
    assert "certificate-authority-data expired on " in expired
    user = {
        "token": None,
        "client-certificate-data": data(young.certificate),
        "client-key-data": data(young.key),
    }
    [early] = said(kubeconfig(user=user))
    assert "client-certificate-data is not valid before " in early
    assert "compare the clocks" in early
    [ended] = said(kubeconfig(user={"token": jwt(exp=1_700_000_000)}))
    assert ended == "users[0].user.token expired on 14 Nov 2023, 22:13 UTC; make a new one."


def test_a_key_of_another_certificate_is_refused() -> None:
    user = {
        "token": None,
        "client-certificate-data": data(pair("dana").certificate),
        "client-key-data": data(pair("erik").key),
    }
    assert said(kubeconfig(user=user)) == [
        "users[0].user.client-certificate-data does not belong to the key beside it."
    ]


def test_the_service_account_and_the_end_of_a_token_are_known() -> None:
    token = jwt(sub="system:serviceaccount:gangline:gangline", exp=LATER)
    access = read(kubeconfig(user={"token": token})).access
    assert access is not None
    identity = identity_of(access)
    assert identity.name == "service account gangline/gangline"
    assert identity.ends_at == datetime.fromtimestamp(LATER, UTC)
    assert token not in repr(identity)


def test_everything_is_said_at_once() -> None:
    sentences = said(kubeconfig({"proxy-url": "x", "server": "http://a"}, {"exec": {}, "as": "b"}))
    assert len(sentences) == 4


def test_only_the_chosen_context_is_judged() -> None:
    config = kubeconfig()
    config["users"].append({"name": "bad", "user": {"exec": {"command": "x"}}})
    config["contexts"].append({"name": "other", "context": {"cluster": "lab", "user": "bad"}})
    assert read(config).access is not None
    assert read(config, "work").access is not None
    assert "runs a program" in said(config, "other")[0]
    assert said(config, "absent") == ["Context is not in the file. The file has work, other."]
    del config["current-context"]
    assert said(config) == [
        "current-context is missing. The file has work, other."
        " Write one of them into the field Context."
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "Line 1: this must be exactly one object"),
        ("a: [", "this is not valid YAML"),
        ("a: b: c", "Line 1: this is not valid YAML"),
        (b"\xff\xfe", "Line 1: this must be UTF-8 text"),
        ("kind: Config\nkind: Config", "Line 2: a key appears twice"),
        ("a: [1, 2\nb: 3", "did not find expected ',' or ']'"),
        ("a: &x [1]\nb: [*x, *x]", "Line 1: anchors are not allowed"),
        ("kind: Pod", "kind must be Config: this is not a kubeconfig"),
        ("kind: Config\nusers: 7", "users must be a list"),
        ("kind: Config\nusers: [7]", "users[0] must have a name (text) and user (an object)"),
        ("x" * 70_000, "The file has 69 KiB; the limit is 64"),
        ("{" * 100, "Line 1: "),
    ],
)  # fmt: skip
def test_broken_files(text: str | bytes, sentence: str) -> None:
    parsed = parse(text, now=NOW)
    assert parsed.access is None
    assert sentence in " ".join(map(str, parsed.refusals))


def test_a_nul_at_the_end_is_told_with_its_line() -> None:
    (refusal,) = parse(f"apiVersion: v1\nkind: Config\ntoken: {CANARY}\n\0", now=NOW).refusals
    assert (refusal.where, refusal.instead) == ("Line 4:", "Remove the character U+0000.")


def test_what_stands_in_an_unreadable_line_is_not_repeated() -> None:
    text = f"kind: Config\nusers:\n- user: {{token: !{CANARY} x}}\n"
    assert CANARY not in " ".join(map(str, parse(text, now=NOW).refusals))
    number = "1234567890123456789"
    assert number not in " ".join(map(str, parse(f"token: {number}", now=NOW).refusals))


def test_nothing_is_run_and_nothing_is_read(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    command = {"command": "/bin/sh", "args": ["-c", f"touch {trace}"], "apiVersion": "v1"}
    provider = {"name": "gcp", "config": {"cmd-path": "/bin/sh", "cmd-args": f"-c touch {trace}"}}
    said(
        kubeconfig(user={"exec": command, "auth-provider": provider, "tokenFile": "/etc/hostname"})
    )
    assert not trace.exists()


_TEXTS = st.sampled_from([CANARY, f"x{CANARY}", data(CANARY), f"{CANARY} {CANARY}"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(_TEXTS | st.text(max_size=3), inner)
    ),
    max_leaves=6,
)
_SECRET = ("token", "password", "client-key-data", "client-certificate-data", "exec", "tokenFile")


@given(st.dictionaries(st.sampled_from([*_SECRET, "auth-provider", "as", "username"]), _VALUES))
def test_no_user_entry_breaks_it_or_is_repeated(user: dict[str, Any]) -> None:
    parsed = read(kubeconfig(user={"token": None, **user}))
    assert CANARY not in " ".join(map(str, parsed.refusals))
    assert (parsed.access is None) == bool(parsed.refusals)


@given(
    _VALUES, st.sampled_from(["clusters", "users", "contexts", "current-context", "preferences"])
)
def test_no_top_level_breaks_it(value: Any, key: str) -> None:
    parsed = read(kubeconfig(**{key: value}))
    assert (parsed.access is None) == bool(parsed.refusals)


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_no_text_breaks_it(text: str | bytes) -> None:
    assert parse(text, now=NOW).refusals


@pytest.mark.parametrize("text", ["s3cr3t-CANARY7f3a", "- a\n- b", "42", "[]", '"a: b"'])
def test_what_is_no_file_of_kubectl_is_told_to_be_none(text: str) -> None:
    (refusal,) = parse(text, now=NOW).refusals
    assert str(refusal) == (
        "This is not a kubeconfig: it has no apiVersion, clusters, users and contexts."
        " Use the output of kubectl config view --raw --flatten --minify."
    )


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("%YAML 1.1\n---\na: b", "Remove the line with “%”."),
        ("a: b\n---\nc: d", "Remove what follows “---”."),
        (f"a: &{CANARY} b", "Remove it."),
    ],
)
def test_a_refusal_quotes_signs_and_no_values(text: str, instead: str) -> None:
    (refusal,) = parse(text, now=NOW).refusals
    assert refusal.instead == instead
