"""``Environment`` over asyncio, real sockets and a real folder.

Question: what is a *step* in the real world? One call of one method of the role, in the loop's thread. Whatever the
role asked of network and disk during it (connect, send, close, sync) is kept and leaves when the method has returned,
in this order: connections, bytes, closes, syncs. A step that raises lets nothing leave: the node *crashes* between two
steps, as a process killed there would.

Files are the exception that the contract makes: they are written at once, since reads must see them.

One process runs one environment (``run_role``); the harness runs many in one loop, each with its own role, source
address and socket factory, and survives the crash of one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable
from functools import partial
from random import Random
from typing import Any

from reference_impl.environment import Address, Environment, Link, Role
from reference_impl.runtime.disk import Disk
from reference_impl.runtime.network import Network, SocketFactory, open_tcp_socket

NoteSink = Callable[[int, str, dict[str, Any]], None]
"""Called with (monotonic ns, event, fields) in the order of the notes."""


class AsyncioEnvironment:
    """One life of one role.

    *crashed* is called with the exception that left the role, *exited* with the code of ``exit``; after either no
    method of the role is called again. *say* gets the reason of an ``exit`` that has one. *source_host* is the address
    that our own connections come from.
    """

    def __init__(
        self,
        role: Role,
        loop: asyncio.AbstractEventLoop,
        disk: Disk,
        *,
        note: NoteSink,
        crashed: Callable[[Exception], None],
        exited: Callable[[int], None],
        open_socket: SocketFactory = open_tcp_socket,
        source_host: str | None = None,
        say: Callable[[str], None] = lambda reason: None,
        stepped: Callable[[], None] = lambda: None,
    ) -> None:
        self.rng = Random()
        self._role, self._loop, self._disk = role, loop, disk
        self._note_sink, self._crashed, self._exited, self._stepped = note, crashed, exited, stepped
        self._network = Network(loop, self, open_socket, source_host)
        self._timers: dict[Hashable, asyncio.TimerHandle] = {}
        self._connecting: list[Link] = []
        self._sending: dict[Link, list[bytes]] = {}
        self._closing: list[Link] = []
        self._syncing: list[tuple[str | None, Hashable]] = []
        self._exit_code: int | None = None
        self._say = say
        self._held: list[Callable[[], None]] | None = None
        self.ended = False

    # -- steps -----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """The first step: ``on_start``."""
        self.step(self._role.on_start)

    def stop(self) -> None:
        """The orderly end is asked: ``on_stop``."""
        self.step(self._role.on_stop)

    def step(self, action: Callable[..., None], *arguments: Any) -> None:
        """Call ``action(self, *arguments)``, then let its effects leave. Nothing happens after the role's end."""
        if self.ended:
            return
        if self._held is not None:
            self._held.append(partial(self.step, action, *arguments))
            return
        environment: Environment = self
        try:
            action(environment, *arguments)
        except Exception as error:  # noqa: BLE001 - whatever leaves a role is this node's crash, and is reported as such
            self._end()
            self._network.abort()
            self._crashed(error)
        else:
            self._let_effects_leave()
        self._stepped()

    @property
    def is_held(self) -> bool:
        """Whether no step happens until :meth:`release`."""
        return self._held is not None

    def hold(self) -> None:
        """Freeze the role: whatever the world tells it waits."""
        self._held = [] if self._held is None else self._held

    def release(self) -> None:
        """It goes on, with what had waited, in order."""
        held, self._held = self._held or [], None
        for step in held:
            step()

    def abandon(self) -> None:
        """End this life without a word, as a kill would: connections are reset, no method is called again."""
        self._end()
        self._network.abort()

    async def shut_down(self, within_s: float = 1.0) -> None:
        """After the end: let the last bytes leave, bounded, and give back sockets and files."""
        self._end()
        await self._network.close_all(within_s)
        self._disk.close()

    def _let_effects_leave(self) -> None:
        if self._connecting:
            links, self._connecting = self._connecting, []
            for link in links:
                self._network.start(link)
        if self._sending:
            sending, self._sending = self._sending, {}
            for link, parts in sending.items():
                self._network.send(link, parts[0] if len(parts) == 1 else b"".join(parts))
        if self._closing:
            links, self._closing = self._closing, []
            for link in links:
                self._network.close(link)
        if self._syncing:
            syncing, self._syncing = self._syncing, []
            for file, token in syncing:
                self._begin_sync(file, token)
        if self._exit_code is not None and not self.ended:
            self._end()
            self._exited(self._exit_code)

    def _end(self) -> None:
        self.ended = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    # -- what the world tells (LinkEvents, timers, disk) -----------------------------------------------------------

    def link_up(self, link: Link) -> None:
        self.step(self._role.on_connected, link)

    def link_down(self, link: Link) -> None:
        self.step(self._role.on_closed, link)

    def link_bytes(self, link: Link, data: bytes) -> None:
        self.step(self._role.on_bytes, link, data)

    def _due(self, key: Hashable, due_ns: int) -> None:
        # The loop may be early by its clock's resolution; a role that compares with now() must never see that.
        if (left := due_ns - time.monotonic_ns()) > 0:
            self._arm(key, due_ns, left)
            return
        del self._timers[key]
        self.step(self._role.on_timer, key)

    def _begin_sync(self, file: str | None, token: Hashable) -> None:
        name = "" if file is None else file

        def end(error: str | None) -> None:
            if error is None:
                self.step(self._role.on_synced, name, token)
            else:
                self.step(self._role.on_disk_error, name, token, error)

        if file is None:
            self._disk.sync_names(end)
        else:
            self._disk.sync(file, end)

    # -- Environment: time -----------------------------------------------------------------------------------------

    def now(self) -> int:
        return time.monotonic_ns()

    def wall(self) -> int:
        return time.time_ns() // 1_000_000

    def set_timer(self, key: Hashable, delay_ns: int) -> None:
        self.cancel_timer(key)
        self._arm(key, time.monotonic_ns() + delay_ns, delay_ns)

    def cancel_timer(self, key: Hashable) -> None:
        if timer := self._timers.pop(key, None):
            timer.cancel()

    def _arm(self, key: Hashable, due_ns: int, delay_ns: int) -> None:
        self._timers[key] = self._loop.call_later(max(delay_ns, 0) / 1e9, self._due, key, due_ns)

    # -- Environment: network --------------------------------------------------------------------------------------

    def listen(self, address: Address) -> None:
        self._network.listen(address)

    def connect(self, address: Address) -> Link:
        link = self._network.connect(address)
        self._connecting.append(link)
        return link

    def send(self, link: Link, data: bytes) -> None:
        if link not in self._closing:
            self._sending.setdefault(link, []).append(data)

    def close(self, link: Link) -> None:
        self._closing.append(link)

    def peer(self, link: Link) -> Address:
        return self._network.peer(link)

    def listener(self, link: Link) -> Address | None:
        return self._network.listener(link)

    # -- Environment: disk -----------------------------------------------------------------------------------------

    def read(self, file: str, offset: int, size: int) -> bytes:
        return self._disk.read(file, offset, size)

    def size(self, file: str) -> int:
        return self._disk.size(file)

    def modified(self, file: str) -> int:
        return self._disk.modified(file)

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
        self._syncing.append((file, token))

    def sync_dir(self, token: Hashable) -> None:
        self._syncing.append((None, token))

    def disk_usage(self, path: str = "") -> tuple[int, int]:
        return self._disk.usage(path)

    # -- Environment: the node itself ------------------------------------------------------------------------------

    def note(self, event: str, **fields: Any) -> None:
        self._note_sink(time.monotonic_ns(), event, fields)

    def exit(self, code: int = 0, reason: str = "") -> None:
        self._exit_code = code
        if reason:
            self._say(reason)
