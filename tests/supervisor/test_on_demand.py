"""Pages do not wait for the modules of the API (cold start ≤ 2 s)."""

import subprocess
import sys
from pathlib import Path

from tests.support.installation import environment_of

LOAD_A_PAGE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "gangline.config.settings"
import gangline.config.asgi
from django.urls import resolve, reverse
assert resolve(reverse("login")).url_name == "login"
heavy = {"rest_framework.views", "drf_spectacular.plumbing", "celery", "kubernetes"}
print(sorted(heavy & set(sys.modules)))
print(resolve("/api/v1/workloads").route)
"""


def test_a_page_needs_no_module_of_the_api(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD_A_PAGE],
        env=environment_of(tmp_path, 8000),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", "api/v1/workloads"]
