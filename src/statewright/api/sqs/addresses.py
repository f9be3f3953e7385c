"""Conversion from a QueueUrl to a queue, and back.

Source: API reference, "Queue and message identifiers"; error text observed.
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from statewright.api.operations import App, Call
from statewright.api.sqs.errors import no_such_queue
from statewright.queues.queues import Queue


def queue_at(app: App, url: str) -> Queue:
    """The queue of a URL, regardless of its scheme and host, which depend on how the caller reaches this server.

    A bare name is taken, too (observed). Raises: ApiError (`QueueDoesNotExist`, also for a text that is no URL).
    """
    before, _, name = url.rpartition("/")
    if before.rpartition("/")[2] == app.config.account:
        # Nearly every call: the rest is for URLs in other forms.
        return app.services.queues.find(name)
    parts = [unquote(part) for part in urlsplit(url).path.split("/") if part]
    if "/" in url and parts[-2:-1] != [app.config.account]:
        raise no_such_queue()
    return app.services.queues.find(parts[-1] if parts else "")


def url_of(app: App, call: Call, queue: Queue) -> str:
    """The URL of a queue, with the host that the caller uses."""
    host = call.headers.get("host") or "localhost"
    return f"http://{host}/{app.config.account}/{queue.name}"
