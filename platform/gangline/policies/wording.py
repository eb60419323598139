"""What is told of a policy that cannot be saved, by code; a remedy where there is one."""

from collections.abc import Mapping

from gangline.lib.problems import Problem, register_words

PREFIX = "policy."
_WORDS: Mapping[str, str] = {
    "unknown": "is not known",
    "misspelt": "is not known",
    "misspelt.remedy": "Did you mean “{meant}”?",
    "object": "must be an object",
    "text": "must be a text",
    "twice": "names {value} twice",
    "no_value": "needs a value",
    "half": "must stand under worker or master, as the rest does",
    "workers_only": "has one value for the whole workload",
    "workers_only.remedy": "Move it to worker.",
    "workload_only": "has no effect here: there is one value for the whole workload",
    "workload_only.remedy": "Move it to worker.",
    "other_rule": "does not apply to this field",
    "other_rule.remedy": "It takes {rules}.",
    "not_overridable": "is not allowed for this field",
    "not_overridable.remedy": "Remove it.",
    "refused": "{reason}, not {value}",
    "refused_item": "{reason}",
    "sibling": "must be {accepted}",
    "sibling_not": "must be {accepted}, not {value}",
    "factor": "must be a number above 0, not {value}",
    "names": "must be a list of names",
    "boolean": "must be true or false, not {value}",
    "size": "must be a size such as 512M or 16Gi, not {value}",
    "number": "must be {accepted}, not {value}",
    "positive": "must be more than 0",
    "values": "must be a list with at least one value",
    "crossed": "must be at least the min, {value}",
    "out_of_reach": "leaves no value: the field takes {accepted}",
    "too_long": "must have at most {most} characters",
    "alone": "has no effect without a rule",
    "ids": "must be a list of ids of data sources",
    "id": "must be the id of a data source, not {value}",
    "imposed_unknown": "names {value}, which is no data source of this scope",
    "imposed_credential": "cannot impose {value}: it needs a credential",
    "default_refused": "{reason} (set by {by})",
    "fixed_above": "is fixed by {by}, so a default here does not count",
    "fixed_above.remedy": "Remove it.",
    "locked_above": "has {key}, which is locked by {by}, so it does not count here",
    "locked_above.remedy": "Remove it.",
    "closed_above": "has {key}, but nothing can be added (set by {by})",
    "closed_above.remedy": "Remove it.",
    "conflict": "{reason}",
    "looser_min": "{value} does not count: {by} asks for {bound}",
    "looser_min.remedy": "Remove it.",
    "looser_max": "{value} does not count: {by} allows {bound}",
    "looser_max.remedy": "Remove it.",
    "looser_options": "allows {value}, which {by} does not",
    "looser_options.remedy": "Remove it.",
    "opposite": "{kind}: {value} does not count: {by} says the opposite",
    "opposite.remedy": "Remove it.",
    "own": "{kind}: {value} does not count here",
    "own.remedy": "Write it into the policy of the cluster or of the whole installation.",
    "locks_unknown": "locks {key}, which is not one of the default items",
    "nobody": "must have a value, and nobody can give one: canEdit is false, no default",
    "nobody.remedy": "Add a default.",
    "chain": "cannot follow {value}, which is itself computed",
    "empty_fixed": "can have no value: canEdit is false, and there is no default",
    "to_fill": "has no default, so everyone must fill it in",
}
register_words({f"{PREFIX}{code}": words for code, words in _WORDS.items()})


def line_of(problem: Problem) -> int:
    """The line of the document, from 1; 0: no line of it."""
    return int(problem.params.get("line", 0))


def sentence(problem: Problem) -> str:
    """The whole sentence: where, what, and what to do about it."""
    line = line_of(problem)
    place = f"Line {line}: " if line else ""
    about = f"{problem.path} " if problem.path else ""
    return f"{place}{about}{problem.message}.{f' {problem.remedy}' if problem.remedy else ''}"
