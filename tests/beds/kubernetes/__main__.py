"""Start or stop a Kubernetes to try things on, or build its programs.

Usage: `python -m tests.beds.kubernetes up|down|build`. `WITH` in the environment names add-ons,
separated by spaces; the bed lives in the folder ``bed`` of ``$GANGLINE_DATA_DIR``, or of ``var``.
"""

import os
import sys
import time
from pathlib import Path

from . import bed, building
from .components import ADD_ONS, needed
from .kubeconfigs import USERS
from .pki import NoCertificates
from .processes import BedFailed

_STEPS = """
Try Gangline on it:
  1  In another terminal, where it stays:  GANGLINE_CLUSTER_ADDRESSES=127.0.0.0/8 make run
  2  Open the administrator's link, then Clusters → Connect a cluster. Name it lab; the file is
     {kubeconfig}
  3  On its page New project: make a department, then project speech; on the page of the
     project add the member researcher.
  4  Open the researcher's link, then New workload: cluster lab, any image, any command.
     Its pods run until you stop it, or end by themselves with the environment variables
     BED_EXIT_CODE=0 and BED_RUN_FOR=30s."""


def main(arguments: list[str]) -> int:
    """Do what the one argument says."""
    actions = {"up": _up, "down": _down, "build": _build}
    if len(arguments) != 1 or arguments[0] not in actions:
        return _refuse(f"Say one of {', '.join(actions)}.")
    try:
        return actions[arguments[0]](tuple(os.environ.get("WITH", "").split()))
    except (BedFailed, building.BuildFailed, NoCertificates, ValueError) as problem:
        return _refuse(str(problem))
    except KeyboardInterrupt:
        return _refuse("\nStopped.")


def _build(with_: tuple[str, ...]) -> int:
    building.build(with_)
    _say(f"The programs of the bed are in {building.cache_folder()}.")
    return 0


def _up(with_: tuple[str, ...]) -> int:
    folder = _folder()
    needed(with_)
    there = bed.find(folder)
    if there and there.state and set(with_) - set(there.state.with_):
        return _refuse("A bed is running without these add-ons: `make bed-down` first.")
    if there is None:
        building.build(with_)
    began = time.monotonic()
    says = "Kubernetes is running at {}" if there else "Kubernetes is ready after {1:.1f} s at {0}"
    there = there or bed.start(folder, with_)
    assert there.state
    _say(says.format(there.admin.server, time.monotonic() - began))
    for user in USERS:
        rights = "may do everything" if user == "admin" else "has the rights that Gangline asks for"
        _say(f"  {user + ' kubeconfig':24} {there.folder / user}.kubeconfig   {rights}")
    _say(f"  Logs                     {there.folder / 'logs'}, one of each of its processes")
    _say(f"  Add-ons                  {' '.join(there.state.with_) or 'none'}; {_choice()}")
    _say(f"  kubectl                  {kubectl(there.folder)}")
    _say("  Stop it                  make bed-down")
    _say(_STEPS.format(kubeconfig=there.folder / "gangline.kubeconfig"))
    return 0


def kubectl(folder: Path) -> str:
    """The command that looks at the bed in ``folder``, or how to come to one."""
    program = building.program("kubectl")
    if not program.exists():
        return "make bed-build WITH=kubectl builds one, and make bed then prints its path"
    return f"{program} --kubeconfig {folder / 'admin.kubeconfig'}"


def _choice() -> str:
    return f"WITH= takes {', '.join(sorted(ADD_ONS))}"


def _down(_: tuple[str, ...]) -> int:
    began = time.monotonic()
    was_there = bed.stop(_folder())
    took = time.monotonic() - began
    _say(f"The bed is stopped, after {took:.1f} s." if was_there else "No bed is running.")
    return 0


def _folder() -> Path:
    return bed.ROOT / Path(os.environ.get("GANGLINE_DATA_DIR") or "var").expanduser() / "bed"


def _say(sentence: str) -> None:
    building.say(sentence)


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
