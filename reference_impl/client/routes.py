"""What a client knows of topics and brokers, and how fresh it is.

Question: which queues has this topic, where is that broker, and when does a client notice that this has changed?

Model (RocketMQ: MQClientInstance). Routes are asked for when a topic is first used and then every 30 s for every topic
in use; nobody tells a client of changes. An answer TOPIC_NOT_EXIST or none at all leaves the old route as it is, so a
client whose NameServers are all gone goes on with what it knows. A topic that nobody knows may borrow the route of the
template topic (TBW102), reduced to four queues a broker by default: that is how a send makes a topic. Addresses of
brokers are those of the last routes; every 30 s those that no route names any more are dropped.

Limits. One question a topic is under way at a time; who asks meanwhile waits for the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from reference_impl.client.model import MessageQueue, Observer, TopicRoute
from reference_impl.client.nameservers import NameServers
from reference_impl.client.status import OK, status_of
from reference_impl.digits import is_number
from reference_impl.environment import Address, Environment
from reference_impl.wire.bodies import PERM_READ, PERM_WRITE, TopicRouteData
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer, CallFailed

OnRoute = Callable[[Environment, str], None]
"""(env, status): OK or why there is no new route."""

MASTER_ID: Final = 0
QUEUES_MAX: Final = 100_000
"""Of one topic at one broker that a client deals with: whoever registers a topic may say any number."""


class RouteTable:
    """Routes by topic, broker addresses by broker name."""

    def __init__(self, nameservers: NameServers, timeout_ns: int, observer: Observer) -> None:
        self._nameservers = nameservers
        self._timeout_ns = timeout_ns
        self._observer = observer
        self.routes: dict[str, TopicRoute] = {}
        self.brokers: dict[str, dict[int, Address]] = {}
        self._watched: dict[str, None] = {}
        self._publish: dict[str, tuple[TopicRoute, tuple[MessageQueue, ...]]] = {}
        self._waiting: dict[str, list[OnRoute]] = {}

    # --- asking -----------------------------------------------------------------------------------------------------

    def refresh(self, env: Environment, topic: str, done: OnRoute | None = None) -> None:
        """Ask a NameServer for *topic*; *done* is called once, later."""
        self._ask(env, topic, topic, done)

    def borrow(self, env: Environment, topic: str, template: str, queues: int, done: OnRoute) -> None:
        """Give *topic* the route of *template*, reduced to the *queues* a broker that a new topic would get."""
        self._ask(env, topic, template, done, queues)

    def refresh_all(self, env: Environment) -> None:
        """Every 30 s: all topics that were ever asked for by their own name."""
        for topic in list(self._watched):
            self.refresh(env, topic)

    def _ask(self, env: Environment, topic: str, asked: str, done: OnRoute | None, queues_max: int = 0) -> None:
        self._watched[topic] = None
        key = asked if topic == asked else f"{topic}\x00{asked}"
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting += [done] if done is not None else []
            return
        self._waiting[key] = [done] if done is not None else []

        def answered(env: Environment, server: Address, answer: Answer) -> None:
            status = self._learn(env, topic, asked, queues_max, server, answer)
            for waiter in self._waiting.pop(key):
                waiter(env, status)

        request = {"topic": asked}
        self._nameservers.ask(
            env, lambda: Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, request), self._timeout_ns, answered
        )

    def _learn(self, env: Environment, topic: str, asked: str, queues_max: int, server: Address, answer: Answer) -> str:
        status, route = status_of(answer), None
        if status == OK and not isinstance(answer, CallFailed):
            try:
                route = route_of(read_json(answer.body, TopicRouteData))
            except RemoteWireError:
                status = "UNREADABLE"
        if route is not None:
            self.routes[topic] = route if topic == asked else _borrowed(route, queues_max)
            for name, addresses in route.brokers.items():
                self.brokers[name] = dict(addresses)
        self._observer.on_route(env, asked, server, status, route)
        return status

    # --- knowing ----------------------------------------------------------------------------------------------------

    def publish_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Queues that can be sent to: of writable brokers with a master, by broker name and queue id."""
        route = self.routes.get(topic)
        if route is None:
            return ()
        known = self._publish.get(topic)
        if known is None or known[0] is not route:
            known = self._publish[topic] = (route, _publish_queues(topic, route))
        return known[1]

    def subscribe_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Queues that can be read, whether their master lives or not."""
        route = self.routes.get(topic)
        if route is None:
            return ()
        return tuple(
            MessageQueue(topic, name, queue_id)
            for name in sorted(route.read_queues)
            if route.permissions[name] & PERM_READ
            for queue_id in range(route.read_queues[name])
        )

    def master(self, broker_name: str) -> Address | None:
        """Where to send (RocketMQ: findBrokerAddressInPublish)."""
        return self.brokers.get(broker_name, {}).get(MASTER_ID)

    def reader(self, broker_name: str, broker_id: int, *, only_this: bool = False) -> tuple[int, Address] | None:
        """Where to read (RocketMQ: findBrokerAddressInSubscribe): that id, else the next one, else any."""
        addresses = self.brokers.get(broker_name, {})
        candidates = [broker_id] if broker_id == MASTER_ID else [broker_id, broker_id + 1]
        candidates += [] if only_this else list(addresses)
        return next(((known, addresses[known]) for known in candidates if known in addresses), None)

    def addresses(self, *, masters_only: bool) -> list[Address]:
        """All known brokers, in a stable order."""
        found = [
            address
            for name in sorted(self.brokers)
            for broker_id, address in sorted(self.brokers[name].items())
            if broker_id == MASTER_ID or not masters_only
        ]
        return list(dict.fromkeys(found))

    def forget_offline(self) -> None:
        """Drop addresses that no route names any more (RocketMQ: cleanOfflineBroker)."""
        named = {
            address: None
            for route in self.routes.values()
            for ids in route.brokers.values()
            for address in ids.values()
        }
        for name in list(self.brokers):
            kept = {broker_id: at for broker_id, at in self.brokers[name].items() if at in named}
            if kept:
                self.brokers[name] = kept
            else:
                del self.brokers[name]


def route_of(data: TopicRouteData) -> TopicRoute:
    """The wire's route as the client's value."""
    return TopicRoute(
        brokers={broker.broker_name: dict(broker.broker_addrs) for broker in data.broker_datas},
        read_queues={queues.broker_name: min(queues.read_queue_nums, QUEUES_MAX) for queues in data.queue_datas},
        write_queues={queues.broker_name: min(queues.write_queue_nums, QUEUES_MAX) for queues in data.queue_datas},
        permissions={queues.broker_name: queues.perm for queues in data.queue_datas},
        order=data.order_topic_conf or "",
    )


def _borrowed(route: TopicRoute, queues_max: int) -> TopicRoute:
    """What a topic made after this template would look like."""
    queues = {name: min(queues_max, count) for name, count in route.read_queues.items()}
    return TopicRoute(route.brokers, queues, queues, route.permissions)


def _publish_queues(topic: str, route: TopicRoute) -> tuple[MessageQueue, ...]:
    if route.order:
        return _ordered_queues(topic, route.order)
    return tuple(
        MessageQueue(topic, name, queue_id)
        for name in sorted(route.write_queues)
        if route.permissions[name] & PERM_WRITE and MASTER_ID in route.brokers.get(name, {})
        for queue_id in range(route.write_queues[name])
    )


def _ordered_queues(topic: str, conf: str) -> tuple[MessageQueue, ...]:
    """``broker-a:4;broker-b:4`` verbatim, whoever is alive (RocketMQ: topicRouteData2TopicPublishInfo)."""
    pairs: Mapping[str, int] = {
        name: min(int(count), QUEUES_MAX)
        for part in conf.split(";")
        for name, _, count in [part.partition(":")]
        if is_number(count)
    }
    return tuple(MessageQueue(topic, name, queue_id) for name, count in pairs.items() for queue_id in range(count))
