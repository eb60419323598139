"""The batch script of an attempt, from its rendered form.

What people have typed stands in it as quoted words of bash, and in no ``#SBATCH`` line: those hold
numbers and names that were looked at. Nothing secret is in it: Slurm shows scripts to operators.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gangline.drivers.base import GPU_COUNT
from gangline.spec import batch
from gangline.spec.frameworks import interfaces
from gangline.spec.slurm import OPTION_VALUE, OPTIONS, TOKEN

from . import containers, data, launches, rendering, texts
from .commands import here, quoted

REPLICA, OWN, NODE = "replica.sh", "script", "node.sh"
DEFAULT_GRACE = 30
NOTHING: Mapping[str, Any] = {}
_REFERENCE = re.compile(r"(\$?)\$\(([^()]*)\)")
_OPTIONS = frozenset({"account", "qos", "reservation", "time"})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


_MOUNTED = data.FETCH[: data.FETCH.index("clone() {")]


class CannotWrite(Exception):
    """In words, why no script can be made of the form."""


def script(native: Mapping[str, Any]) -> str:
    """Raises CannotWrite."""
    if native.get("form") != rendering.FORM:
        raise CannotWrite("Another version of Gangline prepared it. Run it again.")
    return "\n".join(_lines(native)) + "\n"


def _lines(native: Mapping[str, Any]) -> Iterator[str]:
    yield "#!/bin/bash"
    asked = rendering.components(native)
    for number, (tasks, asks) in enumerate(asked):
        if number:
            yield "#SBATCH hetjob"
        yield from directives(tasks, asks)
        for name, value in native.get("options", {}).items():
            yield f"#SBATCH --{_option(name)}={_value(value)}"
        for name, value in native.get("further", ()):
            yield f"#SBATCH --{_further(name)}{f'={_value(value)}' if value else ''}"
    yield ""
    for name, value in sorted(variables(native).items()):
        yield f"export {name}={quoted(value)}"
    yield texts.JOB
    if rendering.launches(native["framework"]):
        yield texts.HOSTFILE
    if modules := native.get("modules"):
        yield f"{texts.LOAD}load {' '.join(map(quoted, modules))}"
    yield from _prepared(native)
    if own := native.get("script"):
        yield texts.MODULES
        yield here(own, OWN).rstrip("\n")
    if _is_measured_by_node(native):
        yield here(texts.NODE, NODE).rstrip("\n")
    replica = texts.REPLICA.replace("\nCOMMAND=()\n", f"\n{_functions(native)}\nCOMMAND=()\n")
    yield here(replica, REPLICA).rstrip("\n")
    yield from _run(native)
    yield "finish $?"


def _run(native: Mapping[str, Any]) -> Iterator[str]:
    """Start what the job is for and wait for its end."""
    by_node = _is_measured_by_node(native)
    if by_node:
        # Beside whatever is started there, and of what was asked for it takes nothing.
        least = 1 if native.get("script") else 0
        yield f'W=; if [ "$SLURM_NNODES" -gt {least} ]; then'
        yield "  srun --quiet --overlap --mem=0 --gres=none --cpus-per-task=1 \\"
        yield '    --nodes="$SLURM_NNODES" --ntasks="$SLURM_NNODES" --ntasks-per-node=1 \\'
        yield f"    bash {NODE} < /dev/null > /dev/null 2>&1 & W=$!"
        yield "fi"
    if rendering.launcher(native):
        yield "LAUNCHER=1"
        yield f"SLURM_PROCID=0 bash {REPLICA} & P=$!"
    else:
        yield f"srun --kill-on-bad-exit=1 {_step(native)} & P=$!"
    yield 'await "$P"'
    if by_node:
        yield 'CODE=$?; [ -z "$W" ] || kill "$W" 2> /dev/null; (exit $CODE)'


def _is_measured_by_node(native: Mapping[str, Any]) -> bool:
    """Whether what it uses is no child of a replica: steps of a script, ranks of a launcher.

    Of several replicas on one node nobody knows whose a step is.
    """
    shares = any(asks.get("shares") for _, asks in rendering.components(native))
    return bool(native.get("script") or (rendering.launcher(native) and not shares))


def _prepared(native: Mapping[str, Any]) -> Iterator[str]:
    """What is fetched before the ranks start, and what their containers are."""
    running = rendering.running(native)
    fetched = [line for part in running for line in data.fetches(part)]
    if any(part.get("data") for part in running):
        yield data.FETCH.rstrip("\n")
    yield from fetched
    images = [line for part in running for line in containers.prepared(part)]
    if images:
        yield containers.PULL.rstrip("\n")
    yield from images
    yield from filter(None, map(containers.step_options, running))


def directives(tasks: int, asks: Mapping[str, Any]) -> list[str]:
    """What one component asks Slurm for."""
    shares, each = asks.get("shares"), max(1, int(asks.get("tasks") or 1))
    cores = max(1, _cpus(asks) // each)
    options = [f"ntasks={tasks}"] if shares else [f"nodes={tasks}", f"ntasks-per-node={each}"]
    options.append(f"cpus-per-task={cores}")
    if megabytes := asks.get("megabytes"):
        # Of a node that is shared, each task takes what its cores bring along.
        is_of_a_core = f"mem-per-cpu={-(-int(megabytes) // cores)}M"
        options.append(is_of_a_core if shares else f"mem={int(megabytes)}M")
    if gpus := _gpus(asks):
        options.append(f"gpus-per-task={gpus}" if shares else f"gres=gpu:{gpus}")
    if partitions := asks.get("partitions"):
        options.append(f"partition={','.join(map(_token, partitions))}")
    if feature := asks.get("feature"):
        options.append(f"constraint={_token(feature)}")
    return [f"#SBATCH --{option}" for option in options]


def _gpus(asks: Mapping[str, Any]) -> str:
    """``a100:2``; empty for none."""
    if not (count := asks.get("gpus")):
        return ""
    kind = f"{_token(asks['gpuType'])}:" if asks.get("gpuType") else ""
    return f"{kind}{int(count)}"


def _step(native: Mapping[str, Any]) -> str:
    """What each component of the step takes, and what it runs."""
    asked = rendering.components(native)
    is_one = len(asked) == 1
    return " : ".join(
        f"{'' if is_one else f'--het-group={number} '}{_tasks(tasks, asks)}"
        f" --cpus-per-task={_cpus(asks)} {_container(asks)}bash {REPLICA}"
        for number, (tasks, asks) in enumerate(asked)
    )


def _tasks(count: int, asks: Mapping[str, Any]) -> str:
    if not asks.get("shares"):
        return f"--nodes={count} --ntasks={count}"
    gpus = f" --gpus-per-task={found}" if (found := _gpus(asks)) else ""
    # One node after the other, as the script counts them.
    return f"--ntasks={count} --distribution=block{gpus}"


def _container(asks: Mapping[str, Any]) -> str:
    role = asks.get("containerOf")
    return f'"${{PYXIS_{role}[@]}}" ' if role else ""


def variables(native: Mapping[str, Any]) -> dict[str, str]:
    """What holds for the whole gang."""
    framework, launcher = native["framework"], rendering.launcher(native)
    places = [
        f"{part['role']}:{1 if launcher else part['pods']}:{_cpus(part.get('asks') or {})}"
        for part in rendering.running(native)
    ]
    workers = sum(int(part["pods"]) for part in native["parts"] if part["role"] == "worker")
    return {
        **native.get("identifiers", {}),
        **(interfaces(native["interface"]) if native.get("interface") else {}),
        "GANGLINE_FRAMEWORK": framework,
        "GANGLINE_GRACE": str(native.get("grace", DEFAULT_GRACE)),
        "GANGLINE_LAUNCHER": str(int(bool(launcher))),
        "GANGLINE_NUM_WORKERS": str(workers),
        "GANGLINE_PARTS": " ".join(places),
    }


def _functions(native: Mapping[str, Any]) -> str:
    parts = rendering.running(native)
    texts = ["IMAGE="] if any(part.get("data") or part.get("image") for part in parts) else []
    if any(part.get("data") for part in parts):
        texts.append(_MOUNTED + data.PLACE.rstrip("\n"))
    if any(part.get("image") for part in parts):
        texts.append(containers.INSIDE.rstrip("\n"))
    return "\n".join([*texts, *(function(part, native) for part in parts)])


def function(part: Mapping[str, Any], native: Mapping[str, Any] = NOTHING) -> str:
    """What tells the replicas of one role from others: variables, folder and command."""
    own = native.get("script")
    words = _of_script(own) if own else [*map(expanding, _words(part, native))]
    lines = [f"{part['role']}() {{"]
    said: dict[str, str] = {GPU_COUNT: str((part.get("asks") or {}).get("gpus") or 0)}
    said |= _told(part)
    lines += [f"  export {name}={quoted(value)}" for name, value in said.items()]
    if part.get("image"):
        lines += [f"  IMAGE=$GANGLINE_IMAGE_{part['role']}"]
    if part.get("home"):
        lines += ['  mkdir -p home && export HOME="$PWD/home"']
    lines += [f"  export {variable(name)}={expanding(v)}" for name, v in part.get("variables", ())]
    for one in data.places(part):
        word = "fresh" if one.is_fresh else "place"
        mode = "" if one.is_fresh else f" {one.mode}"
        lines += [f"  {word} {one.variable} {one.source} {quoted(one.target)}{mode} || return"]
    folder, image = part.get("workingDirectory"), part.get("image")
    if folder and not image:
        lines += [f"  cd {quoted(folder)} || return 66"]
    if image:
        lines += [f'  inside "$IMAGE" {quoted(folder or "")}']
    lines += [f"  COMMAND=({' '.join(words)})", "}"]
    return "\n".join(lines)


def _words(part: Mapping[str, Any], native: Mapping[str, Any]) -> list[str]:
    words = [*part.get("command", ()), *part.get("arguments", ())]
    if not words:
        raise CannotWrite(f"The {part['role']} has no command.")
    return launches.words(native, words) if native.get("launcher") else words


def _of_script(own: str) -> list[str]:
    """Quoted words that run a person's own script, by the program that its first line names."""
    words = batch.interpreter(own)
    if not words:
        raise CannotWrite("The script does not start with the program that runs it.")
    return [*map(quoted, words), f'"$RUN/{OWN}"']


