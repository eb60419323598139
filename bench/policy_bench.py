"""The policy of a project and the judgement of a full spec under it, without a database."""

from typing import Any

from bench import rules, servers
from bench.loads import Samples, in_turns, row
from bench.report import Row, Target
from gangline.spec.sources import Value

ROUNDS = 200


def run() -> list[Row]:
    with servers.place() as place:
        found: dict[str, Any] = place.inside("bench.policy_bench:measure")
    times = {name: Samples(**one) for name, one in found.items()}
    floor, name = times["validate"], "the spec's own types"
    count = rules.count()
    return [
        row("policy", f"merge {count} rules and judge a full spec", times["both"], floor=floor,
            floor_name=name, targets=(Target("cpu", 10),),
            note=f"{len(rules.full())} values"),
        row("policy", "judge alone, policy kept", times["judge"], floor=floor, floor_name=name),
        row("policy", f"the same with {4 * count} rules", times["four times"], floor=floor,
            floor_name=name, note="linear is 4 × the merging"),
        row("policy", "read the four documents", times["parse"], note="once per version"),
    ]  # fmt: skip


def measure() -> dict[str, Any]:
    """Inside: everything in turns."""
    from gangline.policies.effective import Layer, effective_policy
    from gangline.policies.engine import Request, resolve
    from gangline.policies.parser import parse
    from gangline.spec.frameworks import WORKERS_AND_MASTER
    from gangline.spec.values import nest
    from gangline.spec.workload import ReplicaSpec, WorkerSpec

    layers = [Layer(kind, "one", parse(text)) for kind, text in rules.documents()]
    said = {path: Value(value) for path, value in rules.full().items()}
    request = Request(
        framework="PyTorch", configuration=WORKERS_AND_MASTER, master="own", given=said
    )
    kept = effective_policy(layers)
    if problems := resolve(request, kept).problems:
        raise AssertionError(problems)

    halves: dict[str, dict[str, Any]] = {"worker": {}, "master": {}}
    for qualified, value in rules.full().items():
        role, _, path = qualified.partition(".")
        halves[role][path] = value

    def validate() -> None:
        WorkerSpec.model_validate(nest(halves["worker"]))
        ReplicaSpec.model_validate(nest(halves["master"]))

    samples = in_turns(
        {
            "validate": validate,
            "judge": lambda: resolve(request, kept),
            "both": lambda: resolve(request, effective_policy(layers)),
            "four times": lambda: resolve(request, effective_policy(layers * 4)),
            "parse": lambda: [parse(text) for _, text in rules.documents()],
        },
        rounds=ROUNDS,
    )
    return {name: one.as_json() for name, one in samples.items()}
