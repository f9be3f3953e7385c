"""Checks of routes and integrations of HTTP APIs when they are made: what this version cannot serve is refused here.

Source: API Gateway developer guide, "HTTP APIs"; texts about features that are not here are ours.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.apis.errors import bad_request
from statewright.apis.http_apis import DEFAULT_ROUTE
from statewright.apis.integrations.first_class import check_subtype
from statewright.payload import JsonObject

_KEY: Final = re.compile(r"(GET|PUT|POST|DELETE|PATCH|OPTIONS|HEAD|ANY) (/\S*)")
_SEGMENT: Final = re.compile(r"\{[A-Za-z0-9._:-]+\+?\}|[^{}]*")


def check_key(key: str) -> None:
    """Check the form of a route's key. Raises: ApiError."""
    if key == DEFAULT_ROUTE:
        return
    found = _KEY.fullmatch(key)
    if found is None:
        raise bad_request(
            "The provided route key is not formatted properly for HTTP protocol. Format should be "
            '"<HTTP METHOD> /<RESOURCE PATH>" or "$default"'
        )
    segments = found[2].split("/")[1:]
    for at, one in enumerate(segments):
        if _SEGMENT.fullmatch(one) is None or (one.endswith("+}") and at != len(segments) - 1):
            raise bad_request(f"The provided route key has an invalid segment {one}: {key}")


def without_names(key: str) -> str:
    """A key in which parameters have no names: routes that differ by these alone match the same requests."""
    return re.sub(r"\{[^}+]*(\+?)\}", r"{\1}", key)


def check_integration(settings: JsonObject) -> None:
    """Check the settings of an integration, and set the format of payloads of other servers. Raises: ApiError."""
    kind, subtype, uri = settings["IntegrationType"], settings.get("IntegrationSubtype"), settings.get("IntegrationUri")
    if kind not in ("AWS_PROXY", "HTTP_PROXY"):
        raise bad_request(f"The integration type {kind} is not supported for HTTP APIs: use AWS_PROXY or HTTP_PROXY")
    if settings.get("ConnectionType") == "VPC_LINK":
        raise bad_request("This version of Statewright has no VPC links: give the address of the server as an INTERNET "
                          "integration.")  # fmt: skip
    if subtype:
        if kind != "AWS_PROXY":
            raise bad_request("IntegrationSubtype is only supported for integrations of type AWS_PROXY")
        check_subtype(subtype, settings.get("RequestParameters") or {})
        return
    mapped = [one for one in ("RequestParameters", "ResponseParameters") if settings.get(one)]
    if mapped:
        raise bad_request(
            f"This version of Statewright maps parameters of integrations with a subtype only: leave out "
            f"{' and '.join(mapped)}, or read them in the function or server."
        )
    if not uri:
        raise bad_request("IntegrationUri is required for integrations without IntegrationSubtype")
    version = settings.setdefault("PayloadFormatVersion", "1.0" if kind == "HTTP_PROXY" else "")
    if version not in ("1.0", "2.0") or (kind == "HTTP_PROXY" and version != "1.0"):
        raise bad_request("PayloadFormatVersion is a required parameter for integrations of type AWS_PROXY: 1.0 or 2.0"
                          if kind == "AWS_PROXY" else "PayloadFormatVersion of an HTTP_PROXY is 1.0")  # fmt: skip
    if kind == "HTTP_PROXY":
        if not uri.startswith(("http://", "https://")):
            raise bad_request("Invalid HTTP endpoint specified for URI")
        if not settings.get("IntegrationMethod"):
            raise bad_request("HttpMethod must be set for integrations of type HTTP_PROXY")
