"""Keeps web pages out: a browser that visits any page must not be able to drive the server on loopback.

Reads only the head of a request, before its body is parsed, in every protocol. Callers are verified in `auth.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from statewright.errors import ApiError
from statewright.settings.server import ORIGIN

_LOOPBACK: Final = re.compile(r"localhost|(.+\.)?localhost|127(\.[0-9]{1,3}){3}|\[?::1\]?", re.IGNORECASE)

_SIGNATURE: Final = "AWS4-"
"""The start of an AWS client's `Authorization`; passwords that a page puts into an address begin otherwise."""

HARMLESS: Final = ((b"content-security-policy", b"sandbox"), (b"x-content-type-options", b"nosniff"))
"""Headers of answers whose content callers have stored: a page among them would have the API's origin.

With these it has none, runs no scripts, and is no page unless it was stored as one.
"""


def is_loopback(host: str) -> bool:
    """True if a host name or address, without a port, means the machine itself."""
    return _LOOPBACK.fullmatch(host) is not None


def is_loopback_origin(origin: str) -> bool:
    """True if an origin is that of a page on this machine."""
    return is_origin(origin) and is_loopback(_without_port(urlsplit(origin).netloc))


def is_origin(text: str) -> bool:
    """True if a text is an origin as browsers write it: `scheme://host[:port]`."""
    return ORIGIN.fullmatch(text) is not None


def refuse_web_pages(
    headers: Mapping[str, str],
    allowed: frozenset[str] = frozenset(),
    *,
    is_page: bool = False,
    is_verified: bool = False,
) -> None:
    """Refuse requests from web pages, except the server's own and those that the operator named.

    Every other port of loopback is another origin: any program of any user can serve a page there. `allowed` are the
    origins that were named, as `scheme://host[:port]`. `is_page` is for pages that people open in a browser, which only
    show something. `is_verified` is for requests whose signature will be verified with a configured key before
    anything is done. Requests of programs pass.

    Raises: ApiError (`CrossOriginRequestRefused`) for a request that a browser sends on behalf of another origin.
    """
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    host = headers.get("host", "")
    if site is None and origin is None:
        if is_verified or not _may_be_browser(headers):
            return
        if not is_page and not headers.get("authorization", "").startswith(_SIGNATURE):
            # An old browser does not say for which page it fetches an image or a link. For another page it signs
            # nothing without a preflight, which is refused; a signature in the address could be the page's.
            raise _refused("a browser sent it that does not say for which page (Sec-Fetch-Site)")
    elif origin is not None:
        if origin not in allowed and not (site in (None, "same-origin", "none") and _is_loopback_of(origin, host)):
            raise _refused(f"its Origin is {origin[:200]}", origin)
    elif site not in ("same-origin", "none"):
        # Images, links and forms that only read have no Origin. A page may omit its Referer, but cannot forge it.
        page = _origin_of(headers.get("referer", ""))
        if page not in allowed:
            raise _refused(f"a page of another origin made it (Sec-Fetch-Site: {(site or '')[:20]})", page)
    # A page whose name was made to resolve to loopback counts as the same site; only its Host shows that it is not.
    # Over plain http such a page is not trusted, and its browser sends neither Origin nor Sec-Fetch-Site with GET.
    if not is_loopback(_without_port(host)) and not any(urlsplit(one).netloc == host for one in allowed):
        raise _refused(f"a browser sent it to the foreign host {host[:200]}", f"http://{host}")


def refuse_foreign_pages(
    headers: Mapping[str, str], scheme: str, allowed: frozenset[str] = frozenset(), *, is_link: bool = False
) -> None:
    """Refuse requests from web pages of another origin than the request's own, by its scheme and Host.

    For requests that carry a secret which no page can make a browser send (a header of their own), or that show
    nothing. The name of the host does not matter to them, so a server can be used at all of its names.
    `refuse_web_pages` is for all others. `is_link` is for pages that a link may lead to.

    Raises: ApiError (`CrossOriginRequestRefused`).
    """
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    if is_link and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document":
        site = "none"
    if origin is not None and origin in allowed:
        return
    if origin is not None and origin != f"{scheme}://{headers.get('host', '')}":
        raise _refused(f"its Origin is {origin[:200]}", origin)
    if site not in (None, "same-origin", "none"):
        raise _refused(f"a page of another origin made it (Sec-Fetch-Site: {site[:20]})")


def refuse_length(declared: str | None, limit: int) -> None:
    """Refuse a body by its declared length.

    Raises: ApiError (`RequestEntityTooLarge`).
    """
    if declared is not None and declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
        raise too_long(limit)


def too_long(limit: int) -> ApiError:
    """The answer to a body over the limit."""
    return ApiError("RequestEntityTooLarge", f"The request is longer than {limit} bytes.")


def _may_be_browser(headers: Mapping[str, str]) -> bool:
    """False if no browser can have sent a request that has neither Origin nor Sec-Fetch-Site."""
    # No page can make its browser omit the user's languages. Browsers send both of Sec-Fetch-Mode and Sec-Fetch-Site or
    # neither, and let no page set them; Node.js' own `fetch` sends only the former.
    return "accept-language" in headers and "sec-fetch-mode" not in headers


def _is_loopback_of(origin: str, host: str) -> bool:
    """True if an origin is that of a server on loopback, by its Host header."""
    return is_origin(origin) and urlsplit(origin).netloc == host and is_loopback(_without_port(host))


def _origin_of(address: str) -> str:
    """The origin of a page's address; empty if it has none."""
    scheme, separator, rest = address.partition("://")
    origin = scheme + separator + rest.partition("/")[0]
    return origin if is_origin(origin) else ""


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _refused(why: str, origin: str = "") -> ApiError:
    text = f"The request was refused because {why}. Web pages of other origins may not call this server."
    if is_origin(origin):
        text += (
            f" If you trust this one, start the server with --origin {origin}, or name it in `origins` of [http] in "
            "statewright.toml."
        )
    return ApiError("CrossOriginRequestRefused", text)
