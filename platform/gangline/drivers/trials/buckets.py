"""S3: the first objects of a bucket, as what downloads it asks for them."""

import re
from urllib.parse import urlsplit

from minio import Minio
from minio.error import InvalidResponseError, S3Error, ServerError

from gangline.drivers.addresses import AllowedAddresses
from gangline.drivers.checks import State

from .places import Bucket, Failed, Outcome, found
from .web import pool

_REFUSALS = frozenset(
    {
        "AccessDenied",
        "AllAccessDisabled",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "XAdminUserNotFound",
    }
)
"""Codes with which servers of several makers turn a key away, whatever their status."""


def tried(place: Bucket, reach: AllowedAddresses) -> Outcome:
    address = urlsplit(place.service)
    server = address.netloc
    client = Minio(
        server,
        access_key=place.key_id or None,
        secret_key=place.key or None,
        secure=address.scheme == "https",
        http_client=pool(reach),
    )
    try:
        first = next(iter(client.list_objects(place.name, recursive=True)), None)
    except S3Error as error:
        raise _refused(place, server, error.code or "") from None
    except ServerError as error:
        raise Failed("status", server=server, status=error.status_code) from None
    except InvalidResponseError:
        raise Failed("no_s3", server=server) from None
    if first is None:
        return found("bucket_empty", State.WARNING, value=place.name)
    return found("bucket", value=place.name)


def _refused(place: Bucket, server: str, code: str) -> Failed:
    if code == "NoSuchBucket":
        return Failed("no_bucket", server=server, value=place.name)
    if code in _REFUSALS:
        return Failed("refused" if place.key_id else "login", server=server)
    if code in ("PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed"):
        return Failed("moved", server=server)
    known = re.fullmatch(r"[A-Za-z]{1,60}", code)
    return Failed("status", server=server, status=code if known else "an error")
