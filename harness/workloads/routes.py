"""The observer ``routes``: every consumer node also asks every NameServer what it knows.

Question: which brokers does each NameServer list for the topic, from when to when?

Model. RocketMQ's clients are not told of changes: they ask, every 30 s. Here each NameServer is asked once a second by
each watching node, so that the moment a broker enters or leaves *its* view is known to about a second; what a client of
RocketMQ would make of it follows from that and its 30 s. Each answer is an op ``route``: ``node`` the NameServer that
was asked, ``count`` the number of brokers with a master in the route, ``detail`` the route (broker → ids, queues).

Limits. The views are those of clients: a NameServer that is separated from them is silent, whatever it knows.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from harness.workloads.measuring import QUERY_TIMEOUT_NS, Process, status_of
from harness.workloads.parts import PartHost
from reference_impl.environment import SECOND, Environment
from reference_impl.wire.bodies import TopicRouteData
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer

EVERY_NS: Final = SECOND
_TICK: Final = ("routes", "tick")


class _View:
    """One NameServer as this node asks it: one question at a time."""

    __slots__ = ("address", "is_asked", "node", "process")

    def __init__(self, node: str, address: str, process: Process) -> None:
        self.node, self.address, self.process, self.is_asked = node, address, process, False


class RoutesPart:
    """A part of a client node that asks for routes (``Part``)."""

    def __init__(self, host: PartHost) -> None:
        self._host, self._recorder = host, host.recorder
        self._views = [
            _View(node, address, Process(self._recorder.process())) for node, address in host.stage.nameservers.items()
        ]

    def on_start(self, env: Environment) -> None:
        self._ask_all(env)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key != _TICK:
            return False
        self._ask_all(env)
        return True

    def _ask_all(self, env: Environment) -> None:
        if self._host.stopped:
            return
        for view in self._views:
            if not view.is_asked:
                self._ask(env, view)
        env.set_timer(_TICK, EVERY_NS)

    def _ask(self, env: Environment, view: _View) -> None:
        op = self._recorder.invoke(view.process.number, "route", node=view.node)

        def answered(env: Environment, answer: Answer) -> None:
            self._host.in_flight -= 1
            view.is_asked = False
            self._answered(op, view, answer)

        self._host.in_flight += 1
        view.is_asked = True
        fields = {"topic": self._host.stage.topic, "acceptStandardJsonOnly": "true"}
        request = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields)
        self._host.remoting.call(env, view.address, request, QUERY_TIMEOUT_NS, answered, close_on_timeout=True)

    def _answered(self, op: int, view: _View, answer: Answer) -> None:
        status = status_of(answer, "OK")
        if not isinstance(answer, Command) or status != "OK":
            self._host.complete(op, "route", status, view.process, count=0)
            return
        try:
            route = read_json(answer.body, TopicRouteData)
        except RemoteWireError as error:
            self._host.complete(op, "route", "MALFORMED_BODY", view.process, detail=str(error))
            return
        masters = sum(0 in broker.broker_addrs for broker in route.broker_datas)
        self._host.complete(op, "route", status, view.process, count=masters, detail=route_detail(route))


def route_detail(route: TopicRouteData) -> dict[str, dict[str, list[int]]]:
    """Broker name → its ids in the route, and how many of its queues can be read and written."""
    detail = {data.broker_name: {"ids": sorted(data.broker_addrs)} for data in route.broker_datas}
    for queues in route.queue_datas:
        counts = [queues.read_queue_nums, queues.write_queue_nums]
        detail.setdefault(queues.broker_name, {"ids": []})["queues"] = counts
    return dict(sorted(detail.items()))
