"""What a client knows, from whom, and for how long."""

from __future__ import annotations

import pytest

from reference_impl.client import Client, ClientSettings, MessageQueue
from reference_impl.environment import MS, SECOND
from reference_impl.wire.bodies import BrokerData, QueueData, TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command
from suites.unit.client.client_by_hand import NS1, NS2, NS3, World, nameserver, route

A, A1, B = "10.2.1.1:10911", "10.2.1.2:10911", "10.2.2.1:10911"


def world(routes: dict[str, TopicRouteData], *nameservers: str) -> World:
    made = World(*(nameservers or (NS1,)))
    made.scripts |= {server: nameserver(routes) for server in nameservers or (NS1,)}
    made.pass_time(20 * MS)  # beyond the first poll, which has nothing to ask for
    return made


def learn(made: World, topic: str = "T") -> str:
    statuses: list[str] = []
    made.client.routes.refresh(made.env, topic, lambda _env, status: statuses.append(status))
    made.until(lambda: statuses, 20 * SECOND)
    return statuses[0]


def test_a_client_without_nameservers_cannot_be() -> None:
    with pytest.raises(ValueError, match="at least one NameServer"):
        Client(ClientSettings(ip="10.0.0.9", nameservers=()))


def test_queues_to_send_to_are_in_rocketmqs_order() -> None:
    made = world({"T": route(queues=2, broker_b=B, broker_a=A)})
    learn(made)
    assert made.client.routes.publish_queues("T") == (
        MessageQueue("T", "broker-a", 0),
        MessageQueue("T", "broker-a", 1),
        MessageQueue("T", "broker-b", 0),
        MessageQueue("T", "broker-b", 1),
    )


def test_an_order_configuration_is_taken_verbatim() -> None:
    ordered = route(broker_a=A)
    ordered.order_topic_conf = "broker-a:1;broker-z:2"
    made = world({"T": ordered})
    learn(made)
    assert made.client.routes.publish_queues("T") == (
        MessageQueue("T", "broker-a", 0),
        MessageQueue("T", "broker-z", 0),
        MessageQueue("T", "broker-z", 1),
    )


def test_read_queues_do_not_need_a_master_write_queues_do() -> None:
    data = TopicRouteData(
        broker_datas=[BrokerData({1: A1}, "broker-a", "C")],
        queue_datas=[QueueData("broker-a", 6, 3, 0, 2)],
    )
    made = world({"T": data})
    learn(made)
    assert made.client.routes.publish_queues("T") == ()
    assert len(made.client.routes.subscribe_queues("T")) == 3
    assert made.client.routes.master("broker-a") is None


def test_where_to_read() -> None:
    made = world({"T": route(broker_a={0: A, 1: A1}, broker_b={2: B})})
    learn(made)
    routes = made.client.routes
    assert routes.reader("broker-a", 0) == (0, A)
    assert routes.reader("broker-a", 1) == (1, A1)
    assert routes.reader("broker-a", 2) == (0, A)
    assert routes.reader("broker-b", 1) == (2, B)
    assert routes.reader("broker-b", 0) == (2, B)
    assert routes.reader("broker-b", 0, only_this=True) is None
    assert routes.reader("broker-z", 0) is None


def test_routes_are_asked_for_every_thirty_seconds_and_an_unknown_topic_keeps_its_old_route() -> None:
    routes = {"T": route(broker_a=A)}
    made = world(routes)
    learn(made)
    del routes["T"]
    made.pass_time(95 * SECOND)
    assert [status for _, _, status in made.watcher.routes] == [
        "OK",
        "TOPIC_NOT_EXIST",
        "TOPIC_NOT_EXIST",
        "TOPIC_NOT_EXIST",
    ]
    assert made.client.routes.publish_queues("T")


def test_addresses_that_no_route_names_any_more_are_dropped() -> None:
    routes = {"T": route(broker_a=A, broker_b=B)}
    made = world(routes)
    learn(made)
    routes["T"] = route(broker_b=B)
    made.pass_time(62 * SECOND)
    assert made.client.routes.addresses(masters_only=False) == [B]


def test_who_asks_at_the_same_time_gets_the_same_answer() -> None:
    made = world({"T": route(broker_a=A)})
    statuses: list[str] = []
    for _ in range(5):
        made.client.routes.refresh(made.env, "T", lambda _env, status: statuses.append(status))
    made.pass_time(SECOND)
    assert (statuses, len(made.requests(Code.GET_ROUTEINFO_BY_TOPIC))) == (["OK"] * 5, 1)


# NameServers ---------------------------------------------------------------------------------------------------------


def test_one_nameserver_is_kept_while_its_connection_stands() -> None:
    made = world({"T": route(broker_a=A)}, NS1, NS2, NS3)
    for _ in range(10):
        learn(made)
    assert len({to for to, _ in made.asked}) == 1


def test_a_dead_nameserver_is_followed_by_another_within_the_same_question() -> None:
    made = world({"T": route(broker_a=A)}, NS1, NS2, NS3)
    learn(made)
    (first, _) = made.asked[0]
    made.kill(first)
    assert learn(made) == "OK"
    second = made.asked[-1][0]
    assert second != first
    made.kill(second)
    assert learn(made) == "OK"
    made.kill(made.asked[-1][0])
    assert learn(made) == "CONNECT_FAILED"


def test_a_nameserver_that_hangs_costs_one_question() -> None:
    made = world({"T": route(broker_a=A)}, NS1, NS2)
    learn(made)
    hanging = made.asked[-1][0]
    made.scripts[hanging] = lambda request: None
    assert learn(made) == "TIMEOUT"
    assert learn(made) == "OK"
    assert made.asked[-1][0] != hanging


def test_clients_do_not_all_choose_the_same_nameserver() -> None:
    chosen = set()
    for seed in range(20):
        made = World(NS1, NS2, NS3, start=False)
        made.scripts |= {server: nameserver({"T": route(broker_a=A)}) for server in (NS1, NS2, NS3)}
        made.env.rng.seed(seed)
        made.start()
        learn(made)
        chosen.add(made.asked[0][0])
    assert chosen == {NS1, NS2, NS3}


def test_an_answer_that_cannot_be_read_changes_nothing() -> None:
    made = world({"T": route(broker_a=A)})
    learn(made)
    made.scripts[NS1] = lambda request: Command(0, body=b"no json")
    assert learn(made) == "UNREADABLE"
    assert made.client.routes.publish_queues("T")
