"""The first steps of a connection check: is somebody there, is it the right one, who are we to it.

Answers of a server that was not yet recognised are never repeated, only put into categories.
"""

import re
import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from cryptography import x509

from gangline.drivers import addresses
from gangline.drivers.checks import State, Step

from .access import trusting
from .client import CONNECT_SECONDS, Answer, Client
from .identities import moment
from .kubeconfig import MAKE_ACCOUNT
from .steps import StepName

OLDEST, NEWEST = (1, 29), (1, 37)
"""Oldest: strict checks of fields (1.27) and the question who one is (1.28) are needed, and before
1.29 no vendor keeps a cluster any more. Newest: tried by us; a newer one gets a warning."""
MOST_SKEW = 5.0
LATER = "Check again in a minute; if the problem persists, check the log of the API server."
SOON = timedelta(days=30)
_EXPIRED, _NOT_YET, _NAME = 10, 9, 62
_NUMBER = re.compile(r"([0-9]{1,3})\+?")
_VERSION = re.compile(r"v[0-9][0-9A-Za-z.+-]{0,40}")
_WHO = re.compile(r"[ -~]{1,200}")


@dataclass(frozen=True, slots=True)
class Found:
    """A step and what later steps need of it."""

    step: Step
    value: str = ""


def reach(client: Client, dialled: addresses.AllowedAddresses) -> tuple[Step, socket.socket | None]:
    """Resolve the name, judge every address and connect to one, as every request does."""
    server = addresses.parse(client.access.server)
    place = f"{server.host} port {server.port}"
    fix = "Check the address, and that no firewall blocks this machine."
    try:
        found = dialled.vetted(server.host, server.port)
        connection = addresses.dial(found, server.port, CONNECT_SECONDS)
    except addresses.AddressRefused as why:
        return Step(StepName.REACHABILITY, State.FAILED, str(why)), None
    except TimeoutError:
        says = f"{place} did not answer in {CONNECT_SECONDS:.0f} s."
        return Step(StepName.REACHABILITY, State.FAILED, says, fix), None
    except ConnectionRefusedError:
        says = f"{place} refuses connections: nothing listens there."
        return Step(StepName.REACHABILITY, State.FAILED, says, fix), None
    except OSError:
        return Step(StepName.REACHABILITY, State.FAILED, f"{place} cannot be reached.", fix), None
    return Step(StepName.REACHABILITY, State.OK, f"{place} answers."), connection


def certificate(client: Client, connection: socket.socket) -> Step:
    """Shake hands over ``connection``, which is closed, without showing any credential."""
    access = client.access
    server = addresses.parse(access.server)
    name = access.tls_server_name or server.host
    try:
        context = trusting(access)
        with connection, context.wrap_socket(connection, server_hostname=name) as shaken:
            found = _certificate(shaken)
    except ssl.SSLCertVerificationError as error:
        return _untrusted(client, name, error)
    except TimeoutError:
        says = "The server accepted the connection but did not answer."
        fix = "The API server may be overloaded or hanging. Fix it, then check again."
        return Step(StepName.CERTIFICATE, State.FAILED, says, fix)
    except (OSError, ValueError):
        says = f"{server.host} port {server.port} does not speak TLS as expected."
        return Step(
            StepName.CERTIFICATE,
            State.FAILED,
            says,
            ("Check that it is the port of an API server."),
        )
    until = found.not_valid_after_utc
    if until - datetime.now(UTC) < SOON:
        says = f"Trusted, but it expires soon: on {moment(until)}."
        return Step(StepName.CERTIFICATE, State.WARNING, says, "Renew it before then.")
    return Step(StepName.CERTIFICATE, State.OK, f"Trusted, and valid until {moment(until)}.")


def identity(answer: Answer) -> Found:
    """Who the server says that we are, from its answer to a SelfSubjectReview."""
    if says := _too_busy(answer):
        return Found(Step("Identity", State.FAILED, says, LATER))
    if answer.status == 403:
        says = (
            "The API server did not identify Gangline (403): it lacks the permission to review "
            "itself."
        )
        fix = "Bind system:basic-user to system:authenticated again, as on every cluster."
        return Found(Step("Identity", State.FAILED, says, fix))
    if 300 <= answer.status < 400:
        says = "The server answered with a redirect, which Gangline does not follow."
        return Found(
            Step(
                StepName.IDENTITY,
                State.FAILED,
                says,
                ("Enter the address of the API server itself."),
            )
        )
    if answer.status == 401:
        says = "The API server rejected the credential: it expired, was revoked, or is another"
        return Found(
            Step(
                StepName.IDENTITY,
                State.FAILED,
                f"{says} cluster’s.",
                "Create a new token and enter it under “Replace the credential”.",
                MAKE_ACCOUNT,
            )
        )
    if answer.status == 404:
        # Before 1.28 nobody could ask; the next step says that the version is too old.
        return Found(
            Step(StepName.IDENTITY, State.SKIPPED, "This server cannot identify the account.")
        )
    who = str(((answer.json.get("status") or {}).get("userInfo") or {}).get("username") or "")
    if answer.status != 201 or not _WHO.fullmatch(who):
        says = f"The server answered {answer.status}, not as an API server of Kubernetes does."
        return Found(Step(StepName.IDENTITY, State.FAILED, says, "Check the address and the port."))
    return Found(Step(StepName.IDENTITY, State.OK, f"Gangline signs in as {who}."), who)


