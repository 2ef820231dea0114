"""Two NameServers of different implementations, brokers of different implementations: whatever one tells, the other
tells.

Question: can brokers and clients tell the reference's NameServer from Apache's? A reference master and its Apache slave
register with both; the bodies that both give out (routes, clusters, topics) are compared as values, when all is well,
after an orderly stop, after a kill, after a return, and after an operator's commands. Which of them brokers and clients
would have asked first makes no difference then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from harness.backends.backend import Backend, NodeSpec
from reference_impl.environment import SECOND
from reference_impl.wire.bodies import ClusterInfo, TopicList, TopicRouteData
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import read_json
from reference_impl.wire.fields import ext_fields
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Answer
from suites.conformance.broker.peer import create_topic
from suites.conformance.interchange.nodes import APACHE, Implementations, real_nodes
from suites.conformance.plain_cluster import Asker
from suites.conformance.replication.pair import Pair
from suites.minutes import only_with_minutes

pytestmark = [pytest.mark.slow, pytest.mark.requires("java", "process:network"), only_with_minutes]

MASTER, SLAVE = "broker-a-0", "broker-a-1"
SERVERS = {"namesrv": "reference", "second": APACHE}
"""Channel → the implementation of the NameServer behind it."""
REGISTERED_NS = 45 * SECOND
EXPIRED_NS = 150 * SECOND
TOPIC = "Routed"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    nodes = Implementations({"namesrv-1": "reference", "namesrv-2": APACHE, MASTER: "reference", SLAVE: APACHE})
    with real_nodes(nodes, tmp_path_factory.mktemp("nameservers")) as backend:
        one, two = backend.host("namesrv-1"), backend.host("namesrv-2")
        backend.add_node(NodeSpec("namesrv-2", "namesrv", {"bindAddress": two, "listenPort": "9876"}))
        backend.perform(lambda: backend.levers.start("namesrv-2"))
        wait_answering(backend, f"{two}:9876")
        found = Pair(
            backend,
            joined=False,
            others={"second": f"{two}:9876"},
            namesrvAddr=f"{one}:9876;{two}:9876",
            registerNameServerPeriod="10000",
        )
        create_topic(found.master, TOPIC)
        found.until(lambda: told_by_both(found) == {0, 1}, REGISTERED_NS)
        yield found


def wait_answering(backend: Backend, address: str) -> None:
    """A NameServer that comes later than the brokers may learn of a new topic first, and then of that one only: the
    data version of the whole table, which follows, is known by then (Apache's, and the reference's)."""
    asker = Asker()
    backend.add_client("client-9", asker)
    answers: list[Answer] = []
    request = Command(Code.GET_BROKER_CLUSTER_INFO)
    deadline_ns = backend.now() + REGISTERED_NS
    while not any(isinstance(answer, Command) for answer in answers):
        assert backend.now() < deadline_ns, f"{address} does not answer"
        backend.step(
            "client-9", lambda env: asker.remoting.call(env, address, request, SECOND, lambda _, a: answers.append(a))
        )
        backend.run_until(lambda: False, backend.now() + SECOND // 5)


def ask(pair: Pair, server: str, code: int, **fields: str) -> Command:
    answer = pair.ask(Command(code, ext_fields(**fields)), f"{server}:", 10 * SECOND)
    assert answer is not None, f"{server} is silent"
    return answer


def route(pair: Pair, server: str) -> TopicRouteData | None:
    answer = ask(pair, server, Code.GET_ROUTEINFO_BY_TOPIC, topic=TOPIC)
    assert answer.code in (0, 17)
    return read_json(answer.body, TopicRouteData) if answer.code == 0 else None


def clusters(pair: Pair, server: str) -> ClusterInfo:
    return read_json(ask(pair, server, Code.GET_BROKER_CLUSTER_INFO).body, ClusterInfo)


def topics(pair: Pair, server: str) -> list[str]:
    names = read_json(ask(pair, server, Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).body, TopicList).topic_list
    return sorted(name for name in names if not name.startswith(("SELF_TEST", "OFFSET_MOVED")))


LOOKS: list[Callable[[Pair, str], object]] = [route, clusters, topics]


def told_by_both(pair: Pair) -> set[int]:
    """Broker ids in the cluster body; {-1} while the two differ in anything."""
    told = [[look(pair, server) for look in LOOKS] for server in SERVERS]
    if told[0] != told[1]:
        return {-1}
    info = told[0][1]
    assert isinstance(info, ClusterInfo)
    data = info.broker_addr_table.get("broker-a")
    return set(data.broker_addrs) if data else set()


def test_both_tell_the_same_routes_clusters_and_topics(pair: Pair) -> None:
    told = route(pair, "second")
    assert told is not None
    (broker,), (queues,) = told.broker_datas, told.queue_datas
    assert broker.broker_addrs == {0: pair.master.broker, 1: pair.slave.broker}
    assert (queues.read_queue_nums, queues.write_queue_nums, queues.perm) == (4, 4, 6)
    assert TOPIC in topics(pair, "second")


@pytest.mark.parametrize("node", [MASTER, SLAVE])
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_broker_that_ends_is_gone_from_both_at_once_and_comes_back_to_both(pair: Pair, node: str, how: str) -> None:
    """Unregistered by a stop; missed by its closed connection after a kill (an expiry would take two minutes)."""
    left = {0, 1} - {int(node[-1])}
    getattr(pair, how)(node)
    pair.until(lambda: told_by_both(pair) == left, REGISTERED_NS)
    pair.start(node)
    pair.until(lambda: told_by_both(pair) == {0, 1}, REGISTERED_NS)


def test_a_wiped_permission_is_seen_in_both_routes_and_counted_alike(pair: Pair) -> None:
    counts = {
        ask(pair, server, Code.WIPE_WRITE_PERM_OF_BROKER, brokerName="broker-a").fields["wipeTopicCount"]
        for server in SERVERS
    }
    assert len(counts) == 1
    pair.until(lambda: told_by_both(pair) == {0, 1}, REGISTERED_NS)


def test_key_values_and_what_is_not_there(pair: Pair) -> None:
    for server in SERVERS:
        assert ask(pair, server, Code.PUT_KV_CONFIG, namespace="N", key="k", value="v").code == 0
    found = [ask(pair, server, Code.GET_KV_CONFIG, namespace="N", key="k").fields["value"] for server in SERVERS]
    assert found == ["v", "v"]
    missing = [ask(pair, server, Code.GET_KV_CONFIG, namespace="N", key="other") for server in SERVERS]
    assert missing[0].code == missing[1].code == 22
    assert missing[0].remark == missing[1].remark
    unknown = [ask(pair, server, Code.GET_ROUTEINFO_BY_TOPIC, topic="Nowhere") for server in SERVERS]
    assert [(answer.code, answer.remark) for answer in unknown[:1]] == [(17, unknown[1].remark)]


@pytest.mark.parametrize("node", [MASTER, SLAVE])
def test_a_broker_that_stands_still_expires_in_both(pair: Pair, node: str) -> None:
    """After two minutes, looked at every 10 s (a connection that is silent for so long is closed, too)."""
    pair.backend.perform(lambda: pair.backend.levers.pause(node))
    begin = pair.backend.now()
    gone: dict[str, int] = {}
    while len(gone) < len(SERVERS):
        assert pair.backend.now() - begin < EXPIRED_NS
        pair.sleep(SECOND)
        for server in SERVERS:
            data = clusters(pair, server).broker_addr_table["broker-a"].broker_addrs
            if int(node[-1]) not in data:
                gone.setdefault(server, pair.backend.now() - begin)
    pair.backend.perform(lambda: pair.backend.levers.resume(node))
    pair.until(lambda: told_by_both(pair) == {0, 1}, REGISTERED_NS)
    assert all(105 * SECOND < after < EXPIRED_NS for after in gone.values()), gone
