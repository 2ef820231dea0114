"""One listener and its connections, and all proxies of a server.

Question: what happens to a connection from its beginning to its end? It is accepted; while a *jam* concerns its client,
the server is not even called (no packet gets across); then it is called, and two flows go on until both have ended. A
disabled proxy has no listener, and its connections are gone.

A client at 127/8 is called on behalf of: the server sees the client's own address, not the proxy's.

Limits. TCP over IPv4 or names; one upstream a proxy.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any, Final

from faults.mechanisms.frameproxy.flow import Flow, Line
from faults.mechanisms.frameproxy.toxics import Toxic

_LINGER_NOTHING: Final = struct.pack("ii", 1, 0)
"""A close that sends a reset."""


class Proxy:
    """From *listen* to *upstream* (``host:port``; port 0: any that is free)."""

    def __init__(self, name: str, listen: str, upstream: str, seed: int | None = None) -> None:
        self.name, self.listen, self.upstream = name, listen, upstream
        self.toxics: list[Toxic] = []
        self.accepted = 0
        self._rng = Random(seed)
        self._server: asyncio.Server | None = None
        self._connections: dict[Connection, asyncio.Task[None]] = {}

    @property
    def is_enabled(self) -> bool:
        return self._server is not None

    async def start(self) -> None:
        """Listen; ``OSError`` if that cannot be. ``listen`` then names the real port."""
        if self._server is None:
            host, port = split_address(self.listen)
            self._server = await asyncio.start_server(self._accepted, host, port)
            self.listen = f"{host}:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Listen no more, and end all connections."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        await self.drop_connections()

    async def drop_connections(self) -> None:
        """End all connections, in order; new ones are welcome."""
        tasks = list(self._connections.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def reset_connections(self) -> int:
        """Reset all connections at both ends; how many there were."""
        for connection in list(self._connections):
            connection.reset()
        return len(self._connections)

    def put(self, toxic: Toxic, instead_of: Toxic | None = None) -> None:
        """A toxic comes, at the end or in the place of another."""
        if instead_of is None:
            self.toxics.append(toxic)
        else:
            self.toxics[self.toxics.index(instead_of)] = toxic
        self._tell()

    def remove(self, *toxics: Toxic) -> None:
        for toxic in toxics:
            self.toxics.remove(toxic)
        self._tell()

    def toxic(self, name: str) -> Toxic | None:
        return next((toxic for toxic in self.toxics if toxic.name == name), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "listen": self.listen,
            "upstream": self.upstream,
            "enabled": self.is_enabled,
            "toxics": [toxic.to_json() for toxic in self.toxics],
        }

    def _tell(self) -> None:
        for connection in list(self._connections):
            connection.toxics_changed()

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        connection = Connection(reader, writer, split_address(self.upstream), lambda: self.toxics, self._rng)
        task = asyncio.get_running_loop().create_task(connection.run())
        self._connections[connection] = task
        task.add_done_callback(lambda done: self._forget(connection, done))

    def _forget(self, connection: Connection, done: asyncio.Task[None]) -> None:
        del self._connections[connection]
        if not done.cancelled() and (error := done.exception()) is not None:
            raise error  # a bug of ours: to the loop's handler, never lost


class Connection:
    """One client and, once it has been called, the server."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: tuple[str, int],
        toxics: Callable[[], list[Toxic]],
        rng: Random,
    ) -> None:
        self._reader, self._writer, self._upstream = reader, writer, upstream
        self._line = Line(writer.get_extra_info("peername")[0], toxics, self.reset, rng)
        self._changed = asyncio.Event()
        self._flows: list[Flow] = []
        self._writers = [writer]

    async def run(self) -> None:
        try:
            await self._unjammed()
            reader, writer = await self._call()
            self._writers.append(writer)
            self._flows = [
                Flow("upstream", self._line, self._reader, writer),
                Flow("downstream", self._line, reader, self._writer),
            ]
            await asyncio.gather(*(flow.run() for flow in self._flows))
        except OSError:
            return  # the server does not answer: the client finds its connection closed
        finally:
            for writer in self._writers:
                writer.close()

    def toxics_changed(self) -> None:
        self._changed.set()
        for flow in self._flows:
            flow.toxics_changed()

    def reset(self) -> None:
        for writer in self._writers:
            sock = writer.get_extra_info("socket")
            with suppress(OSError):  # closed already
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOTHING)
            writer.transport.abort()

    async def _unjammed(self) -> None:
        while any(toxic.type == "jam" and toxic.concerns(self._line.host) for toxic in self._line.toxics()):
            self._changed.clear()
            await self._changed.wait()

    def _call(self) -> Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        own = (self._line.host, 0) if self._line.host.startswith("127.") else None
        return asyncio.open_connection(*self._upstream, local_addr=own)


class Proxies:
    """All proxies of one server, by name."""

    def __init__(self, seed: int | None = None) -> None:
        self._by_name: dict[str, Proxy] = {}
        self._rng = Random(seed)

    def __iter__(self) -> Any:
        return iter(list(self._by_name.values()))

    def find(self, name: str) -> Proxy | None:
        return self._by_name.get(name)

    async def add(self, name: str, listen: str, upstream: str, is_enabled: bool = True) -> Proxy:
        """A new proxy under a name that is free; ``OSError`` if its address is not."""
        proxy = Proxy(name, listen or "127.0.0.1:0", upstream, self._rng.getrandbits(64))
        if is_enabled:
            await proxy.start()
        self._by_name[name] = proxy
        return proxy

    async def remove(self, proxy: Proxy) -> None:
        await proxy.stop()
        del self._by_name[proxy.name]

    async def close(self) -> None:
        for proxy in self:
            await self.remove(proxy)


def split_address(address: str) -> tuple[str, int]:
    """``host:port``; ``ValueError`` for anything else."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError(f"{address!r} is no address: host:port")
    return host or "0.0.0.0", int(port)
