"""When SYNC_MASTER says SEND_OK, and what it says else: the probes P42 to P48, and what a connection is worth."""

from __future__ import annotations

import pytest

from reference_impl.environment import MS, SECOND
from suites.unit.broker.broker_by_hand import BrokerByHand, Code
from suites.unit.replication.ends_by_hand import FakeSlave, end_of, master

OK, DISK, NO_SLAVE, SLAVE = 0, 10, 11, 12


def sync_master(**properties: str) -> BrokerByHand:
    return master(brokerRole="SYNC_MASTER", **properties)


def begin(made: BrokerByHand, body: bytes = b"x", properties: str = "") -> list[int]:
    """Send; the codes of the answers that are there at once."""
    fields = {"a": "PG", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 1, "h": 0}
    fields |= {"i": properties, "j": 0, "k": False, "m": False}
    return [answer.code for answer in made.ask(Code.SEND_MESSAGE_V2, body, **fields)]


def codes(made: BrokerByHand) -> list[int]:
    return [answer.code for answer in made.received(made.client)]


def test_p42_without_a_slave_it_is_stored_and_said_at_once() -> None:
    made = sync_master()
    assert begin(made) == [NO_SLAVE]
    made.env.advance(2 * MS)
    assert made.pull("T", 0)[0].code == OK


def test_a_slave_that_confirms_gives_send_ok() -> None:
    made = sync_master()
    slave = FakeSlave(made)
    slave.report(0)
    assert begin(made) == []
    (frame,) = slave.frames()  # at once: a waiting put wakes the writer
    slave.report(frame.offset + frame.size - 1)
    assert codes(made) == []
    slave.report(frame.offset + frame.size)
    assert codes(made) == [OK]


def test_several_puts_are_confirmed_by_one_report() -> None:
    made = sync_master()
    slave = FakeSlave(made)
    slave.report(0)
    assert [begin(made) for _ in range(3)] == [[], [], []]
    slave.report(end_of(made))
    assert codes(made) == [OK] * 3


def test_p43_a_slave_that_stands_still_costs_3_s_each_and_after_20_s_nothing() -> None:
    made = sync_master()
    slave = FakeSlave(made)
    slave.report(0)
    assert begin(made) == []
    made.env.advance(2999 * MS)
    assert codes(made) == []
    made.env.advance(2 * MS)
    assert codes(made) == [SLAVE]
    made.env.advance(17 * SECOND + 10 * MS)
    assert slave.is_closed
    assert begin(made) == [NO_SLAVE]


def test_p44_one_of_two_slaves_is_enough() -> None:
    made = sync_master()
    slaves = [FakeSlave(made, f"10.0.0.9:{port}") for port in (1, 2)]
    for slave in slaves:
        slave.report(0)
    assert begin(made) == []
    slaves[1].report(end_of(made))
    assert codes(made) == [OK]


def test_p45_with_the_defaults_of_5x_nobody_is_waited_for() -> None:
    assert begin(sync_master(release="5.3.3")) == [OK]


def test_p46_in_5x_without_slaves_every_send_waits() -> None:
    made = sync_master(release="5.3.3", inSyncReplicas="2")
    assert begin(made) == []
    made.env.advance(3 * SECOND + MS)
    assert codes(made) == [SLAVE]


def test_in_5x_each_connection_counts_for_itself() -> None:
    made = sync_master(release="5.3.3", inSyncReplicas="3")
    slaves = [FakeSlave(made, f"10.0.0.9:{port}") for port in (1, 2)]
    for slave in slaves:
        slave.report(0)
    assert begin(made) == []
    slaves[0].report(end_of(made))
    assert codes(made) == []
    slaves[1].report(end_of(made))
    assert codes(made) == [OK]


@pytest.mark.parametrize(("slaves", "verdict"), [(0, NO_SLAVE), (1, SLAVE)])
def test_p48_the_replicas_verdict_wins_but_waits_for_the_flush(slaves: int, verdict: int) -> None:
    made = sync_master(flushDiskType="SYNC_FLUSH")
    for _ in range(slaves):
        FakeSlave(made).report(0)
    assert begin(made) == []
    made.env.advance(4900 * MS)  # the force never ends
    assert codes(made) == []
    made.env.advance(200 * MS)
    assert codes(made) == [verdict]


def test_both_parts_are_waited_for() -> None:
    made = sync_master(flushDiskType="SYNC_FLUSH")
    slave = FakeSlave(made)
    slave.report(0)
    assert begin(made) == []
    slave.report(end_of(made))
    assert codes(made) == []
    made.sync_everything()
    made.env.advance(20 * MS)
    made.sync_everything()
    assert codes(made) == [OK]


