"""Apache RocketMQ itself, and the reference beside it, on real processes: what a kill, a cut and a power cut do.

Question: are the three statements that the project opens with true of the real broker on this machine, by hand, without
any checker? (Figures of an earlier run by hand: RocketMQ 4.9.7 and 5.3.3 on ext4, docs/findings.md.)

    kill                          loses nothing: the page cache survives
    power cut and ASYNC_FLUSH     loses a suffix of the commit log, never a middle
    power cut and SYNC_FLUSH      loses nothing
    either power cut              takes the young topic with it: pulls answer 17 until somebody creates it again
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from faults.levers import LinkSet
from harness.backends.backend import Target
from harness.errors import BackendUnavailable
from harness.targets.reference import ReferenceTarget
from harness.targets.rocketmq import RocketmqTarget
from reference_impl.environment import MS, SECOND
from suites.conformance.plain_cluster import PlainCluster, code_of, plain_cluster
from suites.minutes import needs_minutes

TOPIC_NOT_EXIST = 17
FLUSHED_NS = 5 * SECOND
"""Ten of ASYNC_FLUSH's periods of 500 ms: what was sent before is on the disk, on a busy machine, too."""
CUTS_MAX = 3
"""A power cut that falls into a flush takes nothing: the process stands still only when its force is over."""

REFERENCE = pytest.param(ReferenceTarget(), id="reference")
APACHE: Final = [pytest.mark.requires("java"), pytest.mark.slow]


def asked_of(release: str, *, besides: str) -> pytest.MarkDecorator:
    """The reference and one release in every run of the tests; another one by whoever has minutes."""
    ours = pytest.param(RocketmqTarget(release), id=release, marks=APACHE)
    other = needs_minutes(RocketmqTarget(besides), marks=APACHE, name=besides)
    return pytest.mark.parametrize("target", [REFERENCE, ours, other], indirect=True)


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.param
    try:
        found.prepare()
    except BackendUnavailable as missing:
        if os.environ.get("MQCHAOS_REQUIRE_ALL") == "1":
            raise
        pytest.skip(str(missing))
    return found


@pytest.fixture
def async_cluster(target: Target, tmp_path: Path) -> Iterator[PlainCluster]:
    with plain_cluster(target, tmp_path, flush="ASYNC") as cluster:
        cluster.create_topic()
        yield cluster


@pytest.fixture
def sync_cluster(target: Target, tmp_path: Path) -> Iterator[PlainCluster]:
    with plain_cluster(target, tmp_path, flush="SYNC") as cluster:
        cluster.create_topic()
        yield cluster


@asked_of("4.9.7", besides="5.3.3")
@pytest.mark.requires("process:network")
def test_pause_and_cut_hold_answers_back_kill_loses_nothing_and_stop_is_obeyed(async_cluster: PlainCluster) -> None:
    cluster, levers = async_cluster, async_cluster.levers
    sent = cluster.send(range(300))
    assert len(sent) == 300

    cluster.perform(levers.pause, "broker-a-0")
    cluster.until(lambda: levers.state("broker-a-0") == "paused")  # a thread in an fsync stops when that is over
    assert code_of(cluster.pull(0, 0, timeout_ns=500 * MS)) == "timeout"
    cluster.perform(levers.resume, "broker-a-0")
    assert code_of(cluster.pull(0, 0)) == 0

    cluster.perform(levers.partition, LinkSet("f1", ("client-1",), ("broker-a-0",), "broker"))
    assert not cluster.perform(levers.reaches, "client-1", "broker-a-0", "broker")
    assert code_of(cluster.pull(0, 0, timeout_ns=500 * MS)) in ("timeout", "connect")
    assert code_of(cluster.pull(0, 0, client="client-2")) == 0
    cluster.perform(levers.heal_partition, "f1")
    assert cluster.perform(levers.reaches, "client-1", "broker-a-0", "broker")

    cluster.perform(levers.kill, "broker-a-0")
    cluster.start("broker-a-0")
    cluster.wait_ready()
    cluster.until(lambda: cluster.read_all() == sent)

    cluster.perform(levers.stop, "broker-a-0", 60 * SECOND)
    assert [event for event in cluster.events if event[1] == "crashed"] == []


@asked_of("5.3.3", besides="4.9.7")
@pytest.mark.requires("process:network", "process:power")
def test_a_power_cut_under_async_flush_takes_a_suffix_and_the_topic(async_cluster: PlainCluster) -> None:
    losses = (lost_by_power_cut(async_cluster, first) for first in range(0, CUTS_MAX * 10_000, 10_000))
    assert any(losses), "what was sent just before a power cut is not on the disk"


def lost_by_power_cut(cluster: PlainCluster, first: int) -> int:
    """How many messages a power cut takes: of 500 long before it none, and of a stream that goes on nothing but its
    end."""
    early = cluster.send(range(first, first + 500))
    cluster.backend.run_until(lambda: False, cluster.backend.now() + FLUSHED_NS)
    late = cluster.keep_sending(range(first + 500, first + 9_000))
    assert cluster.backend.run_until(lambda: len(late) >= 500, cluster.backend.now() + 60 * SECOND)
    survived = after_power_cut(cluster, first)
    lost = {number: position for number, position in {**early, **late}.items() if number not in survived}
    # A flush leaves up to three pages behind (flushCommitLogLeastPages = 4), some sixty messages of these.
    assert set(range(first, first + 400)) <= survived.keys(), "what was sent ten flush periods before is on the disk"
    assert not lost or min(lost.values()) > max(survived.values()), "nothing is lost before something that survived"
    return len(lost)


@asked_of("4.9.7", besides="5.3.3")
@pytest.mark.requires("process:network", "process:power")
def test_a_power_cut_under_sync_flush_takes_the_topic_and_nothing_else(sync_cluster: PlainCluster) -> None:
    sent = sync_cluster.send(range(700))
    assert len(sent) == 700
    assert after_power_cut(sync_cluster) == sent


def after_power_cut(cluster: PlainCluster, first: int = 0) -> dict[int, int]:
    """Cut the broker's power, start it, find the topic gone, create it again, read what there is from *first* on."""
    cluster.perform(cluster.levers.cut_power, "broker-a-0")
    assert cluster.levers.power_cut_lost("broker-a-0") > 0
    cluster.start("broker-a-0")
    cluster.wait_ready()
    assert code_of(cluster.pull(0, 0)) == TOPIC_NOT_EXIST
    cluster.create_topic()
    marks = range(first + 9_990, first + 9_994)
    assert len(cluster.send(marks)) == len(marks)
    cluster.until(lambda: set(marks) <= cluster.read_all().keys())
    return {number: position for number, position in cluster.read_all().items() if first <= number < marks.start}
