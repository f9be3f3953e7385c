"""A definition's run, watched: its simulation in virtual or real time, the live tree, the outcome."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from statewright.cli.live_tree import LiveTree
from statewright.cli.local.run_setup import Setup
from statewright.cli.output import (
    Refused,
    count_words,
    duration_words,
    print_findings,
    stderr,
    stdout,
)
from statewright.cli.run_report import GivenUp, Outcome

if TYPE_CHECKING:
    import asyncio

    from statewright.clock import RealClock
    from statewright.interpreter.history import HistoryEvent
    from statewright.interpreter.state import ExecutionState
    from statewright.simulator.mocks import Rule
    from statewright.simulator.story import Story

NAP_MS = 100
"""The longest sleep in real time, so that the elapsed times of the tree keep counting."""


class OutOfTime(Exception):
    """Raised when a run has lasted as long as the user wants to wait."""


class Watch:
    """One run and its display: the history so far, the story, the tree or the plain lines."""

    def __init__(self, setup: Setup, *, real_time: bool, quiet: bool, stream_events: bool) -> None:
        from statewright.cli.live_tree import LiveTree, PlainSteps, TreeView
        from statewright.clock import RealClock
        from statewright.simulator.story import Story
        from statewright.virtual_clock import VIRTUAL_START_MS

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
            from statewright.asl.outline import nodes_by_name

            self.view = TreeView(self.story, nodes_by_name(setup.loaded.document.value))
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
        """Run to the end, or until it cannot or must not continue. Raises: Refused for a mock that is wrong."""
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
            self.unused = tuple(rule for rule in simulation.timeline.script.unused() if id(rule) in wanted)
        assert self.state is not None
        transitions = transitions or self.state.transitions
        now_ms = max(simulation.timeline.now_ms, self._reached_ms)
        return Outcome(self.story, self.state, self.history, transitions, now_ms, setup.limits, given_up, written)

    def note(self, state: ExecutionState, event: HistoryEvent) -> None:
        """Add a history event of the execution or of one of its children."""
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
        """With `--real-time`, sleep until the next instant is due. Raises: OutOfTime."""
        if self._deadline_ms is not None and due_ms > self._deadline_ms:
            if self.real_time:
                self._sleep(self._deadline_ms)
            self._reached_ms = self._deadline_ms
            raise OutOfTime
        if self.real_time:
            self._sleep(due_ms)

    def _prepare_to_sleep(self) -> None:
        """Create the loop before the run starts, so that an interrupt never finds it half made."""
        import asyncio

        self._runner = asyncio.Runner()
        self._runner.get_loop()

    def _sleep(self, due_ms: int) -> None:
        import asyncio

        if self._runner is None:
            self._prepare_to_sleep()
        assert self._runner is not None
        real_due_ms = self._real_start_ms + due_ms - self.start_ms
        while (real_ms := self.clock.now_ms()) < real_due_ms:
            self._reached_ms = self.start_ms + real_ms - self._real_start_ms
            if self.tree is not None:
                self.tree.tick(self._reached_ms)
            try:
                self._runner.run(self.clock.sleep_until(min(real_due_ms, real_ms + NAP_MS)))
            except asyncio.CancelledError:
                # asyncio forgets an interrupt that comes while `run` begins, and only cancels.
                raise KeyboardInterrupt from None

    def why(self, problem: BaseException) -> GivenUp | None:
        """The reason why a run was given up, from an exception; None for an exception that is not handled here."""
        from statewright.cli.run_report import GivenUp
        from statewright.errors import DefinitionError
        from statewright.simulator.running import UnmockedTask
        from statewright.simulator.simulate import Stalled

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
        """Print the heading of the run, and warnings about it."""
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
        """Print the whole tree and the outcome."""
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


def _machine_name(path: Path) -> str:
    """A name for the machine, as the service allows it: the file's, without endings and odd characters."""
    stem = path.name.split(".")[0]
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "-" for char in stem)
    return kept[:80] or "StateMachine"
