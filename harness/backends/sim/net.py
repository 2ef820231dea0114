"""TCP between simulated hosts: streams that arrive late, in pieces, after a partition, or never.

Question: when does what one role sends reach another, and what do both learn when it does not?

Model. A connection is two flows, one a direction. Segments of a flow arrive in order after a drawn latency; what one
step sends on one flow travels as one segment, and now and then arrives in two pieces.

    connect      SYN, SYN-ACK, then the stream; refused at once where nobody listens; SYN again after 1, 2, 4 s where
                 nobody answers; ``on_closed`` after the connect timeout
    kill, close  the kernel sends FIN behind what was already sent; the other end gets ``on_closed``. Whoever sends to
                 a process that is gone is reset
    partition    silence, no reset. The flow stalls, retries after 0.2 s · 2^n, and delivers everything in order at the
                 first retry after the heal; after about 924 s its sender gives up (``on_closed``). Where only the
                 acknowledgements are dropped, one window still arrives
    jam          held, then delivered in order as soon as the jam ends
    no power     silence as in a partition; once the host is up again, what is retried there is reset
    paused       the kernel still answers; the role finds everything when it goes on

Limits. No congestion control, no half-close, no keep-alive; unread bytes are limited only by the budget (a sender is
never blocked). A killed process's unread input is dropped and its peers see FIN, where Linux would send RST. A jam
loses connection requests.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any, Protocol

from faults.levers import LinkSet
from harness.backends.sim.models import Budgets, NetModel
from harness.backends.sim.scheduler import Scheduler
from harness.backends.sim.weather import OTHER, PORT_CLASS_BITS, Path, Weather
from harness.errors import BudgetExceeded
from reference_impl.digits import is_number
from reference_impl.environment import SECOND, Address, Link

FIRST_EPHEMERAL_PORT = 32_768


class Endpoint(Protocol):
    """The process at one end, as far as the network knows it."""

    host: str

    def take_bytes(self, flow: Flow, data: bytes) -> None:
        """Bytes of *flow* have come to its host; the first thing to ask is whether they got through (``passes``)."""

    def take_connected(self, link: Link, _: Any) -> None:
        """The connection that the process opened is up."""

    def take_accepted(self, flow: Flow, _: Any) -> None:
        """A connection to one of its listeners is up; it gives the link its number."""

    def take_closed(self, link: Link, _: Any) -> None:
        """The link is gone; nothing happens where the process has already let go of it."""

    def holds(self, link: Link) -> bool:
        """The process is alive and has not let go of the link."""


class Flow:
    """One direction of a connection."""

    __slots__ = (
        "arrive", "bit", "buffer", "closing", "dead", "established", "last_arrival", "listener", "loss_count",
        "number", "path", "peer", "queued_bytes", "retries", "reverse", "source", "source_link", "stalled",
        "stalled_since", "target", "target_link", "unacknowledged",
    )  # fmt: skip

    def __init__(self, number: int, source: Endpoint, source_link: Link, peer: Address, path: Path, bit: int) -> None:
        self.number = number
        self.source, self.source_link = source, source_link
        self.target: Endpoint = source
        """Known once the connection is up."""
        self.target_link: Link = 0
        self.arrive = source.take_bytes
        """``target.take_bytes``: the event that a segment is."""
        self.peer = peer
        """Where it leads, ``host:port``."""
        self.listener: Address | None = None
        """The listening address that accepted the connection, on the accepting side."""
        self.path, self.bit = path, bit
        self.reverse: Flow | None = None
        self.established = self.closing = self.dead = False
        self.buffer: list[bytes] = []
        """Sent in the present step, or before the connection was up."""
        self.last_arrival = 0
        self.queued_bytes = 0
        """Sent and not yet consumed."""
        self.stalled: list[bytes | Callable[[Flow, Any], None]] | None = None
        """What was lost and will be retried, in order: bytes, or the arrival of something else (accept, FIN)."""
        self.stalled_since = self.retries = 0
        self.unacknowledged = self.loss_count = 0


class SimNet:
    """All connections of the world."""

    def __init__(self, scheduler: Scheduler, weather: Weather, model: NetModel, budgets: Budgets) -> None:
        self.weather = weather
        self.nodes: dict[str, str] = {}
        """host → node name."""
        self.listeners: dict[tuple[str, int], tuple[Endpoint, Address]] = {}
        self.port_bits: dict[tuple[str, int], int] = {}
        """(host, port) → port class; absent: ``OTHER``."""
        self._scheduler = scheduler
        self._heap, self._next = scheduler.heap, scheduler.sequence.__next__
        self._model = model
        self._queued_max = budgets.queued_bytes
        self._flows = 0
        self._ports: dict[str, int] = {}
        self._split_below, self._byte_ns = model.split_per_1024, model.byte_ns

    # -- what a process does ---------------------------------------------------------------------------------------

    def connect(self, source: Endpoint, link: Link, address: Address) -> Flow:
        """Begin a connection; *source* hears ``take_connected`` or ``take_closed``."""
        try:
            host, port = split_address(address)
        except ValueError:  # a peer may tell any text as an address; the system refuses what is none at once
            return self._refused(source, link, address)
        path = self.weather.path(self.nodes[source.host], self.nodes.get(host, host))
        self._flows += 1
        flow = Flow(self._flows, source, link, address, path, self.port_bits.get((host, port), OTHER))
        self._scheduler.at(self._scheduler.now + self._model.connect_timeout_ns, self._on_connect_timeout, flow)
        self._send_syn(flow, 0)
        return flow

    def _refused(self, source: Endpoint, link: Link, address: Address) -> Flow:
        here = self.nodes[source.host]
        self._flows += 1
        flow = Flow(self._flows, source, link, address, self.weather.path(here, here), OTHER)
        self._scheduler.at(self._scheduler.now, self._on_connect_timeout, flow)
        return flow

    def transmit(self, flow: Flow, data: bytes) -> None:
        """Put a segment on the wire; the flow is established."""
        size = len(data)
        flow.queued_bytes = queued = flow.queued_bytes + size
        if queued > self._queued_max:
            self._overflow(flow)
        path = flow.path
        bits = path.draw(20)
        arrival = self._scheduler.now + path.latencies[bits & 1023]
        if arrival <= flow.last_arrival:
            arrival = flow.last_arrival + 1
        if bits >> 10 < self._split_below and size > 1:
            split = path.rng.randrange(1, size)
            heappush(self._heap, (arrival, self._next(), flow.arrive, flow, data[:split]))
            data = data[split:]
            arrival += path.latencies[path.draw(10)]
        flow.last_arrival = arrival = arrival + size * self._byte_ns
        heappush(self._heap, (arrival, self._next(), flow.arrive, flow, data))

    def finish(self, flow: Flow) -> None:
        """The source lets go: FIN behind what was sent. A connection not yet up is forgotten."""
        if flow.established:
            self._launch(flow, self._on_fin)
        else:
            flow.dead = True

    def vanish(self, flow: Flow) -> None:
        """The source's host has lost power: what is on the wire arrives, nothing is ever retried."""
        self._bury(flow)
        flow.stalled = None

    def refuse(self, flow: Flow) -> None:
        """A segment has met a process that is gone or has let go: reset its sender."""
        if not flow.dead:
            self._scheduler.at(self._scheduler.now + flow.path.back.latency(), self._on_reset, flow)

    # -- what is done to it ----------------------------------------------------------------------------------------

    def connections(self, links: LinkSet) -> frozenset[int]:
        """Numbers of the live connections between two groups of nodes."""
        return frozenset(min(flow.number, _number_of(flow.reverse)) for flow in self._between(links))

    def reset(self, links: LinkSet) -> int:
        """Reset the live connections between two groups of nodes, at both ends; returns how many flows died."""
        doomed = self._between(links)
        for flow in doomed:
            for side in (flow, flow.reverse):
                if side is not None and not side.dead:
                    self._bury(side)
                    side.source.take_closed(side.source_link, None)
        return len(doomed)

    def _between(self, links: LinkSet) -> list[Flow]:
        bits = PORT_CLASS_BITS[links.port_class]
        return [flow for path in self.weather.paths(links) for flow in path.flows.values() if flow.bit & bits]

    def unjam(self, name: str) -> None:
        """Stop holding; what was held arrives now, in order, flow by flow."""
        for path in self.weather.unjam(name):
            for flow in list(path.flows.values()):
                if flow.stalled is not None:
                    self._retry(flow, flow.stalled)

    def probe(self, source: str, target: str, bit: int, tell: Callable[[bool], None]) -> None:
        """One datagram from host to host; *tell* is called when it arrives (True) or would have (False)."""
        path = self.weather.path(source, target)
        self._scheduler.at(self._scheduler.now + path.latency(), self._on_probe, (path, bit), tell)

    def knock(self, source: str, target: str, bit: int, tell: Callable[[bool], None]) -> None:
        """An attempt to connect; *tell* is called when it is answered (True) or would have been (False)."""
        path = self.weather.path(source, target)
        due = self._scheduler.now + path.latency() + path.back.latency()
        self._scheduler.at(due, self._on_knocked, (path, bit), tell)

    # -- connecting ------------------------------------------------------------------------------------------------

    def _send_syn(self, flow: Flow, attempt: int) -> None:
        if flow.established or flow.dead:
            return
        now = self._scheduler.now
        self._scheduler.at(now + flow.path.latency(), self._on_syn, flow)
        self._scheduler.at(now + (self._model.syn_retry_ns << attempt), self._send_syn, flow, attempt + 1)

    def _on_syn(self, flow: Flow, _: None) -> None:
        host, port = split_address(flow.peer)
        if flow.dead or (flow.path.lost | flow.path.held | flow.path.closed) & flow.bit or host not in self.nodes:
            return
        listener = self.listeners.get((host, port))
        answer = self._on_refusal if listener is None else self._on_syn_ack
        self._scheduler.at(self._scheduler.now + flow.path.back.latency(), answer, flow, listener)

    def _on_refusal(self, flow: Flow, _: None) -> None:
        if not (flow.dead or flow.established or flow.path.back.lost & flow.bit):
            flow.dead = True
            flow.source.take_closed(flow.source_link, None)

    def _on_connect_timeout(self, flow: Flow, _: None) -> None:
        if not (flow.dead or flow.established):
            flow.dead = True
            flow.source.take_closed(flow.source_link, None)

    def _on_syn_ack(self, flow: Flow, listener: tuple[Endpoint, Address]) -> None:
        back = flow.path.back
        if flow.established or flow.dead or (back.lost | back.held) & flow.bit:
            return
        flow.established = True
        flow.target, listening = listener
        flow.arrive = flow.target.take_bytes
        self._flows += 1
        peer = f"{flow.source.host}:{self._ephemeral_port(flow.source.host)}"
        reverse = Flow(self._flows, flow.target, 0, peer, back, flow.bit)
        reverse.target, reverse.target_link, reverse.listener = flow.source, flow.source_link, listening
        reverse.arrive = flow.source.take_bytes
        reverse.reverse, flow.reverse, reverse.established = flow, reverse, True
        flow.path.flows[flow.number], back.flows[reverse.number] = flow, reverse
        self._launch(flow, self._on_accept)
        if flow.buffer:
            data, flow.buffer = b"".join(flow.buffer), []
            self.transmit(flow, data)
        flow.source.take_connected(flow.source_link, None)

    def _on_accept(self, flow: Flow, _: None) -> None:
        if not flow.dead and self.passes(flow, self._on_accept):
            flow.target.take_accepted(flow, None)

    # -- arriving --------------------------------------------------------------------------------------------------

    def _overflow(self, flow: Flow) -> None:
        way = f"{flow.path.source} → {flow.path.target}"
        place = f"{self._scheduler.now / SECOND:.3f} s"
        raise BudgetExceeded(f"more than {self._queued_max} bytes are on the way {way}", place=place)

    def _launch(self, flow: Flow, arrive: Callable[[Flow, Any], None]) -> None:
        """Something without bytes, in order with them."""
        flow.last_arrival = max(self._scheduler.now + flow.path.latency(), flow.last_arrival + 1)
        self._scheduler.at(flow.last_arrival, arrive, flow)

    def _on_fin(self, flow: Flow, _: None) -> None:
        if flow.dead or not self.passes(flow, self._on_fin):
            return
        self._bury(flow)
        if flow.reverse is not None:
            self._bury(flow.reverse)
        flow.target.take_closed(flow.target_link, None)

    def _on_reset(self, flow: Flow, _: None) -> None:
        if flow.dead or flow.path.back.lost & flow.bit:
            return
        self._bury(flow)
        if flow.reverse is not None:
            self._bury(flow.reverse)
        flow.source.take_closed(flow.source_link, None)

    def _on_probe(self, way: tuple[Path, int], tell: Callable[[bool], None]) -> None:
        path, bit = way
        tell(not (path.lost | path.held) & bit)

    def _on_knocked(self, way: tuple[Path, int], tell: Callable[[bool], None]) -> None:
        path, bit = way
        tell(not (path.lost | path.held | path.closed | path.back.lost | path.back.held) & bit)

    def _bury(self, flow: Flow) -> None:
        flow.dead = True
        flow.path.flows.pop(flow.number, None)

    # -- trouble ---------------------------------------------------------------------------------------------------

    def passes(self, flow: Flow, item: bytes | Callable[[Flow, Any], None]) -> bool:
        """Whether *item* gets through now; otherwise it waits with the flow, in order."""
        if flow.stalled is None and not flow.path.trouble & flow.bit:
            return True
        if flow.dead:
            return False
        if flow.stalled is None and not (flow.path.lost | flow.path.held) & flow.bit:
            size = len(item) if isinstance(item, bytes) else 0
            if self._unacknowledged(flow) + size <= self._model.unacknowledged_bytes_max:
                flow.unacknowledged += size
                return True
        if flow.stalled is None:
            flow.stalled, flow.stalled_since, flow.retries = [], self._scheduler.now, 0
            self._retry_later(flow)
        flow.stalled.append(item)
        return False

    def _unacknowledged(self, flow: Flow) -> int:
        """Bytes delivered since acknowledgements were dropped; a new partition begins anew."""
        if flow.loss_count != flow.path.back.loss_count:
            flow.loss_count, flow.unacknowledged = flow.path.back.loss_count, 0
        return flow.unacknowledged

    def _retry_later(self, flow: Flow) -> None:
        delay = min(self._model.retransmit_first_ns << flow.retries, self._model.retransmit_max_ns)
        self._scheduler.at(self._scheduler.now + delay, self._retry, flow, flow.stalled)

    def _retry(self, flow: Flow, stalled: list[Any]) -> None:
        """A retransmission. Whatever is still in flight arrives, and joins the stalled, before it."""
        if flow.stalled is not stalled or flow.dead:
            return
        if self._is_blocked(flow):
            self._wait_on(flow)
        else:
            flow.last_arrival = max(self._scheduler.now + flow.path.latency(), flow.last_arrival + 1)
            self._scheduler.at(flow.last_arrival, self._on_retried, flow, stalled)

    def _on_retried(self, flow: Flow, stalled: list[Any]) -> None:
        if flow.stalled is not stalled or flow.dead:
            return
        if self._is_blocked(flow):
            self._wait_on(flow)
            return
        flow.stalled = None
        flow.unacknowledged = 0
        for item in _joined(stalled):
            if isinstance(item, bytes):
                flow.arrive(flow, item)
            else:
                item(flow, None)

    def _is_blocked(self, flow: Flow) -> bool:
        path, bit = flow.path, flow.bit
        full = self._unacknowledged(flow) > 0 and path.back.lost & bit
        return bool((path.lost | path.held) & bit or full)

    def _wait_on(self, flow: Flow) -> None:
        now, model = self._scheduler.now, self._model
        if flow.path.held & flow.bit:
            flow.stalled_since = now
        is_orphan = not flow.source.holds(flow.source_link)
        if now - flow.stalled_since >= (model.orphan_give_up_ns if is_orphan else model.retransmit_give_up_ns):
            self._bury(flow)
            flow.source.take_closed(flow.source_link, None)
            return
        flow.retries += 1
        self._retry_later(flow)

    def _ephemeral_port(self, host: str) -> int:
        port = self._ports.get(host, FIRST_EPHEMERAL_PORT)
        self._ports[host] = port + 1 if port < 60_999 else FIRST_EPHEMERAL_PORT
        return port


def split_address(address: Address) -> tuple[str, int]:
    """``host:port`` → (host, port); ``ValueError`` with the text where it is not one."""
    host, colon, port = address.rpartition(":")
    if not colon or not is_number(port) or not 0 < int(port) < 65_536:
        raise ValueError(f"{address!r} is not host:port")
    return host, int(port)


def _number_of(flow: Flow | None) -> int:
    assert flow is not None, "a flow that is in its path's table is one of two"
    return flow.number


def _joined(items: list[Any]) -> list[Any]:
    """Neighbouring bytes become one segment, as a retransmission joins them."""
    result: list[Any] = []
    for item in items:
        if result and isinstance(item, bytes) and isinstance(result[-1], bytes):
            result[-1] += item
        else:
            result.append(item)
    return result