def version(answer: Answer) -> Found:
    """Judge the answer of ``/version``."""
    if says := _too_busy(answer):
        return Found(Step("Version", State.FAILED, says, LATER))
    body = answer.json
    major, minor = (_NUMBER.fullmatch(str(body.get(key))) for key in ("major", "minor"))
    if answer.status != 200 or major is None or minor is None:
        says = f"The server answered {answer.status}without a version of Kubernetes."
        return Found(Step(StepName.VERSION, State.FAILED, says, "Check the address and the port."))
    full = str(body.get("gitVersion"))
    number = (int(major[1]), int(minor[1]))
    shown = full[1:] if _VERSION.fullmatch(full) else f"{number[0]}.{number[1]}"
    oldest, newest = (f"{a}.{b}" for a, b in (OLDEST, NEWEST))
    if number < OLDEST:
        says = f"Kubernetes {shown} is too old: Gangline needs {oldest} or newer."
        return Found(Step(StepName.VERSION, State.FAILED, says, "Upgrade the cluster."))
    if number > NEWEST:
        says = f"Kubernetes {shown} is newer than the versions Gangline was tested with ({newest})."
        return Found(Step(StepName.VERSION, State.WARNING, says), shown)
    return Found(Step(StepName.VERSION, State.OK, f"Kubernetes {shown}."), shown)


def clock(answer: Answer, asked: datetime, answered: datetime) -> Step:
    """Compare the clocks: ``Date`` says whole seconds, cut off."""
    try:
        theirs = dated(answer)
    except ValueError:
        return Step(StepName.CLOCK, State.SKIPPED, "The server did not report its time.")
    ahead = (theirs - answered).total_seconds()
    behind = (asked - theirs).total_seconds() - 1
    off = max(ahead, behind, 0.0)
    if off <= MOST_SKEW:
        return Step(StepName.CLOCK, State.OK, "Both clocks agree.")
    way = "ahead of" if ahead > 0 else "behind"
    says = f"The cluster’s clock is {off:.0f} s {way} this machine’s."
    fix = "Synchronize both clocks with a time server; until then, times in lists and logs are off."
    return Step(StepName.CLOCK, State.WARNING, says, fix)


def dated(answer: Answer) -> datetime:
    """The server's clock. Raises ValueError for what is no time that a calendar has."""
    try:
        found = parsedate_to_datetime(answer.date)
    except (OverflowError, TypeError) as error:
        raise ValueError(answer.date) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _too_busy(answer: Answer) -> str:
    """Why a server that may well be the right one cannot answer now, in words; else empty."""
    if answer.status == 429:
        return "The API server is rate limiting requests (429)."
    if answer.status >= 500:
        return f"The server answered {answer.status}: it is starting, overloaded or broken."
    return ""


def _certificate(shaken: ssl.SSLSocket) -> x509.Certificate:
    raw = shaken.getpeercert(binary_form=True)
    if raw is None:
        raise ValueError("no certificate")
    return x509.load_der_x509_certificate(raw)


def _untrusted(client: Client, name: str, error: ssl.SSLCertVerificationError) -> Step:
    """Why a certificate is not trusted, with its dates where those are the reason."""
    shown = _shown(client, name) if error.verify_code in (_EXPIRED, _NOT_YET) else None
    if error.verify_code == _EXPIRED:
        when = f" on {moment(shown.not_valid_after_utc)}" if shown else ""
        says, fix = f"The server’s certificate expired{when}.", "Renew it on the cluster."
    elif error.verify_code == _NOT_YET:
        when = f" before {moment(shown.not_valid_before_utc)}" if shown else " yet"
        says = f"The server’s certificate is not valid{when}."
        fix = "Compare the clocks of the two machines."
    elif "ostname mismatch" in str(error) or "IP address mismatch" in str(error):
        says = f"The server’s certificate is for another name than {name}."
        fix = "Use a name of the certificate; in a kubeconfig, set tls-server-name."
    elif client.access.certificate_authority:
        says = "The server’s certificate was not issued by the given authority."
        fix = "Enter the certificate authority of this cluster; every cluster has its own."
    else:
        says = (
            "The server’s certificate is issued by an authority that this machine does not trust."
        )
        fix = "Enter the cluster’s certificate authority (PEM)."
    return Step(StepName.CERTIFICATE, State.FAILED, says, fix)


def _shown(client: Client, name: str) -> x509.Certificate | None:
    """The certificate as it is shown to anybody: nothing is sent and nothing is believed."""
    server = addresses.parse(client.access.server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    reach = client.reach or addresses.AllowedAddresses(addresses.networks("0.0.0.0/0,::/0"))
    try:
        found = reach.vetted(server.host, server.port)
        with (
            addresses.dial(found, server.port, CONNECT_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=name) as shaken,
        ):
            return _certificate(shaken)
    except (OSError, ValueError):
        return None
