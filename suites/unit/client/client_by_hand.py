"""A client in the hand: NameServers and brokers are the test.

Servers are scripted by address: a function of the request that returns an answer, ``None`` for silence; a server can be
*dead* (connects fail at once) or *dark* (connects hang). Everything that a client does is in ``observed``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reference_impl.client import Attempt, Client, ClientSettings, MessageQueue, Observer, PullOutcome, SendResult
from reference_impl.client.model import TopicRoute
from reference_impl.environment import MS, Address, Environment, Link
from reference_impl.wire.bodies import BrokerData, QueueData, TopicRouteData, write_route
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame
from suites.fake_environment import FakeEnvironment

Script = Callable[[Command], Command | None]
NS1, NS2, NS3 = "10.1.0.1:9876", "10.1.0.2:9876", "10.1.0.3:9876"
STEP_NS = 1 * MS


class Watcher(Observer):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.routes: list[tuple[str, Address, str]] = []
        self.tries: list[tuple[int, int, MessageQueue, Address]] = []
        self.attempts: list[Attempt] = []
        self.results: list[SendResult] = []
        self.pulls: list[PullOutcome] = []
        self.commits: list[tuple[MessageQueue, int]] = []
        self.assignments: list[tuple[MessageQueue, ...]] = []

    def on_route(self, env: Environment, topic: str, server: Address, status: str, route: TopicRoute | None) -> None:
        self.routes.append((topic, server, status))

    def on_try(self, env: Environment, send: int, number: int, queue: MessageQueue, address: Address) -> None:
        self.tries.append((send, number, queue, address))

    def on_attempt(self, env: Environment, attempt: Attempt) -> None:
        self.attempts.append(attempt)

    def on_result(self, env: Environment, result: SendResult) -> None:
        self.results.append(result)

    def on_pull(self, env: Environment, outcome: PullOutcome) -> None:
        self.pulls.append(outcome)

    def on_commit(self, env: Environment, group: str, queue: MessageQueue, offset: int) -> None:
        self.commits.append((queue, offset))

    def on_assigned(self, env: Environment, group: str, queues: tuple[MessageQueue, ...]) -> None:
        self.assignments.append(queues)


class World:
    """One client and the servers it may meet. ``asked`` is (address, request) of everything that reached a server."""

    def __init__(self, *nameservers: Address, start: bool = True) -> None:
        self.watcher = Watcher()
        self.client = Client(ClientSettings(ip="10.0.0.9", nameservers=nameservers or (NS1,)), self.watcher)
        self.env = FakeEnvironment(self.client, host="10.0.0.9")
        self.scripts: dict[Address, Script] = {}
        self.dead: dict[Address, bool] = {}
        self.dark: dict[Address, bool] = {}
        self.asked: list[tuple[Address, Command]] = []
        self._met = 0
        self._open: dict[Link, tuple[Address, FrameDecoder]] = {}
        if start:
            self.start()

    def start(self) -> None:
        self.client.on_start(self.env)

    def pass_time(self, duration_ns: int) -> None:
        """Time passes in steps of a millisecond; servers answer within one."""
        for _ in range(max(1, duration_ns // STEP_NS)):
            self._exchange()
            self.env.advance(STEP_NS)
        self._exchange()

    def until(self, holds: Callable[[], object], within_ns: int) -> None:
        for _ in range(within_ns // STEP_NS):
            if holds():
                return
            self.pass_time(STEP_NS)
        raise AssertionError(f"not within {within_ns} ns")

    def kill(self, address: Address) -> None:
        """The server's process ends: its connections close, new ones are refused."""
        self.dead[address] = True
        for link in [link for link, (to, _) in self._open.items() if to == address]:
            del self._open[link]
            self.env.hang_up(link)

    def requests(self, code: int, address: Address | None = None) -> list[Command]:
        return [request for to, request in self.asked if request.code == code and address in (None, to)]

    def tell(self, address: Address, request: Command) -> None:
        """A broker sends *request* on the connection that the client has to it."""
        (link,) = [link for link, (to, _) in self._open.items() if to == address]
        self.env.deliver(link, encode_frame(request))

    def _exchange(self) -> None:
        for _ in range(50):
            if not self._connect_all() and not self._serve_all():
                return
        raise AssertionError("client and servers never come to rest")

    def _connect_all(self) -> bool:
        fresh, self._met = self.env.connects[self._met :], len(self.env.connects)
        for link, address in fresh:
            if self.dead.get(address) or address not in self.scripts:
                self.env.hang_up(link)
            elif not self.dark.get(address):
                self._open[link] = (address, FrameDecoder())
                self.env.establish(link)
        return bool(fresh)

    def _serve_all(self) -> bool:
        busy = False
        for link, (address, decoder) in list(self._open.items()):
            if link in self.env.closed_by_role:
                del self._open[link]
                continue
            for request in decoder.feed(self.env.take(link)):
                busy = True
                self.asked.append((address, request))
                answer = self.scripts[address](request)
                if answer is not None and link in self._open and not request.is_one_way:
                    self._deliver(link, request, answer)
        return busy

    def _deliver(self, link: Link, request: Command, answer: Command) -> None:
        reply = Command(answer.code, answer.fields, answer.body, answer.remark, 1, request.opaque)
        self.env.deliver(link, encode_frame(reply))


def nameserver(routes: Mapping[str, TopicRouteData]) -> Script:
    """A NameServer that knows *routes* (the mapping may change afterwards)."""

    def script(request: Command) -> Command | None:
        assert request.code == Code.GET_ROUTEINFO_BY_TOPIC
        route = routes.get(request.fields["topic"])
        return Command(17, remark="no route") if route is None else Command(0, body=write_route(route))

    return script


def route(queues: int = 4, perm: int = 6, **brokers: Address | Mapping[int, Address]) -> TopicRouteData:
    """Broker names with the address of their master, or with addresses by id."""
    datas = [
        BrokerData({0: at} if isinstance(at, str) else dict(at), name.replace("_", "-"), "C")
        for name, at in brokers.items()
    ]
    return TopicRouteData(
        broker_datas=datas,
        queue_datas=[QueueData(data.broker_name, perm, queues, 0, queues) for data in datas],
    )


class ScriptedBroker:
    """Answers sends with ``code`` (or silence), heartbeats with 0; ``stored`` are the bodies it was given."""

    def __init__(self, code: int | None = 0, remark: str | None = None) -> None:
        self.code, self.remark = code, remark
        self.stored: list[tuple[int, bytes]] = []
        self.other: Script = lambda request: Command(0)

    def __call__(self, request: Command) -> Command | None:
        if request.code not in (Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE):
            return self.other(request)
        if self.code is None:
            return None
        if self.code not in (0, 10, 11, 12):
            return Command(self.code, {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}, remark=self.remark)
        queue = int(request.fields["e"])
        self.stored.append((queue, request.body))
        fields = {"msgId": f"{len(self.stored):032X}", "queueId": str(queue), "queueOffset": str(len(self.stored) - 1)}
        return Command(self.code, fields)
