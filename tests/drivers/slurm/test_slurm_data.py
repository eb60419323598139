"""What a job finds beside its program: clones, downloads, keys, folders; and its image."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gangline.drivers.base import IMAGE_PULL, ObservedState, Refused
from gangline.drivers.slurm.driver import SlurmDriver
from tests.beds.slurm.lab import Lab
from tests.drivers.slurm.cases import Case
from tests.support import repositories
from tests.support.repositories import Repository

pytestmark = pytest.mark.needs_slurm
CANARY = "s3cr3t-canary"


@pytest.fixture
def case(slurm_lab: Lab, tmp_path: Path) -> Iterator[Case]:
    made = Case(slurm_lab, tmp_path)
    yield made
    made.close()


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    with repositories.serving(tmp_path / "repository") as made:
        yield made


def program(folder: Path, name: str, text: str) -> str:
    """A stand-in for what Debian has not, which notes how it was called; its folder."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f'#!/bin/bash\nprintf "%s\\n" "$*" >> {folder}/{name}.calls\n{text}\n')
    file.chmod(0o755)
    return str(folder)


def calls(folder: str, name: str) -> list[str]:
    return (Path(folder) / f"{name}.calls").read_text().splitlines()


def test_a_repository_is_there_before_the_ranks_and_its_login_in_no_file(
    case: Case, repository: Repository
) -> None:
    """One clone for both, and none of it stays."""
    repository.commit("new")
    repository.login = ("me", CANARY)
    git = {
        "name": "main",
        "repository": repository.url,
        "path": "/main",
        "secretRef": {"name": "login"},
    }
    ref = case.started(
        "/bin/sh -c 'cat $GANGLINE_DATA_MAIN/text'",
        workers=2,
        secrets={"login": {"User": "me", "Password": CANARY}},
        also={"storage.git": [git]},
    )
    assert case.over(ref).reason == ""
    assert [case.printed(ref, f"worker-{index}") for index in (0, 1)] == ["new\n"] * 2
    left = [path for path in case.folder(ref).rglob("*") if path.is_file()]
    assert not [path for path in left if CANARY.encode() in path.read_bytes()]
    assert not (case.folder(ref) / "data").exists()
    assert "main" in (case.folder(ref) / "job.sh").read_text(), "the control"


def test_what_cannot_be_fetched_ends_the_job_in_words(case: Case, repository: Repository) -> None:
    git = {"name": "main", "repository": repository.url, "path": "/main", "branch": "no-such"}
    seen = case.over(ref := case.started("true", also={"storage.git": [git]}))
    assert seen.state is ObservedState.FAILED
    assert "worker-0" in seen.reason
    assert "no-such" in case.log(ref)


def test_a_bucket_comes_by_the_program_that_the_node_has(case: Case, tmp_path: Path) -> None:
    shims = program(tmp_path / "bin", "rclone", 'printenv RCLONE_S3_SECRET_ACCESS_KEY > "$3/key"')
    s3 = {"name": "sets", "bucket": "sets", "url": "https://s3.example", "path": "/sets"}
    ref = case.started(
        "/bin/sh -c 'cat $GANGLINE_DATA_SETS/key'",
        path=shims,
        secrets={"keys": {"AccessKeyId": "id", "SecretKey": CANARY}},
        also={"storage.s3": [s3 | {"accessKeySecret": "keys"}]},
    )
    assert case.over(ref).reason == ""
    assert case.printed(ref) == f"{CANARY}\n"
    (call,) = calls(shims, "rclone")
    assert call.startswith("copy :s3:sets ")
    assert CANARY not in call


def test_folders_keys_and_volumes(case: Case, tmp_path: Path) -> None:
    """Each replica's temporary folder is its own; a volume is one for all while they run."""
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "one").write_text("1\n")
    show = (
        "touch $GANGLINE_DATA_CACHE/$RANK $GANGLINE_DATA_WORK/$RANK; ls $GANGLINE_DATA_CACHE;"
        " cat $GANGLINE_DATA_SETS/one $GANGLINE_DATA_KEYS/a.txt;"
        " stat -c %a $GANGLINE_DATA_KEYS/a.txt; echo $GANGLINE_DATA_CACHE $GANGLINE_DATA_WORK"
    )
    ref = case.started(
        f"/bin/sh -c '{show}'",
        workers=2,
        secrets={"keys": {"a.txt": f"{CANARY}\nwithout end"}},
        also={
            "storage.hostPath": [{"name": "sets", "path": str(sets), "mountPath": "/sets"}],
            "storage.secretVolume": [{"name": "keys", "secret": "keys", "mountPath": "/keys"}],
            "storage.emptyDirVolume": [{"name": "cache", "path": "/cache"}],
            "storage.pvc": [
                {"name": "work", "path": "/w", "ephemeral": True, "claimInfo": {"size": "1G"}}
            ],
        },
    )
    assert case.over(ref).reason == "", case.log(ref)
    told = [case.printed(ref, f"worker-{rank}").splitlines() for rank in (0, 1)]
    for rank, lines in enumerate(told):
        assert lines[:4] == [str(rank), "1", CANARY, "without end400"]
    folders = {folder for lines in told for folder in lines[-1].split()}
    assert len(folders) == 3
    assert not [folder for folder in folders if Path(folder).exists()]
    assert not (case.folder(ref) / "secrets").exists()


