"""Every component in every state, for those who build and test them."""

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from gangline.web import sample


def styleguide(request: HttpRequest) -> HttpResponse:
    """The style guide; only where `DEBUG` or `STYLEGUIDE` is on."""
    if not getattr(settings, "STYLEGUIDE", settings.DEBUG):
        raise Http404
    now = timezone.now()
    context = {
        "statuses": sample.STATUSES,
        "icons": sample.icons(),
        "gangs": sample.GANGS,
        "steps": sample.STEPS,
        "problems": sample.PROBLEMS,
        "rows": sample.ROWS,
        "log": sample.LOG,
        "now": now,
        "minutes_ago": now - timedelta(minutes=4),
        "days_ago": now - timedelta(days=3),
        "cells": sample.pod_cells(48),
    }
    return render(request, "web/styleguide.html", context)