def _told(part: Mapping[str, Any]) -> dict[str, str]:
    """What a workload is for, and what people have put on it."""
    found = {"GANGLINE_CATEGORY": part["category"]} if part.get("category") else {}
    kinds = [kind for kind in ("labels", "annotations") if part.get(kind)]
    return found | {f"GANGLINE_{kind.upper()}": json.dumps(dict(part[kind])) for kind in kinds}


def expanding(text: str) -> str:
    """A word of bash for ``text``, with ``$(NAME)`` as the variable's value, as Kubernetes has it.

    ``$$(NAME)`` stands for ``$(NAME)`` itself, and so does the name of no variable.
    """
    if "\0" in text:
        raise CannotWrite("A command or variable contains a NUL character.")
    made, at = [], 0
    for match in _REFERENCE.finditer(text):
        escape, name = match.groups()
        made.append(quoted(text[at : match.start()]) if match.start() > at else "")
        at = match.end()
        if escape:
            made.append(quoted(match[0][1:]))
        elif _NAME.fullmatch(name):
            made.append(f'"${{{name}-\\$({name})}}"')
        else:
            made.append(quoted(match[0]))
    if at < len(text) or not text:
        made.append(quoted(text[at:]))
    return "".join(made)


def _cpus(asks: Mapping[str, Any]) -> int:
    return max(1, int(asks.get("cpus") or 1))


def _token(word: str) -> str:
    if not TOKEN.fullmatch(word):
        raise CannotWrite(f"“{word}” is not the name of a partition or a feature.")
    return word


def _option(name: str) -> str:
    if name not in _OPTIONS:
        raise CannotWrite(f"“{name}” is not an option that Gangline passes to a job.")
    return name


def _further(name: str) -> str:
    if name not in OPTIONS:
        raise CannotWrite(f"“{name}” is not an option that users may pass to a job.")
    return name


def _value(value: str) -> str:
    if not OPTION_VALUE.fullmatch(value):
        raise CannotWrite(f"“{value}” is not a valid value of a Slurm option.")
    return value


def variable(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise CannotWrite(f"“{name}” is not the name of a variable.")
    return name
