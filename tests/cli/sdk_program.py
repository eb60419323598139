"""A program of a user of the SDK, with and without asyncio: run by a test, and judged by mypy.

What `assert_type` says stands for what an editor shows; nothing of the server is imported.
"""

import asyncio
import sys
from typing import Any, assert_type

from gangline_sdk import AsyncClient, Client, Conflict
from gangline_sdk.models import (
    DistributedCreationRequest,
    DistributedPreview,
    DistributedWorkload,
    WorkloadDetailed,
)


def body(name: str, project: dict[str, Any]) -> DistributedCreationRequest:
    return {
        "name": name,
        "projectId": str(project["id"]),
        "clusterId": project["clusterId"],
        "spec": {
            "distributedFramework": "PyTorch",
            "image": "local://system",
            "command": "echo by a program",
            "numWorkers": 1,
            "compute": {"cpuCoreRequest": 0.1, "cpuMemoryRequest": "32M"},
        },
    }


def waiting(url: str, token: str) -> str:
    """Submits, reads and deletes; what the first pod said."""
    with Client(url, token=token) as gangline:
        (project,) = gangline.rows("project", filters=["name==vision"])
        wanted = body("by-program", project)
        assert_type(gangline.preview(wanted), DistributedPreview)
        made = assert_type(gangline.submit(wanted), DistributedWorkload)
        is_taken = False
        try:
            gangline.submit(wanted)
        except Conflict as taken:
            is_taken = taken.status == 409
        gangline.wait(made["workloadId"], "Completed", seconds=60, pause=0.2)
        row = assert_type(gangline.workload(made["workloadId"]), WorkloadDetailed)
        text = next(line["text"] for line in gangline.lines(made["workloadId"]))
        gangline.delete(made["workloadId"])
        return f"{row['status']}, {is_taken}: {text}"


async def awaiting(url: str, token: str) -> str:
    """The same, awaited."""
    async with AsyncClient(url, token=token) as gangline:
        (project,) = [one async for one in gangline.rows("project", filters=["name==vision"])]
        made = assert_type(await gangline.submit(body("by-asyncio", project)), DistributedWorkload)
        await gangline.wait(made["workloadId"], "Completed", seconds=60, pause=0.2)
        row = assert_type(await gangline.workload(made["workloadId"]), WorkloadDetailed)
        lines = [line["text"] async for line in gangline.lines(made["workloadId"])]
        await gangline.delete(made["workloadId"])
        return f"{row['status']}, {len(lines) == 2}: {lines[0]}"


if __name__ == "__main__":
    url, token = sys.argv[1:]
    sys.stdout.write(f"{waiting(url, token)}\n{asyncio.run(awaiting(url, token))}\n")
