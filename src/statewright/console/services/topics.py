"""Topics with the number of their subscriptions, and one with its subscriptions and the figures of an hour."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App
from statewright.console.asked import Asked, needed, number
from statewright.console.context import Console
from statewright.console.services.lists import page_of, page_size
from statewright.metrics.reading import points_of, range_of, values_of
from statewright.metrics.series import MetricId
from statewright.payload import Json, JsonObject
from statewright.topics.meter import DELIVERED, FAILED, FILTERED, NAMESPACE, NOT_REDRIVEN, PUBLISHED, REDRIVEN
from statewright.topics.subscribers import Hub, Subscriber

_HOUR_MS: Final = 3_600_000
_FIGURES: Final = {
    "published": PUBLISHED, "delivered": DELIVERED, "failed": FAILED, "redriven": REDRIVEN, "lost": NOT_REDRIVEN,
    "filtered": FILTERED,
}  # fmt: skip
_PAGE: Final = 1_000


async def topics(console: Console, asked: Asked) -> JsonObject:
    """A page of topics by name: `{rows, next}`; a row has `{arn, name, isFifo, subscriptions, pending, filtered,
    deadLetters, createdMs}`, with the numbers of subscriptions that are pending, have a filter or dead letters.
    """
    app = console.app_of(asked)
    rows, following = page_of(_all(app), lambda hub: hub.topic.name, asked.given)
    return {"rows": [_row(hub) for hub in rows], "next": following}


async def topic(console: Console, asked: Asked) -> JsonObject:
    """A topic by `arn`: its row, `figures` of the last hour, and a page of `subscriptions` with `next`.

    Raises: ApiError (`NotFound`, `InvalidParameter`).
    """
    app = console.app_of(asked)
    arn = needed(asked.given, "arn")
    hub = app.services.topics.find(arn)
    after = number(asked.given, "cursor", 0) or None
    found, following = app.services.topics.list_subscriptions(arn, after, page_size(asked.given))
    return {
        **_row(hub), "attributes": dict(hub.topic.attributes), "tags": dict(hub.topic.tags),
        "figures": {name: await _sum(app, metric, hub.topic.name) for name, metric in _FIGURES.items()},
        "subscriptions": [_subscription(one) for one in found],
        "next": str(following) if following is not None else None,
    }  # fmt: skip


def _all(app: App) -> list[Hub]:
    topics, found = app.services.topics, []
    after: str | None = None
    while True:
        arns, after = topics.list_topics(after, _PAGE)
        found += [topics.find(arn) for arn in arns]
        if after is None:
            return found


def _row(hub: Hub) -> JsonObject:
    every = list(hub.subscribers.values())
    return {
        "arn": hub.arn, "name": hub.topic.name, "isFifo": hub.topic.fifo, "createdMs": hub.topic.created_ms,
        "subscriptions": len(every), "pending": sum(one.entry.is_pending for one in every),
        "filtered": sum(one.filter is not None for one in every),
        "deadLetters": sum(one.dead_letters is not None for one in every),
    }  # fmt: skip


def _subscription(one: Subscriber) -> JsonObject:
    attributes = one.entry.attributes
    return {
        "arn": one.arn, "protocol": one.entry.protocol, "endpoint": one.entry.endpoint,
        "isPending": one.entry.is_pending, "isRaw": one.is_raw, "deadLetters": one.dead_letters,
        "filterPolicy": attributes.get("FilterPolicy") or None, "filterScope": one.scope,
        "createdMs": one.entry.created_ms,
    }  # fmt: skip


async def _sum(app: App, metric: str, topic: str) -> Json:
    """How often a topic's metric was counted in the last hour."""
    recorder, now_ms = app.services.metrics, app.clock.now_ms()
    asked = range_of(now_ms - _HOUR_MS, now_ms + 1000, 60, recorder.now())
    points = await points_of(recorder, MetricId.of(NAMESPACE, metric, {"TopicName": topic}), asked)
    return round(sum(value for _, value in values_of(points, "Sum")))


READS: Final = {"topics": topics, "topic": topic}
