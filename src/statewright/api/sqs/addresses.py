"""Conversion from a QueueUrl to a queue, and back.

Source: API reference, "Queue and message identifiers"; error text observed.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote, urlsplit

from statewright.api.operations import App, Call
from statewright.api.sqs.errors import denied, no_such_queue
from statewright.queues.queues import Queue

_SERVICE_HOST: Final = ".amazonaws."


def queue_at(app: App, url: str) -> Queue:
    """The queue of a URL, regardless of its scheme and host, which depend on how the caller reaches this server.

    The hosts of the service itself name a region, which has to be the caller's. A bare name is taken, too (observed).
    Raises: ApiError (`QueueDoesNotExist`, also for a text that is no URL; `AccessDenied` for another account's).
    """
    before, _, name = url.rpartition("/")
    if before.rpartition("/")[2] == app.config.account and _SERVICE_HOST not in before:
        # Nearly every call: the rest is for URLs in other forms.
        return app.services.queues.find(name)
    address = urlsplit(url)
    parts = [unquote(part) for part in address.path.split("/") if part]
    if parts[-2:-1] and parts[-2].rpartition(".")[2] in set(app.config.accounts.values()) - {app.config.account}:
        raise denied(url)
    if "/" in url and (parts[-2:-1] not in ([app.config.account], [_owner(app)]) or _is_elsewhere(app, address.netloc)):
        raise no_such_queue()
    return app.services.queues.find(parts[-1] if parts else "")


def _is_elsewhere(app: App, host: str) -> bool:
    """True for a host of the service in another region."""
    return _SERVICE_HOST in host and app.config.region not in host.split(".")


def _owner(app: App) -> str:
    """The first segment of a URL's path: the account, in regions other than the default one behind the region.

    Clients expect two segments, the last one the name, so the region has none of its own.
    """
    config = app.config
    is_default = app.regions is None or app.regions.default == config.region
    return config.account if is_default else f"{config.region}.{config.account}"


def url_of(app: App, call: Call, queue: Queue) -> str:
    """The URL of a queue, with the host that the caller uses."""
    host = call.headers.get("host") or "localhost"
    return f"http://{host}/{_owner(app)}/{queue.name}"
