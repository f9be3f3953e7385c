from __future__ import annotations

from dataclasses import replace

from statewright.stores.plan import ALL_MACHINES, RowGroups, Standing, Taken, Verdict, pass_gate, waves
from statewright.stores.protocol import Commit, Committed, InboxRow, OutboxRow, Row, Stale, TimerRow

ROW = Row(1, 0, 7, "one", "RUNNING", 5, None, b"head", b"tail")
START = Commit(ROW, 0, b"s")
RUNNING = Standing(3, 0, True)


def of(number: int, expected: int = 0, **changes: object) -> Commit:
    return replace(START, row=replace(ROW, id=number, name=f"n{number}"), expected=expected, **changes)  # type: ignore[arg-type]


def gate(commits: list[Commit], taken: dict[int, int], standing: dict[int, Standing]):
    verdicts: list[Verdict] = [Stale()] * len(commits)
    groups = RowGroups()
    rows = pass_gate(list(enumerate(commits)), taken, standing, verdicts, groups)
    return verdicts, rows, groups


def test_waves_hold_one_commit_of_an_execution_each_in_order():
    a1, a2, a3, b1, c1, c2 = of(1), of(1, 1), of(1, 2), of(2), of(3), of(3, 1)
    assert waves([a1, b1, a2, c1, a3, c2]) == [[(0, a1), (1, b1), (3, c1)], [(2, a2), (5, c2)], [(4, a3)]]
    assert waves([a1, b1]) == [[(0, a1), (1, b1)]]
    assert waves([]) == []


def test_a_start_whose_name_is_taken_names_the_holder():
    verdicts, rows, groups = gate([of(1), of(2), of(3)], {1: 50}, {})
    assert verdicts == [Committed(1), Taken(50), Committed(1)]
    assert [row[0] for row in rows.inserts] == [row[0] for row in rows.heads] == [1, 3]
    assert groups.count_rows() == [(7, 0, 0, 2), (ALL_MACHINES, 0, 0, 2)]


def test_of_two_starts_with_one_name_in_a_wave_the_first_has_it():
    twin = replace(START, row=replace(ROW, id=9))
    assert gate([START, twin], {}, {})[0] == [Committed(1), Taken(1)]


def test_a_step_must_fit_the_version_that_stands():
    commits = [of(1, 3), of(2, 2), of(3, 4), of(4, 3)]
    verdicts, rows, _ = gate(commits, {}, dict.fromkeys((1, 2, 3), RUNNING))
    assert verdicts == [Committed(4), Stale(), Stale(), Stale()]
    assert rows.steps == [(1, 4, b"s", b"tail")]


def test_a_step_touches_indexed_columns_only_where_they_change():
    same = of(1, 3)
    ends = replace(same, row=replace(same.row, status="FAILED", stopped_ms=9))
    for commit, stands, changes in (
        (same, RUNNING, False),
        (ends, RUNNING, True),
        (same, Standing(3, 2, False), True),
        (replace(same, row=replace(same.row, stopped_ms=9)), RUNNING, True),
        (same, Standing(3, 0, False), True),
    ):
        _, rows, groups = gate([commit], {}, {1: stands})
        assert (len(rows.steps), len(rows.changes)) == (not changes, changes)
        assert bool(groups.count_rows()) == (stands.status != (2 if commit is ends else 0))


def test_counts_that_cancel_out_are_no_rows():
    groups = RowGroups()
    groups.count(0, 7, 0, 1)
    groups.count(0, 7, 0, -1)
    groups.count(0, 8, 0, 1)
    groups.count(0, 9, 0, -1)
    assert groups.count_rows() == [(8, 0, 0, 1), (9, 0, 0, -1)]


def test_groups_hold_the_net_effect_of_several_commits():
    timer, sent, waits = TimerRow(1, 2, 30), OutboxRow(5, 1, "task", b"o"), InboxRow(6, 1, "stop", b"i")
    groups = RowGroups()
    groups.add(of(1, frames={1: b"a", 2: b"b"}, texts={b"h": b"t"}, timers=(timer,), outbox=(sent,), inbox=(waits,)))
    groups.add(of(1, 1, frames={2: b"B"}, dropped=(1,), timers_done=(timer,), outbox_done=(5,), inbox_done=(6,)))
    assert groups.frames == {1: {1: None, 2: b"B"}}
    assert groups.timers == {(0, 30, 1, 2): False}
    assert groups.outbox == {5: None}
    assert groups.inbox == {6: None}
    assert not groups.cleared
    groups.add(of(1, 2, state=None, frames={3: b"ignored"}))
    assert groups.cleared == {1}
    assert not groups.frames
    assert not groups.texts
    groups.add(of(1, 3, frames={4: b"again"}))
    assert groups.cleared == {1}
    assert groups.frames == {1: {4: b"again"}}
