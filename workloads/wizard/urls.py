"""Addresses of the form."""

from django.urls import path, register_converter

from workloads.wizard import views
from workloads.wizard.steps import Step


class StepConverter:
    """The four steps; anything else is no address."""

    regex = "|".join(Step)

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return str(value)


register_converter(StepConverter, "step")

urlpatterns = [
    path("workloads/new", views.new, name="workload-new"),
    path("workloads/new/<uuid:draft>/<step:step>", views.step, name="draft-step"),
    path("workloads/new/<uuid:draft>/<step:step>/yaml", views.as_yaml, name="draft-yaml"),
    path("workloads/new/<uuid:draft>/as/<slug:key>", views.equivalent, name="draft-as"),
    path("workloads/drafts/<uuid:draft>/discard", views.discard, name="draft-discard"),
    path("workloads/drafts", views.start, name="draft-start"),
    path("templates/<uuid:template>/run", views.run_template, name="template-run"),
]
