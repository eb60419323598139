"""Lists that are polled: an answer that is as it was is 304, and is not built.

A tag is made of what numbers the changes of the rows, never of the answer itself.
"""

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from django.http import HttpResponseBase
from django.utils.cache import get_conditional_response
from rest_framework.request import Request
from rest_framework.response import Response

from gangline.accounts.models import User


def unless_unchanged(
    request: Request, versions: object, answer: Callable[[], Any]
) -> HttpResponseBase:
    """304 where the client has it, else what ``answer`` gives, with its tag.

    ``versions`` are read before the rows: whatever they count is then certain to be in the answer.
    """
    user = request.user
    whose = (user.pk, user.auth_version) if isinstance(user, User) else ()
    text = repr((whose, request.get_full_path(), versions)).encode()
    tag = f'W/"{blake2b(text, digest_size=12).hexdigest()}"'
    early = get_conditional_response(request._request, etag=tag) if _asks(request) else None
    if early is not None:
        return early
    return Response(answer(), headers={"ETag": tag})


def _asks(request: Request) -> bool:
    return "If-None-Match" in request.headers
