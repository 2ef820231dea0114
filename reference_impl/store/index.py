"""The index by key: a row of index files, each named after the moment it was begun.

Question: how does QUERY_MESSAGE find messages by key? Model (RocketMQ: IndexService). Every dispatched record (but a
rolled-back one) is entered under its UNIQ_KEY and each word of its KEYS. A full file is forced, and only then does the
checkpoint learn of it; on an abnormal start every file younger than that is deleted and built again by re-dispatch.

File names are ``yyyyMMddHHmmssSSS`` in UTC, because a role knows no time zone. A record below the last indexed position
is not entered again; the one *at* it may be, since its other keys may be missing.
"""

from __future__ import annotations

from datetime import UTC, datetime

from reference_impl.environment import Environment
from reference_impl.store.checkpoint import Checkpoint
from reference_impl.store.forcing import Forcing
from reference_impl.store.index_file import IndexFile, key_hash
from reference_impl.store.request import Dispatched
from reference_impl.wire.message import TRANSACTION_MASK, TRANSACTION_ROLLBACK

_RESULTS_MAX = 64


class Index:
    """All index files of a store, oldest first."""

    def __init__(
        self, folder: str, slot_count: int, entry_limit: int, forcing: Forcing, checkpoint: Checkpoint
    ) -> None:
        self.folder, self._slot_count, self._entry_limit = folder, slot_count, entry_limit
        self._forcing, self._checkpoint = forcing, checkpoint
        self.files: list[IndexFile] = []

    def load(self, env: Environment, *, is_clean: bool) -> None:
        """Take over existing files; after an abnormal end without those that the checkpoint does not vouch for."""
        for name in env.files(f"{self.folder}/"):
            file = IndexFile(name, self._slot_count, self._entry_limit)
            file.load(env)
            is_finished = file.end_ms <= self._checkpoint.index_ms and file.entry_count > 1
            if is_clean or is_finished:
                self.files.append(file)
            else:
                self._delete(env, file)

    def put(self, env: Environment, record: Dispatched) -> None:
        """Enter one record under its keys. ``OSError`` where a file cannot be created."""
        if record.sys_flag & TRANSACTION_MASK == TRANSACTION_ROLLBACK or not (record.unique_key or record.keys):
            return
        if self.files and record.physical_offset < self.files[-1].end_offset:
            return
        if record.unique_key:
            self._enter(env, record, record.unique_key)
        if record.keys:
            for key in record.keys.split(" "):
                if key:
                    self._enter(env, record, key)

    def _enter(self, env: Environment, record: Dispatched, key: str) -> None:
        file = self._file(env)
        file.put(f"{record.topic}#{key}", record.physical_offset, record.store_timestamp)
        if file.is_crowded:
            file.write_out(env)

    def _file(self, env: Environment) -> IndexFile:
        last = self.files[-1] if self.files else None
        if last is not None and not last.is_full:
            return last
        file = IndexFile(self._free_name(env), self._slot_count, self._entry_limit)
        file.create(env, last.end_offset if last else 0, last.end_ms if last else 0, env.wall())
        self._forcing.names_changed()
        self.files.append(file)
        if last is not None:
            self._finish(env, last)
        return file

    def _free_name(self, env: Environment) -> str:
        taken = [file.name for file in self.files]
        wall = env.wall()
        while (name := f"{self.folder}/{_timestamp_name(wall)}") in taken:
            wall += 1
        return name

    def _finish(self, env: Environment, full: IndexFile) -> None:
        """Force a full file, then tell the checkpoint. RocketMQ: IndexService#flush."""
        full.write_out(env)
        end_ms = full.end_ms

        def forced(env: Environment, error: str) -> None:
            if error:
                env.note("force_failed", file=full.name, error=error)
            self._checkpoint.index_ms = end_ms
            self._checkpoint.save(env)

        self._forcing.force(env, full.name, forced)

    def write_out(self, env: Environment) -> None:
        """Everything that still waits in memory, into the newest file."""
        if self.files:
            self.files[-1].write_out(env)

    # --- queries ----------------------------------------------------------------------------------------------------

    def select(self, env: Environment, topic: str, key: str, limit: int, begin_ms: int, end_ms: int) -> list[int]:
        """Physical offsets, newest file first; at most 64. RocketMQ: IndexService#queryOffset."""
        found: list[int] = []
        hash_ = key_hash(f"{topic}#{key}")
        limit = min(limit, _RESULTS_MAX)
        for file in reversed(self.files):
            if file.overlaps(begin_ms, end_ms):
                found += file.select(env, hash_, limit - len(found), begin_ms, end_ms)
            if file.begin_ms < begin_ms or len(found) >= limit:
                break
        return found

    @property
    def last_update(self) -> tuple[int, int]:
        """(time, physical offset) of the newest entry; zeros where there is none."""
        return (self.files[-1].end_ms, self.files[-1].end_offset) if self.files else (0, 0)

    def expire(self, env: Environment, log_start: int) -> None:
        """Delete files that end below *log_start*, never the last."""
        while len(self.files) > 1 and self.files[0].end_offset < log_start:
            self._delete(env, self.files.pop(0))

    def _delete(self, env: Environment, file: IndexFile) -> None:
        env.delete(file.name)
        self._forcing.names_changed()


def _timestamp_name(wall_ms: int) -> str:
    moment = datetime.fromtimestamp(wall_ms // 1000, UTC)
    return f"{moment:%Y%m%d%H%M%S}{wall_ms % 1000:03d}"
