"""Transactions: several writes that happen together or not at all, and the reasons of a cancellation.

A transaction is one change of the store, so nothing comes between its conditions and its writes. Its token is kept for
ten minutes beside the items, by the same change.

Source: API reference, TransactWriteItems; developer guide, "Managing complex workflows with DynamoDB transactions".
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from statewright.errors import ApiError
from statewright.formats import Format
from statewright.payload import Json
from statewright.stores.completion import Completion
from statewright.stores.table_protocol import Change, Decision, ItemKey, Span, StoredItem, TableStore
from statewright.tables.table import EmptyKey, Table
from statewright.tables.values import invalid
from statewright.tables.writes import (
    ConditionFailed,
    Write,
    Written,
    carry_out,
    check_of,
    delete_of,
    put_of,
    update_of,
)

MOST_ACTIONS: Final = 100
MOST_BYTES: Final = 4 * 1024 * 1024
TOKEN_MS: Final = 10 * 60 * 1000
TOKENS: Final = -1
"""The space of tokens, by token."""
TOKEN_TIMES: Final = -2
"""The space of tokens, by the instant at which they are forgotten."""
FORGET_STEP: Final = 500

REASONS: Final = {"ValidationException": "ValidationError", "DuplicateItemException": "DuplicateItem"}
"""The errors of single writes that cancel a transaction, and their codes there."""
_MAKERS: Final[dict[str, Callable[[Table, Mapping[str, Json]], Write]]] = {
    "Put": put_of,
    "Update": update_of,
    "Delete": delete_of,
    "ConditionCheck": check_of,
}


@dataclass(frozen=True, slots=True)
class ClientToken:
    """A client token of a transaction, and the digest of its content."""

    text: str
    digest: str
    now_ms: int

    @property
    def place(self) -> ItemKey:
        """The place of its row."""
        return _token_place(self.text)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A token that was used, as two rows keep it: one by the token, one by the instant at which it is forgotten."""

    text: str
    digest: str
    until_ms: int

    @property
    def item(self) -> StoredItem:
        """Its row."""
        body = REMEMBERED.write(self).decode()
        return StoredItem(len(body), body)

    @property
    def time_place(self) -> ItemKey:
        """The place of its row by instant."""
        return ItemKey(TOKEN_TIMES, b"", self.until_ms.to_bytes(8, "big") + self.text.encode())


REMEMBERED: Final = Format("transaction token", Remembered, version=2, upgrades={1: lambda members: members})
INSTANTS_FROM: Final = 10**12
"""Format 1 had no JSON: its rows had the instant as their size, which is far above any row's size in bytes."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a transaction was cancelled, for one of its actions; `item` is the current item, if it was requested."""

    code: str = "None"
    message: str | None = None
    item: StoredItem | None = None


class Cancelled(ApiError):
    """A transaction that was cancelled."""

    def __init__(self, reasons: Sequence[Reason]) -> None:
        codes = ", ".join(reason.code for reason in reasons)
        super().__init__(
            "TransactionCanceledException",
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
        )
        self.reasons = reasons


def client_token_of(request: Mapping[str, Json], now_ms: int, content_of: str = "TransactItems") -> ClientToken | None:
    """The token of a request, if it has one; `content_of` is the member with its actions."""
    text = request.get("ClientRequestToken")
    if not text:
        return None
    content = orjson.dumps(request[content_of], option=orjson.OPT_SORT_KEYS, default=bytes.hex)
    return ClientToken(text, hashlib.sha256(content).hexdigest(), now_ms)


