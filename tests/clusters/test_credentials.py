"""Credentials of clusters: sealed, bound to their cluster, and turned over to new keys."""

import json
import threading
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import close_old_connections, connection

from gangline.accounts.services import create_user
from gangline.clusters import connections, credentials
from gangline.clusters.models import Cluster, Credential
from gangline.db import sealed
from gangline.drivers.kind import Unconnectable
from gangline.drivers.kubernetes.access import ClusterCredentials
from gangline.lib.sealing import KeyFile, Keyring, key_of
from gangline.resources.services import make
from gangline.scopes.services import found
from gangline.supervisor import doctor
from tests.support.certificates import jwt

SECRET = jwt(sub="system:serviceaccount:gangline:gangline", exp=4_000_000_000)
ACCESS = ClusterCredentials("https://192.0.2.7:6443", token=SECRET)


@pytest.fixture(autouse=True)
def own_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "sealing.keys"
    monkeypatch.setattr(
        settings, "GANGLINE", settings.GANGLINE.model_copy(update={"keys_file": path})
    )
    KeyFile(path).add()
    return path


def cluster(name: str = "lab") -> Cluster:
    found(name="Test")
    made: Cluster = make("cluster", actor=None, name=name, kind="kubernetes")
    return made


def keys(*words: str) -> str:
    out = StringIO()
    call_command("keys", *words, stdout=out)
    return out.getvalue()


def everything_stored() -> str:
    """All rows of all tables, as text."""
    with connection.cursor() as cursor:
        rows: list[Any] = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += cursor.fetchall()
    return repr(rows)


def test_the_secret_is_nowhere_in_the_database(db: None) -> None:
    lab = cluster()
    stored = credentials.store(lab, ACCESS, by=None)
    assert stored.identity_name == "service account gangline/gangline"
    assert len(stored.fingerprint) == 16
    assert SECRET not in everything_stored()
    assert SECRET.split(".")[1] not in everything_stored()
    assert credentials.access_of(lab) == ACCESS


def test_a_credential_moved_to_another_cluster_is_refused(db: None) -> None:
    lab, other = cluster(), cluster("other")
    stored = credentials.store(lab, ACCESS, by=None)
    credentials.store(other, ACCESS, by=None)
    Credential.objects.filter(cluster=other).update(sealed=stored.sealed)
    with pytest.raises(credentials.NoCredential, match="encrypted for something else"):
        credentials.access_of(other)
    with pytest.raises(Unconnectable, match="replace the credential"):
        connections.driver_for(other)


def test_another_credential_makes_another_driver(db: None) -> None:
    lab = cluster()
    credentials.store(lab, ACCESS, by=None)
    first = connections.driver_for(lab)
    assert connections.driver_for(Cluster.objects.get(pk=lab.pk)) is first
    credentials.store(lab, ClusterCredentials("https://192.0.2.8:6443", token="other"), by=None)
    assert connections.driver_for(Cluster.objects.get(pk=lab.pk)) is not first


def test_a_lost_key_file_is_said(db: None, own_keys: Path) -> None:
    lab = cluster()
    credentials.store(lab, ACCESS, by=None)
    own_keys.unlink()
    with pytest.raises(credentials.NoCredential, match="Restore the key file"):
        credentials.access_of(lab)


def test_keys_are_turned_over_by_commands(db: None) -> None:
    clusters = [cluster(f"lab-{n}") for n in range(5)]
    for one in clusters:
        credentials.store(one, ACCESS, by=None)
    old = sealed.key_file().keyring().current
    new = keys("add").split()[2]
    with pytest.raises(CommandError, match=f"5 credentials are sealed with {old}"):
        keys("retire", old)
    assert f"{new}  seals  0" in keys("list")
    # Stopped in the middle and begun again: nothing is done twice.
    progress = sealed.reseal()
    assert [next(progress), next(progress)] == [1, 2]
    del progress
    assert "3 credentials were re-encrypted" in keys("rotate")
    assert sealed.counts() == {new: 5}
    keys("retire", old)
    assert old not in keys("list")
    assert [credentials.access_of(one) for one in clusters] == [ACCESS] * 5


