"""Master and slave of different implementations, under load that never stops, while each of them is killed and comes
back.

Question: can either end of RocketMQ's replication tell the reference from the real thing? At the end the slave's commit
log must be its master's, byte for byte from 0 to its end, and so must be every consume queue; everything that was
acknowledged is where the acknowledgement said; topics, groups, consumer progress and delay offsets have been copied.

    load ──── slave killed ── back ──── master killed ── back ──── load ends ── compare
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.targets.releases import row_of
from reference_impl.environment import SECOND
from reference_impl.wire.bodies import read_consumer_offsets, read_delay_offsets
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.message import decode_record
from suites.conformance.broker.peer import answer, max_offset, send
from suites.conformance.interchange.content import log_of, queue_units, read_groups, read_topics
from suites.conformance.interchange.load import FILE_SIZE, GROUPS, QUICK_TABLES, TOPICS, give, make_tables
from suites.conformance.interchange.nodes import (
    APACHE,
    APACHE_5,
    Implementations,
    real_nodes,
    release_of,
    store_of,
)
from suites.conformance.interchange.stream import Stream
from suites.conformance.replication.pair import Pair
from suites.minutes import needs_minutes

pytestmark = [pytest.mark.slow, pytest.mark.requires("java", "process:network")]

MASTER, SLAVE = "broker-a-0", "broker-a-1"
CAUGHT_UP_NS = 120 * SECOND
JOINED_NS = 120 * SECOND
"""Registered before its master, a slave learns of it with its next registration only."""
COPIED_NS = 150 * SECOND
"""4.9.7 copies tables every 10 s, 5.3.3 every minute."""

NOTICED_NS = 60 * SECOND
ENOUGH = 20

SLAVE_NOT_AVAILABLE = 11


@pytest.mark.parametrize(
    ("master", "slave", "role"),
    [
        ("reference", APACHE, "SYNC_MASTER"),
        needs_minutes(APACHE, "reference", "ASYNC_MASTER"),
        needs_minutes("reference", APACHE, "ASYNC_MASTER"),
        needs_minutes(APACHE, "reference", "SYNC_MASTER"),
        *(
            needs_minutes(*implementations, role)
            for implementations in (("reference", APACHE_5), (APACHE_5, "reference"))
            for role in ("SYNC_MASTER", "ASYNC_MASTER")
        ),
    ],
)
def test_logs_are_equal_after_kills_of_either_end(master: str, slave: str, role: str, tmp_path: Path) -> None:
    release = release_of(slave if master == "reference" else master)
    with real_nodes(Implementations({"namesrv-1": "reference", MASTER: master, SLAVE: slave}), tmp_path) as backend:
        pair = Pair(
            backend,
            release=release,
            joined=False,
            master={"brokerRole": role, "inSyncReplicas": "2"},
            registerNameServerPeriod="10000",
            slaveReadEnable="true",
            waitTimeMillsInSendQueue="20000",
            mappedFileSizeCommitLog=str(FILE_SIZE),
            **QUICK_TABLES,
        )
        make_tables(pair.master)
        wait_joined(pair)
        give(pair.master, "before", 60)
        stream = Stream(pair, "Orders", TOPICS["Orders"])
        pair.sleep(SECOND)

        pair.kill(SLAVE)
        goes_on_alone(pair, stream, role)
        pair.start(SLAVE)
        wait_caught_up(pair)

        pair.kill(MASTER)
        pair.sleep(SECOND)
        pair.start(MASTER)
        pair.until(lambda: pair.is_up(MASTER))
        back = stream.sent
        wait_caught_up(pair)
        pair.until(lambda: stream.codes(back)[0] > 0, CAUGHT_UP_NS)
        give(pair.master, "after", 30)
        stream.stop()

        compare(pair, stream, tmp_path)


def goes_on_alone(pair: Pair, stream: Stream, role: str) -> None:
    """What senders are told once the master has noticed that its slave is gone."""
    alone = stream.sent
    if role == "SYNC_MASTER":
        pair.until(lambda: any(stream.codes(alone).keys() - {0}), NOTICED_NS)
    noticed = stream.sent
    pair.until(lambda: stream.codes(noticed).total() >= ENOUGH, NOTICED_NS)
    codes = set(stream.codes(noticed))
    if role == "ASYNC_MASTER":
        assert codes == {0}
    elif row_of(pair.release).is_4:
        assert codes == {SLAVE_NOT_AVAILABLE}
    else:
        assert 0 not in codes, "5.x waits for the slave, 3 s a message"


def wait_joined(pair: Pair) -> None:
    """One message has reached the slave: only then it copies from the beginning, for a new one gets the last file."""
    send(pair.master, "Single", b"first")
    pair.until(lambda: pair.has(SLAVE, "Single", 1), JOINED_NS)


def wait_caught_up(pair: Pair) -> None:
    """The slave can serve what its master could when this was called."""
    ends = [(topic, max_offset(pair.master, topic)) for topic in TOPICS]
    pair.until(lambda: pair.is_up(SLAVE) and all(pair.has(SLAVE, *end) for end in ends), CAUGHT_UP_NS)


def compare(pair: Pair, stream: Stream, folder: Path) -> None:
    """Files first, then tables."""
    master, slave = store_of(folder, MASTER), store_of(folder, SLAVE)
    pair.until(lambda: log_of(slave) == log_of(master), CAUGHT_UP_NS)
    log = log_of(master)
    assert len(log) > 4 * FILE_SIZE, "several files"
    for position, (number, body) in stream.stored().items():
        assert decode_record(log, position).body == body, number
    for topic, count in TOPICS.items():
        for queue in range(count):
            pair.until(lambda: queue_units(slave, topic, queue) == queue_units(master, topic, queue), CAUGHT_UP_NS)  # noqa: B023
            assert queue_units(master, topic, queue)
    pair.until(lambda: tables(pair, slave, SLAVE) == tables(pair, master, MASTER), COPIED_NS)
    assert tables(pair, master, MASTER)["progress"]


def tables(pair: Pair, store: Path, node: str) -> dict[str, object]:
    """What a slave copies: three tables by asking, the delay offsets from the file."""
    view = pair.views[node]
    topics = answer(view, Code.GET_ALL_TOPIC_CONFIG).body
    groups = answer(view, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body
    delay = store / "config" / "delayOffset.json"
    return {
        "topics": read_topics(topics, TOPICS),
        "groups": read_groups(groups, GROUPS),
        "progress": read_consumer_offsets(answer(view, Code.GET_ALL_CONSUMER_OFFSET).body),
        "delay": read_delay_offsets(delay.read_bytes()) if delay.exists() else {},
    }
