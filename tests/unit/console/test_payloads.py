"""Pages of payloads and events."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.console.payloads import MOST_EVENTS, PAGE_CHARACTERS, payload, rows
from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent


def event(number: int, type: str = "PassStateEntered", **details: Any) -> HistoryEvent:
    return HistoryEvent(number, number - 1, 1_000 + number, type, details)


EVENTS = [event(1, input='{"a":{"b/c":[1,2]}}', name="Price"), event(2, "TaskFailed", error="Busy", cause="not JSON")]


def test_a_payload_is_the_text_of_a_member():
    assert payload(EVENTS, 1, "input", "", 0) == {
        "text": '{"a":{"b/c":[1,2]}}', "isJson": True, "next": None, "length": 19,
    }  # fmt: skip
    assert payload(EVENTS, 2, "cause", "", 0)["isJson"] is False
    assert payload(EVENTS, 2, "input", "", 0)["text"] is None


def test_a_pointer_leads_to_a_part():
    assert payload(EVENTS, 1, "input", "/a/b~1c/1", 0)["text"] == "2"
    for wrong in ("/a/x", "/a/b~1c/2", "/a/b~1c/-1", "/a/b~1c/²", "/a/b~1c/01", f"/a/b~1c/{'1' * 5_000}"):
        with pytest.raises(ApiError, match="nothing at"):
            payload(EVENTS, 1, "input", wrong, 0)


def test_a_long_payload_comes_in_pages():
    long = [event(1, input="🙂" * (PAGE_CHARACTERS + 5))]
    first = payload(long, 1, "input", "", 0)
    assert (len(first["text"]), first["length"]) == (PAGE_CHARACTERS, PAGE_CHARACTERS + 5)
    last = payload(long, 1, "input", "", first["next"])
    assert (last["text"], last["next"]) == ("🙂" * 5, None)


@pytest.mark.parametrize("number", [0, 3])
def test_an_event_that_does_not_exist(number):
    with pytest.raises(ApiError, match=f"no event {number}"):
        payload(EVENTS, number, "input", "", 0)


def test_events_are_found_by_any_of_their_texts():
    assert [row["id"] for row in rows(EVENTS, 1, "")["rows"]] == [1, 2]
    assert [row["id"] for row in rows(EVENTS, 1, "taskf")["rows"]] == [2]
    assert [row["id"] for row in rows(EVENTS, 1, "B/C")["rows"]] == [1]
    assert rows(EVENTS, 1, "nowhere") == {"rows": [], "next": None}


def test_many_events_come_in_pages_with_long_payloads_cut():
    many = [event(number, input="y" * 5_000) for number in range(1, MOST_EVENTS + 3)]
    page = rows(many, 1, "")
    assert (len(page["rows"]), page["next"]) == (MOST_EVENTS, MOST_EVENTS + 1)
    assert page["rows"][0]["details"]["input"].endswith("…")
    assert [row["id"] for row in rows(many, page["next"], "")["rows"]] == [MOST_EVENTS + 1, MOST_EVENTS + 2]
