"""Whether a template can run on what there is now, so that nobody presses "Run now" in vain."""

from collections.abc import Iterable

from assets.models import Template
from gangline.clusters.connections import facts_of
from gangline.clusters.models import Cluster
from gangline.drivers.facts import Facts
from gangline.spec.frameworks import FRAMEWORKS

LOCAL = "local://"


def reason_against(template: Template, clusters: Iterable[Cluster]) -> str:
    """Why none of `clusters` can run it, in a sentence.

    Empty when one can, and when one was not looked at yet.
    """
    reason = ""
    for cluster in clusters:
        facts = facts_of(cluster)
        reason = _why_not(template, facts) if facts.version else ""
        if not reason:
            return ""
    return reason


def able(template: Template, clusters: Iterable[Cluster]) -> list[str]:
    """Names of the clusters that can run it, as far as is known."""
    return sorted(c.name for c in clusters if not reason_against(template, [c]))


def _why_not(template: Template, facts: Facts) -> str:
    offer = next((o for o in facts.frameworks if o.framework == template.framework), None)
    if offer is None:
        return ""
    if not offer.available:
        return offer.reason
    image = str(template.values.get("worker.image", ""))
    if image.startswith(LOCAL) and not facts.runtimes:
        return f"It uses {image}, a runtime of one machine."
    if image.startswith(LOCAL) and image not in offer.runtimes:
        known = FRAMEWORKS.get(template.framework)
        return f"{image} has no {known.label if known else template.framework}."
    return ""
