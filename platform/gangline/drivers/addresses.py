"""Where Gangline connects to: addresses are judged by what their names resolve to.

The judged address is the one that is dialled, so a name that changes its mind gains nothing.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

import urllib3

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

LONGEST = 2048
HTTPS = 443
LONGEST_DIAL, LEAST_DIAL = 5.0, 1.0
"""Seconds: for all addresses of a name where nobody says, and for one of many."""
_NAME = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?")
_NUMBER = re.compile(r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~:@!$&'()*+,;=-]+)*/?")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_METADATA = {
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
}
_LOOPBACK, _LINK_LOCAL = "this machine itself (loopback)", "a link-local address"
_ADMISSIBLE = {_LOOPBACK, _LINK_LOCAL}
ADMIT = "If this is intended, add its network to GANGLINE_CLUSTER_ADDRESSES."


class AddressRefused(OSError):
    """Where Gangline does not connect, in a sentence."""


class NameUnknown(AddressRefused):
    """There is no address of that name."""


@dataclass(frozen=True, slots=True)
class Server:
    """An address that is well-formed. ``url`` has no slash at its end."""

    url: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class AllowedAddresses:
    """Which addresses may be dialled.

    ``admitted`` networks are allowed although they would be refused; ``own`` are places (host or
    address, port) of this installation, such as its database, and never allowed.
    """

    admitted: tuple[Network, ...] = ()
    own: tuple[tuple[str, int], ...] = ()

    def refusal(self, text: str, port: int) -> str:
        """Why the address must not be dialled; empty when it may be."""
        address = _unwrapped(ipaddress.ip_address(text.partition("%")[0]))
        if any(port == place and address in _addresses(host) for host, place in self.own):
            return f"{text} port {port} belongs to Gangline itself (its database or messages)."
        if any(address in network for network in self.admitted):
            return ""
        kind = _kind(address)
        advice = f" {ADMIT}" if kind in _ADMISSIBLE else ""
        return f"{text} is {kind}: Gangline does not connect there.{advice}" if kind else ""

    def vetted(self, host: str, port: int) -> list[str]:
        """The addresses of ``host``, all of them allowed. Raises AddressRefused."""
        found = resolve(host, port)
        for text in found:
            if why := self.refusal(text, port):
                named = "" if text == host else f"{host} is at {text}: "
                raise AddressRefused(named + why)
        return found


def networks(text: str) -> tuple[Network, ...]:
    """``10.0.0.0/8,::1`` as networks. Raises ValueError naming the part that is none."""
    found: list[Network] = []
    for part in filter(None, map(str.strip, text.split(","))):
        try:
            found.append(ipaddress.ip_network(part))
        except ValueError as error:
            raise ValueError(f"{part[:60]!r} is not a network such as 127.0.0.0/8") from error
    return tuple(found)


def parse(text: str) -> Server:
    """The address of an API server. Raises AddressRefused, without repeating a password."""
    parts = _split(text)
    if parts.scheme != "https":
        raise AddressRefused("must start with https://, such as https://10.0.0.1:6443")
    if "@" in parts.netloc:
        raise AddressRefused("must not contain a user name or password; use a token instead")
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise AddressRefused("must end after the port or the path: no “?” and no “#”")
    host, port = parts.hostname or "", _port(parts)
    if not is_host(host):
        raise AddressRefused(
            "must name a host, such as https://10.0.0.1:6443 or https://k8s.example.org:6443"
        )
    if not _PATH.fullmatch(parts.path) or "/../" in f"{parts.path}/":
        raise AddressRefused("has a path that is not made of plain letters, digits and signs")
    named = f"[{host}]" if ":" in host else host
    return Server(f"https://{named}:{port}{parts.path.rstrip('/')}", host, port)


def resolve(host: str, port: int) -> list[str]:
    """Every address of a name. Raises AddressRefused when there is none."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NameUnknown(f"The name {host} cannot be resolved.") from error
    return list(dict.fromkeys(str(one[4][0]) for one in found))


