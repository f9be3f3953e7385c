"""Findings of our own: endless loops, failures that end in success, limits that will be exceeded, gaps in rules.

Every code here is in `findings.LINT_CODES`. A lint is a WARNING: the definition can be created and run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from statewright.asl.checks.event_counts import EventWeights, literal_item_count
from statewright.asl.checks.field_values import is_expression
from statewright.asl.checks.flow import reachable
from statewright.asl.checks.loops import Dependency, Loop, loops_of
from statewright.asl.findings import Findings, has_placeholder
from statewright.asl.outline import Edge, Node, ScopeOutline, StateOutline, states_of
from statewright.limits import AWS, TASK_TIMEOUT_SECONDS
from statewright.payload import Json

MAX_STATES: Final = 1_000
"""Scopes with more states are not searched for loops and failures. Ours: the search is quadratic at worst."""
HISTORY_EVENTS: Final = AWS.history_events or 25_000

_FAILURE_WORDS = frozenset(
    {
        *("FAILED", "FAIL", "FAILURE", "ERROR", "ERRORED", "ABORTED", "REJECTED", "CANCELLED", "CANCELED"),
        *("TIMED_OUT", "TIMEDOUT", "TIMEOUT"),
    }
)
_PENDING_WORDS = frozenset(
    {"IN_PROGRESS", "INPROGRESS", "RUNNING", "PENDING", "QUEUED", "SUBMITTED", "STARTING", "STARTED"}
)
_EQUALS_TEXT = re.compile(r"(?<![!<>])=\s*(['\"])(\w+)\1")
_IN_TEXTS = re.compile(r"\bin\s*\[([^\]]*)\]")
_WORK_TYPES = ("Task", "Parallel", "Map")


def add_lints(lints: Findings, machine: Node, scopes: list[ScopeOutline], machine_type: str) -> None:
    """Add our own findings about a whole definition."""
    timeout = machine.get("TimeoutSeconds")
    deadline = _seconds(timeout)
    bounded = deadline is not None or "TimeoutSeconds" in machine or machine_type == "EXPRESS"
    weights = EventWeights(scopes)
    for scope in scopes:
        if not scope.complete or len(scope.states) > MAX_STATES:
            continue
        for loop in loops_of(scope):
            if all(state.generated for state in loop.states):
                continue
            if not _lint_never_ends(lints, loop):
                _lint_unbounded(lints, loop, bounded or scope.express)
                if deadline is not None and not scope.express:
                    _lint_long_poll(lints, loop, deadline, weights)
        for state in scope.states.values():
            if not state.generated:
                _lint_failures(lints, state)
    for state in states_of(scopes):
        if state.type == "Choice":
            _lint_default(lints, state)
        elif state.type == "Map" and not state.scope.express:
            _lint_literal_items(lints, state, weights)


# ------------------------------------------------------------------ loops


def _lint_never_ends(lints: Findings, loop: Loop) -> bool:
    """Report a loop whose exits cannot be taken after the first turn. Returns True if it is one."""
    if not loop.exits:
        lints.warn(
            "LOOP_NEVER_ENDS",
            f"The loop {loop.shown} never ends, unless a state fails: no transition leads out of it",
            loop.states[0].path,
            "add a Choice rule that leaves the loop",
        )
        return True
    if any(found.edge.kind in ("next", "catch") or not found.dependencies for found in loop.exits):
        return False
    tested = list(dict.fromkeys(dependency for found in loop.exits for dependency in found.dependencies))
    if any(loop.changers(dependency) for dependency in tested):
        return False
    shown = ", ".join(dict.fromkeys(dependency.text for dependency in tested))
    lints.warn(
        "LOOP_NEVER_ENDS",
        f"The loop {loop.shown} never ends after its first turn, unless a state fails: "
        f"no state in the loop changes {shown}, on which its exits depend",
        loop.exits[0].state.path,
        f"change {shown} in every turn of the loop, before it is tested",
    )
    return True


def _lint_unbounded(lints: Findings, loop: Loop, bounded: bool) -> None:
    """Report a loop that only the result of a task can end."""
    waits = any(state.type == "Wait" or state.type in _WORK_TYPES for state in loop.states)
    if bounded or not waits or counts_itself(loop):
        return
    tested = list(dict.fromkeys(dependency for found in loop.exits for dependency in found.dependencies))
    answers = "the result of a task says so"
    if tested:
        shown = ", ".join(dict.fromkeys(dependency.text for dependency in tested))
        tasks = dict.fromkeys(state.name for dependency in tested for state in loop.changers(dependency))
        answers = f"a result of {' or '.join(tasks)} changes {shown}, which no other state in the loop changes"
    lints.warn(
        "LOOP_WITHOUT_BOUND",
        f"The loop {loop.shown} ends only when {answers}; nothing limits the number of turns",
        loop.states[0].path,
        "give the machine TimeoutSeconds, or count the turns and leave the loop after a fixed number",
    )


def counts_itself(loop: Loop) -> bool:
    """True if some exit depends on time, or on a value that the loop itself computes."""
    for found in loop.exits:
        for dependency in found.dependencies:
            if dependency.root == "time" or any(_computes(state, dependency) for state in loop.changers(dependency)):
                return True
    return False


def _computes(state: StateOutline, dependency: Dependency) -> bool:
    if state.type not in _WORK_TYPES:
        return True
    if dependency.root == "variable":
        own = re.compile(r"\$" + re.escape(str(dependency.name)) + r"(?!\w)")
        return any(own.search(text) for text in _assigned_texts(state, str(dependency.name)))
    return state.jsonata and any("$states.input" in text for text in _texts(state.node.get("Output")))


def _assigned_texts(state: StateOutline, name: str) -> Iterator[str]:
    blocks = [state.node, *(entry for key in ("Choices", "Catch") for entry in _objects(state.node.get(key)))]
    for block in blocks:
        assign = block.get("Assign")
        if isinstance(assign, dict):
            for key in (name, name + ".$"):
                yield from _texts(assign.get(key))


def _lint_long_poll(lints: Findings, loop: Loop, deadline: int, weights: EventWeights) -> None:
    """Report a loop of constant waits that can exceed the limit of events before the machine's own deadline."""
    if counts_itself(loop):
        return
    for wait in loop.states:
        seconds = _constant_wait(wait)
        turn = weights.shortest_turn(loop, wait) if seconds else None
        if turn is None or seconds is None:
            continue
        total_wait = sum(_constant_wait(state) or 0 for state in turn)
        if any(state.type == "Wait" and _constant_wait(state) is None for state in turn):
            continue
        events = sum(weights.of(state) for state in turn)
        if deadline / total_wait * events > HISTORY_EVENTS:
            lints.warn(
                "HISTORY_LIMIT",
                f"The loop {loop.shown} can exceed {HISTORY_EVENTS:,} history events before TimeoutSeconds: "
                f"{int(deadline / total_wait):,} turns of {total_wait} s with {events} events each",
                wait.path,
                "wait longer, or poll in a separate execution",
            )
            return


