"""Brokers that treat their readers badly, in the simulator: each bug is found by the check that is meant to find it.

The bugs are patched into the reference for one run; the same run without them passes every check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from checkers.verdict import Outcome, Verdict
from faults.plan import bind_fault
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario, Topology, Workload
from reference_impl.broker.offsets import ConsumerOffsets
from reference_impl.broker.pull import Pulls
from reference_impl.broker.send import PUT_CODES
from reference_impl.store.request import GetResult, GetStatus, PutStatus
from reference_impl.wire.codes import ResponseCode

pytestmark = [pytest.mark.chaos, pytest.mark.on("sim")]

Patch = pytest.MonkeyPatch
Bug = Callable[[Patch], None]

KILL = bind_fault(1, at="24s", do="kill", on="master(broker-a)", hold="14s")


def run(mode: str = "multi-master-multi-slave-sync") -> dict[str, Verdict]:
    """A master is killed while a group reads; a second group begins to read before its return."""
    load = Workload(
        kind="group", producers=2, consumers=2, queues=2, rate_per_s=40, duration_ns=40 * SECOND, topic="chaos"
    )
    slaves = int("slave" in mode)
    scenario = Scenario("reading-bugs", mode, Topology(brokers=1, slaves=slaves), load, (KILL,))
    result = run_scenario(scenario, seed=5, keep="none")
    return {verdict.check: verdict for verdict in result.verdicts}


def offsets_never_written(patch: Patch) -> None:
    patch.setattr(ConsumerOffsets, "file_text", lambda self: '{"offsetTable":{}}')


def offsets_one_too_high(patch: Patch) -> None:
    original = ConsumerOffsets.query

    def query(self: ConsumerOffsets, group: str, topic: str, queue_id: int) -> int | None:
        offset = original(self, group, topic, queue_id)
        return offset + 1 if offset else offset

    patch.setattr(ConsumerOffsets, "query", query)


def a_commit_is_forgotten(patch: Patch) -> None:
    """Commits are taken for the first queue only, once it has some."""
    original = ConsumerOffsets.commit

    def commit(self: ConsumerOffsets, group: str, topic: str, queue_id: int, offset: int) -> None:
        if queue_id == 0 or offset < 100:
            original(self, group, topic, queue_id, offset)

    patch.setattr(ConsumerOffsets, "commit", commit)


def next_offset_skips(patch: Patch) -> None:
    _found(
        patch,
        lambda _slave, found: found.status == GetStatus.FOUND and found.next_offset + 1 < found.max_offset,
        lambda found: structs.replace(found, next_offset=found.next_offset + 1),
    )


def next_offset_stays(patch: Patch) -> None:
    """The last message of each answer comes once more."""
    _found(
        patch,
        lambda _slave, found: found.status == GetStatus.FOUND and len(found.records) > 1,
        lambda found: structs.replace(found, next_offset=found.next_offset - 1),
    )


def slave_ends_early(patch: Patch) -> None:
    nothing = {"status": GetStatus.OFFSET_OVERFLOW_ONE, "records": (), "queue_offsets": (), "next_offset": 64}
    _found(
        patch,
        lambda slave, found: slave and found.next_offset > 64,
        lambda found: structs.replace(found, **nothing),
    )


def slave_is_always_suggested(patch: Patch) -> None:
    patch.setattr(Pulls, "_suggestion", lambda self, group, suggest_slave: 1)


def nobody_is_suggested(patch: Patch) -> None:
    patch.setattr(Pulls, "_suggestion", lambda self, group, suggest_slave: -1)


def slave_says_it_stored(patch: Patch) -> None:
    patch.setitem(PUT_CODES, PutStatus.SERVICE_NOT_AVAILABLE, ResponseCode.SUCCESS)  # type: ignore[arg-type]


def _found(patch: Patch, when: Callable[[bool, GetResult], bool], change: Callable[[GetResult], GetResult]) -> None:
    """What the store found for a pull is changed where *when* (is a slave, what was found)."""
    original = Pulls._found

    def found(self: Pulls, *arguments: Any) -> GetResult:
        result = original(self, *arguments)
        return change(result) if when(self._state.config.is_slave, result) else result

    patch.setattr(Pulls, "_found", found)


SYNC, ASYNC, ALONE = "multi-master-multi-slave-sync", "multi-master-multi-slave-async", "single-master"
BUGS: dict[str, tuple[Bug, str, str, str]] = {
    "offsets never written": (offsets_never_written, ALONE, "offsets", "offset-went-back"),
    "offsets told one too high": (offsets_one_too_high, ALONE, "offsets", "offset-invented"),
    "commits of one queue forgotten": (a_commit_is_forgotten, ALONE, "offsets", "offset-went-back"),
    "the next offset leaves one out": (next_offset_skips, ALONE, "deliveries", "undelivered"),
    "the next offset gives one again": (next_offset_stays, ALONE, "deliveries", "repeat"),
    "a slave hides what it has": (slave_ends_early, SYNC, "freshness", "slave-lacks"),
    "the slave is always suggested": (slave_is_always_suggested, ASYNC, "suggestions", "wrong-suggestion"),
    "nobody is suggested": (nobody_is_suggested, ASYNC, "suggestions", "not-suggested"),
    "a slave says that it stored": (slave_says_it_stored, ASYNC, "slaves", "slave-stored"),
}


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_found_by_its_check(name: str, monkeypatch: Patch) -> None:
    bug, mode, check, kind = BUGS[name]
    bug(monkeypatch)
    verdict = run(mode)[check]
    assert verdict.outcome is Outcome.FAIL
    assert kind in {anomaly.kind for anomaly in verdict.anomalies if not anomaly.allowed}


@pytest.mark.parametrize("mode", [ALONE, SYNC, ASYNC])
def test_a_run_without_the_bug_passes_every_check(mode: str) -> None:
    verdicts = run(mode)
    assert {"offsets", "deliveries", "suggestions"} <= set(verdicts)
    assert [verdict.to_json() for verdict in verdicts.values() if verdict.outcome is not Outcome.PASS] == []
