"""What production serves: every file under a hashed name, every reference rewritten."""

import re
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.test import override_settings


def test_collected_files_refer_to_each_other_by_hashed_names(tmp_path: Path) -> None:
    """Takes seconds: it collects and compresses all static files, as a deployment does."""
    storages = {**settings.STORAGES, "staticfiles": {"BACKEND": "gangline.web.static.Storage"}}
    with override_settings(STATIC_ROOT=tmp_path, STORAGES=storages):
        call_command("collectstatic", interactive=False, verbosity=0)

    (sheet,) = tmp_path.glob("css/app.*.css")
    fonts = re.findall(r'url\("\.\./(fonts/[^"]+)"\)', sheet.read_text("utf-8"))
    assert len(fonts) == 2
    for font in fonts:
        assert re.search(r"\.[0-9a-f]{12}\.woff2$", font)
        assert (tmp_path / font).is_file()

    modules = [
        path for path in tmp_path.glob("js/*.js") if re.search(r"\.[0-9a-f]{12}\.js$", path.name)
    ]
    imports = [
        (module.parent / target).resolve()
        for module in modules
        for target in re.findall(
            r'^(?:import|export)\b[^;]*?\bfrom\s*"([^"]+)"', module.read_text("utf-8"), re.M
        )
    ]
    assert imports
    for target in imports:
        assert re.search(r"\.[0-9a-f]{12}\.js$", target.name), target
        assert target.is_file(), target
