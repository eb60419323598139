"""Everything about an asset of a gallery: a page of its own, which scripts show as a dialog."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from assets.kinds import kind_of_asset
from gangline.resources.registry import get
from workloads.wizard.context import WizardContext
from workloads.wizard.pages import step_url
from workloads.wizard.steps import Step


def page(request: HttpRequest, wizard: WizardContext, step: Step, key: str) -> HttpResponse:
    """The asset whose id is ``key``, if the project's galleries have it."""
    asset = next((one for one in wizard.galleries.assets if str(one.pk) == key), None)
    if asset is None:
        raise Http404
    kind = kind_of_asset(asset)
    resource = get(kind.key)
    context = {
        "asset": asset,
        "label": kind.label,
        "facts": list(resource.facts_of(request, asset)),
        "url": resource.url(asset),
        "back": step_url(wizard, step),
    }
    return render(request, "wizard/asset.html", context)
