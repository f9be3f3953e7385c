"""Marks of tests: `@sfn.cases("MockConfigFile.json")`. The fixture of the same name is `workbench.Sfn`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest


class _Marks:
    """Decorators under the name of the fixture: `from statewright.testing import sfn`."""

    @staticmethod
    def cases(
        file: str | Path,
        machine: str | None = None,
        *,
        definitions: str | Path | Mapping[str, str | Path] | None = None,
    ) -> pytest.MarkDecorator:
        """Run the test once for each case of a `MockConfigFile.json` or a `*.cases.yaml`, given as `case`.

        `machine` leaves the other machines of the file out; `definitions` says where their definitions are.
        """
        return pytest.mark.sfn_cases(file, machine, definitions)

    @staticmethod
    def settings(
        *, start: str | None = None, seed: int = 0, extensions: bool = False, limits: str = "aws"
    ) -> pytest.MarkDecorator:
        """How the test's system is made: when time begins, its seed, extensions, limits `aws` or `open`."""
        return pytest.mark.sfn_settings(start=start, seed=seed, extensions=extensions, limits=limits)


sfn = _Marks()
