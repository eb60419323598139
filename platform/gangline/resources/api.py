"""The REST API of every resource: one strict serializer, one viewset, the wire rules of `Wire`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from gangline.access.actor import Actor, acting
from gangline.accounts.models import User
from gangline.api import filtering
from gangline.api.errors import Answer, answers
from gangline.api.paging import DEFAULT_LIMIT, MAX_LIMIT, answer, known_only, page_of, sorting
from gangline.api.unchanged import unless_unchanged
from gangline.db.versioned import Versioned
from gangline.lib.answers import error_body
from gangline.lib.problems import Problem, Refused, unknown_fields
from gangline.lib.texts import camel
from gangline.tables.query import MAX_SEARCH, printable, search_in

from . import services
from .resource import Resource
from .tables import by_key

LIST = frozenset({"filterBy", "sortBy", "sortOrder", "offset", "limit", "search", "verbosity"})
PAGE = frozenset({"offset", "limit"})
Rows = list[dict[str, Any]]


@extend_schema_field({"type": "string", "description": "Decimal id."})
class IdField(serializers.Field):  # type: ignore[type-arg]
    """A decimal id: written as a string, read from a string or a number."""

    def to_representation(self, value: Any) -> str:
        return str(getattr(value, "pk", value))

    def to_internal_value(self, data: Any) -> int:
        text = str(data) if isinstance(data, int | str) and not isinstance(data, bool) else ""
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise ValidationError("must be a decimal id", code="type")
        return int(text)


class NoticeField(serializers.CharField):
    """What a change brings with it: in the answer to that change alone."""

    def __init__(self) -> None:
        super().__init__(read_only=True, help_text="What the change brings with it, if anything.")

    def get_attribute(self, instance: Any) -> str:
        if notice := getattr(instance, "notice", ""):
            return str(notice)
        raise serializers.SkipField


class ResourceSerializer(serializers.ModelSerializer):  # type: ignore[type-arg]
    """Shapes JSON: camelCase names, strict types, unknown keys refused, null as not given.

    The rules live in the model and run in `resources.services`; ``Meta.fixed`` names fields that
    are given once, when the object is made; ``Meta.parts`` those that `parts` reads.
    """

    def get_fields(self) -> dict[str, Any]:
        found = {}
        for name, field in super().get_fields().items():
            wire = camel(name)
            if wire != name and field.source is None:
                field.source = name
            field.validators = [v for v in field.validators if not _asks_the_database(v)]
            field.allow_null = True
            found[wire] = field
        return found

    def get_validators(self) -> list[Any]:
        return []

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValidationError({"": ["must be an object"]}, code="type")
        known = dict(self.fields)
        if problems := unknown_fields(data, known):
            raise Refused(problems)
        given = {name: value for name, value in data.items() if value is not None}
        for name, value in given.items():
            _check_type(known[name], name, value)
        return super().to_internal_value(given)

    def parts(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Rows that are stored with the object, from what was validated; taken out of ``data``."""
        return {}


def _asks_the_database(validator: Any) -> bool:
    return getattr(validator, "requires_context", False) or hasattr(validator, "queryset")


def _check_type(field: Any, name: str, value: Any) -> None:
    """DRF reads ``1`` as a text and ``"yes"`` as true; a client that sends those has a mistake."""
    wanted: Any = None
    if isinstance(field, serializers.BooleanField):
        wanted, word = bool, "true or false"
    elif isinstance(field, serializers.CharField) and not isinstance(field, serializers.UUIDField):
        wanted, word = str, "text"
    elif isinstance(field, serializers.IntegerField | serializers.FloatField):
        wanted, word = (int, float), "a number"
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        for number, inner in enumerate(value):
            _check_type(field.child, f"{name}.{number}", inner)
    if wanted is None:
        return
    is_bool = isinstance(value, bool)
    if not isinstance(value, wanted) or (is_bool and wanted is not bool):
        raise Refused([Problem("type", name, {"accepted": word})])


@dataclass(frozen=True, slots=True)
class ExtraRoute:
    """An address below that of the resource: ``{id}/secret``, and the methods it has.

    One that begins with a slash stands below ``/api/v1`` instead.
    """

    path: str
    actions: Mapping[str, str]
    """HTTP method → method of the viewset."""


