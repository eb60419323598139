"""The program that tries one place: JSON on its input and on its output, and nothing else."""

import json
import resource
import sys

from gangline.drivers import addresses
from gangline.drivers.addresses import AllowedAddresses

from . import repositories
from .places import Bucket, Failed, Issuer, Outcome, Place, Repository, unpacked
from .web import told

MOST_MEMORY = 1 << 30
MOST_SECONDS = 10


def tried(place: Place, reach: AllowedAddresses) -> Outcome:
    """Reach the place as it would be reached later, and say how that went."""
    server = getattr(place, "url", "") or getattr(place, "service", "")
    try:
        if isinstance(place, Repository):
            return repositories.tried(place, reach)
        # What only some need is loaded for them alone.
        if isinstance(place, Bucket):
            from . import buckets

            return buckets.tried(place, reach)
        if isinstance(place, Issuer):
            from . import issuers

            return issuers.tried(place, reach)
        from . import registries

        return registries.tried(place, reach)
    except Failed as failed:
        return failed.outcome
    except MemoryError:
        return Failed("large", server=_host(server)).outcome
    except Exception as error:  # noqa: BLE001  whatever a server makes of a library
        return told(error, _host(server)).outcome


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].rpartition("@")[2] or url.partition(":")[0]


def main() -> None:
    for what, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_CPU, MOST_SECONDS),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(what, (most, most))
    given = json.load(sys.stdin)
    own = tuple((host, port) for host, port in given["own"])
    reach = AllowedAddresses(addresses.networks(given["admitted"]), own)
    json.dump(tried(unpacked(given["place"]), reach).as_json(), sys.stdout)


if __name__ == "__main__":
    main()
