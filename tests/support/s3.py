"""A real S3 server for tests: versitygw, which keeps objects as files of a folder."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

from minio import Minio

from scripts.services import free_port
from tests.beds.kubernetes import building
from tests.support.waiting import wait_for

KEY_ID, KEY = "tests-key", "tests-secret-key-0123456789"


@dataclass
class S3Server:
    """``client`` may do everything."""

    port: int
    client: Minio = field(init=False)

    def __post_init__(self) -> None:
        self.client = Minio(self.address, KEY_ID, KEY, secure=False)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def bucket(self, name: str, **objects: str) -> None:
        self.client.make_bucket(name)
        for path, text in objects.items():
            data = text.encode()
            self.client.put_object(name, path.replace("__", "/"), BytesIO(data), len(data))

    def is_up(self) -> bool:
        try:
            self.client.list_buckets()
        except Exception:  # noqa: BLE001  not yet, in whatever way
            return False
        return True


@contextmanager
def serving(folder: Path) -> Iterator[S3Server]:
    (folder / "objects").mkdir(parents=True)
    server = S3Server(free_port())
    line = [str(building.program("versitygw")), "--port", server.address]
    line += ["posix", "--sidecar", str(folder / "sidecar"), str(folder / "objects")]
    (folder / "sidecar").mkdir()
    environment = {"ROOT_ACCESS_KEY_ID": KEY_ID, "ROOT_SECRET_ACCESS_KEY": KEY}
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(line, env=environment, stdout=log, stderr=log)
    try:
        wait_for(server.is_up, seconds=20, what="the S3 server")
        yield server
    finally:
        process.terminate()
        process.wait(10)
