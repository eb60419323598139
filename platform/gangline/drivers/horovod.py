"""The meeting of Horovod's ranks over Gloo, by nothing but variables: no SSH and no MPI.

One process serves `RendezvousServer` of Horovod itself, and each rank is told where.
https://horovod.readthedocs.io/en/stable/api.html and horovod/runner/gloo_run.py, release 0.28.1
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gangline.spec.launcher_commands import interpreter

_SOURCE = Path(__file__).with_name("horovod_meeting.py").read_text(encoding="utf-8")


def served(
    program: Sequence[str], hosts: Sequence[str], port: str, then: Sequence[str] = ()
) -> list[str]:
    """The words that serve the meeting at ``port``, by the Python that runs ``program``.

    ``hosts`` are those of the ranks with their slots, ``n1:1``. With ``then`` it lasts as long as
    that command, and ends as it does; else until it is ended.
    """
    return [interpreter(program), "-c", _SOURCE, "serve", ",".join(hosts), port, *then]


def joined(program: Sequence[str], address: str, port: str) -> list[str]:
    """The words that become ``program`` as soon as the meeting is served."""
    return [interpreter(program), "-c", _SOURCE, "join", address, port, *program]


def rank_variables(
    *, rank: str, size: int, local: tuple[str, int], cross: tuple[str, int], host: str
) -> Mapping[str, str]:
    """What one rank must know of its place: its number and how many there are, in all, on its host
    and of its local rank.
    """
    return {
        "HOROVOD_RANK": rank,
        "HOROVOD_SIZE": str(size),
        "HOROVOD_LOCAL_RANK": local[0],
        "HOROVOD_LOCAL_SIZE": str(local[1]),
        "HOROVOD_CROSS_RANK": cross[0],
        "HOROVOD_CROSS_SIZE": str(cross[1]),
        "HOROVOD_HOSTNAME": host,
    }


def meeting_variables(address: str, port: str) -> Mapping[str, str]:
    """What all ranks must know: where they meet, and that they use Gloo for everything."""
    return {
        "HOROVOD_GLOO_RENDEZVOUS_ADDR": address,
        "HOROVOD_GLOO_RENDEZVOUS_PORT": port,
        "HOROVOD_CONTROLLER": "gloo",
        "HOROVOD_CPU_OPERATIONS": "gloo",
    }
