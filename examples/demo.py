"""Runs the example systems and prints what happened: `make demo`.

Each folder beside this file holds a definition and its scripted cases. They run in virtual time, so two and a half days
of workflow take a moment. Five of them are then deployed on a real server, with functions, buckets, queues and a table
(`real_time.py`); one of them also with a function in Node.js, where that is installed. At the end a server is killed in
the middle of its work and started again (`killed_server.py`).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import killed_server
import node_sdk
import real_time

from statewright.cli.output import Line, Printer, duration_words
from statewright.simulator.cases import CaseResult, load_cases, run_case

HERE = Path(__file__).parent
EVERY_SECONDS = 2.0
MOST_PROBLEMS = 5
ADDRESS = "http://127.0.0.1:4566"
"""Where `dev` and `serve` listen by default."""


@dataclass(frozen=True)
class Act:
    """One example: its file of cases, a title, and the case whose figures are shown."""

    file: str
    title: str
    shown: str
    figures: str


ACTS = (
    Act(
        "semaphore/semaphore.cases.yaml",
        "Semaphore: one execution at a time in the critical section",
        "the next one waits five turns for its place",
        "{transitions} transitions, {visits[Wait A Minute]} waits of a minute",
    ),
    Act(
        "nested-loop/nested-loop.cases.yaml",
        "Nested loop: three users, three rounds, five minutes apart",
        "three rounds for three users",
        "{visits[NotifyAlerts]} alerts, {visits[WaitFiveMinutes]} sleeps, {transitions} transitions, {events} events",
    ),
    Act(
        "file-pipeline/file-pipeline.cases.yaml",
        "File pipeline: 2,000 files over a queue, until the last is final",
        "two thousand files, three of them broken",
        "{output[done]} done, {output[error]} in error, {visits[Count Final Files]} looks",
    ),
    Act(
        "job-poller/job-poller.cases.yaml",
        "Job poller: start, wait, check, with a deadline",
        "a job of fifteen seconds",
        "{visits[Get Job Status]} turns, {events} events",
    ),
    Act(
        "export-poller/export-poller.cases.yaml",
        "Export poller: a table export watched through the API",
        "finished at the fourth look",
        "{visits[Describe Export]} calls, {output[ExportDescription][ItemCount]} items exported",
    ),
    Act(
        "nested-loop/never-ends.cases.yaml",
        "The loop that never ends: found by `validate`, stopped by the history limit",
        "history fills up after two and a half days",
        "{visits[NotifyAlerts]:,} alerts, then {status} at {events:,} events",
    ),
)


def main() -> int:
    """Run every act; returns the exit code."""
    out = Printer(sys.stdout)
    began = time.perf_counter()
    passed = failed = virtual_ms = 0
    out.line("")
    out.line(("Statewright", "strong"), ("  the example systems, in virtual time", "idle"))
    for act in ACTS:
        results = [run_case(case) for case in load_cases(HERE / act.file).cases]
        bad = [result for result in results if not result.passed]
        passed += len(results) - len(bad)
        failed += len(bad)
        virtual_ms += sum(result.run.duration_ms for result in results if result.run is not None)
        show(out, act, results, bad)
    passed_mistakes = show_mistakes(out)
    out.flush()
    passed += passed_mistakes
    failed += 1 - passed_mistakes
    took_ms = round((time.perf_counter() - began) * 1000)
    failed += show_real_time(out)
    survived = show_killed_server(out)
    failed += 1 - survived
    mark: Line = [("✗ ", "fail"), (f"{failed} failed · ", "fail")] if failed else [("✓ ", "ok")]
    out.line("")
    out.line(
        *mark, (f"{passed} cases passed", "ok"), f" · {duration_words(virtual_ms)} of virtual time in {took_ms} ms · "
        f"everything in {time.perf_counter() - began:.0f} s"
    )  # fmt: skip
    out.line("")
    out.line(("Try", "strong"))
    for command in (
        "statewright dev examples    # serves all of this; then, in another terminal:",
        "statewright run job-poller -i '{\"seconds\": 5}'",
        "statewright function list",
        "statewright run examples/job-poller/job-poller.asl.json --case 'a job of fifteen seconds'",
        "statewright graph examples/nested-loop/nested-loop.asl.json",
        "statewright validate examples/nested-loop",
        "statewright test examples",
    ):
        out.line("  ", (f".venv/bin/{command}", "accent"))
    out.line("")
    out.folded(
        [f"While `dev` or `serve` runs, {ADDRESS}/ is the endpoint for boto3, the AWS CLI and every other SDK."], ""
    )
    out.folded([f"{ADDRESS}/health says how the server is, {ADDRESS}/metrics what it does."], "")
    out.line("")
    out.flush()
    return 1 if failed else 0


def show(out: Printer, act: Act, results: list[CaseResult], bad: list[CaseResult]) -> None:
    """One example: its title, its cases, and the figures of one of them."""
    out.line("")
    out.line(("✗ ", "fail") if bad else ("✓ ", "ok"), (act.title, "strong"))
    for result in results:
        if result.case.name != act.shown or result.run is None:
            continue
        run = result.run
        figures = act.figures.format(
            transitions=run.transitions,
            events=len(run.history),
            visits=run.visits,
            output=run.output,
            status=run.status,
        )
        out.line("  ", (duration_words(run.duration_ms).rjust(10), "run"), f" in {result.real_ms} ms   {figures}")
    for result in bad:
        out.line("  ", ("✗ ", "fail"), result.case.name, ("  see: statewright test examples", "idle"))
        if result.run is not None:
            last = result.run.history[-1].details or {}
            out.line(" " * 14, ": ".join(filter(None, (result.run.status, last.get("error"), last.get("cause")))))


def show_mistakes(out: Printer) -> int:
    """What `validate` says of a definition with the usual mistakes; 1 when it is all that should be found."""
    file = load_cases(HERE / "nested-loop/with-mistakes.cases.yaml")
    errors = [finding for finding in file.subject.findings if finding.severity == "ERROR"]
    good = all(run_case(case).passed for case in file.cases)
    out.line("")
    out.line(("✓ ", "ok") if good else ("✗ ", "fail"), ("The usual mistakes, all found at once", "strong"))
    for finding in errors:
        message = finding.message.split(". ")[0].rstrip(".")
        place = f"line {finding.line}".rjust(10)
        out.folded(["  ", (place, "fail"), f"  {message}", (f"  {finding.hint or ''}", "idle")], " " * 14)
    return int(good)


def show_real_time(out: Printer) -> int:
    """The systems on a real server, with their progress; returns how many did not end as they should."""
    out.line("")
    out.line(("On a real server, in real time", "strong"), ("  deployed as to the cloud, nothing mocked", "idle"))
    out.flush()
    last = 0.0

    def progress(text: str) -> None:
        nonlocal last
        if out.is_terminal:
            # One line that changes; elsewhere one every two seconds.
            out.plain(f"\r\x1b[K  {text[: out.width - 3]}" if "\n" not in text else f"\n{text}\n")
        elif time.monotonic() - last >= EVERY_SECONDS or "\n" in text:
            last = time.monotonic()
            out.line("  ", (text, "idle"))
        out.flush()

    results = real_time.run(progress, node_sdk.fetched(progress))
    if out.is_terminal:
        out.plain("\r\x1b[K")
    for result in results:
        if result.left_out:
            out.folded([("○ ", "idle"), (result.title, "strong"), (f"  left out: {result.left_out}", "idle")], "    ")
            continue
        out.line(("✓ ", "ok") if result.good else ("✗ ", "fail"), (result.title, "strong"))
        first, *rest = result.lines
        out.line("  ", (f"{result.seconds:.1f} s".rjust(10), "run"), f"  {first}")
        for line in rest:
            out.line(" " * 14, line)
    return sum(not result.good for result in results)


def show_killed_server(out: Printer) -> int:
    """What became of executions whose server was killed; 1 when all of them ended as if nothing had happened."""
    outcome = killed_server.run()
    good = outcome.acknowledged == outcome.succeeded
    out.line("")
    out.line(
        ("✓ ", "ok") if good else ("✗ ", "fail"), ("A server killed with executions waiting, started again", "strong")
    )
    figures = f"{outcome.acknowledged} acknowledged, {outcome.succeeded} succeeded after kill -9 and restart"
    out.line("  ", (f"{outcome.seconds:.1f} s".rjust(10), "run"), f" of real time   {figures}")
    for problem in outcome.problems[:MOST_PROBLEMS]:
        out.line(" " * 14, problem)
    return int(good)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # The servers have ended already.
        print("\ninterrupted", file=sys.stderr)
        sys.exit(130)
