"""The remoting endpoint of a role: connections by address, calls and their answers, requests from the other side.

Question: how does a role that never waits talk to others? It owns a :class:`Remoting` and forwards to it what concerns
its links. Requests go out with :meth:`Remoting.call`; the answer, or a :class:`CallFailed`, comes back as one call of
``on_answer``, never from within ``call`` itself. Requests come in to a *handler* ``(env, link, request)``, which
returns the answer, or ``None`` to answer later with :meth:`Remoting.reply`.

Model (RocketMQ: NettyRemotingAbstract, NettyRemotingClient). One connection an address, opened by the first call,
opened anew by the first call after it ended; both sides may ask on it. Answers are matched by opaque, on the link that
the request took. A frame for a connection that is not up yet is held here, so that a failed connect means *certainly
not sent*:

    connect   no connection within the connect timeout, refused, or the call's own time was up before it stood
    closed    the connection ended with the request under way: it may have been carried out
    timeout   no answer in time: it may have been carried out

Silence. Nothing is answered to a one-way request, whatever became of it. A bad frame closes its connection without a
word. A connection without traffic both ways is closed after 120 s.

A handler that raises is answered with code 1 and a remark of Java's shape, and noted as ``handler_failed`` with its
traceback: the peer must see what a real one would see, and nobody may overlook that it was ours that broke. A
``RequestRefused`` is an answer, not a failure; a ``RemoteWireError`` out of a handler is the peer's fault.

Memory. Unfinished frames of all connections together have ``UNFINISHED_BYTES_MAX``; the connection that is given up for
it (:mod:`reference_impl.shares`) is closed as for a bad frame. Netty bounds the same by ``io.netty.maxDirectMemory``,
and closes whichever connection asks for more.

Limits. No TLS, no limit on calls in flight. One deadline timer and one idle timer an endpoint, however many calls.
"""

from __future__ import annotations

import heapq
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Final, Literal

import msgspec

from reference_impl.environment import SECOND, Address, Environment, Link
from reference_impl.shares import Shares
from reference_impl.wire.codes import ResponseCode
from reference_impl.wire.fields import RequestRefused
from reference_impl.wire.frame import ANSWER, JSON, ONE_WAY, Command, FrameDecoder, RemoteWireError, encode_frame

FailureKind = Literal["connect", "closed", "timeout"]


class CallFailed(msgspec.Struct, frozen=True, gc=False):
    """A call that got no answer. ``kind`` ``connect``: certainly not sent; the others: nobody knows."""

    kind: FailureKind
    address: Address


Answer = Command | CallFailed
OnAnswer = Callable[[Environment, Answer], None]
Handler = Callable[[Environment, Link, Command], Command | None]
OnGone = Callable[[Environment, Link], None]

CONNECT_TIMEOUT_NS: Final = 3 * SECOND
IDLE_CLOSE_NS: Final = 120 * SECOND
OPAQUE_MAX: Final = 0x7FFFFFFF
UNFINISHED_BYTES_MAX: Final = 128 << 20
"""Eight frames of the greatest size, or thirty messages of the greatest size, on their way at once."""


def not_supported(request: Command) -> Command:
    """Code 3, as a broker answers a code that it has no processor for."""
    return Command(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark=f" request type {request.code} not supported")


def handler_by_code(handlers: Mapping[int, Handler]) -> Handler:
    """A handler that looks the request's code up and answers code 3 for all others."""

    def handle(env: Environment, link: Link, request: Command) -> Command | None:
        handler = handlers.get(request.code)
        return handler(env, link, request) if handler is not None else not_supported(request)

    return handle


class _Call(msgspec.Struct):
    on_answer: OnAnswer
    close_on_timeout: bool


class _Connection:
    """One link. ``held`` are frames that wait for the connection; ``None`` once it stands."""

    __slots__ = ("address", "calls", "decoder", "held", "last_ns", "link")

    def __init__(self, link: Link, address: Address, opened_by_us: bool, now_ns: int) -> None:
        self.link = link
        self.address = address
        self.held: dict[int, bytes] | None = {} if opened_by_us else None
        self.calls: dict[int, _Call] = {}
        self.decoder = FrameDecoder()
        self.last_ns = now_ns


