"""Grammar of the single values: names, images, quantities, commands, reserved names."""

import pytest

from gangline.spec.problems import Role
from gangline.spec.reserved import (
    metadata_key_problem,
    reserved_domain,
    reserved_variable,
    variable_name_problem,
)
from gangline.spec.types import (
    is_workload_name,
    quantity_bytes,
    split_command,
    split_quantity,
)
from gangline.spec.values import validate
from gangline.spec.workload import WorkerSpec
from tests.security.matrix import RESERVED_KEYS


def problems(path: str, value: object) -> list[str]:
    return [p.message for p in validate(WorkerSpec, Role.WORKER, {path: value})]


@pytest.mark.parametrize("name", ["a", "bert-ddp", "a" * 51, "a1-2b"])
def test_good_workload_names(name: str) -> None:
    assert is_workload_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "abc\n", "-abc", "abc-", "1abc", "Abc", "a_b", "a" * 52, "аbc", "ａbc", "a\u200bb",
     "../../etc/passwd", "a/b", "a%2fb", "..", "\"><script>alert(1)</script>", "a b", "a\0b"],
)  # fmt: skip
def test_bad_workload_names(name: str) -> None:
    assert not is_workload_name(name)


@pytest.mark.parametrize(
    ("text", "size"),
    [("100", 100), ("1k", 1000), ("16G", 16 * 10**9), ("15Gi", 15 * 2**30), ("1.5Mi", 1572864),
     ("0", 0), ("1E", 10**18)],
)  # fmt: skip
def test_a_quantity_is_a_number_of_bytes(text: str, size: int) -> None:
    assert quantity_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "1e3G", "-1G", "100 MB", "０G", "1_000", "G", "1.G", "1K", "9" * 16, "1G\n", "١G"]
)
def test_what_is_no_quantity(text: str) -> None:
    assert split_quantity(text) is None
    with pytest.raises(ValueError, match="must be a size such as 512M or 16Gi"):
        quantity_bytes(text)


def test_a_quantity_splits_into_number_and_unit() -> None:
    assert split_quantity("16Gi") == ("16", "Gi")
    assert split_quantity("0.5") == ("0.5", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("100m", "must be a size; 100m means thousandths of a byte, write 100M for MB"),
        ("100 MB", "must be a size; write it as 100M"),
        ("2kb", "must be a size; write it as 2k"),
        ("2K", "must be a size; write it as 2k"),
        ("16GiB", "must be a size; write it as 16Gi"),
        ("1e3G", "must be a size such as 512M or 16Gi"),
        ("0", "must be between 1 MB and 1 PB"),
        ("100", "must be between 1 MB and 1 PB"),
        ("1Ei", "must be between 1 MB and 1 PB"),
        ("9" * 50, "must have at most 40 characters"),
    ],
)
def test_a_bad_memory_size_says_what_to_write(text: str, message: str) -> None:
    assert problems("compute.cpuMemoryRequest", text) == [message]


@pytest.mark.parametrize("text", ["1M", "256M", "16Gi", "1P", "1000000", "0.5G"])
def test_good_memory_sizes(text: str) -> None:
    assert problems("compute.cpuMemoryRequest", text) == []


@pytest.mark.parametrize(
    "image",
    ["ddp", "ddp:1.4", "team/ddp", "registry.local/ddp:1.4", "registry.local:5000/a/b_c/d-e:x",
     "localhost/x", "localhost:5000/x", "a.b/c@sha256:" + "0" * 64, "x:latest",
     "local://examples", "local://torch-2.13", "local://a"],
)  # fmt: skip
def test_good_images(image: str) -> None:
    assert problems("image", image) == []


@pytest.mark.parametrize(
    "image",
    ["", "alpine; id", "../x", "http://169.254.169.254/x", "UPPER", "x:", "x@sha256:00", "a b",
     "local://", "local://../x", "local://A", "local:///x", "local://a-", "-x", "x\n", "ａ", "x\0",
     "a" * 513, "file://x"],
)  # fmt: skip
def test_bad_images(image: str) -> None:
    assert len(problems("image", image)) == 1


def test_a_command_is_split_without_a_shell() -> None:
    assert split_command("python 'my train.py' --x=$(id);") == [
        "python",
        "my train.py",
        "--x=$(id);",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('bash -c "x', "has an unclosed quote"),
        ("it's", "has an unclosed quote"),
        ("x\\", "ends with “\\”"),
        ("x " * 1001, "must have at most 1000 words"),
        ("", "must not be empty"),
        (" \n", "must not be empty"),
        ("a\0b", "must not contain a NUL character"),
        ("x" * 65_537, "must have at most 65536 characters"),
    ],
)
def test_bad_commands(text: str, message: str) -> None:
    assert problems("command", text) == [message]