def test_a_folder_that_is_not_there_is_refused_before_anything_is_submitted(case: Case) -> None:
    path = {"name": "sets", "path": "/no/such/folder", "mountPath": "/sets"}
    ref = case.ref("true", **{"storage.hostPath": [path]})  # type: ignore[arg-type]
    answer = case.driver.create(ref)
    assert isinstance(answer, Refused)
    assert [one.path for one in answer.problems] == ["storage.hostPath.0.path"]
    assert case.driver.dry_run(ref).problems == answer.problems
    assert case.states() == []


APPTAINER = """case $1 in
pull) [ "$4" != docker://no/such ] || exit 1; echo sif > "$3" ;;
exec) while [ "$1" != *.sif ] && [ -n "${1##*.sif}" ]; do shift; done; shift; exec "$@" ;;
esac"""


def test_an_image_is_fetched_once_and_runs_the_command(case: Case, tmp_path: Path) -> None:
    shims = program(tmp_path / "bin", "apptainer", APPTAINER)
    sets = tmp_path / "sets"
    sets.mkdir()
    values = {
        "image": "registry.example:5000/vision/train:1",
        "workingDir": "/code",
        "storage.hostPath": [{"name": "sets", "path": str(sets), "mountPath": "/sets"}],
    }
    command = "printenv GANGLINE_DATA_SETS"
    refs = [case.started(command, path=shims, workers=2, also=values) for _ in "12"]
    for ref in refs:
        assert case.over(ref).reason == "", case.log(ref)
        assert case.printed(ref) == "/sets\n"
    told = calls(shims, "apptainer")
    (pull,) = [call for call in told if call.startswith("pull")]
    assert pull.endswith("docker://registry.example:5000/vision/train:1")
    runs = [call for call in told if call.startswith("exec")]
    assert len(runs) == 4
    assert all(f"--bind {sets}:/sets:ro --pwd /code" in run for run in runs)


def test_an_image_that_cannot_be_fetched_is_the_cause(case: Case, tmp_path: Path) -> None:
    shims = program(tmp_path / "bin", "apptainer", APPTAINER)
    seen = case.over(ref := case.started("true", path=shims, image="no/such"))
    assert (seen.reason_code, seen.reason_params) == (IMAGE_PULL, {"image": "no/such"})
    assert not list((case.runs / case.install / "images").glob("*.sif*[!k]"))
    assert case.folder(ref).exists()


SRUN = """if [ "$1" = --help ]; then echo --container-image=IMAGE; exit; fi
args=()
for one in "$@"; do case $one in --container-*) ;; *) args+=("$one") ;; esac; done
exec /usr/bin/srun "${args[@]}" """


def test_with_pyxis_slurm_itself_starts_the_containers(case: Case, tmp_path: Path) -> None:
    shims = program(tmp_path / "bin", "srun", SRUN)
    sets = tmp_path / "my sets"
    sets.mkdir()
    host_path = {"name": "sets", "path": str(sets), "mountPath": "/sets", "readOnly": False}
    ref = case.started(
        "printenv GANGLINE_DATA_SETS",
        path=shims,
        image="registry.example/vision/train:1",
        also={"storage.hostPath": [host_path]},
    )
    assert case.over(ref).reason == "", case.log(ref)
    assert case.printed(ref) == "/sets\n"
    step = calls(shims, "srun")[-1]
    assert "--container-image=registry.example#vision/train:1 " in step
    assert f"{sets}:/sets:rw" in step


def test_where_nothing_runs_images_the_field_says_so(case: Case, tmp_path: Path) -> None:
    assert "image" in case.driver.unsupported
    seen = case.over(case.started("true", path="/nowhere", image="python:3"))
    assert seen.state is ObservedState.FAILED
    shims = program(tmp_path / "bin", "apptainer", APPTAINER)
    facts = case.driver_with(shims).probe().facts
    assert facts is not None
    assert facts.detail["containers"] == "apptainer"
    options = replace(case.driver.options, containers=facts.detail["containers"])
    assert "image" not in SlurmDriver(case.driver.programs, options).unsupported
