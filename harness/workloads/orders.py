"""What operators order and ask in dialogues: requests, and what their answers say in plain values.

Question: how is a topic made, filled, counted, read and deleted by hand, and a group moved?

Model. A :class:`Desk` is one master with everything that a round has for itself: a topic, names of groups. Its methods
make the steps of a dialogue (:mod:`harness.workloads.dialogues`). What is read from an answer is JSON: lists, texts,
numbers, so that it can be compared and kept in the history.

Limits. One broker, queue numbers from 0. Bodies are short texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, is_done
from harness.workloads.measuring import QUERY_TIMEOUT_NS
from harness.workloads.parts import PartHost
from reference_impl.wire.bodies import SubscriptionGroupConfig, TopicConfigTable, TopicList, TopicRouteData
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.message import decode_records, properties_text

SUBSCRIPTION_IN_REQUEST: Final = 4
"""Bit of a pull's ``sysFlag``: the expression is in the request."""


class Desk:
    """One master, and what one round of a dialogue has there for itself."""

    def __init__(self, host: PartHost, name: str, round_: int) -> None:
        self.stage = host.stage
        self.master = self.stage.queues[0]
        self.topic, self.group, self.other_group = (f"{name}-{what}-{round_}" for what in ("topic", "group", "other"))

    # Steps -----------------------------------------------------------------------------------------------------------

    def ask(
        self,
        name: str,
        code: RequestCode,
        fields: Mapping[str, object],
        must: Any = "OK",
        read: Callable[[Command], Any] | None = None,
        *,
        body: bytes = b"",
        within_ns: int = 0,
        orders: bool = False,
        of: str = "",
        about: str = "",
        timeout_ns: int = QUERY_TIMEOUT_NS,
    ) -> Ask:
        """One request to the master, or to the NameServer *of*; *about*: the node whose state the answer tells."""
        request = Command(code, {key: _text(value) for key, value in fields.items()}, body)
        node, address = (of, self.stage.nameservers[of]) if of else (self.master.node, self.master.address)
        return Ask(name, node, address, request, must, read or is_done, within_ns, orders, about, timeout_ns)

    def make_topic(self, queues: int, flag: int = 0) -> Ask:
        """17."""
        fields = {
            "topic": self.topic,
            "defaultTopic": "TBW102",
            "readQueueNums": queues,
            "writeQueueNums": queues,
            "perm": 6,
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": flag,
            "order": False,
        }
        return self.ask("make the topic", RequestCode.UPDATE_AND_CREATE_TOPIC, fields, orders=True)

    def make_group(self, group: str) -> Ask:
        """200."""
        body = write_json(SubscriptionGroupConfig(group_name=group))
        return self.ask("make a group", RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, {}, body=body, orders=True)

    def send(
        self,
        queue: int,
        text: str,
        must: Any,
        properties: Mapping[str, str] | None = None,
        *,
        read: Callable[[Command], Any] | None = None,
        wait: str = "true",
        waits_for_nothing: bool = False,
        timeout_ns: int = QUERY_TIMEOUT_NS,
    ) -> Ask:
        """310; ``must``: the offset that it gets, or why not. *wait*: the property WAIT, empty: without it."""
        waits = {"WAIT": wait} if wait else {}
        fields = {
            "a": "operators",
            "b": self.topic,
            "c": self.topic,  # a template that no broker has: no send makes a topic
            "d": 4,
            "e": queue,
            "f": 0,
            "g": 0,
            "h": 0,
            "i": properties_text({**waits, **(properties or {})}),
            "j": 0,
            "k": False,
            "m": False,
            "n": self.master.broker,
        }
        ask = self.ask(
            "send a message",
            RequestCode.SEND_MESSAGE_V2,
            fields,
            must,
            read or (lambda answer: int(answer.fields["queueOffset"])),
            body=text.encode(),
            orders=True,
            timeout_ns=timeout_ns,
        )
        return replace(ask, waits_for_nothing=waits_for_nothing)

    def pull(
        self,
        must: Any,
        read: Callable[[Command], Any] | None = None,
        *,
        queue: int = 0,
        offset: int = 0,
        expression: str = "*",
        kind: str = "TAG",
        group: str = "operators",
        flags: int = SUBSCRIPTION_IN_REQUEST,
        version: int = 0,
        at_most: int = 32,
        within_ns: int = 0,
    ) -> Ask:
        """11; bodies, unless *read* says otherwise."""
        fields = {
            "consumerGroup": group,
            "topic": self.topic,
            "queueId": queue,
            "queueOffset": offset,
            "maxMsgNums": at_most,
            "sysFlag": flags,
            "commitOffset": 0,
            "suspendTimeoutMillis": 0,
            "subscription": expression,
            "subVersion": version,
            "expressionType": kind,
            "bname": self.master.broker,
        }
        name = f"pull {kind} {expression}"
        return self.ask(name, RequestCode.PULL_MESSAGE, fields, must, read or bodies, within_ns=within_ns)

    def extent(self, queue: int, begin: int, end: int, within_ns: int = SOON_NS) -> Dialogue:
        """31 and 30; the end comes with the dispatch."""
        fields = {"topic": self.topic, "queueId": queue}
        yield self.ask("where the queue ends", RequestCode.GET_MAX_OFFSET, fields, end, _offset, within_ns=within_ns)
        yield self.ask("where the queue begins", RequestCode.GET_MIN_OFFSET, fields, begin, _offset)

    def commit(self, group: str, queue: int, offset: int) -> Ask:
        """15."""
        fields = {"consumerGroup": group, "topic": self.topic, "queueId": queue, "commitOffset": offset}
        return self.ask("commit an offset", RequestCode.UPDATE_CONSUMER_OFFSET, fields)

    def committed(self, group: str, queue: int, must: Any, within_ns: int = 0) -> Ask:
        """14."""
        fields = {"consumerGroup": group, "topic": self.topic, "queueId": queue}
        return self.ask(
            "where the group stands", RequestCode.QUERY_CONSUMER_OFFSET, fields, must, _offset, within_ns=within_ns
        )

    def topic_is_known(self, must: bool) -> Ask:
        """21."""

        def read(answer: Command) -> bool:
            return self.topic in read_json(answer.body, TopicConfigTable).topic_config_table

        return self.ask("whether the broker knows the topic", RequestCode.GET_ALL_TOPIC_CONFIG, {}, must, read)

    def route(self, server: str, must: Any, within_ns: int = 0) -> Ask:
        """105: broker, permission, queues to read and to write."""
        fields = {"topic": self.topic, "acceptStandardJsonOnly": True}
        return self.ask(
            "the route",
            RequestCode.GET_ROUTEINFO_BY_TOPIC,
            fields,
            must,
            queues_of_route,
            within_ns=within_ns,
            about=self.master.node,
            of=server,
        )

    def is_listed(self, server: str, code: RequestCode, must: bool, within_ns: int = 0, **fields: object) -> Ask:
        """Whether the topic is in a list of topics."""

        def read(answer: Command) -> bool:
            return self.topic in read_json(answer.body, TopicList).topic_list

        name = f"whether {code.name} has the topic"
        return self.ask(name, code, fields, must, read, within_ns=within_ns, about=self.master.node, of=server)


# What answers say -----------------------------------------------------------------------------------------------------


def bodies(answer: Command) -> list[str]:
    """Of records, in their order."""
    return [record.body.decode() for record in decode_records(answer.body)]


def queues_of_route(answer: Command) -> list[list[object]]:
    """Broker, permission, queues to read and to write."""
    route = read_json(answer.body, TopicRouteData)
    return sorted([q.broker_name, q.perm, q.read_queue_nums, q.write_queue_nums] for q in route.queue_datas)


def brokers_of_route(answer: Command) -> dict[str, dict[str, str]]:
    """Broker → id → address."""
    route = read_json(answer.body, TopicRouteData)
    return {data.broker_name: {str(id_): at for id_, at in data.broker_addrs.items()} for data in route.broker_datas}


def _offset(answer: Command) -> int:
    return int(answer.fields["offset"])


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