def _constant_wait(state: StateOutline) -> int | None:
    return _seconds(state.node.get("Seconds")) if state.type == "Wait" else None


def _seconds(value: Json) -> int | None:
    """A literal number of seconds within the bounds of the language."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= TASK_TIMEOUT_SECONDS:
        return None
    return value


def _lint_literal_items(lints: Findings, state: StateOutline, weights: EventWeights) -> None:
    """Report an inline Map whose items, written in the definition, are too many for one history."""
    count, events = literal_item_count(state), weights.of(state)
    if count is not None and events > HISTORY_EVENTS:
        lints.warn(
            "HISTORY_LIMIT",
            f"{state.name} would exceed {HISTORY_EVENTS:,} history events: {count:,} items cost at least {events:,}",
            state.path,
            "use DISTRIBUTED mode, which gives each iteration its own history",
        )


# ------------------------------------------------------------------ failures and gaps


def _lint_failures(lints: Findings, state: StateOutline) -> None:
    """Report transitions that are taken after a failure and lead only to a successful end."""
    if state.type not in ("Choice", *_WORK_TYPES):
        return
    for edge in state.edges:
        if edge.kind == "catch":
            if _rejoins(state, edge.target):
                continue
            what = "An error caught here"
        elif state.type == "Choice":
            status = _failure_status(state, edge)
            if status is None:
                continue
            what = f"The status {status}"
        else:
            continue
        if _ends_only_well(state, edge.target):
            lints.warn(
                "FAILURE_ENDS_IN_SUCCESS",
                f"{what} leads through {edge.target} only to a successful end: the execution will be SUCCEEDED",
                edge.path,
                "end this branch in a Fail state if the execution should count as failed",
            )


def _rejoins(state: StateOutline, target: str) -> bool:
    """True if a branch rejoins the normal flow before its end, which makes it a repair."""
    scope = state.scope
    normal = reachable(scope, [edge.target for edge in state.edges if edge.kind == "next"])
    return any(not scope.states[name].terminal for name in reachable(scope, [target]) & normal)


def _ends_only_well(state: StateOutline, target: str) -> bool:
    entered = reachable(state.scope, [target])
    if state.name in entered:
        return False
    ends = [state.scope.states[name] for name in entered if state.scope.states[name].terminal]
    return bool(ends) and all(end.type != "Fail" for end in ends)


def _failure_status(state: StateOutline, edge: Edge) -> str | None:
    """The failure status that certainly makes a Choice take a transition; `None` if there is no such status."""
    rules = _objects(state.node.get("Choices"))
    if edge.kind == "rule":
        words = _compared_words(state.node["Choices"][edge.index], state.jsonata)
        return next((word for word in words if word.upper() in _FAILURE_WORDS), None)
    # If the rules name only the statuses of a running job, Default gets every finished job, failed or not.
    compared = [_compared_words(rule, state.jsonata) for rule in rules]
    pending = compared and all(words and all(word.upper() in _PENDING_WORDS for word in words) for words in compared)
    return "FAILED (like any other that no rule names)" if pending else None


def _compared_words(rule: Node, jsonata: bool) -> list[str]:
    """The strings that a rule compares with by equality, not negated."""
    words: list[str] = []
    if jsonata:
        condition = rule.get("Condition")
        if is_expression(condition):
            words += [match[2] for match in _EQUALS_TEXT.finditer(condition)]
            for listed in _IN_TEXTS.finditer(condition):
                words += re.findall(r"['\"](\w+)['\"]", listed[1])
        return words
    pending: list[Json] = [rule]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            if isinstance(node.get("StringEquals"), str):
                words.append(node["StringEquals"])
            pending.extend(inner for key in ("Or", "And") for inner in reversed(_objects(node.get(key))))
    return words


def _lint_default(lints: Findings, state: StateOutline) -> None:
    """Report a Choice whose rules may all fail to match."""
    rules = state.node.get("Choices")
    if "Default" in state.node or not isinstance(rules, list) or not rules:
        return
    if any(not isinstance(rule, dict) or "Default" in rule or has_placeholder(rule.get("Condition")) for rule in rules):
        return
    if not _covers_everything(rules, state.jsonata):
        lints.warn(
            "CHOICE_WITHOUT_DEFAULT",
            f"{state.name} has no Default: when no rule matches, the execution fails with States.Runtime",
            state.path,
            "add a Default; nothing can catch this failure",
        )


def _covers_everything(rules: list[Node], jsonata: bool) -> bool:
    """True if two rules are each other's opposite, or one always holds."""
    if jsonata:
        return any(rule.get("Condition") in (True, "{% true %}") for rule in rules)
    seen: set[tuple[str, str, bool]] = set()
    for rule in rules:
        for name, value in rule.items():
            if isinstance(value, bool) and isinstance(rule.get("Variable"), str):
                if (rule["Variable"], name, not value) in seen:
                    return True
                seen.add((rule["Variable"], name, value))
    return False


def _objects(entries: Json) -> list[Node]:
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _texts(value: Json) -> Iterator[str]:
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
