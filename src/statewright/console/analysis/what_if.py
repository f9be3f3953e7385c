"""Actions of the page What if: recorded executions replayed on another version, or on an edited definition.

Nothing is called or stored. This module owns the requests; the replays run in a worker process (`replays.py`), one at a
time.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from statewright.api.operations import App
from statewright.arn import MACHINE, parse_arn
from statewright.console.analysis import replays
from statewright.console.asked import Answer, Asked, Lines, document, text_of
from statewright.console.context import Console
from statewright.console.redaction import MASK
from statewright.engine.executions.views import ExecutionView, Head
from statewright.engine.machines.map_labels import processor_of
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, Payload
from statewright.simulator.mocks import Returned, Threw
from statewright.simulator.replay import Mock
from statewright.stores.protocol import Row

log = logging.getLogger("statewright.console")

LONGEST_DEFINITION: Final = 1_048_576
"""Characters of a definition. Source: service quotas."""
MOST_EVENTS: Final = 60_000
"""Events of a history that is replayed."""
MOST_MOCKS: Final = 200
MOST_CHECKED: Final = 1_000
_VERSIONS: Final = "With hidden payloads, a sign-in that may only read replays versions."
_LONGEST_DELAY_MS: Final = 366 * 86_400_000


async def what_if(console: Console, asked: Asked) -> JsonObject:
    """Replay one execution: `{arn, definition | versionArn, mocks}` to a document as `replays.what_if` returns it.
    Without a definition and a version, on its own one.

    Raises: ApiError (`ExecutionDoesNotExist`, `InvalidDefinition`, `AccessDenied`, `BadRequest`, `TookTooLong`,
        `HistoryTooLong`).
    """
    body = document(asked)
    arn = text_of(body, "arn")
    engine = console.runs_of(arn).engine
    app = console.app_of_arn(arn)
    row = await engine.names.row_of(arn)
    shown = engine.listing.view(row)
    own = await _own_definition(app, shown)
    other = await _other_definition(app, asked, own, shown.map_label)
    question = await _question(app, row, shown, own, other, _mocks(body))
    return await engine.heavy.run_bounded(replays.what_if, question)


async def batch(console: Console, asked: Asked) -> Lines:
    """Replay the last executions of a machine: `{machineArn, definition | versionArn, last}` to a line with their
    number, a line for each, `{arn, name, status, startedMs, verdict, reason, changes}`, and at the end `{done, same,
    changed, unjudged}`.

    Raises: as `what_if`, and ApiError (`StateMachineDoesNotExist`).
    """
    body = document(asked)
    arn = text_of(body, "machineArn")
    parsed = parse_arn(arn, MACHINE)
    app = console.app_of_arn(arn)
    last = body.get("last", 100)
    if not isinstance(last, int) or isinstance(last, bool) or not 1 <= last <= MOST_CHECKED:
        raise ApiError("BadRequest", f"last must be a whole number from 1 to {MOST_CHECKED:,}.")
    engine = app.engine
    machine = await engine.catalogue.existing(parsed.machine, shown=arn)
    if machine.type != "STANDARD":
        raise ApiError("NoHistory", "Express executions keep no history that could be replayed.")
    other = await _other_definition(app, asked, None, None)
    await engine.heavy.run_bounded(replays.check, other)
    rows = await engine.listing.newest(machine.id, last)
    is_edited = body.get("definition") is not None and not asked.caller.may_write
    return Lines(_judged(app, rows, other, is_edited))


async def _judged(app: App, rows: list[Row], other: str, is_edited: bool) -> AsyncIterator[Json]:
    """The lines of `batch`; `is_edited` for a definition of a caller that may only read."""
    counts = {"same": 0, "changed": 0, "unjudged": 0}
    yield {"total": len(rows)}
    for row in rows:
        shown = app.engine.listing.view(row)
        try:
            own = await _own_definition(app, shown)
            if is_edited and _reads_secrets(own):
                raise ApiError("AccessDenied", _VERSIONS, status=403)
            question = await _question(app, row, shown, own, other, ())
            found = await app.engine.heavy.run_bounded(replays.verdict, question)
        except ApiError as problem:
            # One that cannot be judged is no reason to leave out the others.
            found = {"verdict": "unjudged", "reason": problem.message, "changes": []}
        except Exception:
            log.exception("the replay of %s failed because of a bug in Statewright", shown.execution_arn)
            reason = "A bug in Statewright ended the replay; the server's log has it."
            found = {"verdict": "unjudged", "reason": reason, "changes": []}
        counts[found["verdict"]] += 1
        yield {
            "arn": shown.execution_arn,
            "name": shown.name,
            "status": shown.status,
            "startedMs": shown.started_ms,
            **found,
            "changes": found["changes"][:3],
        }
    yield {"done": True, **counts}


def _reads_secrets(definition: str) -> bool:
    """True if executions of a definition may have recorded answers of Secrets Manager, which are always hidden."""
    return "secretsmanager" in definition.lower()


async def _own_definition(app: App, shown: ExecutionView) -> str:
    revision = await app.engine.machines.describe_revision(shown.machine_id, shown.revision_id, shown.map_label)
    return revision.definition


async def _other_definition(app: App, asked: Asked, own: str | None, label: str | None) -> str:
    """The definition to replay on: as it is given, or of a version (with a label, of that Map's items in it). Without
    either, the execution's own.
    """
    body = document(asked)
    given, version = body.get("definition"), body.get("versionArn")
    if given is not None and version is not None:
        raise ApiError("BadRequest", "Give a definition or a versionArn, not both.")
    if given is not None:
        text = text_of(body, "definition")
        hides = app.config.console.redact or app.config.console.payloads == "hidden"
        if (hides or (own is not None and _reads_secrets(own))) and not asked.caller.may_write:
            # It could turn what is hidden into something that is not.
            raise ApiError("AccessDenied", _VERSIONS, status=403)
        if MASK in text:
            raise ApiError("BadRequest", f"The definition has {MASK} in place of hidden values. Choose a version.")
        if len(text) > LONGEST_DEFINITION:
            raise ApiError("BadRequest", f"A definition has at most {LONGEST_DEFINITION:,} characters.", status=413)
        return text
    if version is not None:
        arn = text_of(body, "versionArn")
        definition = (await app.engine.machines.describe(arn)).definition
        if label is None:
            return definition
        items = processor_of(definition, label, made_up=True)
        if items is None:
            raise ApiError("BadRequest", f"This version has no distributed Map {label}, whose item this is.")
        return items
    if own is None:
        raise ApiError("BadRequest", "The request needs a definition or a versionArn.")
    return own


async def _question(
    app: App, row: Row, shown: ExecutionView, own: str, other: str, mocks: tuple[Mock, ...]
) -> replays.Question:
    pages = await app.engine.listing.history_pages(shown.id)
    if sum(page.count for page in pages) > MOST_EVENTS:
        text = f"A history of more than {MOST_EVENTS:,} events is not replayed."
        raise ApiError("HistoryTooLong", text)
    identity = Head.decode(row.head).identity(shown.name, app.config.region)
    return replays.Question(identity, shown, pages, own, other, app.config.limits, app.config.console, mocks)


# ------------------------------------------------------------------ mocks


def _mocks(body: JsonObject) -> tuple[Mock, ...]:
    given = body.get("mocks", [])
    if not isinstance(given, list) or len(given) > MOST_MOCKS:
        raise ApiError("BadRequest", f"mocks must be a list of at most {MOST_MOCKS}.")
    return tuple(_mock(one) for one in given)


def _mock(given: Json) -> Mock:
    """One mock: `{state, iteration?, visit?, number?, result | error, cause?, delayMs?}`."""
    if not isinstance(given, Mapping) or not isinstance(given.get("state"), str):
        raise _bad("needs the name of a state")
    if ("result" in given) == ("error" in given):
        raise _bad("needs a result or an error")
    iteration = given.get("iteration")
    if iteration is not None and not (isinstance(iteration, list) and all(_is_count(one) for one in iteration)):
        raise _bad("has an iteration that is no list of numbers")
    numbers = {name: given.get(name) for name in ("visit", "number")}
    delay_ms = given.get("delayMs", 0)
    if not all(one is None or _is_count(one) for one in numbers.values()) or not _is_count(delay_ms):
        raise _bad("has a number that is not a whole one from 0")
    if delay_ms > _LONGEST_DELAY_MS:
        raise _bad("answers after more than a year")
    outcome: Returned | Threw
    if "result" in given:
        Payload(given["result"])
        outcome = Returned(given["result"])
    else:
        error, cause = given["error"], given.get("cause")
        if not isinstance(error, str) or not (cause is None or isinstance(cause, str)):
            raise _bad("has an error or a cause that is no text")
        outcome = Threw(error, cause)
    return Mock(
        given["state"], outcome, tuple(iteration) if iteration is not None else None,
        numbers["visit"], numbers["number"], delay_ms,
    )  # fmt: skip


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _bad(words: str) -> ApiError:
    return ApiError("BadRequest", f"A mock {words}.")


ACTIONS: Final[Mapping[str, Callable[[Console, Asked], Awaitable[Answer]]]] = {
    "what-if": what_if,
    "what-if/batch": batch,
}
