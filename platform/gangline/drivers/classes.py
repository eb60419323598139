"""Storage classes of a cluster as the form offers them: upon them the rows of volumes depend."""

import re
from collections.abc import Mapping
from typing import Any

from gangline.spec.storage_classes import (
    ACCESS,
    CLASS,
    MODES,
    PARAMETERS,
    SIZE,
    VOLUME_MODE,
    VOLUME_MODES,
    ClassRules,
    classes_of,
)

from .facts import Asked, Choice, FieldNote, Fit


def note(detail: Mapping[str, Any], *, for_assets: bool = False) -> FieldNote:
    """About volumes, or the claims of data sources; says nothing before a probe has listed any."""
    listed = detail.get("storageClasses")
    if listed is None:
        return FieldNote()
    classes = classes_of(detail)
    use = "forAssets" if for_assets else "forWorkloads"
    names = [str(one["name"]) for one in listed]
    open_ = [Choice(name) for name in names if classes.of(name).allows(use)]
    first = Choice("", f"Cluster’s default ({classes.default or 'there is none'})")
    told = {name: classes.of(name) for name in ("", *names)}
    return FieldNote(
        choices={CLASS: (first, *open_)},
        by=CLASS,
        fits={name: _fit(rules) for name, rules in told.items()},
        unless="existingPvc",
        pairs=PARAMETERS,
    )


def _fit(rules: ClassRules) -> Fit:
    lasting = {"ephemeral": rules.allows("ephemeral")}
    modes = [mode for mode in VOLUME_MODES if rules.allows(mode)]
    standing = {path: v for path, v in rules.standing.items() if path != PARAMETERS}
    if not rules.allows("persistent"):
        standing["ephemeral"] = True
    return Fit(
        defaults=standing,
        closed=frozenset(
            {
                *(f"{ACCESS}.{mode}" for mode in MODES if not rules.allows(mode)),
                *(name for name, is_offered in lasting.items() if not is_offered),
                *(() if len(modes) > 1 else (VOLUME_MODE,)),
            }
        ),
        choices={VOLUME_MODE: modes},
        units={SIZE: rules.units} if rules.units else {},
        hints={SIZE: _sentence(rules.span)} if rules.span else {},
        asked=[
            Asked(
                key=one.key,
                label=one.label,
                kind=one.format or "text",
                help=one.description or "",
                placeholder=one.placeholder or "",
                default=one.default_value or "",
                required=bool(one.required),
            )
            for one in rules.parameters
        ],
    )


def _sentence(text: str) -> str:
    """``at most 50Gi`` as people read it."""
    words = re.sub(r"(?<=\d)([A-Z]i?)\b", r" \1B", text)
    return f"{words[:1].upper()}{words[1:]}."
