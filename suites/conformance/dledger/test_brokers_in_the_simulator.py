"""Brokers whose commit log is a group's: who is master, what a client is told, what a failover leaves."""

from __future__ import annotations

import pytest

from harness.backends.sim.world import SimBackend
from harness.targets.reference import ReferenceTarget
from reference_impl.environment import MS, SECOND
from suites.conformance.broker.peer import create_topic, drained, max_offset, messages, offsets, pull, send
from suites.conformance.dledger.brokers import GroupOfBrokers


def group(seed: int = 1, **options: str) -> GroupOfBrokers:
    return GroupOfBrokers(SimBackend(ReferenceTarget(), seed), **options)  # type: ignore[arg-type]


@pytest.mark.conformance("D07")
def test_the_leader_is_master_and_the_others_are_slaves_with_their_own_ids() -> None:
    brokers = group()
    brokers.until(lambda: len(brokers.route()) == 3, 40 * SECOND)
    route = brokers.route()
    master = route[0]
    assert {number: node for number, node in route.items() if number} == {
        int(node[1:]) + 1: node for node in brokers.nodes if node != master
    }


@pytest.mark.conformance("D08")
@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_what_is_acknowledged_can_be_read_on_every_member(release: str) -> None:
    brokers = group(2, release=release, slaveReadEnable="true")
    brokers.make_topic("T")
    bodies = [b"m%d" % number for number in range(20)]
    assert [brokers.sent("T", body) for body in bodies] == list(range(20))
    brokers.until(lambda: brokers.is_everywhere("T", 20))
    for node in brokers.nodes:
        # slaves learn of their master, and copy its topics
        brokers.until(lambda node=node: pull(brokers.views[node], "T", 0).code == 0, 150 * SECOND)  # type: ignore[misc]
        assert [message.body for message in drained(brokers.views[node], "T", 20)] == bodies


@pytest.mark.conformance("D08")
def test_a_follower_sends_nobody_back_who_asks_for_what_it_has_not_got_yet() -> None:
    """It asks again there: the leader has it, and the follower will in a moment. A leader says where the queue ends."""
    brokers = group(2, slaveReadEnable="true")
    brokers.make_topic("T")
    assert [brokers.sent("T", b"m") for _ in range(3)] == [0, 1, 2]
    brokers.until(lambda: brokers.is_everywhere("T", 3))
    follower = brokers.views[brokers.followers()[0]]
    brokers.until(lambda: pull(follower, "T", 0).code == 0, 150 * SECOND)
    assert offsets(pull(follower, "T", 5))["nextBeginOffset"] == 5
    assert offsets(pull(brokers.views[brokers.master_node()], "T", 5))["nextBeginOffset"] < 5


@pytest.mark.conformance("D09")
@pytest.mark.parametrize(("release", "code"), [("4.9.7", 14), ("5.3.3", 2)])
def test_a_follower_refuses_a_send(release: str, code: int) -> None:
    brokers = group(3, release=release)
    brokers.make_topic("T")
    follower = brokers.followers()[0]
    brokers.sleep(40 * SECOND)
    assert send(brokers.views[follower], "T").code == code


@pytest.mark.conformance("D10")
@pytest.mark.parametrize("seed", range(4))
def test_a_failover_keeps_what_was_acknowledged_and_goes_on_counting(seed: int) -> None:
    brokers = group(seed)
    brokers.make_topic("T")
    for number in range(10):
        brokers.sent("T", b"a%d" % number)
    old = brokers.master_node()
    brokers.kill(old)
    new = brokers.wait_for_master(other_than=old)
    create_topic(brokers.views[new], "T")  # the new master may not have copied it
    assert brokers.sent("T", b"b0") == 10
    brokers.start(old)
    brokers.until(lambda: brokers.is_up(old) and max_offset(brokers.views[old], "T") == 11, 40 * SECOND)
    expected = [b"a%d" % number for number in range(10)] + [b"b0"]
    assert [message.body for message in drained(brokers.views[new], "T", 11)] == expected
    assert brokers.master_node() == new


@pytest.mark.conformance("D11")
def test_without_a_quorum_a_send_is_not_acknowledged_and_may_be_stored_later() -> None:
    brokers = group(5)
    brokers.make_topic("T")
    brokers.sent("T", b"first")
    for node in brokers.followers():
        brokers.backend.levers.pause(node)
    master = brokers.master_node()
    begin = brokers.backend.now()
    answer = send(brokers.views[master], "T", b"perhaps")
    assert (answer.code, answer.remark) == (1, "[PC_SYNCHRONIZED]broker busy, start flow control for a while")
    assert 2500 * MS <= brokers.backend.now() - begin <= 2600 * MS
    assert max_offset(brokers.views[master], "T") == 1, "what is not committed is in no queue"
    for node in brokers.nodes:
        if node != master:
            brokers.backend.levers.resume(node)
    brokers.until(lambda: max_offset(brokers.leader, "T") == 2, 40 * SECOND)
    assert [message.body for message in messages(pull(brokers.leader, "T", 0))] == [b"first", b"perhaps"]


def test_a_member_with_a_damaged_table_of_delays_becomes_master_with_what_it_knows() -> None:
    brokers = group(3)
    old = brokers.master_node()
    for node in set(brokers.nodes) - {old}:
        disk = brokers.backend.node(node).disk
        for file in ("store/config/delayOffset.json", "store/config/delayOffset.json.bak"):
            disk.create(file, 0)
            disk.write(file, 0, b"{ no table")
    brokers.kill(old)
    new = brokers.wait_for_master(other_than=old)
    assert brokers.noted(new, "delays_not_loaded")
    create_topic(brokers.views[new], "T")
    assert brokers.sent("T", b"b0") == 0


@pytest.mark.conformance("D12")
def test_a_restart_of_all_finds_everything() -> None:
    brokers = group(6)
    brokers.make_topic("T")
    for number in range(30):
        brokers.sent("T", bytes([number]) * 5000)
    for node in brokers.nodes:
        brokers.kill(node)
    brokers.sleep(SECOND)
    for node in brokers.nodes:
        brokers.start(node)
    brokers.wait_for_master()
    assert brokers.sent("T", b"next") == 30
    assert brokers.noted("n0", "load_failed") == []


@pytest.mark.conformance("D12")
def test_an_orderly_stop_and_start() -> None:
    brokers = group(7)
    brokers.make_topic("T")
    brokers.sent("T", b"0")
    for node in brokers.nodes:
        brokers.stop(node)
    for node in brokers.nodes:
        brokers.start(node)
    brokers.wait_for_master()
    assert brokers.sent("T", b"1") == 1
