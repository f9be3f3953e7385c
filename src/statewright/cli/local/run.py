"""`statewright run`: one execution of a definition, in virtual time or in real time, shown as it goes on.

Owns the flow of the command. What runs is chosen in `run_setup.py`, the tree drawn in `live_tree.py`, the result
worded in `run_report.py`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from statewright.cli.client import endpoint_option
from statewright.cli.costs import Costs, cost_of, cost_options, wanted_table
from statewright.cli.extensions import extensions_option
from statewright.cli.output import (
    NOT_FOUND,
    USAGE,
    Printer,
    Refused,
    Stop,
    count_words,
    duration_words,
    print_findings,
    reason_of,
    stderr,
    stdout,
)

if TYPE_CHECKING:
    import asyncio

    from statewright.cli.live_tree import LiveTree
    from statewright.cli.local.run_setup import Setup
    from statewright.cli.run_report import GivenUp, Outcome
    from statewright.clock import RealClock
    from statewright.interpreter.history import HistoryEvent
    from statewright.interpreter.state import ExecutionState
    from statewright.simulator.mocks import Rule
    from statewright.simulator.story import Story

NAP_MS = 100
"""How long real time is slept through at once, so that the tree goes on counting."""


@click.command(short_help="Run a definition and print its output.")
@click.argument("file", metavar="FILE[#CASE]|NAME")
@click.option("-i", "--input", metavar="JSON|@FILE|-", help="The execution's input; {} unless a case has one.")
@click.option("--case", metavar="NAME", help="A case of FILE's .cases.yaml, or of --mock's MockConfigFile.json.")
@click.option("--mock", metavar="FILE", help="Results of tasks: a file of mocks, or a MockConfigFile.json.")
@click.option("--machine", metavar="NAME", help="Which state machine of a MockConfigFile.json this is.")
@click.option(
    "--type", "machine_type", type=click.Choice(["STANDARD", "EXPRESS"]), help="Which type of machine FILE is."
)
@click.option("--real-time", is_flag=True, help="Wait as long as the workflow does.")
@click.option("--limits", type=click.Choice(["aws", "open"]), help="The service's limits (default), or none of them.")
@click.option("--seed", metavar="TEXT", help="Another seed for random numbers, ids and jitter.")
@click.option("--start", metavar="INSTANT", help="When the execution starts: 2026-01-01T00:00:00Z.")
@click.option("--max-virtual-time", metavar="TIME", help="Give up after so long: 2h, 7d.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json", "jsonl"]),
    default="table",
    help="table: the output alone. json: one document about the run. jsonl: event by event, then that document.",
)
@click.option("--history", "history_file", metavar="FILE|-", help="Write the history, as GetExecutionHistory shows it.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but the output, and what went wrong.")
@cost_options
@extensions_option
@endpoint_option
def run(
    file: str,
    input: str | None,
    case: str | None,
    mock: str | None,
    machine: str | None,
    machine_type: str | None,
    real_time: bool,
    limits: str | None,
    seed: str | None,
    start: str | None,
    max_virtual_time: str | None,
    form: str,
    history_file: str | None,
    quiet: bool,
    cost: bool,
    prices: str | None,
    endpoint: str | None,
) -> int:
    """Run one execution of a definition on this machine; or, by NAME, of a state machine of the server.

    The time of a FILE is virtual unless --real-time is given: waits, retries and timeouts take no time at all. What
    happens is shown on the standard error; the standard output gets the execution's output alone.

    \b
    Examples:
      statewright run order.asl.json -i '{"order": 7}' --mock mocks.yaml
      statewright run order.asl.json -i @event.json -o json | jq .states
      statewright run order.asl.json --case 'declined twice'
      statewright run order.asl.json#Happy --mock MockConfigFile.json
      statewright run order -i '{"order": 7}'

    Exit code: 0 succeeded, 1 failed, 2 usage, 3 not found, 4 server unreachable, 5 timed out, 130 interrupted.
    """
    from statewright.cli.local.run_setup import Wishes, names_machine, prepare

    if names_machine(file):
        from statewright.cli.inspection.execution import run_machine

        refuse_for_machines(
            file, case=case, mock=mock, machine=machine, limits=limits, seed=seed, start=start,
            max_virtual_time=max_virtual_time, history=history_file, type=machine_type,
            cost="" if cost else None, prices=prices,
        )  # fmt: skip
        return run_machine(file, input, form, quiet=quiet, endpoint=endpoint)
    from statewright.engine.heavy.forked_trial import fence_expressions

    fence_expressions()
    if form != "table" and history_file == "-":
        raise Stop(USAGE, f"--history - and -o {form} both want the standard output")
    table = wanted_table(cost, prices)
    kind: Literal["STANDARD", "EXPRESS"] = "EXPRESS" if machine_type == "EXPRESS" else "STANDARD"
    setup = prepare(Wishes(file, input, case, mock, machine, limits, start, kind))
    watch = Watch(setup, real_time=real_time, quiet=quiet, stream_events=form == "jsonl")
    outcome = watch.run(_seed_bytes(seed), _duration(max_virtual_time))
    watch.report(outcome)
    bill = cost_of(outcome, table, express=kind == "EXPRESS") if table is not None else None
    _print_all(outcome, form, history_file, bill)
    return outcome.exit_code


def refuse_for_machines(target: str, **options: str | None) -> None:
    """Refuse options that a server cannot follow. Raises: Stop."""
    from statewright.cli.local.run_setup import files_like

    given = [name for name, value in options.items() if value is not None]
    if given:
        near = files_like(Path(target))
        if near:
            raise Stop(NOT_FOUND, f"There is no file '{target}'.", f"did you mean {near[0]}?")
        option = f"--{given[0].replace('_', '-')}"
        raise Stop(
            USAGE,
            f"There is no file '{target}', and {option} is for files: a machine of a server runs as the server does.",
        )


class OutOfTime(Exception):
    """The run has lasted as long as the user wants to wait."""


class Watch:
    """One run and who watches it: history so far, the story, the tree or the plain lines."""

    def __init__(self, setup: Setup, *, real_time: bool, quiet: bool, stream_events: bool) -> None:
        from statewright.cli.live_tree import LiveTree, PlainSteps, TreeView
        from statewright.clock import VIRTUAL_START_MS, RealClock
        from statewright.simulator.story import Story

        self.setup = setup
        self.quiet = quiet
        self.real_time = real_time
        self.clock: RealClock = RealClock()
        default_start_ms = self.clock.now_ms() if real_time else VIRTUAL_START_MS
        self.start_ms = setup.start_ms if setup.start_ms is not None else default_start_ms
        self.notes = stderr()
        self.stream = stdout() if stream_events else None
        self.story: Story
        self.tree: LiveTree | None = None
        self.view: TreeView | None = None
        program = setup.loaded.program
        if quiet:
            self.story = Story(program)
        elif self.notes.is_terminal:
            self.story = Story(program)
            self.view = TreeView(self.story, _states_by_name(setup.loaded.document.value))
            self.tree = LiveTree(self.notes, self.view, self.clock.now_ms)
        else:
            self.story = Story(program, PlainSteps(self.notes).told)
        self.history: list[HistoryEvent] = []
        self.state: ExecutionState | None = None
        self.unused: tuple[Rule, ...] = ()
        self._runner: asyncio.Runner | None = None
        self._real_start_ms = 0
        self._reached_ms = 0
        self._deadline_ms: int | None = None

    # ------------------------------------------------------------------ running

    def run(self, seed: bytes | None, longest_ms: int | None) -> Outcome:
        """Run to the end, or to where it cannot or shall not go on. Raises: Refused for a mock that is wrong."""
        from statewright.cli.run_report import Outcome
        from statewright.simulator.simulate import DEFAULT_SEED, Simulation, make_identity

        self.introduce()
        if self.real_time:
            self._prepare_to_sleep()
        self._deadline_ms = self.start_ms + longest_ms if longest_ms is not None else None
        self._real_start_ms = self.clock.now_ms()
        setup = self.setup
        simulation = Simulation(
            setup.script,
            start_ms=self.start_ms,
            limits=setup.limits,
            seed=seed or DEFAULT_SEED,
            on_history=self.note,
            pace=self.pace if self.real_time or longest_ms is not None else None,
        )
        identity = make_identity(_machine_name(setup.path), execution_type=setup.type)
        given_up: GivenUp | None = None
        written: dict[str, str] | None = None
        transitions = 0
        try:
            done = simulation.run(setup.loaded.program, setup.input, identity=identity)
            written, transitions = done.written, done.transitions
        except BaseException as problem:
            given_up = self.why(problem)
            if given_up is None or self.state is None:
                raise
        finally:
            if self.tree is not None:
                self.tree.stop()
            if self._runner is not None:
                self._runner.close()
        if given_up is None:
            wanted = {id(rule) for rule in setup.script.rules[: setup.must_be_used]}
            self.unused = tuple(rule for rule in simulation.script.unused() if id(rule) in wanted)
        assert self.state is not None
        transitions = transitions or self.state.transitions
        now_ms = max(simulation.now_ms, self._reached_ms)
        return Outcome(self.story, self.state, self.history, transitions, now_ms, setup.limits, given_up, written)

    def note(self, state: ExecutionState, event: HistoryEvent) -> None:
        """Take in a history event, of the execution or of a child of it."""
        if self.state is None:
            self.state = state
        self.story.note(state, event)
        if state is self.state:
            self.history.append(event)
            if self.stream is not None:
                from statewright.cli.run_report import history_document

                self.stream.json(history_document(event), compact=True)
                if self.real_time:
                    self.stream.flush()
        if self.tree is not None:
            self.tree.tick(event.at_ms)

    def pace(self, due_ms: int) -> None:
        """Let real time catch up with the next instant, if that is wanted. Raises: OutOfTime."""
        if self._deadline_ms is not None and due_ms > self._deadline_ms:
            if self.real_time:
                self._sleep(self._deadline_ms)
            self._reached_ms = self._deadline_ms
            raise OutOfTime
        if self.real_time:
            self._sleep(due_ms)

    def _prepare_to_sleep(self) -> None:
        """Make the loop before anything is said to have begun: an interrupt finds it whole, not half made."""
        import asyncio

        self._runner = asyncio.Runner()
        self._runner.get_loop()

    def _sleep(self, due_ms: int) -> None:
        if self._runner is None:
            self._prepare_to_sleep()
        assert self._runner is not None
        real_due_ms = self._real_start_ms + due_ms - self.start_ms
        while (real_ms := self.clock.now_ms()) < real_due_ms:
            self._reached_ms = self.start_ms + real_ms - self._real_start_ms
            if self.tree is not None:
                self.tree.tick(self._reached_ms)
            self._runner.run(self.clock.sleep_until(min(real_due_ms, real_ms + NAP_MS)))

    def why(self, problem: BaseException) -> GivenUp | None:
        """What an exception says about a run that is not over; None for one that is nobody's business here."""
        from statewright.cli.run_report import GivenUp
        from statewright.errors import DefinitionError
        from statewright.simulator.simulate import Stalled, UnmockedTask

        if isinstance(problem, DefinitionError):
            raise Refused(self.setup.mock_name, problem.diagnostics) from None
        if isinstance(problem, UnmockedTask):
            hint = None
            if not self.setup.mock_name:
                hint = f"write it into a file, and name that: statewright run {self.setup.path} --mock mocks.yaml"
            return GivenUp("UNMOCKED_TASK", problem.hint, problem.state, hint)
        if isinstance(problem, Stalled):
            message = str(problem)
            return GivenUp("WAITS_FOR_EVER", message[:1].upper() + message[1:])
        if isinstance(problem, OutOfTime):
            assert self._deadline_ms is not None
            longest = duration_words(self._deadline_ms - self.start_ms)
            return GivenUp("OUT_OF_TIME", f"The execution still runs after {longest}, as --max-virtual-time allows.")
        if isinstance(problem, KeyboardInterrupt):
            return GivenUp("INTERRUPTED", "The execution was still running.")
        return None

    # ------------------------------------------------------------------ telling

    def introduce(self) -> None:
        """Say what runs, and what the user should know before."""
        if self.quiet:
            return
        setup = self.setup
        told = [str(setup.path)]
        if setup.case is not None:
            told.append(f"case '{setup.case}'")
        told.append("real time" if self.real_time else "virtual time")
        if setup.type == "EXPRESS":
            told.append("express")
        if setup.limits.profile != "aws":
            told.append("no limits")
        if self.notes.is_terminal:
            self.notes.line((told[0], "strong"), (" · " + " · ".join(told[1:]), "idle"))
        warnings = len(setup.loaded.diagnostics)
        if warnings:
            words = f"{count_words(warnings, 'warning')}, see: statewright validate {setup.path}"
            self.notes.line((words, "wait"))
        from statewright.simulator.mocks import mockable_names

        known = mockable_names(setup.loaded.program)
        print_findings(self.notes, setup.mock_name, setup.script.unknown_states(known))
        if self.notes.is_terminal:
            self.notes.line()

    def report(self, outcome: Outcome) -> None:
        """Show the whole tree, and how it ended."""
        from statewright.cli.run_report import print_outcome

        if self.view is not None:
            self.notes.cropped(self.view.lines(outcome.now_ms))
        if not self.quiet or outcome.exit_code:
            print_outcome(self.notes, outcome, virtual=not self.real_time)
        for rule in self.unused if not self.quiet else ():
            line = f":{rule.place[0]}:{rule.place[1]}" if rule.place[0] else ""
            self.notes.line(
                (f"{self.setup.mock_name}{line} ", "idle"),
                ("WARNING", "wait"),
                (f" the mock for {rule.label} was not used", "idle"),
            )
        if self.view is not None:
            self.notes.line()
        self.notes.flush()


