"""What pytest calls: options, the fixtures `sfn` and `case`, what a failure shows, the coverage report.

Imported at every start of pytest in an environment that has Statewright, so it imports nothing of Statewright until a
test asks for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from statewright.testing.case import Case
    from statewright.testing.coverage import Coverage
    from statewright.testing.workbench import Sfn

MOST_RUNS_SHOWN: Final = 3
WORKER_DATA: Final = "statewright_coverage"
_sfn_key: Final = pytest.StashKey["Sfn"]()
_coverage_key: Final = pytest.StashKey["Coverage"]()
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
        from statewright.testing.coverage import Coverage

        config.stash[_coverage_key] = Coverage(config.rootpath)
        if config.pluginmanager.hasplugin("xdist"):
            config.pluginmanager.register(_Merging(config.stash[_coverage_key]), "statewright-merging")


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
def sfn(request: pytest.FixtureRequest) -> Iterator[Sfn]:
    """Workflows under test: machines, mocks, a virtual clock, boto3 clients (docs/pytest.md)."""
    from statewright.testing.snapshots import FOLDER, Snapshots
    from statewright.testing.workbench import Sfn

    config, path = request.config, request.path
    marker = request.node.get_closest_marker("sfn_settings")
    folder = path.parent / FOLDER / path.stem
    qualified = request.node.nodeid.partition("::")[2].replace("::", ".")
    snapshots = Snapshots(folder, qualified, bool(config.getoption("--sfn-update-snapshots")))
    made = Sfn(
        path.parent, snapshots=snapshots, coverage=config.stash.get(_coverage_key, None),
        **(marker.kwargs if marker is not None else {}),
    )  # fmt: skip
    request.node.stash[_sfn_key] = made
    yield made
    config.stash[_written_key] += [str(one) for one in snapshots.written]
    made.close()


@pytest.fixture
def case(request: pytest.FixtureRequest, sfn: Sfn) -> Case:
    """The case that `@sfn.cases` runs the test for."""
    if not hasattr(request, "param"):
        pytest.fail("`case` belongs to a test with @sfn.cases(...) above it")
    bound: Case = request.param.bound(sfn)
    return bound


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Beside a failure, show the runs of the test and where they are drawn."""
    report = yield
    sfn = item.stash.get(_sfn_key, None)
    if report.when == "call" and report.failed and sfn is not None:
        for run in sfn.runs[-MOST_RUNS_SHOWN:]:
            report.sections.append((f"{run.machine.name}, {run.name}: {run.status}", _shown(item, run)))
    return report


def _shown(item: pytest.Item, run: Any) -> str:
    from statewright.testing.showing import save

    try:
        folder = _drawings(item.config)
        drawn = save(run.svg(), folder, f"{item.nodeid.partition('::')[2]}-{run.machine.name}-{run.name}")
        return f"{run.tree()}\n\ndrawn in {drawn}"
    except Exception as problem:  # what is shown beside a failure must not hide it
        return f"this run cannot be shown: {problem!r}"


def _drawings(config: pytest.Config) -> Path:
    given = config.getoption("--sfn-svg-dir")
    if given:
        return Path(given)
    cache = getattr(config, "cache", None)
    if cache is not None:
        return Path(cache.mkdir("statewright"))
    import tempfile

    return Path(tempfile.gettempdir()) / "statewright-failures"


# ---------------------------------------------------------------------- coverage


class _Merging:
    """Adds up what the workers of xdist have counted."""

    def __init__(self, coverage: Coverage) -> None:
        self._coverage = coverage

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:  # noqa: ARG002
        """A worker is done."""
        self._coverage.merge(getattr(node, "workeroutput", {}).get(WORKER_DATA, {}))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's counts over; fail what is below the minimum."""
    config = session.config
    coverage = config.stash.get(_coverage_key, None)
    if coverage is None:
        return
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[WORKER_DATA] = coverage.to_data()
        return
    least = config.getoption("--sfn-coverage-min")
    if least is not None and coverage.percent() < least and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The coverage report, and which snapshots were written."""
    written = config.stash.get(_written_key, [])
    if written:
        terminalreporter.write_sep("-", f"{len(written)} snapshots written")
    coverage = config.stash.get(_coverage_key, None)
    if coverage is None:
        return
    terminalreporter.write_sep("-", "coverage of state machines")
    if not coverage.machines:
        terminalreporter.write_line("no machine was loaded")
    for line in coverage.lines() if coverage.machines else ():
        terminalreporter.write_line(line)
    least = config.getoption("--sfn-coverage-min")
    if least is not None and coverage.percent() < least:
        terminalreporter.write_line(
            f"FAIL: {coverage.percent():.1f} % is less than --sfn-coverage-min={least:g}", red=True
        )
