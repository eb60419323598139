"""Settings as they come from the environment."""

import pytest
from pydantic import ValidationError

from gangline.config.env import Env


def test_a_list_of_hosts_is_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANGLINE_ALLOWED_HOSTS", "a.example.org, b.example.org,")
    assert Env().allowed_hosts == ("a.example.org", "b.example.org")
    monkeypatch.setenv("GANGLINE_ALLOWED_HOSTS", "")
    assert Env().allowed_hosts == ()


@pytest.mark.parametrize(
    ("tools", "is_right"),
    [
        ("https://*.tools.example.org", True),
        ("https://*.example.org", False),
        ("https://*.dash.example.org", False),
        ("https://*.tools.dash.example.org:8443", False),
    ],
)
def test_tools_share_no_cookies_with_the_dashboard(
    monkeypatch: pytest.MonkeyPatch, tools: str, *, is_right: bool
) -> None:
    monkeypatch.setenv("GANGLINE_PUBLIC_URL", "https://dash.example.org")
    monkeypatch.setenv("GANGLINE_TOOLS_URL", tools)
    if is_right:
        assert Env().tools_url == tools
        return
    with pytest.raises(ValidationError) as wrong:
        Env()
    assert [one["loc"] for one in wrong.value.errors()] == [("tools_url",)]
