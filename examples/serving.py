"""A server of our own for a demonstration: a free port, a data folder, boto3 clients, and an end whatever happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 300


@dataclass(frozen=True)
class Running:
    """A server that runs. `log` is where it says what happens in it. Clients make so many attempts of each call."""

    process: subprocess.Popen[str]
    endpoint: str
    log: Path
    attempts: int = 5
    _clients: dict[str, Any] = field(default_factory=dict)

    def client(self, service: str) -> Any:
        """A boto3 client, as for the cloud but for the endpoint."""
        import boto3
        from botocore.config import Config

        if service not in self._clients:
            self._clients[service] = boto3.client(
                service, endpoint_url=self.endpoint, region_name="us-east-1", aws_access_key_id="demo",
                aws_secret_access_key="demo",
                config=Config(
                    max_pool_connections=20, read_timeout=PATIENCE_SECONDS,
                    retries={"total_max_attempts": self.attempts},
                ),
            )  # fmt: skip
        return self._clients[service]


def why(execution: dict[str, Any]) -> str:
    """The status of a described execution, and the error and cause that it ended with."""
    return ": ".join(filter(None, (execution["status"], execution.get("error"), execution.get("cause"))))


@contextmanager
def server(folder: str, settings: str = "", port: int = 0) -> Iterator[Running]:
    """A server with its data in `folder`, and settings as in statewright.toml; beside it lies its log."""
    command = [sys.executable, "-m", "statewright.cli.main", "serve", "--port", str(port), "--data", folder]
    if settings:
        file = Path(folder).with_suffix(".toml")
        file.write_text(settings)
        command += ["--config", str(file)]
    log = Path(folder).with_suffix(".log")
    # The caller's own profiles, proxies and endpoints are no business of ours.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with log.open("a") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment)
    try:
        assert process.stdout is not None
        ready = re.search(r"http://\S+", process.stdout.readline())
        if ready is None:
            raise RuntimeError(f"the server did not start:\n{log.read_text()}")
        yield Running(process, ready[0], log)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
