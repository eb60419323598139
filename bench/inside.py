"""The inner half of a benchmark: `python -m bench.inside module:function '{"argument": …}'`."""

import importlib
import json
import os
import sys

from bench.servers import MARK


def main(function: str, arguments: str) -> None:
    """Call it with Django set up, and print its answer for the outer half."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bench.settings")
    import django

    django.setup()
    module, _, name = function.partition(":")
    answer = getattr(importlib.import_module(module), name)(**json.loads(arguments))
    print(MARK + json.dumps(answer, default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
