"""Copies a bucket into a folder: ``download.py <service> <bucket> <folder>``, a program of its own.

The access key is in ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``; without one the bucket is
public.
"""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from minio import Minio
from minio.error import MinioException
from urllib3.exceptions import HTTPError


def main(service: str, bucket: str, folder: str) -> int:
    address = urlsplit(service)
    client = Minio(
        address.netloc,
        access_key=os.environ.get("AWS_ACCESS_KEY_ID"),
        secret_key=os.environ.get("AWS_SECRET_ACCESS_KEY"),
        secure=address.scheme == "https",
    )
    into = Path(folder).resolve()
    try:
        for found in client.list_objects(bucket, recursive=True):
            name = found.object_name or ""
            target = (into / name).resolve()
            if not target.is_relative_to(into) or target == into:
                sys.stderr.write(f"{name!r} is not a path in the bucket.\n")
                return 1
            if name.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
                continue
            client.fget_object(bucket, name, str(target))
    except (MinioException, HTTPError, OSError, ValueError) as problem:
        sys.stderr.write(f"{getattr(problem, 'message', '') or problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
