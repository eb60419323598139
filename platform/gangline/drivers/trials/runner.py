"""Starting the program of a trial: without surroundings, and not for longer than it may take."""

import json
import logging
import os
import subprocess
import sys

from gangline.drivers.addresses import AllowedAddresses

from .places import Failed, Outcome, Place, packed

log = logging.getLogger(__name__)

SECONDS = 10.0
PROGRAM = "gangline.drivers.trials.program"
_KEPT = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Which authorities are trusted; of all else that is set here the program knows nothing."""


def outcome_of(place: Place, reach: AllowedAddresses, seconds: float = SECONDS) -> Outcome:
    """How the trial of a place ended. Logins stand in no argument, variable, log or answer."""
    given = {
        "place": packed(place),
        "admitted": ",".join(map(str, reach.admitted)),
        "own": reach.own,
    }
    with subprocess.Popen(
        [sys.executable, "-I", "-m", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"LANG": "C.UTF-8", **{n: os.environ[n] for n in _KEPT if n in os.environ}},
        start_new_session=True,
    ) as process:
        try:
            told, _ = process.communicate(json.dumps(given).encode(), timeout=seconds)
            return Outcome.from_json(json.loads(told))
        except subprocess.TimeoutExpired:
            return Failed("late_all", seconds=int(seconds)).outcome
        except (ValueError, KeyError, TypeError):
            log.exception("The trial of a %s broke: %s", type(place).__name__, process.returncode)
            return Failed("broke").outcome
        finally:
            process.kill()
