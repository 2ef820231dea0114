"""What a power cut may take and what it may not, for any order of puts, waits and cuts.

Every story is drawn: puts of some sizes into some queues, pauses, then a power cut that leaves a prefix, a subset of
pages, a torn write, or nothing of what was not forced. Recovery must give back

    everything below the flushed position, as a dense prefix of what was put, in every queue and over all queues,
    under SYNC_FLUSH every message that was answered with PUT_OK,

and the same properties must catch the planted bugs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.backends.sim.models import DiskModel
from reference_impl.environment import MS
from reference_impl.store import PutResult, PutStatus
from reference_impl.wire.message import decode_record
from suites.unit.store.world import World

QUEUES = 3
SIZES = st.sampled_from([1, 50, 50, 50, 400, 1500])
PUT = st.tuples(st.integers(0, QUEUES - 1), SIZES)
PAUSE_NS = st.sampled_from([0, 0, MS // 5, MS, 5 * MS, 100 * MS, 700 * MS, 3000 * MS])
STEPS = st.lists(st.tuples(PUT, PAUSE_NS), min_size=1, max_size=40)
END = st.sampled_from(["cut", "cut", "cut", "kill", "stop"])
LIVES = st.lists(st.tuples(STEPS, END), min_size=1, max_size=4)
FLUSH = st.sampled_from(["ASYNC_FLUSH", "SYNC_FLUSH"])
MODES = ("drop-all", "prefix", "subset", "torn")
STRICT_ABOUT_STALE_BYTES = {"cleanTruncatedTail": "true"}

many = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@dataclass
class Put:
    """One message: its queue, its body, and the list that gets the answer."""

    queue: int
    body: str
    results: list[PutResult]

    @property
    def is_acknowledged(self) -> bool:
        return bool(self.results) and self.results[0].status is PutStatus.PUT_OK


class Story:
    """A world that is told what to do, and what was put into it."""

    def __init__(self, properties: dict[str, str], seed: int, **more: Any) -> None:
        self.world = World(properties, seed=seed, **more).start()
        self.puts: list[Put] = []
        self.survivors: list[Put] = []

    def live(self, steps: list[tuple[tuple[int, int], int]]) -> None:
        for (queue, size), pause_ns in steps:
            body = f"{len(self.puts)}:".ljust(size, "x")
            self.puts.append(Put(queue, body, self.world.put(body, queue_id=queue)))
            self.world.run(ns=pause_ns)

    def end(self, how: str) -> int:
        """End the life; returns what was flushed at that moment."""
        flushed_to = self.world.store.flushed_to
        {"cut": self.world.cut_power, "kill": self.world.kill, "stop": self.world.stop}[how]()
        return flushed_to

    def found(self, queue: int) -> list[str]:
        """Bodies of a queue; every record must be in the slot that it names."""
        bodies, offset = [], 0
        while (result := self.world.get(offset, queue_id=queue)).records:
            for number, data in zip(result.queue_offsets, result.records, strict=True):
                record = decode_record(data)
                assert record.queue_offset == number, f"slot {number} holds number {record.queue_offset}"
                assert record.crc_matches()
                bodies.append(record.body.decode())
            offset = result.next_offset
        assert offset == self.world.store.max_offset("T", queue)
        return bodies

    def survived(self) -> set[str]:
        return {body for queue in range(QUEUES) for body in self.found(queue)}


def check(story: Story, flushed_to: int, how: str) -> None:
    """All guarantees of one start."""
    candidates = story.puts
    found = story.survived()
    assert story.world.store.log_end >= flushed_to, "flushed bytes are gone"
    is_there = [put.body in found for put in candidates]
    kept = sum(is_there)
    assert is_there == [True] * kept + [False] * (len(candidates) - kept), "not a prefix of what was put"
    assert len(found) == kept, "something that was never put"
    if how != "cut":
        assert kept == len(candidates), f"a {how} has lost messages"
    if story.world.config.flush_disk_type == "SYNC_FLUSH":
        lost = [put.body for put in candidates[kept:] if put.is_acknowledged]
        assert not lost, f"acknowledged and lost: {lost}"


def tell(lives: list[Any], flush: str, seed: int, **more: Any) -> Story:
    """A whole story, every start checked; what is lost at one start is not expected at the next."""
    properties = {"flushDiskType": flush, **STRICT_ABOUT_STALE_BYTES, **more.pop("properties", {})}
    story = Story(properties, seed, **more)
    for steps, how in lives:
        story.live(steps)
        flushed_to = story.end(how)
        story.world.start()
        check(story, flushed_to, how)
        found = story.survived()
        story.puts = [put for put in story.puts if put.body in found]
        story.survivors += story.puts
    return story


@many
@given(LIVES, FLUSH, st.integers(0, 2**32))
def test_every_start_keeps_the_promises(lives: list[Any], flush: str, seed: int) -> None:
    tell(lives, flush, seed)


@pytest.mark.parametrize("mode", MODES)
@many
@given(STEPS, FLUSH, st.integers(0, 2**32))
def test_every_kind_of_power_cut(mode: str, steps: Any, flush: str, seed: int) -> None:
    model = DiskModel(writeback_age_ns=None, journal_age_ns=None, power_cut_weights=((mode, 1),))
    tell([(steps, "cut")], flush, seed, model=model)


@many
@given(STEPS, st.integers(0, 2**32))
def test_one_cut_with_stale_bytes_left_in_place_as_apache_does(steps: Any, seed: int) -> None:
    tell([(steps, "cut")], "SYNC_FLUSH", seed, properties={"cleanTruncatedTail": "false"})


@many
@given(LIVES, FLUSH, st.integers(0, 2**32))
def test_a_kernel_that_writes_back_early_changes_nothing(lives: list[Any], flush: str, seed: int) -> None:
    eager = DiskModel(writeback_age_ns=200 * MS, journal_age_ns=50 * MS, writeback_every_ns=50 * MS)
    tell(lives, flush, seed, model=eager)


@many
@given(STEPS, STEPS, FLUSH, st.integers(0, 2**32))
def test_after_a_cut_the_numbers_go_on_where_the_queue_ends(first: Any, second: Any, flush: str, seed: int) -> None:
    story = Story({"flushDiskType": flush, **STRICT_ABOUT_STALE_BYTES}, seed)
    story.live(first)
    story.end("cut")
    story.world.start()
    ends = [len(story.found(queue)) for queue in range(QUEUES)]
    before = len(story.puts)
    story.live(second)
    story.world.run(1)
    for put in story.puts[before:]:
        assert put.results[0].queue_offset == ends[put.queue]
        ends[put.queue] += 1
    assert [len(story.found(queue)) for queue in range(QUEUES)] == ends


def test_async_flush_loses_something_in_most_cuts() -> None:
    """The negative control: a property that never sees a loss proves nothing."""
    losses = 0
    for seed in range(50):
        story = Story({"flushDiskType": "ASYNC_FLUSH"}, seed)
        story.live([((i % QUEUES, 50), 10 * MS) for i in range(40)])
        story.end("cut")
        story.world.start()
        losses += any(put.is_acknowledged and put.body not in story.survived() for put in story.puts)
    assert losses >= 35


# --- planted bugs ----------------------------------------------------------------------------------------------------


def caught(defects: tuple[str, ...], flush: str, how: str, seeds: int) -> list[str]:
    """What the properties say of a store with planted bugs, one line a seed."""
    complaints = []
    for seed in range(seeds):
        steps = [((i % QUEUES, 50), 3 * MS) for i in range(20 + seed)]
        try:
            story = tell([(steps, how)], flush, seed, defects=defects)
            story.live([((queue, 50), 2 * MS) for queue in range(QUEUES)])
            story.world.run(1)
            acknowledged = [put for put in story.puts if put.is_acknowledged]
            numbers = [(put.queue, put.results[0].queue_offset) for put in acknowledged]
            assert len(set(numbers)) == len(numbers), "one number for two messages"
            assert {put.body for put in acknowledged} <= story.survived(), "acknowledged and not there"
        except AssertionError as error:
            complaints.append(str(error).splitlines()[0])
    return complaints


@pytest.mark.parametrize(
    ("defect", "flush", "how", "complaint"),
    [
        ("ack-before-fsync", "SYNC_FLUSH", "cut", "acknowledged and lost"),
        ("skip-last-record", "SYNC_FLUSH", "kill", "lost messages"),
        ("skip-last-record", "ASYNC_FLUSH", "stop", "lost messages"),
        ("skip-last-record", "SYNC_FLUSH", "cut", ""),
        ("reuse-offset", "SYNC_FLUSH", "kill", "one number for two messages"),
        ("reuse-offset", "ASYNC_FLUSH", "stop", "one number for two messages"),
    ],
)
def test_planted_bugs_are_caught(defect: str, flush: str, how: str, complaint: str) -> None:
    complaints = caught((defect,), flush, how, seeds=30)
    assert len(complaints) >= 20, complaints
    assert any(complaint in text for text in complaints), complaints


@pytest.mark.parametrize("flush", ["ASYNC_FLUSH", "SYNC_FLUSH"])
@pytest.mark.parametrize("how", ["cut", "kill", "stop"])
def test_without_a_planted_bug_the_same_seeds_are_silent(flush: str, how: str) -> None:
    assert caught((), flush, how, seeds=30) == []
