"""Load of kind ``routes``: the load of kind ``log``, and every consumer node asks every NameServer what it knows.

Question: which brokers does each NameServer list for the topic, from when to when?

Model. RocketMQ's clients are not told of changes: they ask, every 30 s. Here each NameServer is asked once a second by
each watching node, so that the moment a broker enters or leaves *its* view is known to about a second; what a client of
RocketMQ would make of it follows from that and its 30 s. Each answer is an op ``route``: ``node`` the NameServer that
was asked, ``count`` the number of brokers with a master in the route, ``detail`` the route (broker → ids, queues).

Limits. The views are those of clients: a NameServer that is cut off from them is silent, whatever it knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Final

from harness.workloads.log import Consumer, LogWorkload
from harness.workloads.measuring import QUERY_TIMEOUT_NS, Process, status_of
from harness.workloads.workload import Stage
from reference_impl.environment import SECOND, Environment
from reference_impl.wire.bodies import TopicRouteData
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer

EVERY_NS: Final = SECOND
_TICK: Final = "routes"


class _View:
    """One NameServer as this node asks it: one question at a time."""

    __slots__ = ("address", "is_asked", "node", "process")

    def __init__(self, node: str, address: str, process: Process) -> None:
        self.node, self.address, self.process, self.is_asked = node, address, process, False


class WatchingConsumer(Consumer):
    """A consumer node that also asks for routes."""

    def __init__(self, stage: Stage, name: str, number: int, counts: Counter[str]) -> None:
        super().__init__(stage, name, number, counts)
        self._views = [
            _View(node, address, Process(stage.recorder.process())) for node, address in stage.nameservers.items()
        ]

    def on_start(self, env: Environment) -> None:
        super().on_start(env)
        self._ask_all(env)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if key == _TICK:
            self._ask_all(env)
        else:
            super().on_timer(env, key)

    def _ask_all(self, env: Environment) -> None:
        if self.stopped:
            return
        for view in self._views:
            if not view.is_asked:
                self._ask(env, view)
        env.set_timer(_TICK, EVERY_NS)

    def _ask(self, env: Environment, view: _View) -> None:
        op = self.recorder.invoke(view.process.number, "route", node=view.node)

        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            view.is_asked = False
            self._answered(op, view, answer)

        self.in_flight += 1
        view.is_asked = True
        fields = {"topic": self.stage.topic, "acceptStandardJsonOnly": "true"}
        request = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields)
        self.remoting.call(env, view.address, request, QUERY_TIMEOUT_NS, answered, close_on_timeout=True)

    def _answered(self, op: int, view: _View, answer: Answer) -> None:
        status = status_of(answer, "OK")
        if not isinstance(answer, Command) or status != "OK":
            self._complete(op, "route", status, view.process, count=0)
            return
        try:
            route = read_json(answer.body, TopicRouteData)
        except RemoteWireError as error:
            self._complete(op, "route", "MALFORMED_BODY", view.process, detail=str(error))
            return
        masters = sum(0 in broker.broker_addrs for broker in route.broker_datas)
        self._complete(op, "route", status, view.process, count=masters, detail=route_detail(route))


def route_detail(route: TopicRouteData) -> dict[str, dict[str, list[int]]]:
    """Broker name → its ids in the route, and how many of its queues can be read and written."""
    detail = {data.broker_name: {"ids": sorted(data.broker_addrs)} for data in route.broker_datas}
    for queues in route.queue_datas:
        counts = [queues.read_queue_nums, queues.write_queue_nums]
        detail.setdefault(queues.broker_name, {"ids": []})["queues"] = counts
    return dict(sorted(detail.items()))


class RoutesWorkload(LogWorkload):
    """``Workload`` of kind ``routes``."""

    consumer = WatchingConsumer
