"""The lines of the README with the published client, run as printed against the running product."""

import ast
import re
from functools import partial
from pathlib import Path
from typing import Any

from gangline.lib.paths import RESOURCES
from tests.support.installation import Installation, embedded
from tests.support.waiting import wait_for

README = RESOURCES / "README.md"
(LINES,) = re.findall(
    r"```python\n(from runai.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
)
_KEY = (
    "from gangline.accounts.models import User; from gangline.resources.services import make;"
    "key = make('access_key', user=User.objects.get(username='administrator'), name='tests');"
    "print(key.pk, key.secret)"
)


def _says_ready(site: Installation, workload: str) -> bool:
    return "ready" in str(site.get(f"workloads/{workload}/logs"))


def test_the_client_does_it_all(tmp_path: Path) -> None:
    with embedded(tmp_path / "data") as site:
        site.start()
        key, secret = site.manage("shell", "-v", "0", "-c", _KEY).split()
        site.sign_in("administrator")
        names: dict[str, Any] = {}
        text = LINES.replace("http://127.0.0.1:8000", site.url)
        for value in (key, secret):
            text = text.replace("…", value, 1)
        wanted = {
            "logs": "Running",
            "resume_distributed": "Stopped",
            "delete_distributed": "Running",
        }
        for statement in ast.parse(text).body:
            line = ast.unparse(statement)
            for word, status in wanted.items():
                if word in line and "made" in names:
                    site.until(made := names["made"]["workloadId"], status)
                    if word == "logs":
                        wait_for(partial(_says_ready, site, made), what="its lines")
            exec(compile(line, str(README), "exec"), names)  # it is ours, from the README
        assert [row["name"] for row in names["listed"]] == ["by-client"]
        assert "ready" in str(names["logs"])
        rows = site.get("asset/environment")["entries"]
        assert "python" in [row["meta"]["name"] for row in rows]
        wait_for(lambda: site.get("workloads?filterBy=name==by-client")["workloads"] == [],
                 seconds=60, every=0.1)  # fmt: skip
