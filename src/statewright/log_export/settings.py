"""The destination of exported log events: address, headers and resource, from settings and environment.

The variables of OpenTelemetry are read only if the settings ask for them (`otlp = "environment"`): one that is set for
another program must not send payloads away.

Source: OpenTelemetry specification, "OTLP exporter configuration", "SDK environment variables", "Resource SDK".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from statewright.settings.server import FROM_ENVIRONMENT, LogExportSettings, is_header, is_web_address

PATH: Final = "/v1/logs"
SERVICE: Final = "statewright"
_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_LOGS_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


class CannotExport(Exception):
    """The export of logs cannot be set up; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Destination:
    """A collector: the URL of its logs, headers of each request, and further attributes of the resource."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    attributes: Mapping[str, str] = field(default_factory=dict)


def destination_of(settings: LogExportSettings, environment: Mapping[str, str]) -> Destination | None:
    """The destination of the settings; None if nothing is exported. Raises: CannotExport."""
    if not settings.otlp:
        return None
    if settings.otlp != FROM_ENVIRONMENT:
        url = settings.otlp if settings.otlp.endswith(PATH) else settings.otlp + PATH
        return Destination(url, settings.headers)
    protocol = next((environment[name] for name in _PROTOCOLS if environment.get(name)), "")
    if protocol == "grpc":
        raise CannotExport(
            "logs are exported by OTLP over HTTP, not gRPC: set OTEL_EXPORTER_OTLP_LOGS_PROTOCOL to http/json, and the "
            "endpoint to the collector's port for HTTP, usually 4318"
        )
    headers: dict[str, str] = {}
    for name in _HEADERS:
        headers |= _pairs(name, environment)
    for header, value in headers.items():
        if not is_header(header, value):
            raise CannotExport(f"the variables {' and '.join(_HEADERS)} have a header that cannot be sent: {header!r}")
    attributes = _pairs("OTEL_RESOURCE_ATTRIBUTES", environment)
    if environment.get("OTEL_SERVICE_NAME"):
        attributes["service.name"] = environment["OTEL_SERVICE_NAME"]
    return Destination(_url_of(environment), {**headers, **settings.headers}, attributes)


def _url_of(environment: Mapping[str, str]) -> str:
    for name, path in ((_LOGS_ENDPOINT, ""), (_ENDPOINT, PATH)):
        address = environment.get(name, "").strip()
        if address:
            if not is_web_address(address):
                raise CannotExport(f'{name} must be an address such as "http://collector:4318", not {address!r}')
            # The address of one signal is used as it is.
            return address.rstrip("/") + path if path else address
    raise CannotExport(
        f'otlp = "{FROM_ENVIRONMENT}" under [logs] needs the address of a collector in {_LOGS_ENDPOINT} or {_ENDPOINT}'
    )


def _pairs(name: str, environment: Mapping[str, str]) -> dict[str, str]:
    """`key=value,key=value`, percent-encoded. Raises: CannotExport."""
    found = {}
    for part in environment.get(name, "").split(","):
        key, equals, value = part.partition("=")
        if part.strip() and (not equals or not key.strip()):
            # The part may be a secret.
            raise CannotExport(f"{name} must have the form key=value,key=value")
        if equals:
            found[unquote(key.strip())] = unquote(value.strip())
    return found
