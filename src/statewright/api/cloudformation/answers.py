"""The addresses at which providers of custom resources put their answers: presigned objects of this server."""

from __future__ import annotations

import time
from urllib.parse import quote, urlsplit

from statewright.api.auth import Request, signature
from statewright.config import Config


def address_for(config: Config, endpoint: str, path: str, seconds: int) -> str:
    """The address of an object that may be put without credentials for so long, counted from now in real time."""
    # A server without credentials takes any signature.
    own = (one for one in config.credentials.items() if config.accounts.get(one[0], config.account) == config.account)
    key, secret = next(own, ("statewright", "statewright"))
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = (at[:8], config.region, "s3", "aws4_request")
    query = "&".join(
        (
            "X-Amz-Algorithm=AWS4-HMAC-SHA256",
            f"X-Amz-Credential={quote('/'.join((key, *scope)), safe='')}",
            f"X-Amz-Date={at}",
            f"X-Amz-Expires={seconds}",
            "X-Amz-SignedHeaders=host",
        )
    )
    raw_path = f"/{quote(path)}"
    request = Request("PUT", raw_path, query, {"host": urlsplit(endpoint).netloc}, None)
    signed = signature(request, ("host",), scope, at, secret, presigned=True)
    return f"{endpoint}{raw_path}?{query}&X-Amz-Signature={signed}"
