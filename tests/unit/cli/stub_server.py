"""A server that answers from a table, for commands that call `client.Server`."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.cli import client
from statewright.cli.client import ApiProblem

PREFIX = "arn:aws:states:us-east-1:000000000000"


class StubServer(client.Server):
    """Answers operations with what `answers` has for them: a value, or a function of the request."""

    answers: dict[str, Any] = {}  # noqa: RUF012
    calls: list[tuple[str, dict[str, Any]]] = []  # noqa: RUF012

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        self.calls.append((operation, members))
        answer = self.answers[operation]
        found: dict[str, Any] = answer(**members) if callable(answer) else answer
        if isinstance(found, Exception):
            raise found
        return dict(found)


def stub(monkeypatch: pytest.MonkeyPatch, module: Any, **answers: Any) -> list[tuple[str, dict[str, Any]]]:
    """Let a module's commands talk to a stub; returns the calls it gets."""
    calls: list[tuple[str, dict[str, Any]]] = []
    machines = [{"name": "order", "type": "STANDARD", "creationDate": 0,
                 "stateMachineArn": f"{PREFIX}:stateMachine:order"}]  # fmt: skip

    def described(stateMachineArn: str, **_: Any) -> Any:  # noqa: N803
        if stateMachineArn.split(":")[6] != "order":
            return ApiProblem("StateMachineDoesNotExist", "no")
        return {**machines[0], "definition": "{}"}

    known = {"list_state_machines": {"stateMachines": machines}, "describe_state_machine": described, **answers}
    monkeypatch.setattr(StubServer, "answers", known)
    monkeypatch.setattr(StubServer, "calls", calls)
    monkeypatch.setattr(module, "Server", StubServer)
    return calls
