from __future__ import annotations

from statewright.stores.ids import FIRST_MS, MOST_SHARDS, IdSource, first_id, last_id, made_ms, shard_of_id

NOW_MS = 1_767_225_600_000


def test_an_id_carries_shard_and_time():
    for shard in (0, 1, MOST_SHARDS - 1):
        number = IdSource(lambda: NOW_MS, shard=shard).next()
        assert shard_of_id(number) == shard
        assert made_ms(number) == NOW_MS
        assert first_id(shard) <= number <= last_id(shard) < 2**63
    assert last_id(4) + 1 == first_id(5)


def test_a_full_counter_borrows_from_the_next_millisecond():
    ids = IdSource(lambda: NOW_MS)
    found = [ids.next() for _ in range(10_000)]
    assert found == sorted(set(found))
    assert [made_ms(number) - NOW_MS for number in (found[0], found[4095], found[4096], found[-1])] == [0, 0, 1, 2]


def test_ids_rise_when_the_clock_is_set_back():
    instants = iter([NOW_MS, NOW_MS - 50_000, NOW_MS + 1])
    ids = IdSource(lambda: next(instants))
    found = [ids.next() for _ in range(3)]
    assert found == sorted(set(found))
    assert made_ms(found[2]) == NOW_MS + 1


def test_ids_go_on_above_what_a_store_has():
    before = IdSource(lambda: NOW_MS + 9, shard=3).next()
    assert IdSource(lambda: NOW_MS, above=before, shard=3).next() == before + 1


def test_ids_last_until_2084():
    until = FIRST_MS + 2**41 - 1
    assert IdSource(lambda: until, shard=MOST_SHARDS - 1).next() < 2**63
    assert until > 3_600_000_000_000


def test_several_ids_follow_each_other():
    source = IdSource(lambda: FIRST_MS + 5, shard=3)
    before = source.next()
    several = source.several(4)
    assert list(several) == [before + 1, before + 2, before + 3, before + 4]
    assert source.next() == before + 5
