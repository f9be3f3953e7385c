"""Skipped tests: shown with their reason on a developer's machine, a failure on CI.

CI has all that tests need (`make test` installs it), so that a test which is skipped there tests nothing anywhere.
"""

from __future__ import annotations

import os

import pytest

ON_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")

ALLOWED: dict[str, str] = {
    "tests/unit/api/test_listening.py::test_ipv6": "many containers have no IPv6, and nothing gives it to them",
    "tests/e2e/test_packaging.py::test_the_image": "many runners have no container engine",
    "tests/architecture/test_packaging.py::test_systemd": "many containers have no systemd",
    "tests/architecture/test_packaging.py::test_haproxy": "many runners have no HAProxy, and nothing installs it there",
    "tests/e2e/test_wheel.py": "a machine need not have every Python that the package supports",
    **dict.fromkeys(
        (
            f"tests/console/test_{name}.py"
            for name in (
                "actions",
                "browser",
                "catalogue",
                "insight",
                "list",
                "live",
                "services",
                "smoke",
                "what_if",
                "workbench",
            )
        ),
        "many runners have no browser, and may not install one",
    ),
    "tests/e2e/test_poolers.py": "many runners have no PgBouncer, and nothing installs it there",
    "tests/attack/test_isolation.py": "many containers forbid user namespaces, and nothing allows them from inside",
}
"""Tests that may be skipped on CI, by the beginning of their node id, each with the reason why it cannot have what
they need."""

if not os.environ.get("STATEWRIGHT_CASES"):
    ALLOWED |= dict.fromkeys(
        (
            "tests/conformance/test_jsonata_suite.py::test_the_official_suite",
            "tests/conformance/test_recorded",
        ),
        "recordings of the service are not part of this repository, and this run names no folder of them",
    )


def judge(report: pytest.TestReport | pytest.CollectReport, *, on_ci: bool = ON_CI) -> None:
    """Make a skip on CI a failure, unless it is allowed."""
    if not on_ci or report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    if any(report.nodeid.startswith(start) for start in ALLOWED):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"{report.nodeid} was skipped, and nothing may be on CI (tests/skips.py): {reason}"
