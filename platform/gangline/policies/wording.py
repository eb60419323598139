"""What is told of a policy that cannot be saved, with its line."""

from gangline.lib.problems import Problem

PREFIX = "policy."


def line_of(problem: Problem) -> int:
    """The line of the document, from 1; 0: no line of it."""
    return int(problem.params.get("line", 0))


def sentence(problem: Problem) -> str:
    """The whole sentence: where, what, and what to do about it."""
    line = line_of(problem)
    place = f"Line {line}: " if line else ""
    about = f"{problem.path} " if problem.path else ""
    return f"{place}{about}{problem.told}"
