"""The only door between a role and the world.

Question: what may a broker, a NameServer or a client know of time, network and disk, so that the same class runs in
the simulator, in a process and in a container?

Model. A *role* is a plain object. It is called, it calls its environment, it returns. It never waits: what takes time
comes back as another call. Calls to the environment return at once; bytes to send and syncs leave after the step, in
the order of the calls. Reads see the page cache: everything written before, durable or not.

Durability, in four lines:
  write / create / rename / delete / truncate   visible at once, durable never by themselves
  sync(file, token)                             on_synced(token) comes when all earlier writes to *file* are durable
  sync_dir(token)                               the same for names: created, renamed and deleted files of the whole node
  kill keeps the page cache, a power cut keeps the platter plus whatever part of the rest had got there by chance

Limits. Reads are synchronous (a page cache hit); a file is named by a relative path below the node's own folder; two
roles of one node share all of it. An exception that leaves a role crashes its node, never the run.
"""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import Any, Protocol

Link = int
"""One TCP connection of one node. Never reused within a node's life."""

Address = str
"""``host:port``; hosts are IPv4 literals, because RocketMQ puts them into message ids."""

MS = 1_000_000
"""Nanoseconds in a millisecond."""

SECOND = 1_000_000_000
"""Nanoseconds in a second."""


class Environment(Protocol):
    """What a role may do. One instance a node and start (a restarted node gets a new one)."""

    rng: Random
    """The node's own generator: seeded by the simulator, by the operating system elsewhere."""

    def now(self) -> int:
        """Monotonic nanoseconds of this node; never goes back, differs between nodes."""

    def wall(self) -> int:
        """Milliseconds since the epoch as this node's wall clock shows them; may jump. Store timestamps use it."""

    def listen(self, address: Address) -> None:
        """Accept connections at *address*; raises ``OSError`` (EADDRINUSE) where the port is taken."""

    def connect(self, address: Address) -> Link:
        """Begin a connection: ``on_connected`` follows, or ``on_closed`` if it fails, as it does with a text that is no
        address. Data sent before is queued."""

    def send(self, link: Link, data: bytes) -> None:
        """Queue bytes; silently dropped if the link is closed (``on_closed`` has told or will tell)."""

    def close(self, link: Link) -> None:
        """Close our end after queued bytes have left. No ``on_closed`` follows for a link closed by ourselves."""

    def peer(self, link: Link) -> Address:
        """The other end, ``host:port`` (born host of messages)."""

    def listener(self, link: Link) -> Address | None:
        """The listening address that accepted *link*; ``None`` for a connection we opened."""

    def set_timer(self, key: Hashable, delay_ns: int) -> None:
        """``on_timer(key)`` once after *delay_ns*; replaces a pending timer of the same key."""

    def cancel_timer(self, key: Hashable) -> None:
        """Forget the timer; no error if there is none."""

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Up to *size* bytes; shorter at the end of the file. ``FileNotFoundError`` if absent, else ``OSError``."""

    def size(self, file: str) -> int:
        """Length in bytes, −1 if there is no such file."""

    def modified(self, file: str) -> int:
        """Last modification, wall milliseconds (RocketMQ's retention goes by it)."""

    def files(self, prefix: str) -> list[str]:
        """Names of existing files that start with *prefix*, sorted."""

    def write(self, file: str, offset: int, data: bytes) -> None:
        """Into the page cache; creates and extends the file as needed. ``OSError`` (ENOSPC, EROFS, EIO) at once."""

    def create(self, file: str, size: int) -> None:
        """A file of *size* zero bytes (sparse). Existing content is kept where the file is long enough."""

    def delete(self, file: str) -> None:
        """Remove the file; no error if it is absent."""

    def rename(self, old: str, new: str) -> None:
        """Replace *new* by *old*, atomically for a running process; durable only after ``sync_dir``."""

    def truncate(self, file: str, size: int) -> None:
        """Truncate or extend with zeros."""

    def sync(self, file: str, token: Hashable) -> None:
        """``on_synced(file, token)`` when every earlier write to *file* is durable, else ``on_disk_error``."""

    def sync_dir(self, token: Hashable) -> None:
        """``on_synced("", token)`` when every earlier create, rename and delete is durable."""

    def disk_usage(self, path: str = "") -> tuple[int, int]:
        """(used, total) bytes of the disk that holds *path* below the node's folder, or the folder itself. A path that
        is not there yet would lie where the nearest folder above it lies."""

    def note(self, event: str, **fields: Any) -> None:
        """Structured trace of a decision (``flushed_to``, ``recovered``, ``became_master``); JSON values only."""

    def exit(self, code: int = 0, reason: str = "") -> None:
        """End this node after the current step; the orderly end of ``on_stop``. *reason*: one line for whoever started
        it and must know why it will not run."""


class Role(Protocol):
    """What a node is. Every method gets the environment first; none may block."""

    def on_start(self, env: Environment) -> None:
        """Recovery: read what survived on disk, listen, connect, set timers."""

    def on_connected(self, env: Environment, link: Link) -> None:
        """A connection is up: one that we opened, or one that ``listener(link)`` accepted."""

    def on_closed(self, env: Environment, link: Link) -> None:
        """The other end closed or reset, or our connect failed."""

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        """Bytes in order, split anywhere: framing is the role's own."""

    def on_timer(self, env: Environment, key: Hashable) -> None:
        """A timer set in this life of the node is due."""

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        """Everything written to *file* before ``sync(file, token)`` is durable."""

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        """A sync failed; what it covered may or may not be durable (errno name in *error*)."""

    def on_stop(self, env: Environment) -> None:
        """Orderly shutdown asked (SIGTERM): flush, unregister, then ``env.exit()``."""
