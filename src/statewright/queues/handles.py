"""Deleting and hiding messages of one queue by receipt handle, with an error for each handle that is not valid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from statewright.errors import ApiError
from statewright.queues.attributes import INVALID_PARAMETER
from statewright.queues.messages import Handle, read_handle
from statewright.queues.state import QueueState
from statewright.queues.visibility import MADE_VISIBLE, InFlight, Visibility, in_flight
from statewright.stores.completion import Completion, adapted
from statewright.stores.queue_protocol import GroupChange, Held

LONGEST_HIDDEN_MS: Final = 12 * 3_600_000
"""Counted from the receive. Source: SQS quotas, visibility timeout."""


async def delete(queue: QueueState, handles: Sequence[str]) -> list[ApiError | None]:
    """See `Queues.delete`."""
    visibility = await queue.known()
    now_ms = queue.advance(visibility)
    answers: list[ApiError | None] = [None] * len(handles)
    ids: list[int] = []
    groups: Counter[str] = Counter()
    doubtful: list[tuple[int, Handle]] = []
    for place, text in enumerate(handles):
        handle = read_handle(text)
        if handle is None or (handle.queue != queue.entry.rows and handle.queue in queue.site.of_rows):
            answers[place] = _not_a_handle(text)
            continue
        message = visibility.in_flight.get(handle.message)
        if message is None or message.receipt != handle.receipt:
            doubtful.append((place, handle))
            continue
        visibility.release(message)
        ids.append(message.id)
        if message.group is not None:
            groups[message.group] += 1
        elif message.tenant is not None:
            queue.tenants.spent(message.tenant, now_ms - message.received_ms, now_ms)
    visibility.total -= len(ids)
    if ids:
        await _drop(queue, visibility, ids, queue.group_changes(groups, now_ms))
    if doubtful:
        await _delete_doubtful(queue, visibility, handles, doubtful, answers)
    if (meter := queue.meter) is not None:
        meter.deleted(answers.count(None))
    return answers


async def _drop(queue: QueueState, visibility: Visibility, ids: list[int], groups: list[GroupChange]) -> None:
    try:
        await queue.site.store.drop(ids, groups)
    except BaseException:
        queue.lose_track()
        raise
    cap = queue.site.limits.queue_in_flight
    if groups or (cap is not None and len(visibility.in_flight) + len(ids) >= cap):
        # A group or the queue has room again.
        queue.arrived()


async def _delete_doubtful(
    queue: QueueState,
    visibility: Visibility,
    handles: Sequence[str],
    doubtful: list[tuple[int, Handle]],
    answers: list[ApiError | None],
) -> None:
    """Delete by handles of messages that are not in flight under them. A message that is gone is no mistake."""
    if queue.settings.fifo:
        present = {held.id for held in await queue.site.store.get([handle.message for _, handle in doubtful])}
        for place, handle in doubtful:
            if handle.message in present:
                answers[place] = _expired_handle(handles[place])
        return
    # Any handle deletes a visible message (observed; the guide asks for the latest); a later receive protects it.
    held = await queue.site.store.get([handle.message for _, handle in doubtful])
    now_ms = queue.site.clock.now_ms()
    await queue.drop_proven(visibility, [(one.id, one.receipt) for one in held if one.visible_ms <= now_ms])


async def change_visibility(
    queue: QueueState,
    changes: Sequence[tuple[str, int]],
    completion: Completion[list[ApiError | None]] | None = None,
) -> list[ApiError | None]:
    """See `Queues.change_visibility`."""
    visibility = await queue.known()
    now_ms = queue.advance(visibility)
    answers: list[ApiError | None] = [None] * len(changes)
    rows: list[tuple[int, int]] = []
    groups: Counter[str] = Counter()
    doubtful: list[tuple[int, Handle]] = []
    for place, (text, hidden_ms) in enumerate(changes):
        handle = read_handle(text)
        if handle is None or (handle.queue != queue.entry.rows and handle.queue in queue.site.of_rows):
            answers[place] = _not_a_handle(text)
            continue
        message = visibility.in_flight.get(handle.message)
        # An earlier handle changes what a later receive holds (observed), except in FIFO queues.
        if message is None or (message.receipt != handle.receipt and queue.settings.fifo):
            doubtful.append((place, handle))
            continue
        problem = _too_long(message, now_ms, hidden_ms)
        if problem is not None:
            answers[place] = problem
            continue
        if hidden_ms == 0:
            visibility.make_visible(message, MADE_VISIBLE, now_ms)
        else:
            visibility.extend(message, now_ms + hidden_ms)
        # In a standard queue, a message that comes back stands before those sent since it was received (observed).
        takes_place = hidden_ms == 0 and message.group is None
        rows.append((message.id, message.received_ms if takes_place else now_ms + hidden_ms))
        if message.group is not None:
            groups[message.group] += 0
    if rows:
        changed = queue.group_changes(groups, now_ms)
        # The errors of doubtful handles are not known yet; a batch that has some is repeated after a crash.
        known = completion if not doubtful else None
        try:
            await queue.site.store.hide(list(dict(rows).items()), changed, adapted(known, lambda _: answers))
        except BaseException:
            queue.lose_track()
            raise
        queue.arrived()
    if doubtful:
        await _change_visible(queue, visibility, changes, doubtful, answers)
    return answers


async def _change_visible(
    queue: QueueState,
    visibility: Visibility,
    changes: Sequence[tuple[str, int]],
    doubtful: list[tuple[int, Handle]],
    answers: list[ApiError | None],
) -> None:
    """Hide messages again whose visibility timeout has run out, and answer the other handles with errors."""
    found = {held.id: held for held in await queue.site.store.get([handle.message for _, handle in doubtful])}
    now_ms = queue.site.clock.now_ms()
    again: dict[int, Held] = {}
    for place, handle in doubtful:
        held = found.get(handle.message)
        text, hidden_ms = changes[place]
        if held is None:
            answers[place] = ApiError(
                INVALID_PARAMETER,
                f"Value {text} for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not "
                "available for visibility timeout change.",
            )
        elif not queue.settings.fifo:
            again[held.id] = held._replace(visible_ms=now_ms + hidden_ms)
        elif held.receipt == handle.receipt:
            answers[place] = ApiError("MessageNotInflight", "The specified message isn't in flight.")
        else:
            answers[place] = _expired_handle(text)
    await _hide_again(queue, visibility, again, now_ms)


async def _hide_again(queue: QueueState, visibility: Visibility, again: dict[int, Held], now_ms: int) -> None:
    proofs = [(held.id, held.receipt, held.visible_ms) for held in again.values() if held.visible_ms > now_ms]
    if not proofs:
        return
    generation = queue.generation
    try:
        hidden = await queue.site.store.hide_again(proofs)
    except BaseException:
        queue.lose_track()
        raise
    if generation != queue.generation:
        return
    for number in hidden:
        if (message := visibility.in_flight.get(number)) is not None:
            visibility.extend(message, again[number].visible_ms)
        else:
            visibility.hold(in_flight(again[number], now_ms))
    queue.arrived()


def _not_a_handle(text: str) -> ApiError:
    return ApiError("ReceiptHandleIsInvalid", f'The input receipt handle "{text}" is not a valid receipt handle.')


def _expired_handle(text: str) -> ApiError:
    return ApiError(
        INVALID_PARAMETER,
        f"Value {text} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
    )


def _too_long(message: InFlight, now_ms: int, hidden_ms: int) -> ApiError | None:
    if now_ms - message.received_ms + hidden_ms <= LONGEST_HIDDEN_MS:
        return None
    return ApiError(
        INVALID_PARAMETER,
        f"Value {hidden_ms // 1000} for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for "
        "the message is beyond the limit [43200 seconds]",
    )
