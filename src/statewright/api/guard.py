"""Keeps web pages out: a browser that visits any page must not be able to drive the server on loopback.

Looks at the head of a request alone, before anything of it is parsed, whatever the protocol. Who may call is `auth.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from statewright.errors import ApiError

_LOOPBACK: Final = re.compile(r"localhost|(.+\.)?localhost|127(\.[0-9]{1,3}){3}|\[?::1\]?", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"https?://([^/@:\[\]]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?")


def is_loopback(host: str) -> bool:
    """Whether a host name or address, without a port, is this machine for itself."""
    return _LOOPBACK.fullmatch(host) is not None


def refuse_web_pages(
    headers: Mapping[str, str], own_origins: frozenset[str] = frozenset(), *, is_page: bool = False
) -> None:
    """Let programs and pages of ours pass.

    `own_origins` are `scheme://host[:port]` of pages that are ours under a name that is not loopback. `is_page` is for
    what people open in a browser: it shows much and does nothing.

    Raises: ApiError (`CrossOriginRequestRefused`) for a request that a browser sends on behalf of another site.
    """
    origin = headers.get("origin")
    if origin is not None and origin not in own_origins and not _is_loopback_origin(origin):
        raise _refused(f"its Origin is {origin[:200]}")
    site = headers.get("sec-fetch-site")
    if site == "cross-site":
        raise _refused("a page of another site made it (Sec-Fetch-Site: cross-site)")
    if site is None and not _is_browser(headers):
        return
    if site is None and origin is None and not is_page:
        # An old browser does not say on whose behalf an image or a link is fetched.
        raise _refused("a browser sent it that does not say for which page (Sec-Fetch-Site)")
    # A page whose name was made to resolve to loopback counts as the same site; its Host gives it away. Over plain
    # http such a page is not trusted, and its browser sends neither Origin nor Sec-Fetch-Site with GET.
    host = headers.get("host", "")
    if not is_loopback(_without_port(host)) and not any(urlsplit(own).netloc == host for own in own_origins):
        raise _refused(f"a browser sent it to the foreign host {host[:200]}")


def refuse_length(declared: str | None, limit: int) -> None:
    """Refuse a body by its declared length.

    Raises: ApiError (`RequestEntityTooLarge`).
    """
    if declared is not None and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
        raise too_long(limit)


def too_long(limit: int) -> ApiError:
    """The answer to a body over the limit."""
    return ApiError("RequestEntityTooLarge", f"The request is longer than {limit} bytes.")


def _is_browser(headers: Mapping[str, str]) -> bool:
    # A page may change what its browser says of itself, but not have it leave out the user's languages.
    return "accept-language" in headers or headers.get("user-agent", "").startswith("Mozilla/")


def _is_loopback_origin(origin: str) -> bool:
    # What browsers send is this and no more; anything else in it is somebody's trick.
    parts = _ORIGIN.fullmatch(origin)
    return parts is not None and is_loopback(parts[1])


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _refused(why: str) -> ApiError:
    return ApiError(
        "CrossOriginRequestRefused", f"The request was refused because {why}. Web pages may not call this server."
    )