def dial(found: Sequence[str], port: int, seconds: float, options: Any = None) -> socket.socket:
    """Connect to the first of the addresses that takes it; they share the ``seconds``.

    One that does not answer keeps nobody from the next. Raises OSError, the last one's, where none
    takes it.
    """
    last = OSError("there is no address")
    for address in found:
        try:
            made = urllib3.util.connection.create_connection(
                (address, port), max(seconds / len(found), LEAST_DIAL), socket_options=options
            )
        except OSError as error:
            last = error
        else:
            made.settimeout(seconds)
            return made
    raise last


def guard(pool: urllib3.PoolManager, reach: AllowedAddresses, *, plain: bool = False) -> None:
    """Let ``pool`` dial only what ``reach`` allows, at the moment of dialling.

    ``plain``: http as well; without it, what is not https cannot be dialled at all.
    """

    class Dialling:
        def _new_conn(self: Any) -> socket.socket:
            port = self.port or HTTPS
            found = reach.vetted(self._dns_host.strip("[]"), port)
            seconds = self.timeout if isinstance(self.timeout, int | float) else LONGEST_DIAL
            try:
                return dial(found, port, seconds, self.socket_options)
            except TimeoutError as error:
                raise urllib3.exceptions.ConnectTimeoutError(self, "timed out") from error

    class Secure(Dialling, urllib3.connection.HTTPSConnection):
        pass

    class Plain(Dialling, urllib3.connection.HTTPConnection):
        pass

    class SecurePool(urllib3.HTTPSConnectionPool):
        ConnectionCls: Any = Secure

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls: Any = Plain

    pool.pool_classes_by_scheme = {"https": SecurePool} | ({"http": PlainPool} if plain else {})


def causes(error: BaseException) -> Iterator[BaseException]:
    """What a guarded pool raised and what lies behind it, the nearest first."""
    cause: object = error
    while isinstance(cause, BaseException):
        yield cause
        cause = cause.__cause__ or cause.__context__ or getattr(cause, "reason", None)


def _split(text: str) -> SplitResult:
    if not text or len(text) > LONGEST:
        raise AddressRefused("must be an address such as https://10.0.0.1:6443")
    if any(c.isspace() or not c.isprintable() or c == "\\" for c in text) or not text.isascii():
        raise AddressRefused("must not contain spaces, backslashes or other unusual characters")
    try:
        return urlsplit(text)
    except ValueError as error:
        raise AddressRefused("is not an address such as https://10.0.0.1:6443") from error


def _port(parts: SplitResult) -> int:
    try:
        port = HTTPS if parts.port is None else parts.port
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise AddressRefused("must have a port from 1 to 65535")
    return port


def is_host(host: str) -> bool:
    """A name, or an address in its usual form; ``127.1`` and ``2130706433`` are neither."""
    try:
        return bool(ipaddress.ip_address(host)) and "%" not in host
    except ValueError:
        last = host.rstrip(".").rpartition(".")[2]
        is_number = _NUMBER.fullmatch(last) is not None
        return len(host) <= 253 and _NAME.fullmatch(host) is not None and not is_number


def _addresses(host: str) -> set[Address]:
    try:
        found = resolve(host, 0)
    except AddressRefused:
        return set()
    return {_unwrapped(ipaddress.ip_address(text.partition("%")[0])) for text in found}


def _unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it stands for one."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address.sixtofour is not None:
            return address.sixtofour
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _kind(address: Address) -> str:
    if address in _METADATA:
        return "where clouds give out their machines' own credentials"
    if address.is_unspecified or str(address).startswith("0."):
        return "no machine's address"
    if address.is_loopback:
        return _LOOPBACK
    if address.is_link_local:
        return _LINK_LOCAL
    if address.is_multicast:
        return "a multicast address"
    return "a reserved address" if address.is_reserved else ""
