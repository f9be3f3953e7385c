"""Addresses of buckets: `s3://NAME[/PREFIX][?endpoint=http://host:port&region=NAME]`, never with credentials."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from statewright.errors import StoreError

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_EXAMPLE: Final = "s3://NAME, s3://NAME/PREFIX or s3://NAME?endpoint=http://127.0.0.1:9000&region=us-east-1"


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """A bucket, and the prefix of all keys in it: empty, or ending with a slash.

    Without `endpoint` and `region`, those of the environment count, as for all AWS tools.
    """

    name: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None

    @property
    def place(self) -> str:
        """The bucket as messages show it."""
        return f"s3://{self.name}/{self.prefix}".rstrip("/")

    @property
    def text(self) -> str:
        """The address, as `bucket_address` reads it."""
        given = {"endpoint": self.endpoint, "region": self.region}
        options = "&".join(f"{key}={quote(value, safe=':/')}" for key, value in given.items() if value)
        place = f"s3://{self.name}/{quote(self.prefix)}".rstrip("/")
        return f"{place}?{options}" if options else place


def bucket_address(text: str) -> BucketAddress:
    """Read the address of a bucket. Raises: StoreError."""
    try:
        parts = urlsplit(text)
        given = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        port = parts.port
    except ValueError:
        raise StoreError(f"the address of the bucket cannot be read; write it as {_EXAMPLE}") from None
    if "@" in parts.netloc or "@" in unquote(parts.query) or (parts.scheme != "s3" and "@" in text):
        # Not quoted: it may have a secret.
        raise StoreError(
            "the address of the bucket must not have credentials: put them into the environment "
            "(AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or a profile"
        )
    if parts.scheme != "s3" or port is not None or parts.fragment or not _NAME.fullmatch(parts.netloc):
        raise StoreError(f"{text} is not the address of a bucket; write it as {_EXAMPLE}")
    unknown = sorted(given.keys() - {"endpoint", "region"})
    if unknown:
        raise StoreError(f"{text} has the option {unknown[0]}; a bucket has only endpoint and region")
    empty = sorted(name for name, value in given.items() if not value)
    if empty:
        raise StoreError(f"{text} has an empty {empty[0]}")
    prefix = unquote(parts.path).strip("/")
    if "//" in prefix or any(part in (".", "..") for part in prefix.split("/")) or not prefix.isprintable():
        raise StoreError(f"{text} has a prefix that cannot be used: it must be names between single slashes")
    endpoint = given.get("endpoint")
    if endpoint is not None and not _is_endpoint(endpoint):
        raise StoreError(f"{endpoint} is not an endpoint of a bucket; write it as http://host:port or https://host")
    return BucketAddress(
        parts.netloc, f"{prefix}/" if prefix else "", endpoint.rstrip("/") if endpoint else None, given.get("region")
    )


def _is_endpoint(text: str) -> bool:
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return is_address and "@" not in parts.netloc and not parts.query and not parts.fragment
