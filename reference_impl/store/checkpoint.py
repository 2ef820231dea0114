"""The checkpoint: up to which store time the files are known to be on the disk.

Question: from which log file must an abnormal start scan? Model (RocketMQ: StoreCheckpoint): three wall-clock times,

    physic   last record covered by a complete flush of the log
    logics   last record whose consume-queue unit was written
    index    last record of the last index file that is full

kept in memory; the *file* (4096 bytes, three big-endian longs) changes only in ``save``, which forces it. So a kill in
the first minute of a broker's life leaves zeros, and recovery reads the log from its first file.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from reference_impl.environment import Environment
from reference_impl.store.forcing import Forcing
from reference_impl.store.mapped_files import Done

SIZE: Final = 4096
_TIMES: Final = Struct(">qqq")
_MARGIN_MS: Final = 3000
"""RocketMQ takes three seconds off, for records on their way when the times were taken."""


class Checkpoint:
    """The times of one store. Wall milliseconds, 0: never."""

    def __init__(self, path: str, forcing: Forcing) -> None:
        self.path = path
        self.physic_ms = self.logics_ms = self.index_ms = 0
        self._forcing = forcing
        self._is_held = True

    def release(self) -> None:
        """What recovery accepted is on the disk: from now on the times may be saved."""
        self._is_held = False

    def load(self, env: Environment) -> None:
        """Read the file; create it, all zeros, where there is none."""
        if env.size(self.path) < SIZE:
            env.create(self.path, SIZE)
            self._forcing.names_changed()
        self.physic_ms, self.logics_ms, self.index_ms = _TIMES.unpack(env.read(self.path, 0, _TIMES.size))

    def save(self, env: Environment, done: Done | None = None) -> None:
        """Write the times and force the file; *done* when that is over, whatever came of it."""
        if self._is_held:
            if done is not None:
                done(env)
            return
        try:
            env.write(self.path, 0, _TIMES.pack(self.physic_ms, self.logics_ms, self.index_ms))
        except OSError as error:
            env.note("checkpoint_not_saved", error=str(error))
            if done is not None:
                done(env)
            return

        def forced(env: Environment, error: str) -> None:
            if error:
                env.note("force_failed", file=self.path, error=error)
            if done is not None:
                done(env)

        self._forcing.force(env, self.path, forced)

    @property
    def min_ms(self) -> int:
        """Everything stored before is in the log and in the consume queues."""
        return max(0, min(self.physic_ms, self.logics_ms) - _MARGIN_MS)

    @property
    def min_index_ms(self) -> int:
        """Everything stored before is in the index, too."""
        return min(self.min_ms, self.index_ms)
