"""Service accounts and access keys in the API: their secret is in one answer and no other."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.api.paging import known_only
from gangline.api.schema import component, errors
from gangline.resources.api import ExtraRoute, ResourceViewSet
from gangline.resources.registry import get
from gangline.resources.services import Saved

from .services import renew_secret

NEW_SECRET = component(
    "NewSecret",
    {
        "type": "object",
        "required": ["clientSecret"],
        "properties": {
            "clientSecret": {"type": "string", "description": "Returned only once, here."}
        },
    },
)


class ServiceAccountViewSet(ResourceViewSet):
    """Creating and ``POST …/secret`` answer with the secret."""

    extra_routes = (ExtraRoute("{id}/secret", {"post": "renew"}),)
    secret_name: ClassVar[str] = "clientSecret"  # noqa: S105  the name of a field

    def present(self, obj: Any, saved: Saved[Any] | None = None) -> dict[str, Any]:
        found = super().present(obj, saved)
        if saved is not None and saved.obj.secret:
            found[self.secret_name] = saved.obj.secret
        return found

    @extend_schema(request=None, responses={200: NEW_SECRET, **errors(403, 404)})
    def renew(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        """A new secret; the old one and every token made with it are void."""
        secret = renew_secret(self.resource, actor=self.actor, obj=self.object(pk))
        return Response({self.secret_name: secret})


class ApplicationViewSet(ServiceAccountViewSet):
    """Service accounts by the name that they had before; one thing in the audit log."""

    secret_name = "secret"  # noqa: S105  the name of a field

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.resource = get("service_account")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)


class AccessKeyViewSet(ServiceAccountViewSet):
    """One's own keys."""

    def base_rows(self) -> QuerySet[Any]:
        return super().base_rows().filter(user=self.user)


class OwnApplicationViewSet(AccessKeyViewSet):
    """The same keys by the name that they had before."""

    secret_name = "secret"  # noqa: S105  the name of a field

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.resource = get("access_key")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    def listed(self, request: Request) -> Any:
        return super().listed(request)["accessKeys"]


class AccessKeysOfAllViewSet(ResourceViewSet):
    """The keys of everybody whose keys the caller may see."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.resource = get("access_key")  # type: ignore[misc]
        super().initial(request, *args, **kwargs)

    def list(self, request: Request, **kwargs: Any) -> Response:
        names = ("clientId", "createdBy")
        known_only(request, frozenset(names))
        given = {name: request.query_params.get(name, "") for name in names}
        found = [self.present(row) for row in self.base_rows().order_by("created_at", "pk")]
        shown = [row for row in found if all(v in ("", row[name]) for name, v in given.items())]
        return Response({"accessKeys": shown})


class OwnApplicationsOfAllViewSet(AccessKeysOfAllViewSet):
    """The same by the name that they had before."""

    def list(self, request: Request, **kwargs: Any) -> Response:
        return Response(super().list(request).data["accessKeys"])
