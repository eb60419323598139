"""Images of a job's programs, by what the cluster has: pyxis, apptainer or singularity.

An image is fetched once, by the first node that holds the lock, into ``images`` beside the runs.
With apptainer the command alone runs in the container, which `replica.sh` starts; with pyxis Slurm
itself starts all of `replica.sh` in it, so the image needs a bash.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gangline.spec.frameworks import Framework
from gangline.spec.problems import Problem, Role
from gangline.spec.workload import ReplicaSpec

from . import data
from .commands import quoted
from .texts import NO_IMAGE, NO_RUNTIME

PYXIS, APPTAINER, SINGULARITY = "pyxis", "apptainer", "singularity"
LOCAL = "local://"
FIND = (
    f"if srun --help 2> /dev/null | grep -q -e --container-image; then echo {PYXIS};"
    f" else for p in {APPTAINER} {SINGULARITY}; do"
    ' if command -v "$p" > /dev/null; then echo "$p"; break; fi; done; fi'
)
"""Prints what the cluster has; nothing where it runs programs as they are."""
PULL = rf"""GANGLINE_CONTAINER=$({FIND})
export GANGLINE_CONTAINER
[ -n "$GANGLINE_CONTAINER" ] \
  || {{ echo "The cluster has no pyxis, apptainer or singularity." >&2; finish {NO_RUNTIME}; }}
pull() {{
  # Once for all jobs: others wait for the lock, and find it there.
  local images file
  case $1 in /*) IMAGE=$1; return ;; esac
  images=$(cd ../.. && pwd)/images
  mkdir -p "$images"
  file=$images/$(printf %s "$1" | sha256sum | cut -c 1-40)
  case $GANGLINE_CONTAINER in
  {PYXIS})
    IMAGE=$1
    # A registry is told by a point or a port, and has a mark of its own behind it.
    case ${{1%%/*}} in "$1") ;; *.*|*:*|localhost) IMAGE=${{1%%/*}}#${{1#*/}} ;; esac
    command -v enroot > /dev/null || return 0
    set -- "$1" "docker://$IMAGE"
    IMAGE=$file.sqsh
    once "$1" "$IMAGE" enroot import -o "$IMAGE.new" "$2" ;;
  *)
    IMAGE=$file.sif
    once "$1" "$IMAGE" "$GANGLINE_CONTAINER" pull --force "$IMAGE.new" "docker://$1" ;;
  esac
}}
once() {{
  local image=$1 file=$2
  shift 2
  ( flock 8
    [ -e "$file" ] || {{ rm -f "$file.new"; "$@" && mv -f "$file.new" "$file"; }}
  ) > job.fetch 2>&1 8> "$file.lock" & P=$!
  await "$P" || {{ cat job.fetch >&2; echo "$image" > image; finish {NO_IMAGE}; }}
  [ $STOPPING = 0 ] || finish 75
}}
"""
INSIDE = r"""inside() {
  # The image, and the folder in it where the command starts.
  [ "$GANGLINE_CONTAINER" != pyxis ] || return 0
  CONTAINER=("$GANGLINE_CONTAINER" exec --bind "$RUN" "${BINDS[@]}" --pwd "${2:-$PWD}")
  [ ! -e /dev/nvidiactl ] || CONTAINER+=(--nv)
  [ ! -e /dev/kfd ] || CONTAINER+=(--rocm)
  CONTAINER+=("$1")
}
"""


def prepared(part: Mapping[str, Any]) -> Iterator[str]:
    """Lines of the job's script that fetch the image of a role, for its replicas to find."""
    if image := part.get("image"):
        yield f'pull {quoted(image)} && export GANGLINE_IMAGE_{part["role"]}="$IMAGE"'


def step_options(part: Mapping[str, Any]) -> str:
    """What srun is told of the containers of a role, in words of bash; empty without pyxis."""
    if not part.get("image"):
        return ""
    mounts = ['"$RUN:$RUN"']
    mounts += [f"{one.source}:{quoted(one.target)}:{one.mode}" for one in data.places(part)]
    image = f'"$GANGLINE_IMAGE_{part["role"]}"'
    words = f"--container-image={image} --container-mounts={','.join(mounts)}"
    name = f"PYXIS_{part['role']}"
    return f"{name}=(); [ $GANGLINE_CONTAINER != {PYXIS} ] || {name}=({words})"


def problems(role: Role, spec: ReplicaSpec, framework: Framework) -> Iterator[Problem]:
    if not spec.image:
        return
    if spec.image.startswith(LOCAL):
        yield Problem.of(role, "image", "container", value=spec.image, accepted="a container image")
    elif framework.launches:
        yield Problem.of(
            role, "image", "cluster:launcher_image", value=spec.image, accepted="no value"
        )
