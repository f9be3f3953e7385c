"""Celery: a worker that takes its tasks from SQS, by pycurl, and keeps their results in DynamoDB."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.clients.conftest import PATIENCE, PROGRAMS, Program
from tests.deadlines import PATIENCE_SECONDS, running
from tests.thoroughness import slow

TASKS = 200


@slow
def test_every_task_is_done_with_its_retries(
    program: Program, client_folder: Path, environment: Mapping[str, str], tmp_path: Path
) -> None:
    command = [client_folder / "python", "-m", "celery", "-A", "celery_app", "worker", "-c", "2", "-l", "info"]
    log = tmp_path / "worker.log"
    with (
        log.open("w") as output,
        running(command, cwd=PROGRAMS, env=environment, stdout=output, stderr=subprocess.STDOUT) as worker,
    ):
        done = program("celery_app.py", str(TASKS), PATIENCE)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE_SECONDS) == 0
    assert done == [{"number": each, "doubled": 2 * each, "retries": each % 3} for each in range(TASKS)]
    assert "Traceback" not in log.read_text()
