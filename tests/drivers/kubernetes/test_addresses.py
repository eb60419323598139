"""Where Gangline looks for an API server, and where it never does."""

import socket
from typing import Any

import pytest
import urllib3
from hypothesis import given
from hypothesis import strategies as st

from gangline.drivers import addresses
from gangline.drivers.addresses import AddressRefused, AllowedAddresses, networks

HERE = AllowedAddresses(networks("127.0.0.0/8"))


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
        ("https://k8s.example.org", "https://k8s.example.org:443"),
        ("https://[fd00::1]:6443/", "https://[fd00::1]:6443"),
        ("https://rancher.example.org/k8s/clusters/c-m-x1", "https://rancher.example.org:443/k8s/clusters/c-m-x1"),
    ],
)  # fmt: skip
def test_good_addresses(text: str, url: str) -> None:
    assert addresses.parse(text).url == url


@pytest.mark.parametrize(
    "text",
    [
        "", "http://10.0.0.1", "10.0.0.1:6443", "https://", "https://u:p@h", "https://a@b@c/",
        "https://ok.com#@evil", "https://ok.com\\@evil", "https://h?x", "https://h:0",
        "https://h:99999", "https://h:x", "https://127.1", "https://2130706433",
        "https://0x7f000001", "https://0177.0.0.1", "https://[fe80::1%25eth0]", "https://h\n",
        "https://h ost", "https://é.org", "https://-a", "https://[::1", "file:///etc/passwd",
        "https://h/../x", "https://" + "a" * 3000, "gopher://h",
    ],
)  # fmt: skip
def test_bad_addresses(text: str) -> None:
    with pytest.raises(AddressRefused):
        addresses.parse(text)


@given(st.text(max_size=60) | st.text(max_size=60).map(lambda text: f"https://{text}"))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    try:
        assert addresses.parse(text).url.startswith("https://")
    except AddressRefused:
        pass


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("127.0.0.1", "loopback"), ("::1", "loopback"), ("::ffff:127.0.0.1", "loopback"),
        ("2002:7f00:1::", "loopback"), ("169.254.1.1", "link-local"), ("fe80::1", "link-local"),
        ("169.254.169.254", "credentials"), ("::ffff:169.254.169.254", "credentials"),
        ("64:ff9b::a9fe:a9fe", "credentials"), ("192.0.0.192", "credentials"),
        ("fd00:ec2::254", "credentials"), ("0.0.0.0", "no machine"), ("::", "no machine"),
        ("224.0.0.1", "multicast"), ("ff02::1", "multicast"), ("255.255.255.255", "reserved"),
    ],
)  # fmt: skip
def test_places_that_are_no_cluster(text: str, word: str) -> None:
    said = AllowedAddresses().refusal(text, 443)
    assert word in said
    assert ("GANGLINE_CLUSTER_ADDRESSES" in said) == (word in ("loopback", "link-local"))


@pytest.mark.parametrize("text", ["10.1.2.3", "192.168.0.9", "172.16.0.1", "8.8.8.8", "fd12::1"])
def test_private_and_public_places_may_be_clusters(text: str) -> None:
    assert AllowedAddresses().refusal(text, 6443) == ""


def test_what_is_admitted_and_what_is_gangline_itself() -> None:
    assert HERE.refusal("127.0.0.1", 6443) == ""
    assert HERE.refusal("127.0.0.1", 5432) == ""
    own = AllowedAddresses(HERE.admitted, own=(("127.0.0.1", 5432), ("localhost", 6379)))
    assert "belongs to Gangline itself" in own.refusal("127.0.0.1", 5432)
    assert "belongs to Gangline itself" in own.refusal("::ffff:127.0.0.1", 6379)
    assert own.refusal("127.0.0.1", 6443) == ""


def test_an_unreadable_network_is_named() -> None:
    with pytest.raises(ValueError, match=r"'10\.0\.0\.0/99' is not a network"):
        networks("127.0.0.0/8, 10.0.0.0/99")


def test_a_name_that_changes_its_mind_is_never_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    """First a good address, at the moment of dialling this machine: nobody connects to it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        answers = iter(["192.0.2.1", "127.0.0.1"])

        def lookup(host: str, *args: Any, **named: Any) -> list[Any]:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

        monkeypatch.setattr(socket, "getaddrinfo", lookup)
        assert AllowedAddresses().vetted("k8s.example.org", port) == ["192.0.2.1"]
        pool = urllib3.PoolManager(retries=urllib3.Retry(False))
        addresses.guard(pool, AllowedAddresses())
        with pytest.raises((AddressRefused, urllib3.exceptions.ProtocolError)) as refused:
            pool.request("GET", f"https://k8s.example.org:{port}/", timeout=2)
        assert "loopback" in str(refused.value)
        listening.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listening.accept()


def test_all_addresses_of_a_name_must_be_good(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, 443))
        for text in ("192.0.2.1", "169.254.169.254")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **named: found)
    with pytest.raises(AddressRefused, match=r"k8s\.lab is at 169\.254\.169\.254"):
        AllowedAddresses().vetted("k8s.lab", 443)


def test_plain_http_cannot_be_dialled() -> None:
    pool = urllib3.PoolManager()
    addresses.guard(pool, HERE)
    with pytest.raises(KeyError):
        pool.request("GET", "http://127.0.0.1:9/", timeout=1)
