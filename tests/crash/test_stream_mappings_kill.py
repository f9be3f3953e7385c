"""A mapping of a stream goes on where it was after a kill at any fail point that it passes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.systems import zipped
from tests.e2e.test_stream_mappings import Made

BATCH = 3
PUTS = 25
LAST = "last"
COUNTS = """
import json, os, pathlib

def handler(event, context):
    state = event["state"]
    count = state.get("count", 0) + len(event["Records"])
    if event["isFinalInvokeForWindow"]:
        with pathlib.Path(os.environ["SEEN"]).open("a") as seen:
            seen.write(json.dumps([event["window"]["start"], count]) + "\\n")
    return {"state": {"count": count}}
"""


def armed(folder: Path, monkeypatch: pytest.MonkeyPatch, point: str) -> Made:
    """A table and a function on a server that is killed at a fail point."""
    with monkeypatch.context() as during:
        during.setenv("STATEWRIGHT_FAIL_POINT", point)
        server = Server(folder / "data")
    return Made(server, folder / "seen")


def restarted(made: Made, folder: Path) -> Server:
    """The next server on the data of one that is dead."""
    made.server.kill()
    made.server = Server(folder / "data")
    made.put(LAST)
    return made.server


def killed(made: Made) -> int:
    """Put items one after another until the server is dead; how many of them were acknowledged."""
    for number in range(PUTS):
        try:
            made.put(str(number))
        except (BotoCoreError, ClientError):
            return number
    return PUTS


@pytest.mark.slow
@pytest.mark.parametrize("passing", [14, 15, 16, 17, 18, 25, 26, 27])
@pytest.mark.parametrize("point", ["before-commit", "after-commit"])
def test_no_record_is_missing_and_only_one_batch_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, passing: int
) -> None:
    made = armed(tmp_path, monkeypatch, f"{point}:{passing}")
    made.map(BatchSize=BATCH)
    acknowledged = killed(made)
    assert acknowledged < PUTS
    server = restarted(made, tmp_path)
    until(lambda: made.names()[-1:] == [LAST])
    seen = made.names()
    items = list(dict.fromkeys(seen))
    # The put that was under way may have been written.
    assert items in ([*map(str, range(count)), LAST] for count in (acknowledged, acknowledged + 1))
    assert len(seen) - len(items) <= BATCH
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("passing", [16, 17, 18, 26])
@pytest.mark.parametrize("point", ["before-commit", "after-commit"])
def test_the_state_of_a_window_counts_each_record_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, passing: int
) -> None:
    made = armed(tmp_path, monkeypatch, f"{point}:{passing}")
    made.server.client("lambda").update_function_code(FunctionName=made.function, ZipFile=zipped(app=COUNTS))
    made.map(BatchSize=BATCH, TumblingWindowInSeconds=3)
    acknowledged = killed(made)
    assert acknowledged < PUTS
    server = restarted(made, tmp_path)

    def total() -> int:
        lines = made.seen.read_text().splitlines() if made.seen.exists() else []
        # A final invocation may come again, with the same state.
        return sum(count for _, count in {tuple(json.loads(line)) for line in lines})

    until(lambda: total() > acknowledged)
    assert total() in (acknowledged + 1, acknowledged + 2)
    server.stop()
