"""One step in progress: the state, the log with what this step has done to it, the clock, and the effects so far.

Question: what can a rule of the protocol see and do? Everything here is immediate; nothing reaches the world before the
step is over. :class:`Tail` is the log as it will be then: entries written in this step can be read in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Protocol

from reference_impl.dledger.entry import HEAD_SIZE, Entry, Unit, entry_of, place, unit_of
from reference_impl.dledger.events import (
    CancelTimer,
    Cut,
    Effect,
    Note,
    Reply,
    Restart,
    SaveTerm,
    Send,
    SetTimer,
    Write,
)
from reference_impl.dledger.messages import Message
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.state import Member
from reference_impl.environment import MS


class LogView(Protocol):
    """What a step reads of the log."""

    @property
    def begin_index(self) -> int: ...
    @property
    def end_index(self) -> int: ...
    @property
    def end_term(self) -> int: ...
    @property
    def end_position(self) -> int: ...
    @property
    def file_size(self) -> int: ...
    def unit(self, index: int) -> Unit | None: ...
    def entry(self, index: int) -> Entry | None: ...


class Tail:
    """The log, and what is done to it in this step."""

    def __init__(self, log: LogView, effects: list[Effect]) -> None:
        self._log, self._effects = log, effects
        self.begin, self.end, self.end_term = log.begin_index, log.end_index, log.end_term
        self.position, self.file_size = log.end_position, log.file_size
        self._fresh: dict[int, Entry] = {}

    def entry(self, index: int) -> Entry | None:
        """The entry *index*; ``None`` where there is none."""
        if not 0 <= self.begin <= index <= self.end:
            return None
        return self._fresh.get(index) or self._log.entry(index)

    def unit(self, index: int) -> Unit | None:
        """Place, size and term of entry *index*."""
        if not 0 <= self.begin <= index <= self.end:
            return None
        fresh = self._fresh.get(index)
        return unit_of(fresh) if fresh is not None else self._log.unit(index)

    def term_of(self, index: int) -> int:
        """The term of entry *index*; −1 where there is none."""
        if index == self.end:
            return self.end_term
        unit = self.unit(index)
        return unit.term if unit is not None else -1

    def place(self, size: int) -> int:
        """Where a record of *size* bytes begins if it comes next."""
        return place(self.position, size, self.file_size)

    def write(self, entry: Entry) -> None:
        """*entry* comes next."""
        self._effects.append(Write(entry))
        self._take(entry)

    def _take(self, entry: Entry) -> None:
        self._fresh[entry.index] = entry
        self.end, self.end_term = entry.index, entry.term
        self.position = entry.pos + entry.size
        if self.begin < 0:
            self.begin = entry.index

    def cut(self, index: int) -> None:
        """Entries from *index* on, which is there, go."""
        unit, last = self.unit(index), self.unit(index - 1)
        assert unit is not None
        self._effects.append(Cut(index))
        self._fresh = {at: entry for at, entry in self._fresh.items() if at < index}
        self.position = unit.pos
        self.end, self.end_term = (last.index, last.term) if last is not None else (-1, -1)
        if last is None:
            self.begin = -1

    def restart(self, entry: Entry) -> None:
        """*entry* is the whole log."""
        self._effects.append(Restart(entry))
        self._fresh, self.begin = {}, -1
        self._take(entry)


class Turn:
    """One step. Rules are functions that take it."""

    def __init__(self, settings: Settings, member: Member, log: LogView, now_ns: int, rng: Random) -> None:
        self.settings, self.member, self.now_ns, self.rng = settings, member, now_ns, rng
        self.effects: list[Effect] = []
        self.tail = Tail(log, self.effects)

    def send(self, peer: str, request: Message, number: int = 0) -> None:
        """Ask *peer*."""
        self.effects.append(Send(peer, request, number))

    def reply(self, ref: int, answer: Message) -> None:
        """Answer a request."""
        self.effects.append(Reply(ref, answer))

    def set_timer(self, key: str, delay_ms: int) -> None:
        """``Timer(key)`` comes then."""
        self.effects.append(SetTimer(key, delay_ms * MS))

    def set_timer_at(self, key: str, due_ns: int) -> None:
        """The same at a time, or at once."""
        self.effects.append(SetTimer(key, max(0, due_ns - self.now_ns)))

    def cancel_timer(self, key: str) -> None:
        """It does not come."""
        self.effects.append(CancelTimer(key))

    def note(self, event: str, **fields: Any) -> None:
        """Leave a line in the trace."""
        self.effects.append(Note(event, fields))

    def save_term(self) -> None:
        """Term or vote have changed."""
        self.effects.append(SaveTerm(self.member.term, self.member.voted_for))

    def base(self, peer: str, term: int | None = None) -> Mapping[str, Any]:
        """The members that every request of ours to *peer* has; the leader is us."""
        settings = self.settings
        return {
            "group": settings.group,
            "leader_id": settings.self_id,
            "local_id": settings.self_id,
            "remote_id": peer,
            "term": self.member.term if term is None else term,
        }

    def append(self, body: bytes) -> Entry:
        """One more entry of the leader, with the place of its body stamped into it where that is wanted."""
        tail, at = self.tail, self.settings.stamp_at
        pos = tail.place(HEAD_SIZE + len(body))
        if at >= 0:
            body = body[:at] + (pos + HEAD_SIZE).to_bytes(8, "big") + body[at + 8 :]
        entry = entry_of(body, index=tail.end + 1, term=self.member.term, pos=pos)
        tail.write(entry)
        return entry