def test_wait_false_waits_for_nothing() -> None:
    made = sync_master(flushDiskType="SYNC_FLUSH")
    FakeSlave(made).report(0)
    assert begin(made, properties="WAIT\x01false") == [OK]


def test_a_slave_too_far_behind_is_none() -> None:
    made = sync_master(haSlaveFallbehindMax="1000")
    slave = FakeSlave(made)
    slave.report(0)
    assert begin(made, bytes(600)) == []
    assert begin(made, bytes(600)) == [NO_SLAVE]
    slave.report(end_of(made))
    assert codes(made) == [OK]
    assert begin(made, bytes(100)) == []


def test_h9_a_connection_that_says_nothing_counts_as_a_slave() -> None:
    made = sync_master()
    FakeSlave(made)
    assert begin(made) == []
    made.env.advance(3 * SECOND + MS)
    assert codes(made) == [SLAVE]


def test_h8_eight_bytes_from_anybody_are_a_report() -> None:
    made = sync_master()
    FakeSlave(made, "10.6.6.6:666").write((1 << 40).to_bytes(8, "big"))
    assert begin(made) == [OK]


def test_push2_slave_max_offset_never_goes_back() -> None:
    """So a second slave that is behind is as good as none, and nobody notices."""
    made = sync_master()
    ahead, behind = (FakeSlave(made, f"10.0.0.9:{port}") for port in (1, 2))
    ahead.report(1 << 20)
    behind.report(0)
    ahead.env.hang_up(ahead.link)
    assert begin(made) == [OK]


@pytest.mark.parametrize("release", ["4.9.7", "5.3.3"])
def test_an_async_master_never_waits(release: str) -> None:
    made = master(release=release, inSyncReplicas="2")
    FakeSlave(made).report(0)
    assert begin(made) == [OK]


# 5.x with acting masters: looked at before anything is stored ---------------------------------------------------------

NOT_ENOUGH = 1


def acting(**properties: str) -> BrokerByHand:
    """Alone for its NameServers as long as they have not said otherwise."""
    given = {"release": "5.3.3", "enableSlaveActingMaster": "true", "skipPreOnline": "true"}
    given |= {"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2", "totalReplicas": "2"}
    return master(**(given | properties))


def test_p47_too_few_replicas_and_nothing_is_stored() -> None:
    made = acting()
    refused = made.send("T")
    assert (refused.code, refused.remark) == (NOT_ENOUGH, "in-sync replicas not enough")
    assert end_of(made) == 0
    assert made.send("T", properties="WAIT\x01false").code == OK


def test_a_connection_counts_before_it_has_said_anything() -> None:
    """And its silence then costs the time of every put."""
    made = acting()
    FakeSlave(made)
    assert begin(made) == []
    made.env.advance(3 * SECOND + 2 * MS)
    assert codes(made) == [SLAVE]


def test_a_slave_too_far_behind_is_not_in_sync() -> None:
    made = acting(haMaxGapNotInSync="1000", haHousekeepingInterval="300000")
    slave = FakeSlave(made)
    slave.report(0)
    assert begin(made, bytes(2000)) == []
    assert begin(made) == [NOT_ENOUGH]
    slave.report(end_of(made))
    assert codes(made) == [OK]
    assert begin(made) == []


def test_more_connections_than_living_replicas_do_not_help() -> None:
    made = acting(totalReplicas="1", inSyncReplicas="2")
    FakeSlave(made).report(0)
    assert begin(made) == [NOT_ENOUGH]
    made.role.replication.transfer.alive_replicas = 2
    assert begin(made) == []


@pytest.mark.parametrize(("least", "expected"), [("1", [OK]), ("2", [NOT_ENOUGH])])
def test_automatic_in_sync_replicas_go_down_to_the_least(least: str, expected: list[int]) -> None:
    made = acting(enableAutoInSyncReplicas="true", inSyncReplicas="3", minInSyncReplicas=least, totalReplicas="3")
    assert begin(made) == expected


def test_automatic_in_sync_replicas_wait_for_those_that_are_there() -> None:
    made = acting(enableAutoInSyncReplicas="true", inSyncReplicas="3", totalReplicas="3")
    slave = FakeSlave(made)
    slave.report(0)
    assert begin(made) == []
    slave.report(end_of(made))
    assert codes(made) == [OK]


@pytest.mark.parametrize("other", [{"release": "4.9.7"}, {"brokerRole": "ASYNC_MASTER"}])
def test_nobody_else_looks(other: dict[str, str]) -> None:
    assert begin(acting(**other)) != [NOT_ENOUGH]
