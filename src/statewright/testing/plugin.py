"""The pytest plugin's hooks: options, the fixtures `sfn` and `case`, the report of a failure.

Imported at every start of pytest in an environment that has Statewright, so it imports nothing of Statewright until a
test asks for it. Fixtures are therefore typed as `object` here; tests take `statewright.testing.Sfn` and `Case`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest._code import Traceback

MOST_RUNS_SHOWN: Final = 3
COVERAGE: Final = "statewright-coverage"
"""The name of the plugin that counts, which is registered only when coverage is asked for."""
Sections = Callable[[], Iterable[tuple[str, str]]]
_sections_key: Final = pytest.StashKey[Sections]()
"""Sections shown beside a failure of a test: titles and texts."""
_written_key: Final = pytest.StashKey[list[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the command line."""
    group = parser.getgroup("sfn", "state machines (statewright)")
    group.addoption(
        "--sfn-coverage", action="store_true", help="list states, Choice rules, Retry and Catch never taken"
    )
    group.addoption("--sfn-coverage-min", type=float, metavar="PERCENT", help="fail below this coverage")
    group.addoption("--sfn-update-snapshots", action="store_true", help="write the snapshots of histories anew")
    group.addoption("--sfn-svg-dir", metavar="DIR", help="where drawings of failed runs go (the cache folder)")


def pytest_configure(config: pytest.Config) -> None:
    """Markers, and the counts of coverage."""
    config.addinivalue_line("markers", "sfn_cases(file, machine, definitions): run once for each case of a file")
    config.addinivalue_line("markers", "sfn_settings(start, seed, extensions, limits): how the system of `sfn` is made")
    config.stash[_written_key] = []
    if config.getoption("--sfn-coverage") or config.getoption("--sfn-coverage-min") is not None:
        from statewright.testing.coverage_plugin import CoveragePlugin

        config.pluginmanager.register(CoveragePlugin(config), COVERAGE)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each case of a file."""
    marker = metafunc.definition.get_closest_marker("sfn_cases")
    if marker is None:
        return
    if "case" not in metafunc.fixturenames:
        raise metafunc.definition.Collector.CollectError(  # type: ignore[attr-defined]
            f"{metafunc.definition.nodeid}: a test with @sfn.cases takes `case` as an argument"
        )
    from statewright.testing.case import read_cases

    file, machine, definitions = (*marker.args, None, None)[:3]
    beside = metafunc.definition.path.parent / file
    cases = read_cases(beside if beside.exists() else Path(file), machine, definitions)
    metafunc.parametrize("case", cases, ids=[case.id for case in cases], indirect=True)


@pytest.fixture
def sfn(request: pytest.FixtureRequest) -> Iterator[object]:
    """Workflows under test: machines, mocks, a virtual clock, boto3 clients (docs/pytest.md)."""
    from statewright.testing.snapshots import FOLDER, Snapshots
    from statewright.testing.workbench import Sfn

    config, path, node = request.config, request.path, request.node
    marker = node.get_closest_marker("sfn_settings")
    folder = path.parent / FOLDER / path.stem
    qualified = node.nodeid.partition("::")[2].replace("::", ".")
    snapshots = Snapshots(folder, qualified, bool(config.getoption("--sfn-update-snapshots")))
    counting: Any = config.pluginmanager.get_plugin(COVERAGE)
    made = Sfn(
        path.parent, snapshots=snapshots, refine=counting.coverage.counted if counting is not None else None,
        **(marker.kwargs if marker is not None else {}),
    )  # fmt: skip
    node.stash[_sections_key] = lambda: [_section(node, run) for run in made.runs[-MOST_RUNS_SHOWN:]]
    yield made
    config.stash[_written_key] += [str(one) for one in snapshots.written]
    if counting is not None:
        counting.coverage.note_test(made.bench)
    made.close()


@pytest.fixture
def case(request: pytest.FixtureRequest, sfn: Any) -> object:
    """The case that `@sfn.cases` runs the test for."""
    if not hasattr(request, "param"):
        pytest.fail("`case` belongs to a test with @sfn.cases(...) above it")
    bound: object = request.param.bound(sfn.bench)
    return bound


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a failure in the lines of its test, and beside it the runs of the test and where they are drawn."""
    if call.excinfo is not None and _sections_key in item.stash and not item.config.getoption("fulltrace", False):
        from statewright.testing.tracebacks import users_own

        shown = users_own(call.excinfo.value)
        if shown is not None:
            call.excinfo.traceback = Traceback(shown)
    report = yield
    sections = item.stash.get(_sections_key, None)
    if report.when == "call" and report.failed and sections is not None:
        report.sections += sections()
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how many snapshots were written."""
    written = config.stash.get(_written_key, [])
    if written:
        terminalreporter.write_sep("-", f"{len(written)} snapshots written")


def _section(item: pytest.Item, run: Any) -> tuple[str, str]:
    """A run as a failure shows it: a title, and a text."""
    from statewright.testing.showing import save

    title = f"{run.machine.name}, {run.name}: {run.status}"
    try:
        folder = _drawings(item.config)
        drawn = save(run.svg(), folder, f"{item.nodeid.partition('::')[2]}-{run.machine.name}-{run.name}")
        return title, f"{run.tree()}\n\ndrawn in {drawn}"
    except Exception as problem:  # what is shown beside a failure must not hide it
        return title, f"this run cannot be shown: {problem!r}"


def _drawings(config: pytest.Config) -> Path:
    given = config.getoption("--sfn-svg-dir")
    if given:
        return Path(given)
    cache = getattr(config, "cache", None)
    if cache is not None:
        return Path(cache.mkdir("statewright"))
    import tempfile

    return Path(tempfile.gettempdir()) / "statewright-failures"
