"""Run benchmarks and print what they found: `python -m bench [name …] [--docs]`."""

import importlib
import sys

from bench import report

NAMES = (
    *(
        "list",
        "resources",
        "form",
        "submit",
        "gang",
        "live",
        "start",
        "policy",
        "log",
        "metrics",
        "api",
        "cli",
    ),
    "terminal",
    *("kubernetes-submit", "kubernetes-watch", "slurm"),
)


def main(arguments: list[str]) -> int:
    """Run the named ones, or all."""
    names = [argument for argument in arguments if not argument.startswith("-")] or list(NAMES)
    if unknown := sorted(set(names) - set(NAMES)):
        print(f"There is no benchmark {unknown[0]!r}. There are: {', '.join(NAMES)}.")
        return 1
    rows = []
    for name in names:
        print(f"{name} …", flush=True)
        found = importlib.import_module(f"bench.{name.replace('-', '_')}_bench").run()
        print(report.table(found), flush=True)
        report.write_json(found)
        rows += found
    if len(names) > 1:
        print(report.table(rows))
    if "--docs" in arguments:
        report.write_page()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