def test_a_replaced_credential_is_not_overwritten_by_rotation(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = cluster()
    credentials.store(lab, ACCESS, by=None)
    keys("add")
    other = ClusterCredentials("https://192.0.2.8:6443", token="other")
    real = Keyring.resealed

    def meanwhile(ring: Keyring, context: str, sealed: str) -> str:
        credentials.store(lab, other, by=None)
        return real(ring, context, sealed)

    monkeypatch.setattr(Keyring, "resealed", meanwhile)
    assert list(sealed.reseal()) == [0]
    assert credentials.access_of(lab) == other


def rotate_and_retire() -> None:
    """A new key seals everything, and the old one goes."""
    old = sealed.key_file().keyring().current
    sealed.key_file().add()
    list(sealed.reseal())
    sealed.retire(old)


def test_a_key_that_goes_between_row_and_file_is_no_loss(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cluster("lab")
    credentials.store(one, ClusterCredentials("https://192.0.2.7", token="token-1"), by=None)
    opened = credentials._opened
    tries = 0

    def meanwhile(of: Cluster, sealed: str) -> str:
        nonlocal tries
        tries += 1
        if tries <= 2:
            rotate_and_retire()
        return opened(of, sealed)

    monkeypatch.setattr(credentials, "_opened", meanwhile)
    assert credentials.access_of(one).token == "token-1"
    assert tries == 3


def test_rotating_twice_while_others_read(transactional_db: None) -> None:
    clusters = [cluster(f"lab-{n}") for n in range(12)]
    for number, one in enumerate(clusters):
        credentials.store(
            one, ClusterCredentials("https://192.0.2.7", token=f"token-{number}"), by=None
        )
    stop, reads = threading.Event(), [0]
    wrong: list[object] = []

    def read() -> None:
        try:
            while not stop.is_set():
                for number, one in enumerate(clusters):
                    if credentials.access_of(one).token != f"token-{number}":
                        wrong.append(number)
                    reads[0] += 1
        except Exception as error:
            wrong.append(repr(error))
            raise
        finally:
            close_old_connections()
            connection.close()

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(2):
            rotate_and_retire()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert reads[0] > len(clusters)
    assert {key_of(row.sealed) for row in Credential.objects.all()} == {
        sealed.key_file().keyring().current
    }


def test_the_key_is_not_among_the_settings(db: None, own_keys: Path) -> None:
    key = own_keys.read_text().strip().split(":")[1]
    assert key not in json.dumps(settings.GANGLINE.model_dump(), default=str)


def test_a_project_can_be_made_on_a_cluster(db: None) -> None:
    lab, out = cluster(), StringIO()
    call_command("project", "vision", "--cluster", "lab", "--department", "research", stdout=out)
    assert out.getvalue().splitlines() == [
        "Department research on lab.",
        "Project vision in department research.",
        "It uses the namespace gangline-vision, created with its first workload.",
    ]
    assert lab.projects.get().department.name == "research"
    with pytest.raises(CommandError, match=r"There is no cluster nowhere\. Clusters: lab"):
        call_command("project", "x", "--cluster", "nowhere")
    with pytest.raises(CommandError, match="already"):
        call_command("project", "vision", "--cluster", "lab")


def test_a_project_is_made_with_those_who_work_in_it(db: None) -> None:
    lab, out = cluster(), StringIO()
    lena = create_user(username="lena")
    with pytest.raises(CommandError, match="There is no active user lenz"):
        call_command("project", "vision", "--cluster", "lab", "--researcher", "lenz")
    assert not lab.projects.exists()
    call_command("project", "vision", "--cluster", "lab", "--researcher", "lena", stdout=out)
    assert "Role researcher for lena in project vision." in out.getvalue().splitlines()
    assert [(one.role, one.scope) for one in lena.access_rules.all()] == [
        ("researcher", lab.projects.get().scope)
    ]


def test_the_doctor_looks_at_the_keys(db: None, own_keys: Path) -> None:
    def said() -> list[tuple[str, str]]:
        return [(one.grade, one.says) for one in doctor.findings() if one.what == "Keys"]

    assert said() == []
    credentials.store(cluster(), ACCESS, by=None)
    assert said() == [("ok", f"{own_keys} opens every credential.")]
    own_keys.chmod(0o644)
    assert said() == [("error", f"{own_keys} is open to others.")]
    own_keys.unlink()
    [(grade, says)] = said()
    assert grade == "error"
    assert "is missing" in says
    KeyFile(own_keys).add()
    assert said() == [("error", "1 of 1 credentials are sealed with a key that is gone.")]
