"""A world of one role, held in the hand: time moves when the test says so, bytes come from the test and go to it.

Question: what does this role do when this arrives, at this instant? No network model, no power cuts, no randomness
beyond a fixed seed: for those there is the simulator. Links of the other side are made with :meth:`accept`; what the
role sent lies in ``sent``; timers fire in :meth:`advance`, in the order of their due times, then of their setting.
"""

from __future__ import annotations

from collections.abc import Hashable
from random import Random
from typing import Any

from reference_impl.environment import Address, Link, Role


class FakeEnvironment:
    """``Environment`` for one role; set ``role`` before anything is delivered."""

    def __init__(self, role: Role | None = None, *, host: str = "10.0.0.1", wall_ms: int = 1_700_000_000_000) -> None:
        self.role = role
        self.rng = Random(0)
        self.host = host
        self.now_ns = 0
        self.wall_offset_ms = wall_ms
        self.sent: dict[Link, bytearray] = {}
        self.connects: list[tuple[Link, Address]] = []
        self.closed_by_role: list[Link] = []
        self.listening: list[Address] = []
        self.timers: dict[Hashable, tuple[int, int]] = {}
        self.timers_set = 0
        self.disk: dict[str, bytearray] = {}
        self.syncs: list[tuple[str, Hashable]] = []
        self.notes: list[tuple[str, dict[str, Any]]] = []
        self.exit_code: int | None = None
        self.exit_reason = ""
        self._links = 0
        self._peers: dict[Link, Address] = {}
        self._listeners: dict[Link, Address] = {}

    # What a test does ------------------------------------------------------------------------------------------------

    def accept(self, peer: Address = "10.0.0.9:40000", listener: Address = "") -> Link:
        """A connection from *peer* arrives."""
        link = self._new_link(peer)
        self._listeners[link] = listener or (self.listening[0] if self.listening else "")
        self._role.on_connected(self, link)
        return link

    def establish(self, link: Link) -> None:
        """A connect of the role succeeds."""
        self._role.on_connected(self, link)

    def deliver(self, link: Link, data: bytes) -> None:
        """Bytes arrive on *link*."""
        self._role.on_bytes(self, link, data)

    def hang_up(self, link: Link) -> None:
        """The other end closes, or a connect of the role fails."""
        self._peers.pop(link, None)
        self._role.on_closed(self, link)

    def advance(self, delay_ns: int) -> None:
        """Let time pass and every timer in it fire."""
        end = self.now_ns + delay_ns
        for _ in range(100_000):
            due = min(((at, order, key) for key, (at, order) in self.timers.items()), default=None, key=lambda t: t[:2])
            if due is None or due[0] > end:
                self.now_ns = end
                return
            del self.timers[due[2]]
            self.now_ns = max(self.now_ns, due[0])
            self._role.on_timer(self, due[2])
        raise AssertionError("timers never come to rest")

    def take(self, link: Link) -> bytes:
        """What the role has sent on *link* since the last call."""
        return bytes(self.sent.pop(link, b""))

    def noted(self, event: str) -> list[dict[str, Any]]:
        """The fields of every note of that name."""
        return [fields for name, fields in self.notes if name == event]

    @property
    def _role(self) -> Role:
        assert self.role is not None
        return self.role

    def _new_link(self, peer: Address) -> Link:
        self._links += 1
        self._peers[self._links] = peer
        return self._links

    # Environment -----------------------------------------------------------------------------------------------------

    def now(self) -> int:
        return self.now_ns

    def wall(self) -> int:
        return self.wall_offset_ms + self.now_ns // 1_000_000

    def listen(self, address: Address) -> None:
        self.listening.append(address)

    def connect(self, address: Address) -> Link:
        link = self._new_link(address)
        self.connects.append((link, address))
        return link

    def send(self, link: Link, data: bytes) -> None:
        if link in self._peers:
            self.sent.setdefault(link, bytearray()).extend(data)

    def close(self, link: Link) -> None:
        self._peers.pop(link, None)
        self.closed_by_role.append(link)

    def peer(self, link: Link) -> Address:
        return self._peers[link]

    def listener(self, link: Link) -> Address | None:
        return self._listeners.get(link)

    def set_timer(self, key: Hashable, delay_ns: int) -> None:
        self.timers_set += 1
        self.timers[key] = (self.now_ns + delay_ns, self.timers_set)

    def cancel_timer(self, key: Hashable) -> None:
        self.timers.pop(key, None)

    def read(self, file: str, offset: int, size: int) -> bytes:
        if file not in self.disk:
            raise FileNotFoundError(file)
        return bytes(self.disk[file][offset : offset + size])

    def size(self, file: str) -> int:
        return len(self.disk[file]) if file in self.disk else -1

    def modified(self, file: str) -> int:
        return self.wall()

    def files(self, prefix: str) -> list[str]:
        return sorted(name for name in self.disk if name.startswith(prefix))

    def write(self, file: str, offset: int, data: bytes) -> None:
        content = self.disk.setdefault(file, bytearray())
        content.extend(bytes(max(0, offset - len(content))))
        content[offset : offset + len(data)] = data

    def create(self, file: str, size: int) -> None:
        content = self.disk.setdefault(file, bytearray())
        content.extend(bytes(max(0, size - len(content))))

    def delete(self, file: str) -> None:
        self.disk.pop(file, None)

    def rename(self, old: str, new: str) -> None:
        self.disk[new] = self.disk.pop(old)

    def truncate(self, file: str, size: int) -> None:
        self.create(file, size)
        del self.disk[file][size:]

    def sync(self, file: str, token: Hashable) -> None:
        self.syncs.append((file, token))

    def sync_dir(self, token: Hashable) -> None:
        self.syncs.append(("", token))

    def disk_usage(self, path: str = "") -> tuple[int, int]:
        return 0, 1 << 30

    def note(self, event: str, **fields: Any) -> None:
        self.notes.append((event, fields))

    def exit(self, code: int = 0, reason: str = "") -> None:
        self.exit_code, self.exit_reason = code, reason
