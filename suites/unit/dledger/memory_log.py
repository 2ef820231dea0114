"""A log in memory, for members that run in a test: what ``FileLog`` does, without files."""

from __future__ import annotations

import msgspec

from reference_impl.dledger.entry import Entry, Unit, unit_of
from reference_impl.dledger.events import Cut, Effect, Restart, Write

FILE_SIZE = 1 << 20


class MemoryLog(msgspec.Struct):
    """``LogView``; :meth:`carry_out` is the writing side."""

    entries: list[Entry] = msgspec.field(default_factory=list)
    file_size: int = FILE_SIZE

    @property
    def begin_index(self) -> int:
        return self.entries[0].index if self.entries else -1

    @property
    def end_index(self) -> int:
        return self.entries[-1].index if self.entries else -1

    @property
    def end_term(self) -> int:
        return self.entries[-1].term if self.entries else -1

    @property
    def end_position(self) -> int:
        return self.entries[-1].pos + self.entries[-1].size if self.entries else 0

    def entry(self, index: int) -> Entry | None:
        at = index - self.begin_index
        return self.entries[at] if self.entries and 0 <= at < len(self.entries) else None

    def unit(self, index: int) -> Unit | None:
        entry = self.entry(index)
        return unit_of(entry) if entry is not None else None

    def carry_out(self, effect: Effect) -> None:
        """A write; nothing else concerns the log."""
        if isinstance(effect, Write):
            assert effect.entry.index == self.end_index + 1 or not self.entries
            self.entries.append(effect.entry)
        elif isinstance(effect, Cut):
            del self.entries[effect.index - self.begin_index :]
        elif isinstance(effect, Restart):
            self.entries = [effect.entry]
