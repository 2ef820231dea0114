"""The message store of one broker: RocketMQ's files, positions, flushes, recovery and reads, without I/O of its own.

Question: what does a RocketMQ 4.9 broker keep, when does it acknowledge, and what is left after a crash?

Model (RocketMQ: DefaultMessageStore). One commit log for all topics; a consume queue (20-byte units) for each topic and
queue; an index by key; a checkpoint. ``put`` appends to the log and answers as ``flushDiskType`` and the replica gate
say. A separate dispatch step, at most a millisecond later, makes the record visible in its queue: so a consumer may see
a message before it is flushed, and a producer may have its answer before the message can be read, as in the real one.

How a role uses it. Construct, ``load(env)`` in ``on_start``, then forward ``on_timer``, ``on_synced`` and
``on_disk_error``: each returns whether the event was the store's. ``shutdown(env, done)`` in ``on_stop``.

Limits. Page-cache-busy does not exist (a step never holds a lock). The exclusive lock on the ``lock`` file is the
runtime's business.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from reference_impl.environment import Environment
from reference_impl.store.accepting import Acceptance, Accepted, Refused
from reference_impl.store.checkpoint import Checkpoint
from reference_impl.store.commit import CommitService
from reference_impl.store.commit_log import CommitLog, FileUnavailable
from reference_impl.store.config import StoreConfig
from reference_impl.store.consume_queues import ConsumeQueues
from reference_impl.store.delay import SCHEDULE_TOPIC, DelayLevels
from reference_impl.store.dispatch import Dispatcher, OnArrived
from reference_impl.store.flags import NOT_WRITEABLE, RunningFlags
from reference_impl.store.flush import AsyncFlush, Decide, FlushService, GroupCommit
from reference_impl.store.forcing import Forcing
from reference_impl.store.index import Index
from reference_impl.store.mapped_files import Done, MappedFiles, WrongFileSize, file_start
from reference_impl.store.queue_flush import QueueFlush
from reference_impl.store.reader import Reader, offset_by_time, store_timestamp_at
from reference_impl.store.recovery import Recovery
from reference_impl.store.request import Dispatched, GetResult, PutRequest, PutResult, PutStatus, QueryResult
from reference_impl.store.retention import Retention, disk_percent
from reference_impl.store.scan import LogReader, scan_record
from reference_impl.store.waiting import OnStored, Waiting

ReplicaGate = Callable[[Environment, int, Decide], PutStatus | None]
"""(env, end offset of the put, decide): a status at once, or ``None`` and ``decide(env, status)`` once, later."""

ReplicaAdmission = Callable[[], bool]
"""Whether the put that comes next may be stored; it is followed by that put's gate."""


class StoreUnloadable(Exception):
    """The files cannot be taken as they are; the broker exits with ``code`` (253 as RocketMQ 4.9.7)."""

    code = 253


