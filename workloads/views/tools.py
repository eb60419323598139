"""The way to a tool of a workload, and what an ingress asks about each request to one."""

from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_safe

from gangline.access.actor import actor_of
from gangline.lib.urls import parts_of
from gangline.web.errors import Refusal, error_page
from workloads.selectors import details, tools
from workloads.services import tool_access

LONGEST_ADDRESS = 4000


@login_required
@require_GET
@never_cache
def open_tool(request: HttpRequest, workload_id: UUID, name: str) -> HttpResponse:
    """Send one who may open the tool there, with a ticket. Others are told why not."""
    user = actor_of(request, "form").user
    found = tool_access.find(workload_id, name)
    if found is None:
        raise Http404
    workload, attempt, tool = found
    if not tool_access.may_open(user, tool):
        details.visible_workload(user, workload_id)  # else it is as unknown as what is not there
        says = f"{tool.label} of {workload.name} is open to others only: {tools.who(tool)}."
        return error_page(request, 403, refusal=Refusal(missing=says))
    address = tools.addresses_of(workload, attempt).get(name, "")
    if not address:
        raise Http404
    token = tool_access.ticket(user, str(request.session.session_key), workload, name)
    return HttpResponseRedirect(_with_ticket(_wanted(address, request.GET.get("rd", "")), token))


@require_safe
@never_cache
def authorize(request: HttpRequest, workload_id: UUID, name: str) -> HttpResponse:
    """What an ingress asks before it lets a request through: 200, 401 or 403."""
    asked = parts_of(request.headers.get("X-Original-Url", "")[:LONGEST_ADDRESS])
    cookie = tool_access.cookie_name(workload_id, name)
    own = request.COOKIES.get(cookie)
    verdict = tool_access.judge(
        workload_id,
        name,
        ticket=parse_qs(asked.query).get(tool_access.PARAMETER, [""])[0],
        passes=[own] if own else [],
    )
    answer = HttpResponse(status=verdict.status, content_type="text/plain; charset=utf-8")
    if verdict.status == 200:
        answer["X-Gangline-User"] = verdict.user
    if verdict.new_pass:
        answer.set_cookie(
            cookie, verdict.new_pass, httponly=True, samesite="Lax", secure=asked.scheme == "https"
        )
    return answer


def _wanted(address: str, asked: str) -> str:
    """The page of the tool that somebody was sent away from; only one of the tool itself."""
    home, there = urlsplit(address), parts_of(asked[:LONGEST_ADDRESS])
    is_inside = (there.scheme, there.netloc) == (home.scheme, home.netloc)
    return asked if is_inside and there.path.startswith(home.path) else address


def _with_ticket(address: str, token: str) -> str:
    parts = urlsplit(address)
    query = "&".join(filter(None, (parts.query, urlencode({tool_access.PARAMETER: token}))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", query, ""))