def _print_all(outcome: Outcome, form: str, history_file: str | None, bill: Costs | None) -> None:
    if bill is not None and form == "table":
        bill.print(stderr())
    if history_file != "-":
        _print_result(outcome, form, bill)
    if history_file is not None:
        _write_history(outcome, history_file)


def _print_result(outcome: Outcome, form: str, bill: Costs | None) -> None:
    from statewright.cli.run_report import summary

    printer: Printer = stdout()
    if form == "table":
        if outcome.state.output is not None:
            printer.json(outcome.state.output.value)
    else:
        costs = {"cost": bill.document()} if bill is not None else {}
        printer.json(summary(outcome) | costs, compact=form == "jsonl")


def _write_history(outcome: Outcome, target: str) -> None:
    from statewright.cli.output import json_text
    from statewright.cli.run_report import history_document

    document = {"events": [history_document(event) for event in outcome.history]}
    if target == "-":
        stdout().json(document)
        return
    try:
        Path(target).write_text(json_text(document) + "\n", encoding="utf-8")
    except OSError as problem:
        raise Stop(NOT_FOUND, f"--history: {target}: {reason_of(problem)}") from None


def _seed_bytes(seed: str | None) -> bytes | None:
    return None if seed is None else hashlib.blake2b(seed.encode("utf-8", "surrogateescape"), digest_size=32).digest()


def _duration(text: str | None) -> int | None:
    if text is None:
        return None
    from statewright.clock import parse_duration_ms

    try:
        return parse_duration_ms(text)
    except ValueError as problem:
        raise Stop(USAGE, f"--max-virtual-time: {problem}") from None


def _machine_name(path: Path) -> str:
    """A name for the machine, as the service allows it: the file's, without endings and odd characters."""
    stem = path.name.split(".")[0]
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in stem)
    return kept[:80] or "StateMachine"


def _states_by_name(definition: Any) -> dict[str, Any]:
    from statewright.asl.outline import outline, states_of

    return {state.name: state.node for state in states_of(outline(definition, express=False))}
