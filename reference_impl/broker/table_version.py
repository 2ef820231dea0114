"""How new a table of progress is (5.x): every so many changes count as one.

Question: a master returns and finds its acting slave's consumer offsets; whose are newer? 4.9 has no such versions:
there they are neither written nor shown.

Limits. The time in a version is that of the table's beginning, where RocketMQ has that of the last counted change:
only two versions of the same count would be told apart by it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from reference_impl.wire.bodies import DataVersion


class TableVersion:
    """Of one table; *step* changes make the next version."""

    def __init__(self, step: int, *, is_kept: bool) -> None:
        self._step, self._is_kept = step, is_kept
        self._base = DataVersion(state_version=0)
        self._changes = 0

    @property
    def value(self) -> DataVersion:
        """The version now."""
        return msgspec.structs.replace(self._base, counter=self._base.counter + self._changes // self._step)

    @property
    def shown(self) -> DataVersion | None:
        """What goes into answers; ``None``: none."""
        return self.value if self._is_kept else None

    def text(self) -> dict[str, Any]:
        """The member that goes into the file, if one does."""
        return {"dataVersion": msgspec.to_builtins(self.value)} if self._is_kept else {}

    def begin(self, wall_ms: int) -> None:
        """A time, where no file has brought one (RocketMQ: DataVersion's constructor)."""
        if not self._base.timestamp:
            self._base = DataVersion(0, 0, wall_ms)

    def changed(self) -> None:
        """One change."""
        self._changes += 1

    def take(self, version: DataVersion) -> None:
        """The table is another broker's now."""
        self._base, self._changes = version, self._changes % self._step

    def load(self, version: DataVersion | None) -> None:
        """Take over what a file has, if it has one."""
        if self._is_kept and version is not None:
            self.take(version)
