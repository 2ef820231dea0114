"""The files of one member's log: what is there after appends, cuts and restarts, and after the process has died."""

from __future__ import annotations

import random

import pytest

from reference_impl.dledger.entry import Entry, encode_record, entry_of
from reference_impl.dledger.log import FileLog
from reference_impl.dledger.recovery import LogDamaged, recover
from reference_impl.store.forcing import Forcing
from reference_impl.store.mapped_files import WrongFileSize
from suites.fake_environment import FakeEnvironment

DATA_FILE = 400
INDEX_FILE = 160


def opened(env: FakeEnvironment, committed: int = -1) -> FileLog:
    log = FileLog("d", Forcing(), data_file_size=DATA_FILE, index_file_size=INDEX_FILE)
    recover(env, log, committed)
    return log


def put(log: FileLog, body: bytes, term: int = 1) -> Entry:
    entry = entry_of(body, index=log.end_index + 1, term=term, pos=log.place(48 + len(body)))
    log.append(entry)
    return entry


def contents(log: FileLog) -> list[Entry | None]:
    return [log.entry(index) for index in range(max(0, log.begin_index), log.end_index + 1)]


def test_an_empty_log() -> None:
    log = opened(FakeEnvironment())
    assert (log.begin_index, log.end_index, log.end_term, log.end_position) == (-1, -1, -1, 0)
    assert log.entry(0) is None
    assert log.unit(-1) is None


def test_a_record_that_does_not_fit_begins_the_next_file() -> None:
    log = opened(FakeEnvironment())
    entries = [put(log, bytes(52)) for _ in range(5)]
    assert [entry.pos for entry in entries] == [0, 100, 200, 400, 500]  # 300 + 100 + 8 > 400
    assert contents(log) == entries


def test_an_entry_at_another_place_is_refused() -> None:
    log = opened(FakeEnvironment())
    put(log, b"a")
    with pytest.raises(ValueError, match="goes on at 49"):
        log.append(entry_of(b"b", index=1, term=1, pos=50))
    assert log.end_index == 0


def test_a_restart_finds_what_was_appended() -> None:
    env = FakeEnvironment()
    log = opened(env)
    entries = [put(log, bytes([65 + n]) * n, term=n // 3) for n in range(14)]
    again = opened(env)
    assert contents(again) == entries
    assert (again.begin_index, again.end_index, again.end_term) == (0, 13, 4)
    assert again.end_position == log.end_position


def test_what_was_cut_does_not_come_back_behind_an_entry_of_its_size() -> None:
    """With Apache's it does: the new entry 2 is as long as the old one, and the old entry 3 lies right behind it."""
    env = FakeEnvironment()
    log = opened(env)
    for body in (b"0", b"1", b"2", b"3", b"4"):
        put(log, body)
    log.cut(2)
    put(log, b"x")
    again = opened(env)
    assert [entry.body for entry in contents(again) if entry] == [b"0", b"1", b"x"]


@pytest.mark.parametrize("index", range(9))
def test_a_cut_leaves_what_is_before_it(index: int) -> None:
    env = FakeEnvironment()
    log = opened(env)
    entries = [put(log, bytes(52)) for _ in range(9)]
    log.cut(index)
    for now in (log, opened(env)):
        assert contents(now) == entries[:index]
        assert now.end_index == index - 1


def test_a_log_restarts_at_the_first_entry_of_a_leader_that_has_expired_files() -> None:
    env = FakeEnvironment()
    log = opened(env)
    put(log, b"old")
    first = entry_of(b"first", index=100, term=7, pos=2000)
    assert log.starts_file(2000)
    log.restart(first)
    second = put(log, b"second", term=8)
    for now in (log, opened(env)):
        assert (now.begin_index, now.end_index, now.end_term) == (100, 101, 8)
        assert contents(now)[100 - 100 :] == [first, second]
        assert now.entry(99) is None


def test_expiry_takes_the_first_file() -> None:
    env = FakeEnvironment()
    log = opened(env)
    entries = [put(log, bytes(52)) for _ in range(12)]
    log.data.drop_first(env)
    for now in (log, opened(env)):
        assert (now.begin_index, now.end_index) == (3, 11)
        assert contents(now) == entries[3:]
    assert "d/index/00000000000000000000" in env.disk, "it holds units 3 and 4"
    log.data.drop_first(env)
    assert log.begin_index == 6
    assert "d/index/00000000000000000000" not in env.disk


@pytest.mark.parametrize("keep", [0, 7, 8, 47, 48, 99])
def test_a_torn_record_ends_the_log_and_is_gone_for_good(keep: int) -> None:
    env = FakeEnvironment()
    log = opened(env)
    entries = [put(log, b"\1" * 52) for _ in range(3)]
    name = "d/data/00000000000000000000"
    env.disk[name][200 + keep : 300] = bytes(100 - keep)
    again = opened(env)
    is_whole_head = keep >= 48
    assert again.end_index == (2 if is_whole_head else 1), "no checksum covers a body"
    if not is_whole_head:
        assert not any(env.disk[name][200:])
        assert contents(again) == entries[:2]


def test_a_damaged_unit_is_written_anew() -> None:
    env = FakeEnvironment()
    log = opened(env)
    entries = [put(log, b"e") for _ in range(8)]
    env.disk["d/index/00000000000000000000"][64:] = bytes(INDEX_FILE - 64)
    del env.disk["d/index/00000000000000000160"]
    assert contents(opened(env)) == entries


def test_a_record_of_a_smaller_term_ends_the_log() -> None:
    env = FakeEnvironment()
    log = opened(env)
    put(log, b"a", term=5)
    stale = entry_of(b"b", index=1, term=4, pos=49)
    env.write("d/data/00000000000000000000", 49, encode_record(stale))
    assert opened(env).end_index == 0


def test_a_log_that_ends_before_what_is_committed_is_refused_if_that_is_known() -> None:
    env = FakeEnvironment()
    put(opened(env), b"a")
    assert opened(env, committed=0).end_index == 0
    with pytest.raises(LogDamaged, match="ends at 0, 1 is committed"):
        opened(env, committed=1)


def test_files_that_would_go_by_the_dozen_stop_the_start() -> None:
    env = FakeEnvironment()
    log = opened(env)
    for _ in range(12):
        put(log, bytes(52))
    for start in (0, 400, 800):
        env.disk[f"d/data/{start:020d}"][:] = bytes(DATA_FILE)
    with pytest.raises(LogDamaged, match="no record at"):
        opened(env)


def test_a_file_of_another_size_stops_the_start() -> None:
    env = FakeEnvironment()
    put(opened(env), b"a")
    env.truncate("d/data/00000000000000000000", 399)
    with pytest.raises(WrongFileSize):
        opened(env)


def test_random_walks_of_appends_cuts_and_restarts_agree_with_a_list() -> None:
    chance = random.Random(5)
    for _ in range(60):
        env, model = FakeEnvironment(), list[Entry]()
        log = opened(env)
        for _ in range(40):
            draw = chance.random()
            if draw < 0.7:
                model.append(put(log, bytes([chance.randrange(256)]) * chance.randrange(60), term=len(model) // 4))
            elif draw < 0.85 and model:
                index = chance.randrange(len(model))
                log.cut(index)
                del model[index:]
            else:
                log = opened(env)
            assert contents(log) == model
