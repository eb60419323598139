"""Settings as they come from the environment."""

import pytest

from gangline.config.env import Env


def test_a_list_of_hosts_is_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANGLINE_ALLOWED_HOSTS", "a.example.org, b.example.org,")
    assert Env().allowed_hosts == ("a.example.org", "b.example.org")
    monkeypatch.setenv("GANGLINE_ALLOWED_HOSTS", "")
    assert Env().allowed_hosts == ()
