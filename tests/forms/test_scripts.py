"""A script gives values to other fields, and the page may not have been drawn with it yet."""

from django.http import QueryDict

from gangline.spec.catalogue import catalogue
from gangline.spec.problems import Role
from gangline.spec.workload import SPEC
from gangline.spec_forms import posted
from gangline.spec_forms.posted import Inherited
from gangline.spec_forms.raw import RoleInputs, Typed

SCRIPT = "#!/bin/bash\n#SBATCH -N 2\n"
WANTED = ("slurm.script", "numWorkers", "compute.cpuCoreRequest")


def said(drawn: str, workers: str) -> dict[str, str]:
    """What a post says, of a draft that has the script by now, and two workers by it."""
    fields = [one for one in catalogue(SPEC.worker).values() if one.path in WANTED]
    data = QueryDict(mutable=True)
    data.update(
        {
            "worker.slurm.script": SCRIPT,
            "worker.slurm.script~drawn": posted.mark_of(drawn),
            "worker.numWorkers": workers,
            "worker.compute.cpuCoreRequest": "4",
        }
    )
    given = {"slurm.script": Typed(SCRIPT), "compute.cpuCoreRequest": Typed("3")}
    stored = RoleInputs(scalars=given)
    inherited = Inherited(scalars={"numWorkers": Typed("2")})
    read = posted.read(Role.WORKER, fields, data, stored=stored, inherited=inherited)
    return {path: typed.text for path, typed in read.inputs.scalars.items()}


def test_what_a_page_still_shows_from_before_a_script_is_nobodys_word() -> None:
    """Except of what the person has said before, which is shown as it was said."""
    both = {"slurm.script": SCRIPT, "compute.cpuCoreRequest": "4"}
    assert said(drawn="", workers="1") == both


def test_what_is_said_on_a_page_with_the_script_counts() -> None:
    assert said(drawn=SCRIPT, workers="1")["numWorkers"] == "1"
    assert "numWorkers" not in said(drawn=SCRIPT, workers="2")
