"""Access logs in virtual time: formats and their values, groups of lines, and a log group that fails."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence

import pytest

from statewright.apis.access_logs import (
    LINE_BYTES,
    MOST_WAITING_BYTES,
    WRITE_AFTER_MS,
    AccessLog,
    AccessLogs,
    LogFormat,
    Trace,
    check_settings,
    group_of,
)
from statewright.apis.calls import CallContext, Integration, Request, Response
from statewright.errors import ApiError
from statewright.virtual_clock import VirtualClock, run_virtual

ARN = "arn:aws:logs:us-east-1:000000000000:log-group:"


class Group:
    """A log group in memory, which may fail."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str, list[tuple[int, str]]]] = []
        self.fails = False

    async def write(self, group: str, stream: str, lines: Sequence[tuple[int, str]]) -> None:
        if self.fails:
            raise OSError("no space left")
        self.written.append((group, stream, list(lines)))

    @property
    def lines(self) -> list[str]:
        return [line for _, _, lines in self.written for _, line in lines]


def context(now_ms: int, **identity: str) -> CallContext:
    made = CallContext("0", "us-east-1", "a", "prod", "d", "r-1", now_ms, "a.localhost", "/prod/x")
    made.identity = {**identity}
    return made


def logged(clock: VirtualClock, logs: AccessLogs, text: str, **identity: str) -> None:
    log = AccessLog.of("a", "prod", {"AccessLogSettings": {"DestinationArn": f"{ARN}shop:*", "Format": text}})
    assert log is not None
    made = context(clock.now_ms(), **identity)
    logs.add(log, made, Trace(clock), Response(404, [], b'{"message":"Not Found"}'))


def test_a_format_is_filled_with_values_and_dashes() -> None:
    line = LogFormat("$context.a.b [$context.time]\n$context.none.$context.flag, $context.a $contextual").line
    values = {"a": {"b": 1}, "time": "t\r\nx", "flag": True}
    # A dot at the end belongs to the text.
    assert line(values) == "1 [t  x] -.true, - $contextual"


def test_a_value_cannot_end_a_text_of_json() -> None:
    line = LogFormat('{"agent":"$context.identity.userAgent","why":$context.error.messageString}').line
    found = line({"identity": {"userAgent": '","status":"200'}, "error": {"messageString": '"a \\"b\\""'}})
    assert json.loads(found) == {"agent": '","status":"200', "why": 'a "b"'}
    # A claim of the same name is a value as any other.
    found = LogFormat("$context.authorizer.messageString").line({"authorizer": {"messageString": "a\r\nb"}})
    assert found == "a  b"


@pytest.mark.parametrize(("subtype", "status"), [("", 200), ("SQS-SendMessage", 400)])
def test_a_function_that_answers_is_a_success_of_its_integration(subtype: str, status: int) -> None:
    async def refused(*_: object) -> Response:
        return Response(400, [], b"")

    async def test(clock: VirtualClock) -> None:
        trace = Trace(clock)
        request = Request("GET", "/", "/", "", (), b"", "127.0.0.1", "a.localhost")
        await trace.call(refused, Integration("AWS_PROXY", subtype=subtype), request, context(clock.now_ms()))
        assert (trace.integration["status"], trace.integration["integrationStatus"]) == (400, status)

    run_virtual(test)


def test_a_line_is_cut_at_the_largest_event() -> None:
    line = LogFormat(" ".join(["$context.a"] * 300)).line({"a": "é" * 1_000})
    assert LINE_BYTES - 2 <= len(line.encode()) <= LINE_BYTES


def test_lines_are_written_in_groups_and_in_order() -> None:
    async def test(clock: VirtualClock) -> None:
        group = Group()
        logs = AccessLogs(group.write, clock)
        for number in range(3):
            logged(clock, logs, "$context.identity.n $context.status $context.error.message", n=str(number))
        assert group.written == []
        await clock.sleep_until(clock.now_ms() + WRITE_AFTER_MS + 1)
        [(name, stream, _)] = group.written
        assert (name, stream) == ("shop", "a-prod")
        assert group.lines == [f"{number} 404 Not Found" for number in range(3)]
        logged(clock, logs, "last")
        await clock.sleep_until(clock.now_ms() + WRITE_AFTER_MS)
        # The group is being written to when the server ends.
        logged(clock, logs, "very last")
        await logs.stop()
        assert group.lines[-2:] == ["last", "very last"]

    run_virtual(test)


def test_a_group_that_fails_or_is_too_slow_loses_lines_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async def test(clock: VirtualClock) -> None:
        group = Group()
        logs = AccessLogs(group.write, clock)
        group.fails = True
        logged(clock, logs, "lost")
        await clock.sleep_until(clock.now_ms() + WRITE_AFTER_MS + 1)
        assert "access logs of the log group shop were lost: no space left" in caplog.text
        group.fails = False
        for _ in range(50):
            logged(clock, logs, "$context.identity.n", n="x" * 250_000)
        await clock.sleep_until(clock.now_ms() + WRITE_AFTER_MS + 1)
        kept = MOST_WAITING_BYTES // 250_000
        assert len(group.lines) == kept
        assert f"{50 - kept} lines of access logs came faster" in caplog.text
        assert all(len(lines) <= 2 for _, _, lines in group.written)
        logged(clock, logs, "again")
        await logs.stop()
        assert group.lines[-1] == "again"

    with caplog.at_level(logging.WARNING):
        run_virtual(test)


def test_log_groups_and_formats_are_checked() -> None:
    assert group_of(f"{ARN}/aws/shop:*") == group_of(f"{ARN}/aws/shop") == "/aws/shop"
    for arn in ("shop", f"{ARN}", f"{ARN}a:b", "arn:aws:firehose:us-east-1:0:deliverystream/amazon-apigateway-x"):
        with pytest.raises(ApiError, match="ARN of a log group"):
            check_settings(arn, None, needs_id=False)
    with pytest.raises(ApiError, match="may have 3072 characters, not 4000"):
        check_settings(None, "x" * 4_000, needs_id=False)
    with pytest.raises(ApiError, match="must contain"):
        check_settings(None, "$context.status", needs_id=True)
    check_settings(f"{ARN}a", "$context.extendedRequestId", needs_id=True)