class MessageStore:
    """The store of one broker process life. Not reusable after ``shutdown``."""

    def __init__(self, config: StoreConfig) -> None:
        self.config = config
        self.on_appended: Callable[[Environment, int], None] | None = None
        """(env, log end): new bytes can be replicated."""
        self.replica_gate: ReplicaGate | None = None
        """Set by a SYNC_MASTER's replication; ``None``: no wait for slaves."""
        self.replica_admission: ReplicaAdmission | None = None
        """Set where too few replicas are looked for before anything is stored (5.x with acting masters)."""
        self.flags = RunningFlags()
        self.delay_levels = DelayLevels(config.message_delay_level)
        self._is_slave = config.broker_role == "SLAVE"
        self.takes_messages = not self._is_slave
        """Whether the role lets it: a slave's log is a copy of its master's."""
        self._is_shut_down = True
        self._at_risk_from = 0
        self._has_vouched = False
        """What recovery accepted is on the disk."""
        self._when_vouched: Done | None = None
        self._build(config)
        self._update_writable()

    def _build(self, config: StoreConfig) -> None:
        self._forcing = Forcing()
        log = self._build_log(config)
        self._build_tables(config)
        self._dispatcher = self._build_dispatcher(log)
        self.reader = Reader(config, log, self._queues)
        self._build_flushes(config, log)
        self.retention = Retention(config, log, self._queues, self._index, self.flags, self._update_writable)
        self.recovery = self._build_recovery(log)
        self._timers = self._timers_by_name()

    def _build_log(self, config: StoreConfig) -> MappedFiles:
        """Where messages go; returns the files."""
        log = MappedFiles(
            config.commit_log_folders,
            config.mapped_file_size_commit_log,
            self._forcing,
            is_precreating=True,
            is_strict=config.strict_flush,
            buffers=config.write_buffers,
            read_only=config.read_only_folders,
        )
        log.on_force_failed = self._force_failed
        self._acceptance = Acceptance(config, self.delay_levels)
        self.log = CommitLog(log, config.store_host, self.delay_levels)
        return log

    def _build_dispatcher(self, log: MappedFiles) -> Dispatcher:
        return Dispatcher(
            log,
            self._queues,
            self._index,
            self._checkpoint,
            self.flags,
            LogReader(self.delay_levels, check_crc=False, is_whole=False),
            on_flags=self._update_writable,
            is_slave=self._is_slave,
        )

    def _build_recovery(self, log: MappedFiles) -> Recovery:
        return Recovery(self.config, log, self._queues, self._checkpoint, self._dispatcher, self.delay_levels)

    def _build_tables(self, config: StoreConfig) -> None:
        """What is made of the log: queues and index, and how far that is."""
        root = config.store_path_root_dir
        self._queues = ConsumeQueues(f"{root}/consumequeue", config.mapped_file_size_consume_queue, self._forcing)
        self._checkpoint = Checkpoint(f"{root}/checkpoint", self._forcing)
        self._index: Index | None = None
        if config.message_index_enable:
            self._index = Index(
                f"{root}/index", config.max_hash_slot_num, config.max_index_num, self._forcing, self._checkpoint
            )

    def _build_flushes(self, config: StoreConfig, log: MappedFiles) -> None:
        """Who brings bytes from one stage to the next: buffers, page cache, disk."""
        self._group_commit: GroupCommit | None = None
        self.flush: FlushService
        if config.flush_disk_type == "SYNC_FLUSH":
            self.flush = self._group_commit = GroupCommit(config, log, self._checkpoint)
        else:
            self.flush = AsyncFlush(config, log, self._checkpoint)
        self._commit = CommitService(config, log, self._committed) if config.write_buffers else None
        self.queue_flush = QueueFlush(config, self._queues, self._checkpoint)

    def _timers_by_name(self) -> dict[str, Callable[[Environment, str], None]]:
        return {
            "reput": lambda env, name: self._dispatcher.on_timer(env),
            "commit": lambda env, name: self._commit.on_timer(env) if self._commit is not None else None,
            "flush": self.flush.on_timer,
            "flush-deadline": self.flush.on_timer,
            "queue-flush": lambda env, name: self.queue_flush.on_timer(env),
            "disk-check": self.retention.on_timer,
            "clean": self.retention.on_timer,
            "delete-next": self.retention.on_timer,
        }

    # --- life -------------------------------------------------------------------------------------------------------

    def load(self, env: Environment) -> None:
        """Recover what the files hold and start the services. :class:`StoreUnloadable`: a file has a wrong size."""
        is_clean = env.size(self._abort_path) < 0
        try:
            self._load_log(env)
            self._queues.load(env)
        except WrongFileSize as error:
            raise StoreUnloadable(str(error)) from error
        self._checkpoint.load(env)
        if self._index is not None:
            self._index.load(env, is_clean=is_clean)
        recovered = self.recovery.run(env, is_clean=is_clean)
        self.log.next_offsets = self.recovery.next_offsets()
        env.note("recovered", **recovered._asdict())
        self._at_risk_from = recovered.scanned_from
        at_risk = [] if self.config.count_recovered_as_flushed else self.recovery.files_to_force(recovered.scanned_from)
        self._start(env, at_risk)

    def _load_log(self, env: Environment) -> None:
        self.log.files.load(env, _numbered(env, self.log.files.folders))

    def _start(self, env: Environment, at_risk: list[str]) -> None:
        lock = f"{self.config.store_path_root_dir}/lock"
        env.write(lock, 0, b"lock")
        env.create(self._abort_path, 0)
        self._forcing.names_changed()
        self.retention.start(env)
        self._is_shut_down = False
        self._update_writable()
        self._forcing.force(env, lock, lambda env, error: None)
        if at_risk:
            self._forcing.force_all(env, at_risk, self._vouch)
        else:
            self._vouch(env, "")

    def _vouch(self, env: Environment, error: str) -> None:
        """What recovery accepted is on the disk: only now may anything be acknowledged or checkpointed."""
        if error:
            env.note("force_failed", file="", error=error)
            if self.config.strict_flush:
                self._force_failed(env, "", error)
        self._has_vouched = True
        self._checkpoint.release()
        if self._when_vouched is not None:
            self._when_vouched(env)
            return
        self.flush.start(env)
        self.queue_flush.start(env)

    @property
    def _abort_path(self) -> str:
        return f"{self.config.store_path_root_dir}/abort"

    def shutdown(self, env: Environment, done: Done) -> None:
        """The end: dispatch and flush everything, save the checkpoint, remove ``abort`` if all is well; then *done*.

        ``abort`` stays, and the next start is an abnormal one, where the store was read-only or dispatch is behind.
        """
        self._is_shut_down = True
        self._update_writable()
        self.retention.stop(env)
        if self._commit is not None:
            self._commit.stop(env)
        if self._has_vouched:
            self._stop(env, done)
        else:
            self._when_vouched = lambda env: self._stop(env, done)

    def _stop(self, env: Environment, done: Done) -> None:
        self._dispatcher.stop(env)

        def log_flushed(env: Environment) -> None:
            self.queue_flush.stop(env, queues_flushed)

        def queues_flushed(env: Environment) -> None:
            self.log.files.drop_precreated(env)
            self._checkpoint.save(env, saved)

        def saved(env: Environment) -> None:
            is_well = self.flags.is_writable and not self._dispatcher.is_behind and self._drop_abort(env)
            env.note("store_stopped", clean=is_well, log_end=self.log_end, flushed_to=self.flushed_to)
            done(env)

        self.flush.stop(env, log_flushed)

    def _drop_abort(self, env: Environment) -> bool:
        try:
            env.delete(self._abort_path)
            return True
        except OSError as error:
            env.note("abort_not_deleted", error=str(error))
            return False

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Keys are tuples that start with ``"store"``."""
        if not (isinstance(key, tuple) and key[0] == "store"):
            return False
        self._timers[key[1]](env, key[1])
        return True

    def on_synced(self, env: Environment, file: str, token: Hashable) -> bool:
        """Tokens are tuples that start with ``"store"``."""
        return self._forcing.on_synced(env, token)

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> bool:
        """A force failed: as Apache the flushed position advances all the same, unless ``strictFlush``."""
        return self._forcing.on_disk_error(env, token, error)

    def _force_failed(self, env: Environment, file: str, error: str) -> None:
        """``strictFlush`` only: what was not forced never will be (Linux has dropped its dirty marks): read-only."""
        env.note("read_only", why="a force failed", file=file, error=error, flushed_to=self.flushed_to)
        self.flags.set(NOT_WRITEABLE)
        self._update_writable()
        self.flush.fail_all(env)

    # --- writing ----------------------------------------------------------------------------------------------------

    def put(self, env: Environment, request: PutRequest, on_stored: OnStored) -> None:
        """Append one message or batch; *on_stored* is called exactly once, perhaps before this returns."""
        if not self.is_writable:
            on_stored(env, PutResult(PutStatus.SERVICE_NOT_AVAILABLE, remark=self._why_not_writable()))
            return
        accepted = self._acceptance.accept(request)
        if isinstance(accepted, Refused):
            on_stored(env, PutResult(accepted.status, remark=accepted.remark))
            return
        if accepted.waits and self.replica_admission is not None and not self.replica_admission():
            on_stored(env, PutResult(PutStatus.IN_SYNC_REPLICAS_NOT_ENOUGH))
            return
        self._store(env, accepted, on_stored)

    def _store(self, env: Environment, accepted: Accepted, on_stored: OnStored) -> None:
        try:
            records = self._append(env, accepted)
        except FileUnavailable as error:
            on_stored(env, PutResult(PutStatus.CREATE_MAPEDFILE_FAILED, remark=str(error)))
            return
        except OSError as error:
            on_stored(env, PutResult(PutStatus.UNKNOWN_ERROR, remark=str(error)))
            return
        if self._commit is not None:
            self._commit.appended(env)
        self._decide(env, accepted, records, on_stored)
        if self.on_appended is not None:
            self.on_appended(env, self.log_end)

    def _append(self, env: Environment, accepted: Accepted) -> list[Dispatched]:
        records = self.log.append(env, accepted)
        self._dispatcher.appended(env, records)
        return records

    def _decide(self, env: Environment, accepted: Accepted, records: list[Dispatched], on_stored: OnStored) -> None:
        """Answer now, or when flush and replicas have decided."""
        result = self._result(records)
        end = result.end_offset
        waits_for_flush = self._group_commit is not None and accepted.waits
        waits_for_replicas = self.replica_gate is not None and accepted.waits
        if not waits_for_flush:
            self.flush.appended(env, is_urgent=True)
            if not waits_for_replicas:
                on_stored(env, result)
                return
        waiting = Waiting(result, on_stored, waits_for_flush, waits_for_replicas)
        if waits_for_flush:
            assert self._group_commit is not None
            self._group_commit.wait(env, end, waiting.flush_decided)
        if waits_for_replicas:
            assert self.replica_gate is not None
            status = self.replica_gate(env, end, waiting.replica_decided)
            if status is not None:
                waiting.replica_decided(env, status)

    def _result(self, records: list[Dispatched]) -> PutResult:
        """Where a put lies, for its producer."""
        first, last = records[0], records[-1]
        places = tuple([record.physical_offset for record in records])
        end = last.physical_offset + last.size
        return PutResult(PutStatus.PUT_OK, places, first.queue_offset, first.store_timestamp, end)

    def _committed(self, env: Environment) -> None:
        """Bytes left their buffers: they can be dispatched and replicated now."""
        self._dispatcher.wake(env)
        if self.on_appended is not None:
            self.on_appended(env, self.log_end)

    @property
    def has_no_buffer(self) -> bool:
        """The pool of write buffers is in use and empty: sends are to be refused."""
        return self._commit is not None and self.log.files.buffers_left == 0

    def _update_writable(self) -> None:
        self.is_writable = not self._is_shut_down and self.takes_messages and self.flags.is_writable
        """False while shut down, a slave, the disk is full or an error made the store read-only (→ code 14)."""

    def _why_not_writable(self) -> str:
        if self._is_shut_down:
            return "message store has been shut down"
        return "a slave takes no messages" if self._is_slave else f"the store is read-only, flags {self.flags.bits}"

    def delete_topic(self, env: Environment, topic: str) -> None:
        """Delete the topic's queues (RocketMQ: cleanUnusedTopic). Its records stay in the log until retention takes
        them, and an abnormal start that scans them makes the queues anew, as with Apache's broker."""
        self._queues.remove(env, topic)
        for key in [key for key in self.log.next_offsets if key[0] == topic]:
            del self.log.next_offsets[key]

    def delete_expired_queues(self, env: Environment) -> None:
        """Delete the queues whose last message is no longer in the log (RocketMQ: cleanExpiredConsumerQueue)."""
        for key in self._queues.remove_expired(env, self.log_start, SCHEDULE_TOPIC):
            self.log.next_offsets.pop(key, None)

    def delete_old_files_soon(self) -> None:
        """The next clean-ups delete expired log files whatever the hour (RocketMQ: executeDeleteFilesManually)."""
        self.retention.delete_soon()

    # --- reading ----------------------------------------------------------------------------------------------------

    @property
    def on_arrived(self) -> OnArrived | None:
        """Called for every message that can be read from now on (not on a slave)."""
        return self._dispatcher.on_arrived

    @on_arrived.setter
    def on_arrived(self, listener: OnArrived | None) -> None:
        self._dispatcher.on_arrived = listener

    def get(
        self,
        env: Environment,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        tag_codes: frozenset[int] | None = None,
        wants: Callable[[bytes], bool] | None = None,
    ) -> GetResult | None:
        """Messages of one queue from *offset* on; ``tag_codes`` ``None``: all; *wants* is asked about each record that
        these let pass. ``None``: not readable (→ code 1)."""
        if self._is_shut_down:
            return None
        return self.reader.get(env, topic, queue_id, offset, max_messages, tag_codes, wants)

    def min_offset(self, topic: str, queue_id: int) -> int:
        """First queue offset that can still be read; 0 for a queue nobody has written to."""
        queue = self._queues.get(topic, queue_id)
        return queue.min_offset if queue is not None else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        """One past the last *dispatched* message: what consumers may see; 0 for an unknown queue."""
        queue = self._queues.get(topic, queue_id)
        return queue.max_offset if queue is not None else 0

    def queues(self) -> list[tuple[str, int]]:
        """(topic, queue id) of every queue that has been written to."""
        return [(queue.topic, queue.queue_id) for queue in self._queues.all()]

    def units(self, env: Environment, topic: str, queue_id: int, offset: int, count: int) -> list[tuple[int, int, int]]:
        """Physical offset, size and tags code of up to *count* messages of a queue."""
        queue = self._queues.get(topic, queue_id)
        return queue.units(env, offset, count) if queue is not None else []

    def is_in_disk(self, env: Environment, topic: str, queue_id: int, offset: int) -> bool:
        """Whether the message is so far behind that RocketMQ counts it as not in memory any more."""
        queue = self._queues.get(topic, queue_id)
        units = queue.units(env, offset, 1) if queue is not None else []
        return bool(units) and self.reader.is_in_disk(units[0][0])

    def offset_by_time(self, env: Environment, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """Queue offset whose store time is nearest to *timestamp_ms*. RocketMQ: ConsumeQueue#getOffsetInQueueByTime."""
        queue = self._queues.get(topic, queue_id)
        return offset_by_time(env, queue, self.log.files, timestamp_ms) if queue is not None else 0

    def earliest_timestamp(self, env: Environment, topic: str, queue_id: int) -> int:
        """Store time of the queue's first message; −1 where there is none."""
        queue = self._queues.get(topic, queue_id)
        units = queue.units(env, queue.min_offset, 1) if queue is not None else []
        return store_timestamp_at(env, self.log.files, units[0][0]) if units else -1

    def view(self, env: Environment, physical_offset: int) -> bytes | None:
        """The whole record that starts there (view message by id); ``None`` where there is none."""
        head = self.reader.record(env, physical_offset, 4)
        size = int.from_bytes(head, "big", signed=True) if head else 0
        record = self.reader.record(env, physical_offset, size) if size > 0 else b""
        return record if record and scan_record(record, 0, self.delay_levels, check_crc=False).record else None

    def query(
        self, env: Environment, topic: str, key: str, max_messages: int, begin_ms: int, end_ms: int
    ) -> QueryResult:
        """Records whose topic and key hash match (QUERY_MESSAGE); false positives are possible."""
        if self._index is None:
            return QueryResult()
        places = sorted(self._index.select(env, topic, key, max_messages, begin_ms, end_ms))
        records = [record for place in places if (record := self.view(env, place)) is not None]
        return QueryResult(tuple(records), *self._index.last_update)

    def disk_percent(self, env: Environment) -> int:
        """Used share of the disk, whole per cent, rounded up (the remark of code 14 quotes it)."""
        return disk_percent(env)

    # --- replication ------------------------------------------------------------------------------------------------

    @property
    def log_start(self) -> int:
        """Physical offset of the first byte still kept; 0 where there is no log."""
        return self.log.files.start

    @property
    def log_end(self) -> int:
        """Physical offset of the next byte: everything below it may be read and replicated, flushed or not."""
        return self.log.files.end

    @property
    def dispatched_to(self) -> int:
        """Physical offset below which every message stands in its queue."""
        return self._dispatcher.position

    def oldest_store_time(self, env: Environment) -> int:
        """Store time of the oldest record, −1 where there is none."""
        return store_timestamp_at(env, self.log.files, self.log_start) if self.log_end > self.log_start else -1

    @property
    def flushed_to(self) -> int:
        """Physical offset below which every byte was forced (or a force of it failed, see ``strictFlush``)."""
        return self.log.files.flushed_to if self._has_vouched else min(self._at_risk_from, self.log.files.flushed_to)

    def read_raw(self, env: Environment, offset: int, size: int) -> bytes:
        """Up to *size* log bytes from *offset*, never across a file end; empty where there is nothing."""
        return self.log.read_raw(env, offset, size)

    def append_raw(self, env: Environment, offset: int, data: bytes) -> bool:
        """A slave's append of replicated bytes at *offset* (= ``log_end``, or anywhere into an empty log)."""
        if self._is_shut_down or not self.log.append_raw(env, offset, data):
            return False
        self.flush.appended(env, is_urgent=False)
        self._dispatcher.wake(env)
        if self.on_appended is not None:
            self.on_appended(env, self.log_end)
        return True


def _numbered(env: Environment, folders: Sequence[str]) -> list[str]:
    """The files of the log in all its folders, by offset."""
    places = [name.rpartition("/") for folder in folders for name in env.files(f"{folder}/")]
    return ["".join(place) for place in sorted(places, key=lambda place: place[2]) if file_start(place[2]) is not None]
