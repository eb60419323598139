"""Forms of departments and projects."""

from gangline.clusters.models import Cluster
from gangline.resources.forms import ResourceForm

from .models import Department


class DepartmentForm(ResourceForm):
    not_edited = frozenset({"cluster"})

    class Meta:
        model = Department
        fields = ("cluster", "name", "description")

    def prepare(self) -> None:
        clusters = self.places(Cluster.objects.order_by("name"))
        self.fields["cluster"].queryset = clusters  # type: ignore[attr-defined]
        if not self.is_edit and clusters.count() == 1:
            self.initial.setdefault("cluster", clusters.get().pk)
