"""What answers of an API server mean, with messages as real servers send them."""

import pytest

from gangline.drivers.base import Busy, Refused, Result, Unknown
from gangline.drivers.kubernetes import errors, wording
from gangline.drivers.kubernetes.client import Answer

WEBHOOK = (
    'admission webhook "validator.pytorchjob.training-operator.kubeflow.org" denied the request: '
)
NAME = (
    'metadata.name: Invalid value: "1pt": a DNS-1035 label must consist of lower case alphanumeric '
    "characters or '-'"
)


def status(code: int, message: str, *, reason: str = "", wait: float | None = None) -> Answer:
    body = {"kind": "Status", "status": "Failure", "message": message, "reason": reason}
    return Answer(code, body, wait)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            status(403, WEBHOOK + NAME, reason="Forbidden"),
            Refused(f"The training-operator refused it: {NAME}."),
        ),
        (
            status(
                403,
                'admission webhook "policy.acme.io" denied the request: hostPath is not allowed',
            ),
            Refused("The check policy.acme.io refused it: hostPath is not allowed."),
        ),
        (
            status(
                422,
                'PyTorchJob.kubeflow.org "gang" is invalid: '
                "spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: -1: must be at least 0",
            ),
            Refused(
                "spec.pytorchReplicaSpecs.Worker.replicas: Invalid value: -1: must be at least 0."
            ),
        ),
        (
            status(
                400,
                'PyTorchJob in version "v1" cannot be handled as a PyTorchJob: strict decoding '
                'error: unknown field "spec.colour"',
            ),
            Refused('Unknown field "spec.colour".'),
        ),
        (
            status(
                403,
                'pods "gang-worker-0" is forbidden: exceeded quota: compute, requested: '
                "requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=4, limited: "
                "requests.nvidia.com/gpu=8",
            ),
            Refused(
                "Exceeded quota: compute, requested: "
                "requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=4, limited: "
                "requests.nvidia.com/gpu=8."
            ),
        ),
        (
            status(
                403,
                'pytorchjobs.kubeflow.org is forbidden: User "gangline" cannot create resource '
                '"pytorchjobs" in API group "kubeflow.org" in the namespace "gangline-vision"',
            ),
            Refused(
                "Gangline may not create pytorchjobs (kubeflow.org) in namespace gangline-vision: "
                "its role on the cluster lacks that permission."
            ),
        ),
        # Of what stands before the cluster: a login page, a proxy, one that lost patience.
        (
            Answer(302, "<html>login</html>"),
            Unknown("A proxy in front of the cluster answered 302."),
        ),
        (
            Answer(404, "default backend - 404"),
            Unknown("A proxy in front of the cluster answered 404: default backend - 404."),
        ),
        (Answer(408, None), Unknown("A proxy in front of the cluster answered 408.")),
        (
            Answer(403, {"message": "no entry"}),
            Unknown("A proxy in front of the cluster answered 403: no entry."),
        ),
        (
            status(404, 'namespaces "gangline-vision" not found', reason="NotFound"),
            Refused('Namespaces "gangline-vision" not found.'),
        ),
        (status(429, "too many requests", wait=7), Busy(7, is_for_all=True)),
        (status(429, "too many requests"), Busy(5, is_for_all=True)),
        (status(503, "shutting down", wait=3), Busy(3, is_for_all=True)),
        (
            status(503, "no healthy upstream"),
            Unknown("The cluster answered 503: no healthy upstream."),
        ),
        (
            status(500, "etcdserver: request timed out"),
            Unknown("The cluster answered 500: etcdserver: request timed out."),
        ),
        (
            status(500, 'Post "https://10.96.0.7:9443/x": EOF\ngoroutine 12 [running]:\nmain.go'),
            Unknown('The cluster answered 500: Post "an address inside the cluster EOF.'),
        ),
        (Answer(502, "<html>Bad Gateway</html>"), Unknown("The cluster answered 502.")),
        (Answer(500, None), Unknown("The cluster answered 500.")),
        (status(401, "Unauthorized"), Unknown("The cluster rejected Gangline's credential.")),
        (
            status(
                500,
                "Internal error occurred: failed calling webhook "
                '"validator.pytorchjob.training-operator.kubeflow.org": failed to call webhook: '
                'Post "https://x:9443/validate": dial tcp: connect: connection refused',
            ),
            Busy(10, "The training-operator, which the cluster calls, does not answer."),
        ),
        (
            status(
                403,
                'pytorchjobs.kubeflow.org "gang" is forbidden: unable to create new content in '
                "namespace gangline-vision because it is being terminated",
            ),
            Busy(3, "The project's namespace is being removed."),
        ),
    ],
)
def test_every_answer_has_its_meaning(answer: Answer, told: Result) -> None:
    assert errors.result(answer) == told


def test_words_are_cut_and_hold_nothing_that_a_terminal_obeys() -> None:
    said = errors.words(status(403, f"{WEBHOOK}\x1b[31mred\x00 {'x' * 5000}"))
    assert len(said) <= wording.LONGEST
    assert said.isprintable()
    assert said.startswith("The training-operator refused it: ")


def test_an_empty_answer_still_has_words() -> None:
    assert errors.words(Answer(418, None)) == "The cluster answered 418 and gave no reason."


def test_an_event_is_shown_as_one_clean_sentence() -> None:
    said = (
        'failed calling webhook "a.example": Post "https://hook.ml.svc:443/check": EOF\n'
        "goroutine 7 [running]:\nmain.main()\n\t/src/main.go:3"
    )
    assert wording.sentence(said) == (
        'Failed calling webhook "a.example": Post "an address inside the cluster EOF.'
    )
    assert wording.sentence("") == ""
