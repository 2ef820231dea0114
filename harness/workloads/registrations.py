"""The dialogue ``registrations``: brokers that are nobody's register, move, take leave and fall silent.

Question: does a NameServer show of a broker name what its registrations said, in their order, and no more?

Model. The operator speaks as a broker does (103, 104, 322) for names that it has made up, at each NameServer, and looks
after each step at routes (105), the cluster (106), the topics of a cluster (224) and the lists of units:

    comes      a master brings topics, its slave none; the slave is told its master (the answer to 103)
    again      with the version that is known nothing is new; with another its queues are taken
    beside     a second name in the same topic; permission away and back (205, 327) concerns one of them
    moves      a master at another address; an address that has another id now has left its old one
    deleted    a topic at one cluster (216)
    leaves     a slave without its master; nobody: then no route, no topic, no cluster
    silent     who says nothing for the time that is allowed is gone; who asks for its version is not

``registrations-5x`` adds what 5.x decides otherwise: an id that somebody with a larger state version holds, a first
registration of one topic, heartbeats (904), times of their own, slaves that act as masters.

Limits. All of it on one connection, which stays open: what its end takes is shown by brokers that die. Addresses are
nobody's, so that ids that change are told to nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from harness.workloads.dialogues import Ask, Dialogue, DialoguePart, Rest
from harness.workloads.orders import Desk, brokers_of_route, queues_of_route
from harness.workloads.parts import PartHost
from reference_impl.environment import SECOND, Address
from reference_impl.wire.bodies import ClusterInfo, DataVersion, TopicConfig, TopicConfigTable, TopicList
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient, read_json, write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.message import body_crc
from reference_impl.wire.registration import write_registration

NOWHERE: Final = "TOPIC_NOT_EXIST"
READ, BOTH = 4, 6
OLD_VERSION: Final = 400
"""The last one that reads numbers for keys: 4.9.3 and before."""
EXPIRES_S: Final = 20
"""``brokerChannelExpiredTime`` of the scenarios."""
SCAN_S: Final = 10
LEAST_S: Final = 6
"""The time of its own that a broker of 5.x asks for."""
UNIT, OF_UNITS = 1, 2
FLAGS: Final = (0, UNIT, OF_UNITS, UNIT | OF_UNITS)

Topics = Mapping[str, TopicConfig]


def registrations(host: PartHost) -> DialoguePart:
    """Operator ``registrations``."""
    return DialoguePart(host, "registrations", lambda env, number: _Round(host, number).steps())


def registrations_5x(host: PartHost) -> DialoguePart:
    """Operator ``registrations-5x``."""
    return DialoguePart(host, "registrations-5x", lambda env, number: _Round5x(host, number).steps())


class _Round:
    """One NameServer a round, in turn."""

    def __init__(self, host: PartHost, number: int) -> None:
        self._desk = Desk(host, "made", number)
        servers = list(self._desk.stage.nameservers)
        self._server, self._number = servers[number % len(servers)], number
        self._cluster, self._other = f"cluster-{number}", f"other-{number}"
        self._a, self._b = f"a-{number}", f"b-{number}"
        self._topic, self._more = self._desk.topic, f"{self._desk.topic}-more"

    def steps(self) -> Dialogue:
        yield from self._comes()
        yield from self._again()
        yield from self._beside()
        yield from self._moves()
        yield from self._deleted()
        yield from self._leaves()
        yield from self._units()
        yield from self._silent()

    # What a broker says ----------------------------------------------------------------------------------------------

    def _at(self, place: int) -> Address:
        return f"10.9.{self._number % 200}.{place}:10911"

    def _ha(self, place: int) -> Address:
        return f"10.9.{self._number % 200}.{place}:10912"

    def _register(
        self,
        name: str,
        id_: int,
        place: int,
        topics: Topics,
        version: DataVersion,
        must: Any = None,
        *,
        cluster: str = "",
        wrong_by: int = 0,
        **more: object,
    ) -> Ask:
        """103; ``must``: what a slave is told of its master."""
        body = write_registration(TopicConfigTable(version, dict(topics)), compressed=False)
        fields = {
            **self._who(name, id_, place, cluster),
            "haServerAddr": self._ha(place),
            "compressed": False,
            "bodyCrc32": body_crc(body) + wrong_by,
            **more,
        }
        return self._ask(f"register {name}:{id_}", Code.REGISTER_BROKER, fields, must or {}, _told_of_master, body)

    def _who(self, name: str, id_: int, place: int, cluster: str = "") -> dict[str, object]:
        return {
            "clusterName": cluster or self._cluster,
            "brokerName": name,
            "brokerId": id_,
            "brokerAddr": self._at(place),
        }

    def _unregister(self, name: str, id_: int, place: int, cluster: str = "") -> Ask:
        """104."""
        return self._ask(f"take leave of {name}:{id_}", Code.UNREGISTER_BROKER, self._who(name, id_, place, cluster))

    def _version(self, name: str, place: int, version: DataVersion, must: str, known: Sequence[int] = ()) -> Ask:
        """322: whether it is another, and the counter that is known."""

        def read(answer: Command) -> list[Any]:
            told = [parse_lenient(answer.body)["counter"]] if answer.body else []
            return [answer.fields["changed"], *told]

        fields = self._who(name, 0, place)
        return self._ask(
            "whether the version is another", Code.QUERY_DATA_VERSION, fields, [must, *known], read, write_json(version)
        )

    def _ask(
        self, name: str, code: Code, fields: Mapping[str, object], must: Any = "OK", read: Any = None, body: bytes = b""
    ) -> Ask:
        return self._desk.ask(name, code, fields, must, read, body=body, of=self._server)

    # What is seen ----------------------------------------------------------------------------------------------------

    def _route(
        self, topic: str, queues: list[list[Any]], brokers: dict[str, dict[int, int]], within_ns: int = 0
    ) -> Ask:
        """105: *queues* as broker, permission, to read, to write; *brokers* as id → place."""
        shown = {name: {str(id_): self._at(place) for id_, place in ids.items()} for name, ids in brokers.items()}
        must: Any = [sorted(queues), shown] if queues else NOWHERE
        fields = {"topic": topic, "acceptStandardJsonOnly": True}
        return self._desk.ask(
            f"the route of {topic}",
            Code.GET_ROUTEINFO_BY_TOPIC,
            fields,
            must,
            lambda answer: [queues_of_route(answer), brokers_of_route(answer)],
            of=self._server,
            within_ns=within_ns,
        )

    def _in_cluster(self, must: Mapping[str, dict[int, int]], cluster: str = "") -> Ask:
        """106: the names of the cluster, each with its addresses; none if it is not known."""

        def read(answer: Command) -> dict[str, dict[str, str]]:
            told = read_json(answer.body, ClusterInfo)
            names = told.cluster_addr_table.get(cluster or self._cluster, [])
            table = told.broker_addr_table
            return {name: {str(id_): at for id_, at in table[name].broker_addrs.items()} for name in names}

        shown = {name: {str(id_): self._at(place) for id_, place in ids.items()} for name, ids in must.items()}
        return self._ask("who is in the cluster", Code.GET_BROKER_CLUSTER_INFO, {}, shown, read)

    def _topics(self, must: Sequence[str], cluster: str = "") -> Ask:
        """224."""
        fields = {"cluster": cluster or self._cluster}
        return self._ask("topics of the cluster", Code.GET_TOPICS_BY_CLUSTER, fields, sorted(must), _names)

    def _listed(self, must: Sequence[str]) -> Ask:
        """206: those of this round."""
        return self._ask(
            "all topics",
            Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
            {},
            sorted(must),
            lambda answer: [name for name in _names(answer) if name.startswith(self._topic)],
        )

    # The round -------------------------------------------------------------------------------------------------------

    def _comes(self) -> Dialogue:
        a, topic = self._a, self._topic
        yield self._route(topic, [], {})
        yield self._in_cluster({})
        yield self._register(a, 0, 1, _queues(topic, 4, 3), VERSIONS[0], "SYSTEM_ERROR", wrong_by=1)
        yield self._route(topic, [], {})
        yield self._version(a, 1, VERSIONS[0], "true")
        yield self._register(a, 0, 1, {**_queues(topic, 4, 3), **_queues(f"{topic}-own", 1, 1)}, VERSIONS[0])
        yield self._version(a, 1, VERSIONS[0], "false", [1])
        yield self._version(a, 1, VERSIONS[1], "true", [1])
        yield self._route(topic, [[a, BOTH, 4, 3]], {a: {0: 1}})
        yield self._register(a, 1, 2, self._of_slave(), VERSIONS[1], self._master(1))
        yield self._route(topic, [[a, BOTH, 4, 3]], {a: {0: 1, 1: 2}})
        yield self._in_cluster({a: {0: 1, 1: 2}})
        yield self._topics([topic, f"{topic}-own"])
        yield self._listed([topic, f"{topic}-own"])
        yield from self._read_by()

    def _read_by(self) -> Dialogue:
        """105 for old clients, which read a number without quotes where JSON wants a text; and the order of a topic,
        which is shown where the NameServer is told to."""
        topic = self._topic
        for version, key in ((OLD_VERSION, '"brokerAddrs":{0:'), (OLD_VERSION + 1, '"brokerAddrs":{"0":')):
            step = self._ask(
                f"the route as {version} reads it", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, True, _has(key)
            )
            step.request.version = version
            yield step
        order = {"namespace": "ORDER_TOPIC_CONFIG", "key": topic}
        text = f"{self._a}:4"
        yield self._ask("put its order", Code.PUT_KV_CONFIG, {**order, "value": text})
        for is_shown in (True, False):
            body = f"orderMessageEnable={str(is_shown).lower()}\n".encode()
            yield self._ask("whether orders are shown", Code.UPDATE_NAMESRV_CONFIG, {}, body=body)
            must = text if is_shown else ""
            yield self._ask("the order in the route", Code.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, must, _order)
        yield self._ask("delete its order", Code.DELETE_KV_CONFIG, order)

    def _of_slave(self) -> Topics:
        """A slave's table: nobody looks at it."""
        return {**_queues(self._topic, 9, 9), **_queues(f"{self._topic}-slave", 2, 2)}

    def _master(self, place: int) -> dict[str, str]:
        return {"masterAddr": self._at(place), "haServerAddr": self._ha(place)}

    def _again(self) -> Dialogue:
        a, topic = self._a, self._topic
        yield self._register(a, 0, 1, _queues(topic, 8, 8), VERSIONS[0])
        yield self._route(topic, [[a, BOTH, 4, 3]], {a: {0: 1, 1: 2}})
        yield self._register(a, 0, 1, {**_queues(topic, 8, 5), **_queues(self._more, 1, 1)}, VERSIONS[1])
        yield self._route(topic, [[a, BOTH, 8, 5]], {a: {0: 1, 1: 2}})
        yield self._route(self._more, [[a, BOTH, 1, 1]], {a: {0: 1, 1: 2}})
        yield self._version(a, 1, VERSIONS[1], "false", [2])

    def _beside(self) -> Dialogue:
        a, b, topic = self._a, self._b, self._topic
        ids = {a: {0: 1, 1: 2}, b: {0: 3}}
        yield self._register(b, 0, 3, {**_queues(topic, 2, 2), **_queues(f"{topic}-b", 1, 1)}, VERSIONS[0])
        yield self._route(topic, [[a, BOTH, 8, 5], [b, BOTH, 2, 2]], ids)
        yield self._in_cluster(ids)
        yield self._topics([topic, f"{topic}-own", self._more, f"{topic}-b"])
        yield self._permission(Code.WIPE_WRITE_PERM_OF_BROKER, "wipeTopicCount", 3)
        yield self._route(topic, [[a, READ, 8, 5], [b, BOTH, 2, 2]], ids)
        yield self._permission(Code.ADD_WRITE_PERM_OF_BROKER, "addTopicCount", 3)
        yield self._route(topic, [[a, BOTH, 8, 5], [b, BOTH, 2, 2]], ids)

    def _permission(self, code: Code, field: str, must: int) -> Ask:
        fields = {"brokerName": self._a}
        return self._ask(code.name, code, fields, must, lambda answer: int(answer.fields[field]))

    def _moves(self) -> Dialogue:
        a, b, topic = self._a, self._b, self._topic
        both = [[a, BOTH, 7, 7], [b, BOTH, 2, 2]]
        yield self._register(a, 0, 4, _queues(topic, 7, 7), VERSIONS[2])
        yield self._route(topic, both, {a: {0: 4, 1: 2}, b: {0: 3}})
        yield self._register(a, 1, 2, self._of_slave(), VERSIONS[1], self._master(4))
        yield self._unregister(a, 0, 4)
        yield self._route(topic, both, {a: {1: 2}, b: {0: 3}})
        yield self._register(a, 1, 2, self._of_slave(), VERSIONS[1])
        yield self._register(a, 0, 2, _queues(topic, 6, 6), VERSIONS[3])
        yield self._route(topic, [[a, BOTH, 6, 6], [b, BOTH, 2, 2]], {a: {0: 2}, b: {0: 3}})
        yield self._in_cluster({a: {0: 2}, b: {0: 3}})

    def _deleted(self) -> Dialogue:
        a, b, topic = self._a, self._b, self._topic
        c = f"c-{self._number}"
        yield self._register(
            c, 0, 5, {**_queues(topic, 1, 1), **_queues(self._more, 1, 1)}, VERSIONS[0], cluster=self._other
        )
        yield self._topics([topic, self._more], self._other)
        yield self._delete(topic, self._other)
        ids = {a: {0: 2}, b: {0: 3}}
        yield self._route(topic, [[a, BOTH, 6, 6], [b, BOTH, 2, 2]], ids)
        yield self._topics([self._more], self._other)
        yield self._delete(self._more, "")
        yield self._topics([], self._other)
        yield self._route(self._more, [], {})
        yield self._unregister(c, 0, 5, self._other)
        yield self._in_cluster({}, self._other)

    def _delete(self, topic: str, cluster: str) -> Ask:
        """216; without a cluster everywhere."""
        fields = {"topic": topic, **({"clusterName": cluster} if cluster else {})}
        return self._ask(f"forget {topic}", Code.DELETE_TOPIC_IN_NAMESRV, fields)

    def _leaves(self) -> Dialogue:
        a, b, topic = self._a, self._b, self._topic
        yield self._unregister(b, 0, 3)
        yield self._version(b, 3, VERSIONS[0], "true")
        yield self._route(topic, [[a, BOTH, 6, 6]], {a: {0: 2}})
        yield self._in_cluster({a: {0: 2}})
        yield self._topics([topic, f"{topic}-own"])
        yield self._unregister(a, 0, 2)
        yield self._route(topic, [], {})
        yield self._in_cluster({})
        yield self._topics([])
        yield self._listed([])

    def _units(self) -> Dialogue:
        a, names = self._a, [f"{self._topic}-{flag}" for flag in FLAGS]
        topics = {
            name: one
            for flag, topic in zip(FLAGS, names, strict=True)
            for name, one in _queues(topic, 1, 1, flag).items()
        }
        yield self._register(a, 0, 1, topics, VERSIONS[0])
        for code, flags in (
            (Code.GET_UNIT_TOPIC_LIST, (UNIT, UNIT | OF_UNITS)),
            (Code.GET_HAS_UNIT_SUB_TOPIC_LIST, (OF_UNITS, UNIT | OF_UNITS)),
            (Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, (OF_UNITS,)),
        ):
            must = sorted(names[flag] for flag in flags)
            yield self._ask(code.name, code, {}, must, lambda answer: [n for n in _names(answer) if n in names])
        system = [self._cluster, a]
        code = Code.GET_SYSTEM_TOPIC_LIST_FROM_NS
        yield self._ask(code.name, code, {}, system, lambda answer: [n for n in system if n in _names(answer)])
        yield self._unregister(a, 0, 1)

    def _silent(self) -> Dialogue:
        a, topic = self._a, self._topic
        yield self._register(a, 0, 1, {**_queues(topic, 1, 1), **_queues(self._more, 1, 1)}, VERSIONS[0])
        for _ in range(4):
            yield Rest(EXPIRES_S * SECOND // 2)
            yield self._version(a, 1, VERSIONS[0], "false", [1])
        yield self._route(topic, [[a, BOTH, 1, 1]], {a: {0: 1}})
        yield self._route(topic, [], {}, within_ns=(EXPIRES_S + SCAN_S + 1) * SECOND)
        yield self._in_cluster({})


class _Round5x(_Round):
    """What 5.x decides otherwise; the rest is that of 4.9."""

    def steps(self) -> Dialogue:
        yield from self._comes()
        yield from self._same_version()
        yield from self._leave_both()
        yield from self._first_of_one()
        yield from self._larger_state()
        yield from self._acts()
        yield from self._beats()
        yield from self._units()
        yield from self._silent()

    def _same_version(self) -> Dialogue:
        """A topic that it does not know of this broker is taken whatever the version."""
        a, topic = self._a, self._topic
        yield self._register(a, 0, 1, {**_queues(topic, 8, 8), **_queues(self._more, 1, 1)}, VERSIONS[0])
        yield self._route(topic, [[a, BOTH, 4, 3]], {a: {0: 1, 1: 2}})
        yield self._route(self._more, [[a, BOTH, 1, 1]], {a: {0: 1, 1: 2}})

    def _leave_both(self) -> Dialogue:
        a = self._a
        yield self._unregister(a, 1, 2)
        yield self._unregister(a, 9, 1)  # whatever id: that which the address has
        yield self._in_cluster({})

    def _first_of_one(self) -> Dialogue:
        """The first registration of an id with one topic is refused: it is the news of a topic that came too late. Of
        the name it leaves that it is there."""
        b, topic = self._b, self._topic
        yield self._register(b, 0, 3, _queues(topic, 2, 2), VERSIONS[0], "SYSTEM_ERROR", cluster=self._other)
        yield self._route(topic, [], {})
        yield self._in_cluster({b: {}}, self._other)

    def _larger_state(self) -> Dialogue:
        a, topic = self._a, self._topic
        topics = {**_queues(topic, 2, 2), **_queues(self._more, 1, 1)}
        yield self._register(a, 0, 1, topics, DataVersion(1, 5, 1))
        yield self._register(a, 0, 2, topics, DataVersion(9, 4, 9))  # answered as if it had been taken
        yield self._route(topic, [[a, BOTH, 2, 2]], {a: {0: 1}})
        yield self._register(a, 0, 2, topics, DataVersion(1, 6, 1))
        yield self._route(topic, [[a, BOTH, 2, 2]], {a: {0: 2}})
        yield self._unregister(a, 0, 2)

    def _acts(self) -> Dialogue:
        a, topic = self._a, self._topic
        topics = {**_queues(topic, 2, 2), **_queues(self._more, 1, 1)}
        yield self._register(a, 0, 1, topics, VERSIONS[0], enableActingMaster=True)
        yield self._register(a, 1, 2, topics, VERSIONS[0], self._master(1), enableActingMaster=True)
        yield self._register(a, 2, 3, topics, VERSIONS[0], self._master(1), enableActingMaster=True)
        yield self._route(topic, [[a, BOTH, 2, 2]], {a: {0: 1, 1: 2, 2: 3}})
        yield self._members({0: 1, 1: 2, 2: 3})
        yield self._unregister(a, 0, 1)
        yield self._route(topic, [[a, READ, 2, 2]], {a: {0: 2, 2: 3}})
        yield self._members({1: 2, 2: 3})
        yield self._register(a, 2, 3, {**topics, **_queues(f"{topic}-2", 1, 1)}, VERSIONS[1], enableActingMaster=True)
        yield self._route(f"{topic}-2", [], {})
        yield self._register(a, 1, 2, {**topics, **_queues(f"{topic}-1", 1, 1)}, VERSIONS[1], enableActingMaster=True)
        yield self._route(f"{topic}-1", [[a, READ, 1, 1]], {a: {0: 2, 2: 3}})
        yield self._register(a, 0, 1, topics, VERSIONS[2], enableActingMaster=True)
        yield self._route(topic, [[a, BOTH, 2, 2]], {a: {0: 1, 1: 2, 2: 3}})
        for id_, place in ((2, 3), (0, 1), (1, 2)):
            yield self._unregister(a, id_, place)
        yield self._route(topic, [], {})
        yield self._members({})

    def _members(self, must: Mapping[int, int]) -> Ask:
        """901."""

        def read(answer: Command) -> dict[str, str]:
            told = parse_lenient(answer.body)["brokerMemberGroup"]["brokerAddrs"]
            return {str(id_): address for id_, address in told.items()}

        fields = {"clusterName": self._cluster, "brokerName": self._a}
        shown = {str(id_): self._at(place) for id_, place in must.items()}
        return self._ask("members of the name", Code.GET_BROKER_MEMBER_GROUP, fields, shown, read)

    def _beats(self) -> Dialogue:
        """A time of its own; a heartbeat is a sign of life, and so is every question for the version."""
        a, topic = self._a, self._topic
        topics = {**_queues(topic, 2, 2), **_queues(self._more, 1, 1)}
        yield self._register(a, 0, 1, topics, VERSIONS[0], heartbeatTimeoutMillis=LEAST_S * 1000)
        for number in range(6):
            yield Rest(LEAST_S * SECOND // 2)
            if number % 2:
                yield self._ask("a heartbeat", Code.BROKER_HEARTBEAT, self._who(a, 0, 1))
            else:
                yield self._version(a, 1, VERSIONS[1], "true", [1])
        yield self._route(topic, [[a, BOTH, 2, 2]], {a: {0: 1}})
        yield self._route(topic, [], {}, within_ns=(LEAST_S + SCAN_S // 2 + 1) * SECOND)


VERSIONS: Final = tuple(DataVersion(counter, timestamp=1000 + counter) for counter in (1, 2, 3, 4))


def _queues(topic: str, to_read: int, to_write: int, flag: int = 0) -> dict[str, TopicConfig]:
    config = TopicConfig(
        read_queue_nums=to_read, write_queue_nums=to_write, topic_name=topic, perm=BOTH, topic_sys_flag=flag
    )
    return {topic: config}


def _told_of_master(answer: Command) -> dict[str, str]:
    return {name: answer.fields[name] for name in ("masterAddr", "haServerAddr") if answer.fields.get(name)}


def _has(text: str) -> Callable[[Command], bool]:
    return lambda answer: text in answer.body.decode()


def _order(answer: Command) -> str:
    return str(parse_lenient(answer.body).get("orderTopicConf") or "")


def _names(answer: Command) -> list[str]:
    return sorted(read_json(answer.body, TopicList).topic_list)
