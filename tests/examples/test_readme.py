"""What `examples/README.md` says one should type is what the demo's templates hold."""

import pytest

from gangline.lib.paths import RESOURCES
from gangline.spec.catalogue import catalogue
from gangline.spec.frameworks import CONFIGURATIONS, FRAMEWORKS
from gangline.spec.words import with_unit
from gangline.spec.workload import SPEC
from gangline.supervisor import demo

README = (RESOURCES / "examples" / "README.md").read_text(encoding="utf-8")


def column(name: str) -> dict[str, str]:
    """The values of one column of the table, by the label of the field."""
    lines = [line for line in README.splitlines() if line.startswith("|")]
    start = next(n for n, line in enumerate(lines) if line.startswith("| field |"))
    head, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:]
    )
    place = head.index(name)
    return {row[0]: row[place].strip("`") for row in rows}


@pytest.mark.parametrize(
    ("template", "framework", "values"), [(t[0], t[1], t[3]) for t in demo._TEMPLATES]
)
def test_the_table_says_what_the_template_holds(
    template: str, framework: str, values: dict[str, object]
) -> None:
    told = column("Horovod" if "horovod" in template else FRAMEWORKS[framework].label)
    fields = {spec.label: spec for spec in catalogue(SPEC.worker).values()}
    assert told.pop("Framework") == FRAMEWORKS[framework].label
    assert told.pop("Configuration") == CONFIGURATIONS[demo.configuration_of(framework)]
    assert told.keys() <= fields.keys(), "labels are those of the form"
    for label in ("Image", "Command", "Memory request"):
        spec = fields[label]
        assert told[label] == with_unit(spec, values[f"worker.{spec.path}"])
    assert told["Launcher"] == values.get("worker.launcher", "")
    assert told["Number of workers"] == str(values["worker.numWorkers"])
    assert f"`{template}`" in README
