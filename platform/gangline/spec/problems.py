"""What is wrong with a submission, and what may well disappoint in one."""

from dataclasses import dataclass

from gangline.lib.problems import Problem, Role, shown

__all__ = ["Advice", "InvalidSpec", "Problem", "Role", "shown"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What may be submitted as it is, and may well disappoint: a whole sentence.

    ``path`` is as that of a Problem.
    """

    role: Role
    path: str
    sentence: str


class InvalidSpec(Exception):
    """A submission with problems. All of them, not the first."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{p.field_id}: {p.message}" for p in problems))
        self.problems = problems
