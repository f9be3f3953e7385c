"""Schedule expressions in words."""

from __future__ import annotations

import pytest

from statewright.console.services.expression_words import in_words
from statewright.events.expressions import parse

CASES = {
    "rate(1 minute)": "every minute",
    "rate(90 minutes)": "every 90 minutes",
    "rate(2 days)": "every 2 days",
    "at(2027-03-01T12:00:00)": "once, on 2027-03-01 at 12:00:00",
    "cron(30 2 * * ? *)": "at 02:30, every day",
    "cron(0/15 9-17 ? * MON-FRI *)": "every 15 minutes in the hours 9 to 17, Monday to Friday",
    "cron(0 18 L * ? *)": "at 18:00, on the last day of the month",
    "cron(0 18 LW * ? *)": "at 18:00, on the last working day of the month",
    "cron(0 18 15W * ? *)": "at 18:00, on the working day nearest to day 15 of the month",
    "cron(0 8 ? * 6#3 *)": "at 08:00, on the third Friday of the month",
    "cron(15 10 ? * 6L 2026-2029)": "at 10:15, on the last Friday of the month, in 2026 to 2029",
    "cron(* * * * ? *)": "every minute, every day",
    "cron(0/30 * * * ? *)": "every 30 minutes, every day",
    "cron(5 * * * ? *)": "every hour, 05 minutes past, every day",
    "cron(0 */2 * * ? *)": "every 2 hours, every day",
    "cron(10 */2 * * ? *)": "every 2 hours, 10 minutes past the hour, every day",
    "cron(0 9 1,15 JAN,JUN ? *)": "at 09:00, on day 1 and day 15 of the month, in January and June",
    "cron(0 9 ? * SUN,WED *)": "at 09:00, on Sunday and Wednesday",
    "cron(1,2,50 1,2,3,9 ? * * 2027,2029)": (
        "every hour, 01, 02 and 50 minutes past in the hours 1 to 3 and 9, every day, in 2027 and 2029"
    ),
}


@pytest.mark.parametrize(("text", "words"), CASES.items())
def test_an_expression_is_said_in_words(text, words):
    assert in_words(parse(text)) == words


def test_a_step_that_does_not_go_round_is_listed():
    # 0, 25 and 50 minutes: from 50 to the next hour are 10.
    assert in_words(parse("cron(0/25 * * * ? *)")) == "every hour, 00, 25 and 50 minutes past, every day"
