"""A slave of 5.x acts as its master: what clients are shown, what it does for them, and how the master comes back.

One pair answers all of it: the reference simulated and real (release 5.3.3), and Apache's 5.3.3. A minute of real time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.targets.releases import row_of
from harness.worlds import open_target, versions_in
from reference_impl.environment import SECOND
from reference_impl.wire.bodies import TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command
from suites.conformance.broker.peer import answer, create_topic, max_offset, messages, pull, send
from suites.conformance.replication.pair import Pair, simulated

OK, REFUSED, NO_SLAVE = 0, 14, 11
QUEUE = {"consumerGroup": "CG", "topic": "T", "queueId": 0}
ROWS = ("W73", "W74", "W75")
BOTH = {"enableSlaveActingMaster": "true", "totalReplicas": "2", "slaveReadEnable": "true"}
WITHOUT_TIMERS = {"timerWheelEnable": "false"}
SETTINGS = {
    "release": "5.3.3",
    "master": {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"},
    "nameserver": {"release": "5.3.3", "supportActingMaster": "true"},
    "joined": False,
}
COMMITS_A_VERSION = 500
"""So many make a table newer; with fewer it is a matter of whose broker was started later."""

EXPIRY_NS = 10 * SECOND + 5 * SECOND
"""Ten seconds without a heartbeat, and the NameServer looks every five."""


def seen(pair: Pair) -> tuple[dict[int, str], int] | None:
    """(addresses by id, permission) in the route of ``T``."""
    found = pair.ask(Command(Code.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"}), "namesrv:")
    if found is None or found.code != OK:
        return None
    route = read_json(found.body, TopicRouteData)
    return route.broker_datas[0].broker_addrs, route.queue_datas[0].perm


def committed(pair: Pair, node: str) -> str | None:
    return answer(pair.views[node], Code.QUERY_CONSUMER_OFFSET, **QUEUE).fields.get("offset")


def begin(pair: Pair) -> int:
    """Topic and group on both, messages that both have; how many."""
    for view in (pair.master, pair.slave):
        create_topic(view, "T")
        answer(view, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"CG"}')
    pair.until(lambda: send(pair.master, "T").code == OK)
    pair.until(lambda: pair.has("broker-a-1", "T", max_offset(pair.master, "T")))
    assert answer(pair.master, Code.UPDATE_CONSUMER_OFFSET, **QUEUE, commitOffset=0).code == OK
    pair.until(lambda: seen(pair) == ({0: pair.master.broker, 1: pair.slave.broker}, 6))
    return max_offset(pair.master, "T")


def ask_the_pair(pair: Pair) -> None:
    count = begin(pair)
    pair.sleep(25 * SECOND)  # registrations come every 30 s: heartbeats keep both
    assert seen(pair) == ({0: pair.master.broker, 1: pair.slave.broker}, 6)
    pair.backend.perform(lambda: pair.backend.levers.pause("broker-a-0"))
    acting = ({0: pair.slave.broker}, 4)
    pair.until(lambda: seen(pair) == acting, EXPIRY_NS + 2 * SECOND + pair.master.slack_ns)  # W73
    what_it_does(pair, count)
    pair.kill("broker-a-0")
    pair.start("broker-a-0")
    pair.until(lambda: pair.is_up("broker-a-0"))
    if not row_of(pair.release).offsets_can_be_copied:
        pair.sleep(30 * SECOND)
        assert seen(pair) == acting
        return
    pair.until(lambda: seen(pair) == ({0: pair.master.broker, 1: pair.slave.broker}, 6))
    assert committed(pair, "broker-a-0") == "1"  # W75: the slave's progress is not lost
    assert max_offset(pair.master, "T") == count
    pair.until(lambda: send(pair.master, "T").code == OK)
    assert committed(pair, "broker-a-1") == "1"


def what_it_does(pair: Pair, count: int) -> None:
    """W74: everything that changes no log."""
    slave = pair.slave
    assert send(slave, "T").code == REFUSED
    assert max_offset(slave, "T") == count
    assert len(messages(pull(slave, "T", 0))) == count
    queue = {"topic": "T", "brokerName": "broker-a", "queueId": 0}
    body = json.dumps({"clientId": "C1", "consumerGroup": "CG", "mqSet": [queue]}).encode()
    assert json.loads(answer(slave, Code.LOCK_BATCH_MQ, body).body)["lockOKMQSet"] == [queue]
    for _ in range(COMMITS_A_VERSION):
        assert answer(slave, Code.UPDATE_CONSUMER_OFFSET, **QUEUE, commitOffset=1).code == OK
    assert committed(pair, "broker-a-1") == "1"
    end = {"producerGroup": "PG", "tranStateTableOffset": 0, "commitLogOffset": 0, "commitOrRollback": 8, "msgId": "K"}
    assert answer(slave, Code.END_TRANSACTION, **end).code == NO_SLAVE


@pytest.mark.conformance(*ROWS)
@pytest.mark.parametrize("compatible", ["true", "false"])
def test_the_reference_simulated(compatible: str) -> None:
    ask_the_pair(simulated(compatibleWithOldNameSrv=compatible, **BOTH, **SETTINGS))


def return_without_timers(pair: Pair, *, is_apache: bool) -> None:
    """W80: a slave of 5.3.3 without a timer wheel has no checkpoint of it, and its master does not do without one."""
    begin(pair)
    pair.kill("broker-a-0")
    acting = ({0: pair.slave.broker}, 4)
    pair.until(lambda: seen(pair) == acting)
    pair.start("broker-a-0")
    pair.until(lambda: pair.is_up("broker-a-0"))
    if not is_apache:
        pair.until(lambda: seen(pair) == ({0: pair.master.broker, 1: pair.slave.broker}, 6))
        return
    refused = answer(pair.slave, Code.GET_TIMER_CHECK_POINT)
    assert (refused.code, refused.remark) == (1, "The checkpoint is null")
    pair.sleep(30 * SECOND)
    assert seen(pair) == acting


@pytest.mark.conformance("W80")
def test_the_reference_returns_without_timers() -> None:
    return_without_timers(simulated(**WITHOUT_TIMERS, **BOTH, **SETTINGS), is_apache=False)


@contextmanager
def real_pair(target_name: str, folder: Path, **more: str) -> Iterator[Pair]:
    """A pair of processes of that make."""
    (release,) = versions_in(target_name) or (SETTINGS["release"],)
    if row_of(release).is_4:
        pytest.skip("settings of 5.x")
    target = open_target(target_name)
    target.prepare()
    journal = HealJournal.open("acting", folder / "heal")
    backend = ProcessBackend("acting", folder, target, journal, isolation="auto")
    try:
        yield Pair(backend, in_turn=True, **more, **BOTH, **(SETTINGS | {"release": release}))
    finally:
        backend.close()
        journal.close()


@pytest.mark.slow
@pytest.mark.requires("process:network")
@pytest.mark.conformance(*ROWS, lane="target")
def test_a_pair_of_processes(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with real_pair(request.config.getoption("--target"), tmp_path) as pair:
        ask_the_pair(pair)


@pytest.mark.slow
@pytest.mark.requires("process:network")
@pytest.mark.conformance("W80", lane="target")
def test_a_master_returns_without_timers(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    name = request.config.getoption("--target")
    with real_pair(name, tmp_path, **WITHOUT_TIMERS) as pair:
        return_without_timers(pair, is_apache=name != "reference")
