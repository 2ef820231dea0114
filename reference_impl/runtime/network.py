"""TCP for one role on an asyncio loop: links by number, bytes in order, nothing awaited.

Question: how do ``asyncio.Protocol`` callbacks become calls of a role? Each connection is a ``_Connection`` with a
number; its callbacks become steps. A connection that we open exists (and takes bytes) before it is up.

Sockets come from a factory, so that a caller can make them inside another network namespace and bind them to the
role's own source address: that is how many clients in one process each have an address that can be isolated.

Fairness. Bytes of one connection become steps of at most ``TURN_BYTES``, and other connections have their turn between
two of them. A connection with more than ``WATER_MARK_BYTES`` unsent (Netty's high water mark) is not read until its
peer has taken them: who asks and does not read waits alone, and costs what one turn of its requests was answered with.

Limits. What we send unasked cannot be held back by that: beyond ``BUFFER_LIMIT_BYTES`` unsent bytes the link is aborted
and closes like any other. So is one of those above the water mark (:mod:`reference_impl.shares`) where these together
have more than ``UNSENT_BYTES_MAX``. Hosts are IPv4 literals, no names are looked up.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from reference_impl.digits import is_number
from reference_impl.environment import Address, Link
from reference_impl.shares import Shares

BUFFER_LIMIT_BYTES = 64 << 20
"""Unsent bytes of one link at which it is aborted."""

WATER_MARK_BYTES = 1 << 20
"""Unsent bytes of one link above which nothing more of it is read."""

UNSENT_BYTES_MAX = 256 << 20
"""Unsent bytes of all links above the water mark."""

TURN_BYTES = 8 << 10
"""Bytes of one link that make one step."""

BACKLOG = 1024
"""RocketMQ: NettyServerConfig, serverSocketBacklog."""

SocketFactory = Callable[[], socket.socket]
"""A fresh IPv4 stream socket, not yet bound."""


class LinkEvents(Protocol):
    """What the network tells its owner; each call is one step of the role."""

    def link_up(self, link: Link) -> None: ...

    def link_down(self, link: Link) -> None: ...

    def link_bytes(self, link: Link, data: bytes) -> None: ...


def open_tcp_socket() -> socket.socket:
    """A socket in the namespace of the calling thread."""
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


class Network:
    """The connections and listening sockets of one role. Call only from the loop's thread."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, events: LinkEvents, open_socket: SocketFactory, source_host: str | None
    ) -> None:
        self._loop, self._events, self._open_socket, self._source_host = loop, events, open_socket, source_host
        self._connections: dict[Link, _Connection] = {}
        self._last_link = 0
        self._full: dict[Link, _Connection] = {}
        self._unsent = Shares(UNSENT_BYTES_MAX)
        self._servers: list[asyncio.AbstractServer] = []
        self._tasks: dict[asyncio.Task[None], None] = {}

    def listen(self, address: Address) -> None:
        """Bound and listening on return; ``OSError`` where the port is taken."""
        listening = self._open_socket()
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.setblocking(False)
            listening.bind(_parse(address))
            listening.listen(BACKLOG)
        except OSError as error:
            listening.close()
            raise OSError(error.errno, f"cannot listen on {address}: {error.strerror}") from error
        host, port = listening.getsockname()
        self._spawn(self._serve(listening, f"{host}:{port}"))

    def connect(self, address: Address) -> Link:
        """A new link that is coming up; ``start`` begins the handshake."""
        return self._number(_Connection(self, address, None)).link

    def start(self, link: Link) -> None:
        """Begin the handshake of a link made by ``connect``."""
        if connection := self._connections.get(link):
            self._spawn(self._open(connection))

    def send(self, link: Link, data: bytes) -> None:
        """Hand bytes to the kernel, or keep them until the link is up; dropped if it is closed."""
        if connection := self._connections.get(link):
            connection.send(data)

    def close(self, link: Link) -> None:
        """Forget the link; bytes handed over before still leave."""
        if connection := self._connections.pop(link, None):
            connection.close()

    def peer(self, link: Link) -> Address:
        """``KeyError`` for a link that is closed."""
        return self._connections[link].peer

    def listener(self, link: Link) -> Address | None:
        """Which of our listening addresses took this link in; ``None`` for one that we opened."""
        return self._connections[link].listener

    def abort(self) -> None:
        """Drop everything at once (a crash); peers see a reset."""
        for connection in list(self._connections.values()):
            connection.abort()
        self._connections.clear()
        self._stop_tasks()

    async def close_all(self, within_s: float) -> None:
        """Stop listening, let what was sent leave, close; what takes longer than *within_s* is aborted."""
        closing = list(self._connections.values())
        for link in list(self._connections):
            self.close(link)
        self._stop_tasks()
        gone = [connection.gone for connection in closing if connection.transport is not None]
        if gone:
            await asyncio.wait(gone, timeout=within_s)
        for connection in closing:
            connection.abort()

    def later(self, turn: Callable[[], None]) -> None:
        """After what the loop has to do now."""
        self._loop.call_soon(turn)

    def _stop_tasks(self) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()

    # -- how -------------------------------------------------------------------------------------------------------

    def _number(self, connection: _Connection) -> _Connection:
        self._last_link += 1
        connection.link = self._last_link
        self._connections[connection.link] = connection
        return connection

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled():
            task.result()  # an error here is ours, not the network's: let the loop report it

    async def _serve(self, listening: socket.socket, address: Address) -> None:
        server = await self._loop.create_server(lambda: self._accepted(address), sock=listening, backlog=BACKLOG)
        self._servers.append(server)

    def _accepted(self, address: Address) -> _Connection:
        return self._number(_Connection(self, "", address))

    async def _open(self, connection: _Connection) -> None:
        try:
            opened = await self._dial(connection.peer)
            await self._loop.create_connection(lambda: connection, sock=opened)
        except (OSError, ValueError, OverflowError):  # the last two: a text that is no address, a port beyond 65535
            self._lost(connection)

    async def _dial(self, address: Address) -> socket.socket:
        opened = self._open_socket()
        try:
            opened.setblocking(False)
            if self._source_host is not None:
                opened.bind((self._source_host, 0))
            await self._loop.sock_connect(opened, _parse(address))
        except BaseException:
            opened.close()
            raise
        return opened

    def _up(self, connection: _Connection) -> None:
        self._events.link_up(connection.link)

    def _bytes(self, connection: _Connection, data: bytes) -> None:
        if connection.link in self._connections:
            self._events.link_bytes(connection.link, data)

    def _keeps_unsent(self, connection: _Connection, size: int) -> None:
        """Also one that was closed and whose last bytes nobody takes."""
        self._full[connection.link] = connection
        self._unsent.hold(connection.link, size)
        while (link := self._unsent.to_give_up()) is not None:
            greedy = self._full[link]
            self._all_sent(greedy)
            greedy.abort()

    def _all_sent(self, connection: _Connection) -> None:
        self._full.pop(connection.link, None)
        self._unsent.hold(connection.link, 0)

    def _lost(self, connection: _Connection) -> None:
        """The link is gone; whoever closed it himself is not told."""
        self._all_sent(connection)
        if self._connections.pop(connection.link, None) is not None:
            self._events.link_down(connection.link)


