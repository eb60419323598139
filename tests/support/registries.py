"""A real registry of images: `distribution`, as Debian's docker-registry has it."""

import base64
import hashlib
import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import jwt
import urllib3
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from scripts.services import free_port
from tests.support.certificates import pair
from tests.support.waiting import wait_for

ISSUER, SERVICE = "tests", "registry.tests"
USER, PASSWORD = "ada", "s3cret-Canary-77"
HASH = "$2y$05$gangline.tests.saltgae8bCyYrrPaI9Vr6XDPinUHh6eyhhWnr2"
"""Of the password, by bcrypt: the only one that the registry reads."""


@contextmanager
def serving(folder: Path, way: str) -> Iterator[str]:
    """The address of one with a login; ``way``: it judges that itself, or a server of tokens."""
    at = f"127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        if way == "token":
            realm = stack.enter_context(_giving_tokens())
            (folder / "root.pem").write_text(pair("tokens").certificate)
            auth: dict[str, Any] = {
                "token": {
                    "realm": realm,
                    "service": SERVICE,
                    "issuer": ISSUER,
                    "rootcertbundle": str(folder / "root.pem"),
                }
            }
        else:
            (folder / "htpasswd").write_text(f"{USER}:{HASH}\n")
            auth = {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}}
        config = {
            "version": 0.1,
            "storage": {"filesystem": {"rootdirectory": str(folder / "images")}},
            "http": {"addr": at},
            "auth": auth,
        }
        (folder / "config.yml").write_text(yaml.safe_dump(config))
        line = ["docker-registry", "serve", str(folder / "config.yml")]
        log = stack.enter_context((folder / "log.txt").open("wb"))
        process = subprocess.Popen(line, stdout=log, stderr=log)
        try:
            wait_for(lambda: _answers(at), seconds=20, what="the registry")
            yield f"http://{at}"
        finally:
            process.terminate()
            process.wait(10)


def _answers(at: str) -> bool:
    try:
        return urllib3.request("GET", f"http://{at}/v2/", retries=False).status == 401
    except urllib3.exceptions.HTTPError:
        return False


def _access(scope: str) -> dict[str, Any]:
    """What a token is for: ``repository:team/image:pull``."""
    kind, name, actions = scope.split(":")
    return {"type": kind, "name": name, "actions": actions.split(",")}


def push(server: str, repository: str, tag: str) -> None:
    """An image of no layers. Only where the registry judges the login itself."""
    headers = urllib3.make_headers(basic_auth=f"{USER}:{PASSWORD}")
    root = f"{server}/v2/{repository}"
    config = json.dumps({"architecture": "amd64", "os": "linux"}).encode()
    digest = f"sha256:{hashlib.sha256(config).hexdigest()}"
    begun = urllib3.request("POST", f"{root}/blobs/uploads/", headers=headers)
    at = f"{urljoin(server, begun.headers['Location'])}&digest={digest}"
    of_bytes = {**headers, "Content-Type": "application/octet-stream"}
    assert urllib3.request("PUT", at, headers=of_bytes, body=config).status == 201
    about = "application/vnd.docker.distribution.manifest.v2+json"
    kind = "application/vnd.docker.container.image.v1+json"
    manifest = {
        "schemaVersion": 2,
        "mediaType": about,
        "config": {"mediaType": kind, "size": len(config), "digest": digest},
        "layers": [],
    }
    stored = urllib3.request(
        "PUT", f"{root}/manifests/{tag}", body=json.dumps(manifest),
        headers={**headers, "Content-Type": about},
    )  # fmt: skip
    assert stored.status == 201, stored.data


@contextmanager
def _giving_tokens() -> Iterator[str]:
    """The server to which the registry sends for tokens."""
    login = f"Basic {base64.b64encode(f'{USER}:{PASSWORD}'.encode()).decode()}"
    made = pair("tokens")
    der = x509.load_pem_x509_certificate(made.certificate.encode()).public_bytes(Encoding.DER)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            is_good = self.headers.get("Authorization") == login
            now = datetime.now(UTC)
            claims = {
                "iss": ISSUER,
                "sub": USER,
                "aud": asked.get("service", [""])[0],
                "nbf": now - timedelta(minutes=1),
                "exp": now + timedelta(minutes=5),
                "iat": now,
                "jti": "1",
                "access": [_access(one) for one in asked.get("scope", [])],
            }
            header = {"x5c": [base64.b64encode(der).decode()]}
            token = jwt.encode(claims, made.key, algorithm="ES256", headers=header)
            body = json.dumps({"token": token} if is_good else {"errors": []}).encode()
            self.send_response(200 if is_good else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
