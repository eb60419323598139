"""Starts the missing replicas of one gang and goes away: `python -I -S launcher.py RUN_FOLDER`.

Every shim is forked twice, so its parent is init and no killer of process trees that starts at the
dashboard finds it. With a replica's name as second argument that one runs in the foreground.
"""

import importlib
import json
import os
import signal
import sys
import traceback
from typing import Any

# Only modules that need nothing but the standard library, and few of those, are taken from there.
sys.path.append(os.path.abspath(f"{__file__}/../../../.."))
files = importlib.import_module("gangline.drivers.local.shim.files")
replica = importlib.import_module("gangline.drivers.local.shim.replica")


def main(arguments: list[str]) -> int:
    folder = os.path.abspath(arguments[0])
    try:
        plan = files.read_plan(f"{folder}/ctl")
    except files.UnusablePlan as problem:
        sys.stderr.write(f"{problem}\n")
        return 66
    if plan is None:
        sys.stderr.write(f"There is no plan in {folder}.\n")
        return 66
    steps = [step for one in plan["replicas"] for step in one.get("fetches", ())]
    secrets = [place for one in plan["replicas"] for place in one.get("files", ())]
    if secrets or any(one.get("late") for one in (*plan["replicas"], *steps)):
        # Secret variables come through a pipe, and stay in the memory of each supervisor.
        late = json.loads(sys.stdin.buffer.read() or b"{}")
        for one in plan["replicas"]:
            one["env"] = {**one["env"], **late.get(str(one["name"]), {})}
            for number, step in enumerate(one.get("fetches", ())):
                step["env"] = {**step["env"], **late.get(f"{one['name']}/{number}", {})}
            for number, place in enumerate(one.get("files", ())):
                place["data"] = late.get(f"{one['name']}/files/{number}", {})
    if len(arguments) > 1:
        code: int = replica.run(folder, plan, arguments[1])
        return code
    names = [str(r["name"]) for r in plan["replicas"]]
    children = [
        _launch(folder, plan, name)
        for name in names
        if not os.path.exists(f"{folder}/ctl/claims/{name}")
    ]
    for child in children:
        os.waitpid(child, 0)
    return 0


def _launch(folder: str, plan: dict[str, Any], name: str) -> int:
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        code = replica.run(folder, plan, name)
    except BaseException:  # noqa: BLE001 - the process ends here; the trace is all that is left
        with open(f"{folder}/ctl/faults.txt", "a", encoding="utf-8") as file:
            traceback.print_exc(file=file)
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