class _Connection(asyncio.Protocol):
    """One TCP connection: opened by us (``listener`` is None) or accepted."""

    def __init__(self, network: Network, peer: Address, listener: Address | None) -> None:
        self._network = network
        self.link: Link = 0
        self.peer, self.listener = peer, listener
        self.transport: asyncio.Transport | None = None
        self.gone: asyncio.Future[None] = network._loop.create_future()
        self._early: list[bytes] = []
        self._closing = False
        self._held = bytearray()
        """Received, and waiting for its turn."""
        self._is_full = False
        """More is unsent than the peer may leave unread."""

    def send(self, data: bytes) -> None:
        if self.transport is None:
            self._early.append(data)
        else:
            self.transport.write(data)
            if (unsent := self.transport.get_write_buffer_size()) > BUFFER_LIMIT_BYTES:
                self.abort()
            elif self._is_full:
                self._network._keeps_unsent(self, unsent)

    def close(self) -> None:
        self._closing = True
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        self._closing = True
        if self.transport is not None:
            self.transport.abort()

    # -- asyncio.Protocol ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(high=WATER_MARK_BYTES)
        if self.listener is not None:
            host, port = transport.get_extra_info("peername")
            self.peer = f"{host}:{port}"
        if self._early:
            transport.write(b"".join(self._early))
            self._early.clear()
        if self._closing:
            transport.close()
        else:
            self._network._up(self)

    def data_received(self, data: bytes) -> None:
        if not self._held and not self._is_full and len(data) <= TURN_BYTES:
            self._network._bytes(self, data)
            return
        assert self.transport is not None
        self.transport.pause_reading()
        is_idle = not self._held
        self._held += data
        if is_idle and not self._is_full:
            self._take_turn()

    def _take_turn(self) -> None:
        """One step of what waits, and the next when others have had theirs."""
        if self._is_full or not self._held:
            return
        turn, self._held = bytes(self._held[:TURN_BYTES]), self._held[TURN_BYTES:]
        self._network._bytes(self, turn)
        if self._held:
            self._network.later(self._take_turn)
        elif self.transport is not None and not self._is_full and not self.transport.is_closing():
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        self._is_full = True
        if self.transport is not None and not self.transport.is_closing():
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_full = False
        self._network._all_sent(self)
        if self._held:
            self._network.later(self._take_turn)
        elif self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._held:
            held, self._held = bytes(self._held), bytearray()
            self._network._bytes(self, held)
        if not self.gone.done():
            self.gone.set_result(None)
        self._network._lost(self)


def _parse(address: Address) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not is_number(port):
        raise ValueError(f"an address is host:port, not {address!r}")
    return host, int(port)
