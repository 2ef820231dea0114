"""A slave shown as its master (5.x): which routes, which permission, who is told, and what 4.9 makes of the same."""

from __future__ import annotations

import pytest

from reference_impl.environment import SECOND, Link
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.frame import Command, FrameDecoder
from suites.conformance.namesrv.cluster_by_hand import VERSION_2, NameServerByHand, topics

MASTER, FIRST, SECOND_SLAVE = "10.0.0.1", "10.0.0.2", "10.0.0.3"
TABLE = topics("T", "U", "rmq_sys_SYNC_BROKER_MEMBER_b-a")


def acting(*, release: str = "5.3.3", supports: bool = True, notifies: bool = False) -> NameServerByHand:
    return NameServerByHand(release=release, support_acting_master=supports, notify_min_broker_id_changed=notifies)


def join(server: NameServerByHand, host: str, *, acts: bool | None = True, **more: object) -> Link:
    """The broker registers on a connection of its own; 10.0.0.1 has id 0, 10.0.0.2 id 1 …"""
    link = server.broker(host)
    words = {} if acts is None else {"enableActingMaster": acts}
    table = more.pop("table", TABLE)
    answer = server.register(link, table, id=int(host[-1]) - 1, host=host, **words, **more)  # type: ignore[arg-type]
    assert answer.code == 0
    return link


def seen(server: NameServerByHand, topic: str = "T") -> tuple[dict[int, str], int] | None:
    """(host by id, permission) in the route."""
    hosts = {id_: address[:-6] for id_, address in server.addresses(topic).get("b-a", {}).items()}
    return (hosts, server.permissions(topic)["b-a"]) if hosts else None


def test_the_slave_with_the_smallest_id_stands_in_for_a_master_that_is_gone() -> None:
    server = acting()
    master, _, _ = join(server, MASTER), join(server, FIRST), join(server, SECOND_SLAVE)
    assert seen(server) == ({0: MASTER, 1: FIRST, 2: SECOND_SLAVE}, 6)
    server.env.hang_up(master)
    assert seen(server) == ({0: FIRST, 2: SECOND_SLAVE}, 4)
    join(server, MASTER)
    assert seen(server) == ({0: MASTER, 1: FIRST, 2: SECOND_SLAVE}, 6)


def test_a_slave_registering_again_does_not_open_the_queues() -> None:
    server = acting()
    master, slave = join(server, MASTER), join(server, FIRST)
    server.env.hang_up(master)
    for table in (TABLE, topics("T", "U", version=VERSION_2)):
        server.register(slave, table, id=1, host=FIRST, enableActingMaster=True)
        assert seen(server) == ({0: FIRST}, 4)


@pytest.mark.parametrize(
    ("release", "supports", "acts", "expected"),
    [
        ("5.3.3", True, True, ({0: FIRST}, 4)),
        ("5.3.3", False, True, ({1: FIRST}, 4)),  # the write bit goes whether or not the NameServer shows a master
        ("5.3.3", True, False, ({1: FIRST}, 6)),
        ("5.3.3", True, None, ({1: FIRST}, 6)),
        ("4.9.7", True, True, ({1: FIRST}, 6)),
    ],
)
def test_a_master_that_goes(release: str, supports: bool, acts: bool | None, expected: object) -> None:
    server = acting(release=release, supports=supports)
    master, _ = join(server, MASTER, acts=acts), join(server, FIRST, acts=acts)
    server.env.hang_up(master)
    assert seen(server) == expected


@pytest.mark.parametrize(
    ("release", "acts", "expected"),
    [
        ("5.3.3", True, ({0: FIRST}, 4)),
        ("5.3.3", False, ({1: FIRST}, 6)),  # 5.x's slaves bring topics even so
        ("5.3.3", None, None),
        ("4.9.7", True, None),
    ],
)
def test_a_slave_that_is_alone_from_the_start(release: str, acts: bool | None, expected: object) -> None:
    server = acting(release=release)
    join(server, FIRST, acts=acts)
    assert seen(server) == expected


def test_the_second_slave_brings_nothing() -> None:
    server = acting()
    join(server, FIRST)
    join(server, SECOND_SLAVE, table=topics("T", "V", version=VERSION_2))
    assert seen(server, "V") is None
    assert seen(server) == ({0: FIRST, 2: SECOND_SLAVE}, 4)


