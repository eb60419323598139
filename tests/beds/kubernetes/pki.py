"""Keys, certificates and tokens of one bed, made anew for each with the program `openssl`.

Everything is valid for two years at most and trusted by nothing but the bed.
"""

import fcntl
import os
import secrets
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HARD_CODED = Path("/tmp/k8s-webhook-server/serving-certs")
"""Where Kubeflow's operators look for the certificate of their webhooks, without a choice."""
_OURS = "made-by-gangline"
_FILES = ("ca.crt", "ca.key", "tls.crt", "tls.key")
_DAYS = "700"
_EC = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
_RSA = ("-newkey", "rsa:2048")
_API_SERVER = "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc"
_ROTATORS = ("training-operator-ca", "jobset-ca")
"""The operators' certificate rotators look for these names, and leave alone what has them."""
_WEBHOOKS = (
    "training-operator.kubeflow.svc",
    "jobset-webhook-service.jobset-system.svc",
    "localhost",
)


class NoCertificates(Exception):
    """Why certificates cannot be made or put in their place, in words."""


@dataclass(frozen=True)
class Pki:
    """The files in ``folder``; tokens are in ``tokens.csv`` there."""

    folder: Path

    def path(self, name: str) -> Path:
        return self.folder / name

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()

    def token(self, user: str) -> str:
        """The static token of a user.

        https://kubernetes.io/docs/reference/access-authn-authz/authentication/#static-token-file
        """
        rows = (line.split(",") for line in self.text("tokens.csv").splitlines())
        return next(token for token, name, *_ in rows if name == user)

    def client_certificate(self, user: str, *groups: str) -> tuple[str, str]:
        """A new certificate and its key, as PEM texts, that sign in as this user."""
        name = f"client-{secrets.token_hex(4)}"
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        _issue(self.folder, name, subject, authority="ca", use="clientAuth")
        return self.text(f"{name}.crt"), self.text(f"{name}.key")


def make(folder: Path) -> Pki:
    """What the control plane needs, in ``folder``, made once. Raises NoCertificates."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not (folder / "tokens.csv").exists():
        _authority(folder, "ca", "/CN=bed", kind=_EC)
        _issue(folder, "apiserver", "/CN=kube-apiserver", names=_API_SERVER, use="serverAuth")
        _issue(folder, "kubelet-client", "/O=system:masters/CN=kubelet-client", use="clientAuth")
        _openssl(folder, "genrsa", "-out", "service-accounts.key", "2048")
        _openssl(
            folder,
            *("rsa", "-in", "service-accounts.key"),
            *("-pubout", "-out", "service-accounts.pub"),
        )
        rows = [
            f'{secrets.token_hex(16)},admin,admin,"system:masters"',
            f'{secrets.token_hex(16)},gangline,gangline,""',
        ]
        # Last: its presence says that all is there.
        _write(folder / "tokens.csv", "\n".join(rows) + "\n")
    return Pki(folder)


def webhook_files() -> dict[str, str]:
    """Texts of ``ca.crt``, ``ca.key``, ``tls.crt`` and ``tls.key`` of the operators' webhooks.

    Their folder is the same for every bed of a machine, so all share one set; it is made when it
    is not there. Raises NoCertificates when it belongs to something else.
    """
    HARD_CODED.parent.mkdir(mode=0o700, exist_ok=True)
    with (HARD_CODED.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if HARD_CODED.exists() and not _is_ours():
            raise NoCertificates(
                f"{HARD_CODED} belongs to something else, and Kubeflow's operators know no other "
                "folder for the certificates of their webhooks: stop that and remove the folder."
            )
        if not all((HARD_CODED / name).exists() for name in _FILES):
            # Also when a cleaner of /tmp took some of them.
            shutil.rmtree(HARD_CODED, ignore_errors=True)
            _make_webhook_files()
    return {name: (HARD_CODED / name).read_text() for name in _FILES}


def _is_ours() -> bool:
    """Whether nobody but us can have put files there."""
    mine = HARD_CODED.stat().st_uid == os.geteuid()
    left = {path.name for path in HARD_CODED.iterdir()} if mine else set()
    return mine and (_OURS in left or not left)


def _make_webhook_files() -> None:
    with tempfile.TemporaryDirectory(prefix=".making-", dir=HARD_CODED.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir(mode=0o700)
        names = ",".join(f"DNS:{name}" for name in _ROTATORS)
        _authority(made, "ca", f"/O=bed/CN={_ROTATORS[0]}", kind=_RSA, names=names)
        # The rotators read keys in PKCS #1 only.
        _openssl(made, "rsa", "-in", "ca.key", "-traditional", "-out", "ca.key")
        names = ",".join(f"DNS:{name}" for name in _WEBHOOKS)
        _issue(made, "tls", f"/CN={_WEBHOOKS[0]}", names=names, kind=_RSA, use="serverAuth")
        _openssl(made, "rsa", "-in", "tls.key", "-traditional", "-out", "tls.key")
        (made / _OURS).touch()
        made.rename(HARD_CODED)


def _authority(
    folder: Path, name: str, subject: str, *, kind: tuple[str, ...], names: str = ""
) -> None:
    extensions = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]
    if names:
        extensions = ["basicConstraints=critical,CA:TRUE", f"subjectAltName={names}"]
        extensions += ["keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"]
        extensions += ["extendedKeyUsage=serverAuth"]
    config = f"[req]\ndistinguished_name=dn\nx509_extensions=v3\n[dn]\n[v3]\n{_lines(extensions)}"
    _write(folder / f"{name}.cnf", config)
    _openssl(
        folder,
        *("req", "-x509", *kind, "-nodes", "-days", _DAYS, "-subj", subject),
        *("-config", f"{name}.cnf", "-keyout", f"{name}.key", "-out", f"{name}.crt"),
    )


def _issue(
    folder: Path,
    name: str,
    subject: str,
    *,
    use: str,
    names: str = "",
    authority: str = "ca",
    kind: tuple[str, ...] = _EC,
) -> None:
    extensions = ["keyUsage=critical,digitalSignature,keyEncipherment", f"extendedKeyUsage={use}"]
    if names:
        extensions.append(f"subjectAltName={names}")
    _write(folder / f"{name}.cnf", _lines(extensions))
    _openssl(
        folder,
        *("req", "-new", *kind, "-nodes", "-subj", subject),
        *("-keyout", f"{name}.key", "-out", f"{name}.csr"),
    )
    _openssl(
        folder,
        *("x509", "-req", "-in", f"{name}.csr", "-days", _DAYS),
        *("-CA", f"{authority}.crt", "-CAkey", f"{authority}.key"),
        *("-set_serial", str(secrets.randbits(64)), "-extfile", f"{name}.cnf"),
        *("-out", f"{name}.crt"),
    )


def _lines(extensions: list[str]) -> str:
    return "\n".join(extensions) + "\n"


def _write(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def _openssl(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["openssl", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise NoCertificates(f"openssl {arguments[0]} failed: {done.stderr.strip()[-500:]}")
