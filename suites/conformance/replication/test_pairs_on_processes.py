"""A master and its slave of one make, asked what a pair is asked: the reference simulated and real, and Apache's.

One pair answers all of it, one after the other: when tables arrive, what a slave serves and corrects, whose offsets
count, and what a synchronous master says of a slave that stands still. Takes one to three minutes of real time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.targets.releases import row_of
from harness.worlds import open_target
from reference_impl.environment import MS, SECOND
from reference_impl.wire.codes import RequestCode as Code
from suites.conformance.broker.peer import PATIENCE_NS, answer, create_topic, max_offset, messages, offsets, pull, send
from suites.conformance.replication.pair import Pair, simulated

OK, NO_SLAVE, SLAVE = 0, 11, 12
QUEUE = {"consumerGroup": "CG", "topic": "T", "queueId": 0}
ROWS = ("P43", "P54", "P55", "P57", "P58", "P63", "P64", "W47", "W48")
QUICK_REGISTRATION = {"registerNameServerPeriod": "10000"}


def settings(release: str) -> dict[str, dict[str, str]]:
    master = {"brokerRole": "SYNC_MASTER"}
    if not row_of(release).is_4:
        master |= {"inSyncReplicas": "2", "totalReplicas": "2"}
    return {"master": master}


def seconds(pair: Pair, begin_ns: int) -> float:
    return (pair.backend.now() - begin_ns) / SECOND


def slack_s(pair: Pair) -> float:
    return pair.master.slack_ns / SECOND


def send_one(pair: Pair, body: bytes) -> tuple[int, float]:
    begin = pair.backend.now()
    code = send(pair.master, "T", body, timeout_ns=PATIENCE_NS).code
    return code, seconds(pair, begin)


def committed(pair: Pair, node: str) -> str | None:
    return answer(pair.views[node], Code.QUERY_CONSUMER_OFFSET, **QUEUE).fields.get("offset")


def commit(pair: Pair, node: str, offset: int) -> None:
    assert answer(pair.views[node], Code.UPDATE_CONSUMER_OFFSET, **QUEUE, commitOffset=offset).code == 0


def ask_a_pair(pair: Pair) -> None:
    is_4 = row_of(pair.release).is_4
    tables_ns = (13 if is_4 else 75) * SECOND + pair.master.slack_ns
    create_topic(pair.master, "T")
    answer(pair.master, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"CG"}')
    count = _joined(pair) + 3
    for number in range(3):
        assert send_one(pair, b"%d" % number)[0] == OK
    _tables(pair, tables_ns)
    for node in (pair.master, pair.slave):
        pair.until(lambda node=node: max_offset(node, "T") == count)
    _reads(pair, count, is_4=is_4)
    _offsets(pair, tables_ns)
    _paused(pair, is_4=is_4)


def _joined(pair: Pair) -> int:
    """How many messages it took, one a second: the master keeps those, too, that no slave has confirmed."""
    for count in range(1, 61):
        if send_one(pair, b"first")[0] == OK:
            return count
        pair.sleep(SECOND)
    raise AssertionError("no slave has confirmed anything within a minute")


def _tables(pair: Pair, within_ns: int) -> None:
    """P64: the topic is known to the slave within a period."""
    pair.until(lambda: b'"T":' in answer(pair.slave, Code.GET_ALL_TOPIC_CONFIG).body, within_ns)


def _reads(pair: Pair, count: int, *, is_4: bool) -> None:
    """P54, P55, P57, P58."""
    if not is_4:
        assert pull(pair.slave, "T", 0).code == 2
        return
    found = pull(pair.slave, "T", 0)
    assert len(messages(found)) == min(count, 32)
    assert offsets(found)["suggestWhichBrokerId"] == 0
    for offset in (count + 7, -3):
        found = pull(pair.slave, "T", offset, suspend_ms=15_000)
        assert (found.code, offsets(found)["nextBeginOffset"]) == (20, offset)
    moved = pull(pair.master, "T", count + 7)
    assert (moved.code, offsets(moved)["nextBeginOffset"]) == (21, count)
    begin = pair.backend.now()
    assert pull(pair.slave, "T", count, suspend_ms=15_000, timeout_ns=PATIENCE_NS).code == 19
    assert 15 <= seconds(pair, begin) <= 21.5 + slack_s(pair)


def _offsets(pair: Pair, within_ns: int) -> None:
    """W48, P63: the master's offset overwrites the slave's, never the other way."""
    commit(pair, "broker-a-0", 2)
    pair.until(lambda: committed(pair, "broker-a-1") == "2", within_ns)
    commit(pair, "broker-a-1", 3)
    assert committed(pair, "broker-a-1") == "3"
    pair.until(lambda: committed(pair, "broker-a-1") == "2", within_ns)
    assert committed(pair, "broker-a-0") == "2"


def _paused(pair: Pair, *, is_4: bool) -> None:
    """P43: 3 s each, and 4.9 gives the slave up after 20 s."""
    levers = pair.backend.levers
    pair.backend.perform(lambda: levers.pause("broker-a-1"))
    begin = pair.backend.now()
    answers = []
    while seconds(pair, begin) < 25:
        answers.append(send_one(pair, b"waits"))
        pair.sleep(100 * MS)
    assert [code for code, _ in answers[:4]] == [SLAVE] * 4
    assert all(2.9 <= spent <= 4.5 + slack_s(pair) for _, spent in answers[:4])
    assert answers[-1][0] == (NO_SLAVE if is_4 else SLAVE)
    pair.backend.perform(lambda: levers.resume("broker-a-1"))


@pytest.mark.conformance(*ROWS)
@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_the_reference_simulated(release: str) -> None:
    ask_a_pair(simulated(release=release, **QUICK_REGISTRATION, **settings(release)))


@pytest.fixture
def real_pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    name = request.config.getoption("--target")
    if name == "reference" and os.environ.get("MQCHAOS_RECORD_CONFORMANCE") != "1":
        pytest.skip("takes minutes; the simulator has answered it")
    target = open_target(name)
    target.prepare()
    journal = HealJournal.open("pair", tmp_path / "heal")
    backend = ProcessBackend("pair", tmp_path, target, journal, isolation="auto")
    release = name.partition(":")[2] or "4.9.7"
    try:
        yield Pair(backend, release=release, joined=False, **QUICK_REGISTRATION, **settings(release))
    finally:
        backend.close()
        journal.close()


@pytest.mark.slow
@pytest.mark.requires("process:network")
@pytest.mark.conformance(*ROWS, lane="target")
def test_a_pair_of_processes(real_pair: Pair) -> None:
    ask_a_pair(real_pair)