def test_brokers_see_the_real_ids() -> None:
    server = acting()
    master, _ = join(server, MASTER), join(server, FIRST)
    server.env.hang_up(master)
    assert seen(server, "rmq_sys_SYNC_BROKER_MEMBER_b-a") == ({1: FIRST}, 4)
    members = server.answer(Code.GET_BROKER_MEMBER_GROUP, clusterName="C1", brokerName="b-a")
    assert parse_lenient(members.body)["brokerMemberGroup"]["brokerAddrs"] == {"1": f"{FIRST}:10911"}  # type: ignore[index, call-overload]
    assert b'"brokerAddrs":{1:' in server.answer(Code.GET_BROKER_CLUSTER_INFO).body


def test_a_name_that_lost_its_only_id_shows_no_master() -> None:
    """A master comes again as a slave, with a single topic: its old id goes, and the new one is refused."""
    server = acting()
    master = join(server, MASTER)
    server.answer(Code.WIPE_WRITE_PERM_OF_BROKER, brokerName="b-a")
    assert server.register(master, topics("T"), id=1, host=MASTER, enableActingMaster=True).code == 1
    assert server.addresses("T")["b-a"] == {}


def test_queues_that_an_operator_opens_again_show_no_master() -> None:
    server = acting()
    master, _ = join(server, MASTER), join(server, FIRST)
    server.env.hang_up(master)
    server.answer(Code.ADD_WRITE_PERM_OF_BROKER, brokerName="b-a")
    assert seen(server) == ({1: FIRST}, 6)


def test_a_silent_broker_goes_at_its_own_time_and_heartbeats_keep_it() -> None:
    server = acting()
    join(server, MASTER, heartbeatTimeoutMillis=10_000)
    join(server, FIRST)
    for _ in range(30):
        server.answer(Code.BROKER_HEARTBEAT, clusterName="C1", brokerName="b-a", brokerAddr=f"{MASTER}:10911")
        server.env.advance(SECOND)
    assert seen(server) == ({0: MASTER, 1: FIRST}, 6)
    server.env.advance(8 * SECOND)
    assert seen(server) == ({0: MASTER, 1: FIRST}, 6)
    server.env.advance(7 * SECOND)
    assert seen(server) == ({0: FIRST}, 4)


# Who is told ----------------------------------------------------------------------------------------------------------


def told(server: NameServerByHand) -> dict[str, list[dict[str, str]]]:
    """Host → fields of each notification that the NameServer has sent it; it connects for that."""
    found: dict[str, list[dict[str, str]]] = {}
    for link, address in server.env.connects:
        server.env.establish(link)
        commands: list[Command] = list(FrameDecoder().feed(server.env.take(link)))
        assert all(command.code == Code.NOTIFY_MIN_BROKER_ID_CHANGE and command.is_one_way for command in commands)
        found.setdefault(address[:-6], []).extend(command.fields for command in commands)
    return {host: fields for host, fields in found.items() if fields}


def test_those_who_are_left_hear_who_is_first_now() -> None:
    server = acting(notifies=True)
    master, _, _ = join(server, MASTER), join(server, FIRST), join(server, SECOND_SLAVE)
    assert told(server) == {}
    server.env.hang_up(master)
    gone = {"minBrokerId": "1", "minBrokerAddr": f"{FIRST}:10911", "offlineBrokerAddr": f"{MASTER}:10911"}
    assert told(server) == {FIRST: [gone], SECOND_SLAVE: [gone]}
    join(server, MASTER)
    back = {"minBrokerId": "0", "minBrokerAddr": f"{MASTER}:10911", "haBrokerAddr": f"{MASTER}:10912"}
    assert told(server) == {FIRST: [back], SECOND_SLAVE: [back]}


def test_nobody_hears_of_a_slave_that_was_not_the_first() -> None:
    server = acting(notifies=True)
    _, slave = join(server, MASTER), join(server, FIRST)
    server.env.hang_up(slave)
    assert told(server) == {}


@pytest.mark.parametrize(("release", "notifies"), [("5.3.3", False), ("4.9.7", True)])
def test_nobody_is_told_where_that_is_not_asked_for(release: str, notifies: bool) -> None:
    server = acting(release=release, notifies=notifies)
    master, _ = join(server, MASTER), join(server, FIRST)
    server.env.hang_up(master)
    assert server.env.connects == []
