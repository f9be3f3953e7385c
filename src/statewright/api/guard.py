"""Keeps web pages out: a browser that visits any page must not be able to drive the server on loopback.

Reads only the head of a request, before its body is parsed, in every protocol. Callers are verified in `auth.py`.
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
    """True if a host name or address, without a port, means the machine itself."""
    return _LOOPBACK.fullmatch(host) is not None


def refuse_web_pages(
    headers: Mapping[str, str], own_origins: frozenset[str] = frozenset(), *, is_page: bool = False
) -> None:
    """Refuse requests from web pages, except Statewright's own; let those from programs pass.

    `own_origins` are `scheme://host[:port]` of Statewright's own pages under a name that is not loopback. `is_page` is
    for pages that people open in a browser, which only show something.

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
        # An old browser does not say for which page it fetches an image or a link.
        raise _refused("a browser sent it that does not say for which page (Sec-Fetch-Site)")
    # A page whose name was made to resolve to loopback counts as the same site; only its Host shows that it is not.
    # Over plain http such a page is not trusted, and its browser sends neither Origin nor Sec-Fetch-Site with GET.
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
    # A page may change its browser's User-Agent, but cannot make it omit the user's languages.
    return "accept-language" in headers or headers.get("user-agent", "").startswith("Mozilla/")


def _is_loopback_origin(origin: str) -> bool:
    # Browsers send exactly this form; any other is an attack.
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