def test_arguments_may_be_empty_but_not_unclosed() -> None:
    assert problems("args", "") == []
    assert problems("args", "--a=; touch /tmp/pwn\n--b") == []
    assert problems("args", '"') == ["has an unclosed quote"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("x", "must be an absolute path: start it with “/”"),
        ("", "must be an absolute path: start it with “/”"),
        ("/a/../b", "must not contain “..”"),
        ("/a\n", "must not contain control characters"),
    ],
)
def test_bad_working_directories(path: str, message: str) -> None:
    assert problems("workingDir", path) == [message]


def test_good_working_directories() -> None:
    assert problems("workingDir", "/") == []
    assert problems("workingDir", "/mein Ordner/a..b") == []


@pytest.mark.parametrize(
    "name",
    ["GANGLINE_TOKEN", "RUNAI_PROJECT", "SLURM_JOB_ID", "SBATCH_ACCOUNT", "LD_PRELOAD", "BASH_ENV",
     "MASTER_ADDR", "RANK", "WORLD_SIZE", "TF_CONFIG", "DMLC_TRACKER_URI", "PET_NNODES",
     "OMPI_COMM_WORLD_RANK", "COORDINATOR_ADDRESS", "CUDA_VISIBLE_DEVICES"],
)  # fmt: skip
def test_reserved_variables_are_refused_with_the_reason(name: str) -> None:
    reason = reserved_variable(name)
    assert reason
    found = problems("environmentVariables", [{"name": name, "value": "x"}])
    assert found == [f"is reserved: {reason}"]


def test_variables_of_programs_for_run_ai_are_people_s() -> None:
    """The quick start sets this one."""
    assert problems("environmentVariables", [{"name": "RUNAI_SLEEP_SECS", "value": "60"}]) == []


@pytest.mark.parametrize("name", ["A=B", "1A", "A B", "A\nB", "", "Ａ", "A\0", "A-B", "A" * 257])
def test_bad_variable_names(name: str) -> None:
    assert len(problems("environmentVariables", [{"name": name, "value": ""}])) == 1


@pytest.mark.parametrize("name", ["NCCL_DEBUG", "_x", "OMP_NUM_THREADS", "PYTHONPATH", "rank"])
def test_good_variable_names(name: str) -> None:
    assert variable_name_problem(name) is None


@pytest.mark.parametrize("value", ["$(curl evil)", "`id`", "'; rm -rf / #", "two\nlines", ""])
def test_a_variable_may_have_any_text(value: str) -> None:
    assert problems("environmentVariables", [{"name": "A", "value": value}]) == []


@pytest.mark.parametrize("path", ["labels", "annotations"])
@pytest.mark.parametrize("key", ["gangline.dev/workload", "x.gangline.dev/x", "USER.dev/x", "/x"])
def test_keys_that_are_nobodys_to_use_are_refused(path: str, key: str) -> None:
    assert len(problems(path, [{"name": key, "value": "x"}])) == 1


@pytest.mark.parametrize(
    ("key", "domain"),
    [
        ("k8s.v1.cni.cncf.io/networks", ""),
        ("example.com/kubernetes.io", ""),
        ("team", ""),
        ("a.kubernetes.io/x", "kubernetes.io"),
    ],
)
def test_domains_that_a_cluster_reads_are_reserved(key: str, domain: str) -> None:
    assert problems("labels", [{"name": key, "value": "x"}]) == []
    assert reserved_domain(key) == domain
    assert all(map(reserved_domain, RESERVED_KEYS))


def test_keys_of_controllers_are_refused() -> None:
    assert metadata_key_problem("job-name") == "is reserved: controllers use it"


@pytest.mark.parametrize("key", ["", "a b", "a\n", "-a", "a" * 64, "user.gangline.dev/", "ä"])
def test_bad_label_names(key: str) -> None:
    assert len(problems("labels", [{"name": key, "value": "x"}])) == 1


@pytest.mark.parametrize("key", ["team", "user.gangline.dev/team", "a.b_c-d", "a" * 63])
def test_good_label_names(key: str) -> None:
    assert problems("labels", [{"name": key, "value": ""}]) == []


@pytest.mark.parametrize("value", ["a" * 64, "a b", "a\n", "-a", "ä"])
def test_bad_label_values(value: str) -> None:
    assert len(problems("labels", [{"name": "a", "value": value}])) == 1


def test_annotations_take_text_but_no_control_characters() -> None:
    assert problems("annotations", [{"name": "a", "value": "Größe:\n\t1 < 2"}]) == []
    found = problems("annotations", [{"name": "a", "value": "a\x1b[0m"}])
    assert found == ["must not contain control characters"]


def test_annotations_together_have_a_limit() -> None:
    items = [{"name": f"a{n}", "value": "x" * 1000} for n in range(5)]
    assert problems("annotations", items) == [
        "must take at most 4096 bytes together, and take 5010"
    ]