class Remoting:
    """One endpoint. The role forwards ``on_connected``, ``on_closed``, ``on_bytes`` and ``on_timer`` of the links that
    it opened through here or accepted for it.

    *on_gone* hears of every link that ended, also those closed from here (bad frame, idle, :meth:`close`), which the
    environment does not report. With *answer_in_json* answers are always JSON, as 5.x has it; else they take the form
    of their request. *name* keeps the timers of several endpoints of a role apart.
    """

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        on_gone: OnGone | None = None,
        answer_in_json: bool = False,
        connect_timeout_ns: int = CONNECT_TIMEOUT_NS,
        idle_close_ns: int = IDLE_CLOSE_NS,
        name: str = "remoting",
    ) -> None:
        self._handler = handler or handler_by_code({})
        self._on_gone = on_gone
        self._answer_in_json = answer_in_json
        self._connect_timeout_ns = connect_timeout_ns
        self._idle_close_ns = idle_close_ns
        self._connections: dict[Link, _Connection] = {}
        self._by_address: dict[Address, _Connection] = {}
        self._unfinished = Shares(UNFINISHED_BYTES_MAX)
        self._opaque = 0
        self._deadlines: list[tuple[int, Link, int]] = []  # heap; opaque −1 is the connect timeout of the link
        self._armed_ns: int | None = None
        self._deadline_key: Hashable = (name, "deadline")
        self._idle_key: Hashable = (name, "idle")
        self.unmatched_answers = 0
        """Answers that nobody waited for any more: they came after their call had failed."""

    # Asking ----------------------------------------------------------------------------------------------------------

    def call(
        self,
        env: Environment,
        address: Address,
        request: Command,
        timeout_ns: int,
        on_answer: OnAnswer,
        *,
        close_on_timeout: bool = False,
    ) -> int:
        """Ask *address*; returns the opaque that *request* is given. *close_on_timeout* ends the connection, and with
        it every other call on it, when this one times out, as Java's synchronous calls do."""
        return self._ask(env, self._connect(env, address), request, timeout_ns, on_answer, close_on_timeout)

    def call_link(
        self, env: Environment, link: Link, request: Command, timeout_ns: int, on_answer: OnAnswer
    ) -> int | None:
        """Ask the peer of an open link (a broker its clients). ``None``, and no answer, if the link is gone."""
        connection = self._connections.get(link)
        return None if connection is None else self._ask(env, connection, request, timeout_ns, on_answer, False)

    def oneway(self, env: Environment, address: Address, request: Command) -> None:
        """Tell *address*; nobody will know whether it got there."""
        self._tell(env, self._connect(env, address), request)

    def oneway_link(self, env: Environment, link: Link, request: Command) -> None:
        """Tell the peer of an open link; dropped if it is gone."""
        connection = self._connections.get(link)
        if connection is not None:
            self._tell(env, connection, request)

    def reply(self, env: Environment, link: Link, request: Command, answer: Command) -> None:
        """Send *answer* as that of *request*: silently nowhere if the link is gone or the request was one-way."""
        connection = self._connections.get(link)
        if connection is None or request.flag & ONE_WAY:
            return
        answer.opaque = request.opaque
        answer.flag |= ANSWER
        answer.serialization = JSON if self._answer_in_json else request.serialization
        self._send(env, connection, answer)

    # Connections -----------------------------------------------------------------------------------------------------

    def owns(self, link: Link) -> bool:
        """Whether *link* is one of this endpoint's open or opening connections."""
        return link in self._connections

    def links(self) -> list[Link]:
        """All of them, oldest first."""
        return list(self._connections)

    def link_to(self, address: Address) -> Link | None:
        """The link that calls to *address* take now, if there is one."""
        connection = self._by_address.get(address)
        return connection.link if connection is not None else None

    def is_connected(self, address: Address) -> bool:
        """Whether a connection to *address* stands, as far as this end knows."""
        connection = self._by_address.get(address)
        return connection is not None and connection.held is None

    def close(self, env: Environment, link: Link) -> None:
        """End a link from here; its calls fail."""
        connection = self._connections.get(link)
        if connection is not None:
            env.close(link)
            self._forget(env, connection)

    def close_all(self, env: Environment) -> None:
        """End every link (orderly shutdown)."""
        for link in list(self._connections):
            self.close(env, link)

    # What the role forwards ------------------------------------------------------------------------------------------

    def on_connected(self, env: Environment, link: Link) -> None:
        """A connection of ours stands, or one was accepted."""
        connection = self._connections.get(link)
        if connection is None:
            self._add(env, _Connection(link, env.peer(link), False, env.now()))
            return
        held, connection.held = connection.held or {}, None
        for frame in held.values():
            env.send(link, frame)
        connection.last_ns = env.now()

    def on_closed(self, env: Environment, link: Link) -> None:
        """The other end is gone, or our connect failed."""
        connection = self._connections.get(link)
        if connection is not None:
            self._forget(env, connection)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        """Split into frames; answers go to their calls, requests to the handler."""
        connection = self._connections.get(link)
        if connection is None:
            return
        connection.last_ns = env.now()
        try:
            sole = connection.decoder.sole(data)
        except RemoteWireError as error:
            self._complain(env, connection, error)
            return
        if sole is not None:
            self._take(env, connection, sole)
            return
        frames = connection.decoder.feed(data)
        while (command := self._next_frame(env, connection, frames)) is not None:
            self._unfinished.hold(link, 0)  # the next one is young
            self._take(env, connection, command)
            if link not in self._connections:
                return
        if link in self._connections:
            self._keep_within_bounds(env, connection)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was this endpoint's."""
        if key == self._deadline_key:
            self._expire(env)
        elif key == self._idle_key:
            self._close_idle(env)
        else:
            return False
        return True

    # Inside ----------------------------------------------------------------------------------------------------------

    def _connect(self, env: Environment, address: Address) -> _Connection:
        connection = self._by_address.get(address)
        if connection is None:
            connection = _Connection(env.connect(address), address, True, env.now())
            self._by_address[address] = connection
            self._add(env, connection)
            self._set_deadline(env, self._connect_timeout_ns, connection.link, _CONNECTING)
        return connection

    def _add(self, env: Environment, connection: _Connection) -> None:
        if not self._connections:
            env.set_timer(self._idle_key, self._idle_close_ns)
        self._connections[connection.link] = connection

    def _ask(
        self,
        env: Environment,
        connection: _Connection,
        request: Command,
        timeout_ns: int,
        on_answer: OnAnswer,
        close_on_timeout: bool,
    ) -> int:
        opaque = request.opaque = self._next_opaque()
        self._send(env, connection, request)
        connection.calls[opaque] = _Call(on_answer, close_on_timeout)
        self._set_deadline(env, timeout_ns, connection.link, opaque)
        return opaque

    def _tell(self, env: Environment, connection: _Connection, request: Command) -> None:
        request.opaque = self._next_opaque()
        request.flag |= ONE_WAY
        self._send(env, connection, request)

    def _send(self, env: Environment, connection: _Connection, command: Command) -> None:
        frame = encode_frame(command)
        if connection.held is not None:
            connection.held[command.opaque] = frame
            return
        connection.last_ns = env.now()
        env.send(connection.link, frame)

    def _next_opaque(self) -> int:
        self._opaque = self._opaque % OPAQUE_MAX + 1
        return self._opaque

    def _next_frame(self, env: Environment, connection: _Connection, frames: Iterator[Command]) -> Command | None:
        """Only the decoder's complaint closes the connection; one out of a callback is the callback's business."""
        try:
            return next(frames, None)
        except RemoteWireError as error:
            self._complain(env, connection, error)
            return None

    def _keep_within_bounds(self, env: Environment, connection: _Connection) -> None:
        self._unfinished.hold(connection.link, connection.decoder.buffered())
        while (link := self._unfinished.to_give_up()) is not None:
            env.note("unfinished_frames", peer=self._connections[link].address, bytes=self._unfinished.total)
            self.close(env, link)

    def _complain(self, env: Environment, connection: _Connection, error: RemoteWireError) -> None:
        env.note("bad_frame", peer=connection.address, error=str(error))
        self.close(env, connection.link)

    def _take(self, env: Environment, connection: _Connection, command: Command) -> None:
        if command.flag & ANSWER:
            self._take_answer(env, connection, command)
        else:
            self._serve(env, connection.link, command)

    def _take_answer(self, env: Environment, connection: _Connection, answer: Command) -> None:
        call = connection.calls.pop(answer.opaque, None)
        if call is None:
            self.unmatched_answers += 1
        else:
            call.on_answer(env, answer)

    def _serve(self, env: Environment, link: Link, request: Command) -> None:
        try:
            answer = self._handler(env, link, request)
            if answer is not None:
                self.reply(env, link, request, answer)
        except RequestRefused as refusal:
            self.reply(env, link, request, Command(refusal.code, remark=refusal.remark))
        except RemoteWireError as error:
            self.reply(env, link, request, Command(ResponseCode.SYSTEM_ERROR, remark=f"RemoteWireError: {error}"))
        except Exception as error:  # noqa: BLE001  # answered and noted, see the module's text
            stack = _stack_of(error)
            env.note("handler_failed", code=request.code, error=repr(error), traceback=stack)
            remark = f"{type(error).__name__}: {error}, {stack[-1]}"
            self.reply(env, link, request, Command(ResponseCode.SYSTEM_ERROR, remark=remark))

    def _forget(self, env: Environment, connection: _Connection) -> None:
        del self._connections[connection.link]
        self._unfinished.hold(connection.link, 0)
        if self._by_address.get(connection.address) is connection:
            del self._by_address[connection.address]
        kind: FailureKind = "closed" if connection.held is None else "connect"
        calls, connection.calls = connection.calls, {}
        for call in calls.values():
            call.on_answer(env, CallFailed(kind, connection.address))
        if self._on_gone is not None:
            self._on_gone(env, connection.link)

    def _set_deadline(self, env: Environment, delay_ns: int, link: Link, opaque: int) -> None:
        deadline_ns = env.now() + delay_ns
        heapq.heappush(self._deadlines, (deadline_ns, link, opaque))
        if self._armed_ns is None or deadline_ns < self._armed_ns:
            self._armed_ns = deadline_ns
            env.set_timer(self._deadline_key, delay_ns)

    def _expire(self, env: Environment) -> None:
        self._armed_ns = None
        now_ns = env.now()
        while self._deadlines and (self._deadlines[0][0] <= now_ns or not self._is_awaited(*self._deadlines[0][1:])):
            _, link, opaque = heapq.heappop(self._deadlines)
            if self._is_awaited(link, opaque):
                self._time_out(env, self._connections[link], opaque)
        if self._deadlines and self._armed_ns is None:
            self._armed_ns = self._deadlines[0][0]
            env.set_timer(self._deadline_key, self._armed_ns - now_ns)

    def _is_awaited(self, link: Link, opaque: int) -> bool:
        connection = self._connections.get(link)
        if connection is None:
            return False
        return connection.held is not None if opaque == _CONNECTING else opaque in connection.calls

    def _time_out(self, env: Environment, connection: _Connection, opaque: int) -> None:
        if opaque == _CONNECTING:
            self.close(env, connection.link)
            return
        call = connection.calls.pop(opaque)
        kind: FailureKind = "timeout" if connection.held is None else "connect"
        if connection.held is not None:
            del connection.held[opaque]
        call.on_answer(env, CallFailed(kind, connection.address))
        if call.close_on_timeout and kind == "timeout":
            self.close(env, connection.link)

    def _close_idle(self, env: Environment) -> None:
        now_ns = env.now()
        for connection in list(self._connections.values()):
            if now_ns - connection.last_ns >= self._idle_close_ns:
                env.note("idle_close", peer=connection.address)
                self.close(env, connection.link)
        if self._connections:
            oldest_ns = min(connection.last_ns for connection in self._connections.values())
            env.set_timer(self._idle_key, oldest_ns + self._idle_close_ns - now_ns)


def _stack_of(error: Exception) -> list[str]:
    """``remoting.py:12 in _serve`` a frame, outermost first; without folders, so that histories compare anywhere."""
    frames = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} in {frame.name}" for frame in frames]


_CONNECTING: Final = -1
