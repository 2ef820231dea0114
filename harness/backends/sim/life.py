"""One life of a node: from start to exit, kill, crash or power cut. The ``Environment`` of its role.

Question: what may reach a role, and what becomes of what it does?

Model. A life runs, is paused, or is over; one that runs may be stalled for a moment (no processor time), which is the
same to it. Everything that reaches a role comes through a ``take_…`` method with two arguments, so that it can be an
event of the heap as it stands. While the life is paused or stalled these calls are kept in an inbox, in order, and made
when it goes on; when the life is over they do nothing, whichever life of the node runs then. What a step sends leaves
when the step has ended; a step that ends in an exception sends nothing and ends the life.

Limits. A step takes no time. Writes of a step that fails stay in the page cache, as they would.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from errno import EADDRINUSE, EADDRNOTAVAIL
from heapq import heappush
from os import strerror
from random import Random
from typing import Any, Protocol

from faults.levers import NodeState
from harness.backends.sim.clock import SimClock
from harness.backends.sim.disk import SimDisk
from harness.backends.sim.disk_faults import ProcessDied
from harness.backends.sim.net import Flow, SimNet, split_address
from harness.backends.sim.scheduler import Scheduler
from harness.node_events import SIGTERM_EXIT
from reference_impl.environment import Address, Environment, Link, Role


class Home(Protocol):
    """What a life needs of the node it is a life of."""

    name: str
    host: str
    disk: SimDisk
    clock: SimClock

    def on_note(self, event: str, fields: dict[str, Any]) -> None:
        """A role's note."""

    def on_crash(self, error: Exception) -> None:
        """The life has ended by an exception."""

    def on_exit(self, code: int) -> None:
        """The life has ended by its own wish."""

    def on_death(self) -> None:
        """The process has died inside a call to the disk: end the life, as arranged."""


