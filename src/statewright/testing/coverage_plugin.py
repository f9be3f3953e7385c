"""Hooks for pytest where coverage of machines is wanted: counts of several processes, the report, the minimum.

Counting is `coverage.py`'s.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from statewright.testing.coverage import Coverage

WORKER_DATA: Final = "statewright_coverage"


class CoveragePlugin:
    """One session's coverage."""

    def __init__(self, config: pytest.Config) -> None:
        self.coverage = Coverage(config.rootpath)
        self._least: float | None = config.getoption("--sfn-coverage-min")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ARG002
        """A worker of xdist is done: add its counts."""
        self.coverage.merge(getattr(node, "workeroutput", {}).get(WORKER_DATA, {}))

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hand a worker's counts over; fail what is below the minimum."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[WORKER_DATA] = self.coverage.to_data()
        elif self._is_too_little and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The coverage report."""
        terminalreporter.write_sep("-", "coverage of state machines")
        if not self.coverage.machines:
            terminalreporter.write_line("no machine was loaded")
        for line in self.coverage.lines() if self.coverage.machines else ():
            terminalreporter.write_line(line)
        if self._is_too_little:
            terminalreporter.write_line(
                f"FAIL: {self.coverage.percent():.1f} % is less than --sfn-coverage-min={self._least:g}", red=True
            )

    @property
    def _is_too_little(self) -> bool:
        return self._least is not None and self.coverage.percent() < self._least
