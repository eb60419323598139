"""Which tests of a parallel session share a process: those of a file, and of some folders.

The folders' tests share an installation that takes longer to start than most of them take.
"""

from typing import Any

import pytest

TOGETHER = ("tests/cli",)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """By file, as ``--dist=loadfile`` does, and by folder."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

    class Spreading(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return next((one for one in TOGETHER if file.startswith(f"{one}/")), file)

    return Spreading(config, log)