class Life:
    """The door between one role object and the simulated world."""

    __slots__ = (
        "_at_end", "_clock", "_closed_flow", "_disk", "_exit_code", "_heap", "_home", "_inbox", "_links", "_listening",
        "_net", "_next", "_next_link", "_outbox", "_role", "_scheduler", "_stalled", "_started", "_timer_due",
        "_timers", "host", "rng", "running", "state",
    )  # fmt: skip

    def __init__(self, home: Home, role: Role, scheduler: Scheduler, net: SimNet, rng: Random) -> None:
        self.rng = rng
        self.host = home.host
        self.state: NodeState = "running"
        self.running = True
        """Whether it gets processor time at this instant: ``state == "running"`` and not stalled. For the hot path."""
        self._stalled = False
        self._home, self._role, self._scheduler, self._net = home, role, scheduler, net
        self._clock, self._disk = home.clock, home.disk
        self._heap, self._next = scheduler.heap, scheduler.sequence.__next__
        self._links: dict[Link, Flow] = {}
        self._next_link = 1
        self._listening: list[tuple[str, int]] = []
        self._timers: dict[Hashable, int] = {}
        """key → sequence of the event that counts; an older event of that key does not."""
        self._timer_due = self.take_timer
        self._inbox: list[tuple[Callable[[Any, Any], None], Any, Any]] = []
        self._outbox: list[Flow] = []
        self._exit_code: int | None = None
        self._started = False
        self._at_end: list[Callable[[], None]] = []
        self._closed_flow: tuple[Link, Flow] | None = None
        """The link that ``on_closed`` is about: the role may still ask who the peer was."""

    # -- Environment: time -------------------------------------------------------------------------------------------

    def now(self) -> int:
        clock = self._clock
        return self._scheduler.now + clock.offset if clock.is_steady else clock.monotonic(self._scheduler.now)

    def wall(self) -> int:
        return self._clock.wall(self._scheduler.now)

    def set_timer(self, key: Hashable, delay_ns: int) -> None:
        delay_ns = self._clock.true_delay(delay_ns) if delay_ns > 0 else 0
        sequence = self._timers[key] = self._next()
        heappush(self._heap, (self._scheduler.now + delay_ns, sequence, self._timer_due, key, sequence))

    def cancel_timer(self, key: Hashable) -> None:
        self._timers.pop(key, None)

    # -- Environment: network ----------------------------------------------------------------------------------------

    def listen(self, address: Address) -> None:
        host, port = split_address(address)
        if host not in (self.host, "0.0.0.0"):
            raise OSError(EADDRNOTAVAIL, strerror(EADDRNOTAVAIL), address)
        if (self.host, port) in self._net.listeners:
            raise OSError(EADDRINUSE, strerror(EADDRINUSE), address)
        self._net.listeners[self.host, port] = (self, address)
        self._listening.append((self.host, port))

    def connect(self, address: Address) -> Link:
        link = self._new_link()
        self._links[link] = self._net.connect(self, link, address)
        return link

    def send(self, link: Link, data: bytes) -> None:
        flow = self._links.get(link)
        if flow is None or not data:
            return
        buffer = flow.buffer
        if not buffer:
            self._outbox.append(flow)
        buffer.append(data if type(data) is bytes else bytes(data))

    def close(self, link: Link) -> None:
        flow = self._links.pop(link, None)
        if flow is not None:
            flow.closing = True
            self._outbox.append(flow)

    def peer(self, link: Link) -> Address:
        return self._flow(link).peer

    def listener(self, link: Link) -> Address | None:
        return self._flow(link).listener

    # -- Environment: disk -------------------------------------------------------------------------------------------

    def read(self, file: str, offset: int, size: int) -> bytes:
        return self._disk.read(file, offset, size)

    def size(self, file: str) -> int:
        return self._disk.size(file)

    def modified(self, file: str) -> int:
        return self._clock.wall(self._disk.modified_ns(file))

    def files(self, prefix: str) -> list[str]:
        return self._disk.files(prefix)

    def write(self, file: str, offset: int, data: bytes) -> None:
        self._disk.write(file, offset, data)

    def create(self, file: str, size: int) -> None:
        self._disk.create(file, size)

    def delete(self, file: str) -> None:
        self._disk.delete(file)

    def rename(self, old: str, new: str) -> None:
        self._disk.rename(old, new)

    def truncate(self, file: str, size: int) -> None:
        self._disk.truncate(file, size)

    def sync(self, file: str, token: Hashable) -> None:
        self._disk.sync(file, token, self.take_synced)

    def sync_dir(self, token: Hashable) -> None:
        self._disk.sync_dir(token, self.take_synced)

    def disk_usage(self, path: str = "") -> tuple[int, int]:
        return self._disk.usage()  # a simulated node has one disk

    # -- Environment: the rest ---------------------------------------------------------------------------------------

    def note(self, event: str, **fields: Any) -> None:
        self._home.on_note(event, fields)

    def exit(self, code: int = 0, reason: str = "") -> None:
        self._exit_code = code

    # -- what reaches the role ---------------------------------------------------------------------------------------

    def take_start(self, _: Any = None, __: Any = None) -> None:
        """The process has come up."""
        if not self.running:
            self._later(self.take_start, None, None)
            return
        self._started = True
        self._step(self._role.on_start)

    def take_stop(self, _: Any = None, __: Any = None) -> None:
        """SIGTERM; a process that has not come up yet has no handler and just ends."""
        if not self.running:
            self._later(self.take_stop, None, None)
        elif self._started:
            self._step(self._role.on_stop)
        else:
            self.end()
            self._home.on_exit(SIGTERM_EXIT)

    def take_action(self, action: Callable[[Environment], None], _: Any = None) -> None:
        """A step that the harness asks of one of its own clients."""
        if self.running:
            self._step(action)
        else:
            self._later(self.take_action, action, None)

    def take_bytes(self, flow: Flow, data: bytes) -> None:
        """The hot path: nothing here may cost what a healthy connection does not need."""
        if (flow.stalled is not None or flow.path.trouble & flow.bit) and not self._net.passes(flow, data):
            return
        if self.running:
            self._read(flow, data)
        elif self.state != "dead":
            self._later(self._read, flow, data)
        else:
            self._net.refuse(flow)

    def _read(self, flow: Flow, data: bytes) -> None:
        """The role takes what is in the receive buffer."""
        if not self.running:
            self._later(self._read, flow, data)
            return
        flow.queued_bytes -= len(data)
        link = flow.target_link
        if link not in self._links:
            self._net.refuse(flow)
            return
        try:
            self._role.on_bytes(self, link, data)
        except Exception as error:  # noqa: BLE001 - whatever a role raises is evidence about the role
            self._crash(error)
        except ProcessDied:
            self._home.on_death()
        if self._outbox or self._exit_code is not None:
            self._end_step()

    def take_timer(self, key: Hashable, sequence: int) -> None:
        if not self.running:
            self._later(self.take_timer, key, sequence)
        elif self._timers.get(key) == sequence:
            del self._timers[key]
            self._step(self._role.on_timer, key)

    def take_connected(self, link: Link, _: Any) -> None:
        if not self.running:
            self._later(self.take_connected, link, None)
        elif link in self._links:
            self._step(self._role.on_connected, link)

    def take_accepted(self, flow: Flow, _: Any) -> None:
        if self.state == "dead" or (self.host, split_address(flow.peer)[1]) not in self._net.listeners:
            self._net.refuse(flow)
            return
        flow.target_link = link = self._new_link()
        reverse = flow.reverse
        if reverse is not None:
            reverse.source_link = link
            self._links[link] = reverse
        self.take_connected(link, None)

    def take_closed(self, link: Link, _: Any) -> None:
        if not self.running:
            self._later(self.take_closed, link, None)
            return
        flow = self._links.pop(link, None)
        if flow is not None:
            self._closed_flow = link, flow
            self._step(self._role.on_closed, link)
            self._closed_flow = None

    def take_synced(self, file: str, result: tuple[Hashable, str]) -> None:
        """A sync has ended: (token, errno name or "")."""
        if not self.running:
            self._later(self.take_synced, file, result)
        elif result[1]:
            self._step(self._role.on_disk_error, file, result[0], result[1])
        else:
            self._step(self._role.on_synced, file, result[0])

    def holds(self, link: Link) -> bool:
        return link in self._links

    # -- what is done to the life ------------------------------------------------------------------------------------

    def pause(self) -> None:
        """SIGSTOP."""
        if self.state == "running":
            self.state = "paused"
            self._go_on()

    def resume(self) -> None:
        """SIGCONT: what has come meanwhile is taken now, in order."""
        if self.state == "paused":
            self.state = "running"
            self._go_on()

    def stall(self, *, stalled: bool) -> None:
        """No processor time, or again; it counts as running all the while."""
        self._stalled = stalled
        self._go_on()

    @property
    def has_waiting(self) -> bool:
        """Whether something has come that it could not take yet."""
        return bool(self._inbox)

    def _go_on(self) -> None:
        """It runs or does not; what has come meanwhile is taken now, in order."""
        self.running = self.state == "running" and not self._stalled
        if self.running:
            inbox, self._inbox = self._inbox, []
            for call, a, b in inbox:
                call(a, b)

    def at_end(self, call: Callable[[], None]) -> None:
        """When the process is gone: what the kernel gave to it, or kept from it, goes with it."""
        self._at_end.append(call)

    def end(self, *, silently: bool = False) -> None:
        """The process is gone. Its kernel closes its links, or, without power, says nothing."""
        if self.state == "dead":
            return
        self.state, self.running = "dead", False
        for flow in self._links.values():
            if silently:
                self._net.vanish(flow)
            else:
                self._net.finish(flow)
        for key in self._listening:
            del self._net.listeners[key]
        self._links, self._listening, self._timers, self._inbox, self._outbox = {}, [], {}, [], []
        for call in self._at_end:
            call()

    # -- small parts -------------------------------------------------------------------------------------------------

    def _step(self, call: Callable[..., None], *arguments: Any) -> None:
        try:
            call(self, *arguments)
        except Exception as error:  # noqa: BLE001 - whatever a role raises is evidence about the role
            self._crash(error)
        except ProcessDied:
            self._home.on_death()
        if self._outbox or self._exit_code is not None:
            self._end_step()

    def _end_step(self) -> None:
        """What was sent leaves, in the order of the first send on each link; then the closes and the exit."""
        outbox, self._outbox = self._outbox, []
        for flow in outbox:
            buffer = flow.buffer
            if buffer and flow.established:
                flow.buffer = []
                self._net.transmit(flow, buffer[0] if len(buffer) == 1 else b"".join(buffer))
            if flow.closing:
                flow.closing = False
                self._net.finish(flow)
        if self._exit_code is not None and self.state != "dead":
            self.end()
            self._home.on_exit(self._exit_code)

    def _crash(self, error: Exception) -> None:
        self._outbox = []
        self.end()
        self._home.on_crash(error)

    def _later(self, call: Callable[[Any, Any], None], a: Any, b: Any) -> None:
        if self.state != "dead":
            self._inbox.append((call, a, b))

    def _flow(self, link: Link) -> Flow:
        if self._closed_flow is not None and self._closed_flow[0] == link:
            return self._closed_flow[1]
        return self._links[link]

    def _new_link(self) -> Link:
        link = self._next_link
        self._next_link = link + 1
        return link


def _conforms(life: Life) -> Environment:
    return life