def writes_of(actions: Sequence[Json], find: Callable[[str], Table]) -> tuple[list[Write], list[bool]]:
    """The writes of a transaction, and which of them return the item that fails their condition. Raises: ApiError."""
    writes: list[Write] = []
    shows: list[bool] = []
    reasons: list[Reason] = []
    for action in actions:
        given = [(name, members) for name, members in action.items() if members is not None and name in _MAKERS]
        if len(given) != 1:
            raise invalid("TransactItems can only contain one of Check, Put, Update or Delete")
        ((name, members),) = given
        table = find(members["TableName"])
        try:
            writes.append(_MAKERS[name](table, members))
            reasons.append(Reason())
        except ApiError as problem:
            # A wrong expression or an empty key fails the request; a wrong item or key only cancels the transaction.
            is_wrong = isinstance(problem, EmptyKey) or "Expression" in problem.message
            if is_wrong or problem.code != "ValidationException":
                raise
            reasons.append(Reason("ValidationError", problem.message))
        shows.append(members.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD")
    if len(writes) < len(reasons):
        raise Cancelled(reasons)
    if len({write.place for write in writes}) < len(writes):
        raise invalid("Transaction request cannot include multiple operations on one item")
    return writes, shows


async def write_together(
    store: TableStore,
    writes: Sequence[Write],
    shows: Sequence[bool],
    token: ClientToken | None,
    completion: Completion[list[Written] | None] | None = None,
) -> list[Written] | None:
    """Carry out writes, all or none; `None` if a transaction with this token was carried out before.

    Raises: ApiError (`Cancelled`, `IdempotentParameterMismatchException`).
    """
    keys = [write.place for write in writes]
    if token is not None:
        keys.append(token.place)

    def decide(found: Sequence[StoredItem | None]) -> Decision:
        decision = Decision()
        if token is not None:
            known = _remembered(found[-1], token.text) if found[-1] is not None else None
            if known is not None and known.until_ms > token.now_ms:
                if known.digest != token.digest:
                    raise _other_content()
                return decision
            _keep(token, known, decision)
        written: list[Written] = []
        reasons: list[Reason] = []
        for write, before, show in zip(writes, found, shows, strict=False):
            try:
                written.append(carry_out(write, before, decision))
                reasons.append(Reason())
            except ConditionFailed as failed:
                item = failed.found if show else None
                reasons.append(Reason("ConditionalCheckFailed", failed.message, item))
            except ApiError as problem:
                if problem.code not in REASONS:
                    raise
                reasons.append(Reason(REASONS[problem.code], problem.message))
        if len(written) < len(writes):
            raise Cancelled(reasons)
        decision.answer = written
        return decision

    answer: list[Written] | None = await store.change(Change(keys, decide, completion))
    return answer


def _keep(token: ClientToken, known: Remembered | None, decision: Decision) -> None:
    kept = Remembered(token.text, token.digest, token.now_ms + TOKEN_MS)
    decision.puts[token.place] = decision.puts[kept.time_place] = kept.item
    if known is not None:
        decision.drops.add(known.time_place)


def _remembered(found: StoredItem, text: str) -> Remembered:
    if found.size >= INSTANTS_FROM:
        return Remembered(text, found.body, found.size)
    return REMEMBERED.read(found.body.encode(), f"the transaction token {text}")


def _token_place(text: str) -> ItemKey:
    return ItemKey(TOKENS, text.encode(), b"")


async def forget_tokens(store: TableStore, now_ms: int) -> None:
    """Delete expired tokens."""
    span = Span(TOKEN_TIMES, b"", b"", now_ms.to_bytes(8, "big"))
    while True:
        found = await store.span(span, limit=FORGET_STEP)
        if not found:
            return
        # The body of a row by the instant in format 1 is the token.
        old = [_remembered(one, one.body) for one in found]
        keys = [_token_place(one.text) for one in old]
        times = {one.time_place for one in old}

        def decide(
            seen: Sequence[StoredItem | None],
            keys: Sequence[ItemKey] = keys,
            times: set[ItemKey] = times,
        ) -> Decision:
            gone = {
                key for key, one in zip(keys, seen, strict=True)
                if one is not None and _remembered(one, "").until_ms < now_ms
            }  # fmt: skip
            return Decision(drops=gone | times)

        await store.change(Change(keys, decide))


def _other_content() -> ApiError:
    return ApiError(
        "IdempotentParameterMismatchException",
        "The request uses the same client token as a previous, but non-identical request.",
    )