class ResourceViewSet(GenericViewSet):  # type: ignore[type-arg]
    """List, count, create, get, put, patch, delete of one resource."""

    resource: ClassVar[Resource[Any]]
    lookup_url_kwarg = "pk"

    # Reading

    def list(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        versions = self.versions()
        if versions is None:
            return Response(self.listed(request))
        return unless_unchanged(request, versions, lambda: self.listed(request))

    def versions(self) -> object | None:
        """What numbers the changes of the list, for lists that are polled; None: nothing does."""
        return None

    def listed(self, request: Request) -> Any:
        wire = self.resource.wire
        assert wire is not None  # noqa: S101  no address without
        known_only(request, (LIST if wire.is_paged else LIST - PAGE) | self.extra_parameters)
        rows = self.filtered(request)
        column, descending = sorting(request, self.sorts(), "name" if self._has_name() else "pk")
        sign = "-" if descending else ""
        rows = rows.order_by(f"{sign}{column}", "pk")
        if not wire.is_paged:
            found = self.present_all(rows[: MAX_LIMIT * 20])
            return {wire.envelope: found} if wire.envelope else found
        limit = DEFAULT_LIMIT if wire.envelope else MAX_LIMIT
        page = page_of(request, default_limit=limit)
        found = self.present_all(by_key(rows[page.offset : page.offset + page.limit + 1]))
        if not wire.envelope:
            return found[: page.limit]
        return answer(wire.envelope, found, page)

    def count(self, request: Request, **kwargs: Any) -> Response:
        known_only(request, frozenset({"filterBy", "search"}))
        return Response({"count": self.filtered(request).count()})

    def retrieve(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        return Response(self.present(self.object(pk)))

    # Writing

    def create(self, request: Request, **kwargs: Any) -> Response:
        values, parts = self.read(request.data)
        saved = services.create(self.resource, actor=self.actor, values=values, parts=parts)
        wire = self.resource.wire
        return Response(self.present(saved.obj, saved), status=wire.created if wire else 201)

    def update(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        return self._change(request, pk, partial=False)

    def partial_update(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        return self._change(request, pk, partial=True)

    def destroy(self, request: Request, pk: Any, **kwargs: Any) -> Response:
        obj = self.object(pk)
        services.delete(self.resource, actor=self.actor, obj=obj, version=self.version(obj))
        wire = self.resource.wire
        code = wire.deleted if wire else 204
        return Response(None if code == 204 else {"message": "Deleted."}, status=code)

    def _change(self, request: Request, pk: Any, *, partial: bool) -> Response:
        obj = self.object(pk)
        values, parts = self.read(request.data, obj, partial=partial)
        saved = services.update(
            self.resource,
            actor=self.actor,
            obj=obj,
            values=values,
            parts=parts,
            version=self.version(obj),
        )
        code = self.resource.wire.edited if self.resource.wire else 200
        return Response(None if code == 204 else self.present(saved.obj, saved), status=code)

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, Refused) and self.resource.wire is not None:
            exc = Refused([replace(one, path=self._given_as(one)) for one in exc.problems])
        return super().handle_exception(exc)

    def _given_as(self, problem: Problem) -> str:
        """Rules name the model's ``cluster``, of which clients send the ``clusterId``."""
        fields = {} if problem.rule == "unknown" else getattr(self.writer, "fields", {})
        source = f"{problem.path}_id"
        return next((w for w, f in fields.items() if f.source == source), problem.path)

    # What subclasses change

    extra_parameters: ClassVar[frozenset[str]] = frozenset()
    extra_routes: ClassVar[tuple["ExtraRoute", ...]] = ()

    def base_rows(self) -> QuerySet[Any]:
        return self.resource.rows(self.user).prefetch_related(*self.resource.written_lists)

    def present_all(self, rows: Iterable[Any]) -> Rows:
        return [self.present(row) for row in rows]

    def present(self, obj: Any, saved: services.Saved[Any] | None = None) -> dict[str, Any]:
        if saved is not None:
            # With what the list draws: counts, joined rows.
            obj = self.resource.rows(self.user).filter(pk=obj.pk).first() or obj
            obj.notice = saved.notice
        return dict(self.writer.to_representation(obj))

    @cached_property
    def writer(self) -> Any:
        """One for all rows of an answer: to make its fields costs more than to write a row."""
        return self.get_serializer()

    def read(
        self, data: Any, obj: Any = None, *, partial: bool = False
    ) -> tuple[dict[str, Any], Mapping[str, Any]]:
        """Values of the model and parts of a body; raises Refused."""
        serializer: Any = self.get_serializer(data=data, partial=partial or obj is not None)
        if not serializer.is_valid():
            raise Refused(list(of_drf(serializer.errors)))
        values = dict(serializer.validated_data)
        fixed = getattr(serializer.Meta, "fixed", ())
        if obj is not None:
            changed = [n for n in fixed if n in values and values[n] != getattr(obj, n)]
            if changed:
                raise Refused([Problem("fixed", name) for name in changed])
            values = {name: value for name, value in values.items() if name not in fixed}
        return values, serializer.parts(values)

    # Helpers

    @property
    def user(self) -> User:
        if not isinstance(self.request.user, User):
            raise TypeError("the permission classes let a stranger in")
        return self.request.user

    @property
    def actor(self) -> Actor:
        return acting(self.request)

    def object(self, pk: Any) -> Any:
        lookup = self.resource.wire.lookup if self.resource.wire else "pk"
        found = self.base_rows().filter(**{lookup: pk}).first()
        if found is None:
            raise Http404
        return found

    def version(self, obj: Any) -> int | None:
        """The version of ``If-Match``; None: the last writer wins."""
        return if_match(self.request) if isinstance(obj, Versioned) else None

    def get_serializer_class(self) -> Any:
        return self.resource.serializer_class

    def filtered(self, request: Request) -> QuerySet[Any]:
        rows = self.base_rows().filter(
            filtering.conditions(request.query_params.getlist("filterBy"), self.fields())
        )
        search = printable(request.query_params.get("search", ""))[:MAX_SEARCH]
        return rows.filter(search_in(self.resource.table.search, search)) if search else rows

    def fields(self) -> dict[str, filtering.Filter]:
        """What ``filterBy`` may name."""
        return self.resource.table.for_clients()

    def sorts(self) -> dict[str, str]:
        return {one.wire: one.column for one in self.resource.table.filters if one.wire}

    def _has_name(self) -> bool:
        return "name" in self.sorts()


def if_match(request: Request) -> int | None:
    """The version that a request names; None where it names none, -1: no version at all."""
    given = request.headers.get("If-Match", "").strip('" ')
    if not given:
        return None
    return int(given) if given.isascii() and given.isdigit() and len(given) < 10 else -1


def of_drf(found: Any, path: str = "") -> Iterator[Problem]:
    """DRF's errors as problems, with paths of the wire."""
    if isinstance(found, Mapping):
        for name, inner in found.items():
            yield from of_drf(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(found, list):
        for number, inner in enumerate(found):
            deeper = isinstance(inner, Mapping | list)
            yield from of_drf(inner, f"{path}.{number}" if deeper and path else path)
    else:
        yield Problem(getattr(found, "code", "invalid"), path, {"raw": str(found)})


# Answers


@answers(Refused)
def _refused(error: Refused) -> Answer:
    listed = [one.as_dict(_wire_path(one)) | {"message": one.told} for one in error.problems]
    is_taken = all(_is_taken(one) for one in error.problems)
    code = 409 if is_taken else 400
    body = error_body(code, _sentence(error.problems))
    body["problems"] = listed
    body["details"] = " ".join(f"{one['path']}: {one['message']}".strip(": ") for one in listed)
    return code, body


def _wire_path(problem: Problem) -> str:
    """As the caller knows it; what no field is called stays as it was sent."""
    if problem.rule == "unknown":
        return problem.path
    return ".".join(camel(step) for step in problem.path.split("."))


def _is_taken(problem: Problem) -> bool:
    """Whether another object has it; what stands twice in the same list is only wrong."""
    is_unique = problem.rule in ("unique", "unique_together")
    return is_unique and not problem.path.startswith("spec.")


def _sentence(problems: list[Problem]) -> str:
    count = len(problems)
    return "1 value cannot be accepted." if count == 1 else f"{count} values cannot be accepted."


@answers(services.Conflict)
def _conflict(error: services.Conflict) -> Answer:
    return 412, error_body(412, "It has changed since you read it.")


@answers(services.InUse)
def _in_use(error: services.InUse) -> Answer:
    from .registry import resource_of

    resource = resource_of(error.obj)
    code = resource.wire.in_use if resource and resource.wire else 409
    names = [f"{one.noun} {name}" for one in error.usages for name, _ in one.shown]
    hidden = sum(one.hidden for one in error.usages)
    more = f" and {hidden} that you cannot see" if hidden else ""
    return code, error_body(code, "It is in use.", f"Used by {', '.join(names) or 'others'}{more}.")
