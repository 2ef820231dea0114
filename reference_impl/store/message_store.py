"""The message store of one broker: RocketMQ's files, positions, flushes, recovery and reads, without any I/O of its own.

Question: what does a RocketMQ 4.9 broker keep, when does it acknowledge, and what is left after a crash?

Model (RocketMQ: DefaultMessageStore). One commit log for all topics; a consume queue (20-byte units) for each topic and
queue; an index by key; a checkpoint. ``put`` appends to the log and answers as ``flushDiskType`` and the replica gate
say. A separate dispatch step, at most a millisecond later, makes the record visible in its queue: so a consumer may see
a message before it is flushed, and a producer may have its answer before the message can be read, as in the real one.

How a role uses it. Construct, ``load(env)`` in ``on_start``, then forward ``on_timer``, ``on_synced`` and
``on_disk_error``: each returns whether the event was the store's. ``shutdown(env, done)`` in ``on_stop``.

    ack-before-fsync   SYNC_FLUSH answers PUT_OK without waiting for the force
    skip-last-record   recovery drops the last good record of the log
    reuse-offset       after a restart a queue goes on one offset too low: the offset of its last message is given again

Limits. Page-cache-busy does not exist (a step never holds a lock); transientStorePool and multi-path commit logs are
not implemented and are refused by ``StoreConfig``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable

from reference_impl.environment import Environment
from reference_impl.store.config import StoreConfig
from reference_impl.store.request import GetResult, PutRequest, PutResult, PutStatus

OnStored = Callable[[Environment, PutResult], None]
OnArrived = Callable[[Environment, str, int, int, int], None]
"""(env, topic, queue id, next queue offset, tags code): one more message can be read. For long polling."""

Decide = Callable[[Environment, PutStatus], None]
ReplicaGate = Callable[[Environment, int, Decide], PutStatus | None]
"""(env, end offset of the put, decide): a status at once, or ``None`` and ``decide(env, status)`` later, exactly once."""


class StoreUnloadable(Exception):
    """The files cannot be taken as they are; the broker exits with ``code`` (253 as RocketMQ 4.9.7)."""

    code = 253


class MessageStore:
    """The store of one broker process life. Not reusable after ``shutdown``."""

    on_arrived: OnArrived | None
    on_appended: Callable[[Environment, int], None] | None
    """(env, log end): new bytes can be replicated."""
    replica_gate: ReplicaGate | None
    """Set by a SYNC_MASTER's replication; ``None``: no wait for slaves."""

    def __init__(self, config: StoreConfig, defects: Collection[str] = ()) -> None:
        self.config = config
        self.defects = frozenset(defects)
        self.on_arrived = self.on_appended = self.replica_gate = None

    # --- life -------------------------------------------------------------------------------------------------------

    def load(self, env: Environment) -> None:
        """Recover what the files hold and start the services. :class:`StoreUnloadable` where a file has a wrong size."""
        raise NotImplementedError

    def shutdown(self, env: Environment, done: Callable[[Environment], None]) -> None:
        """Orderly end: dispatch and flush everything, write the checkpoint, remove ``abort`` if all is well, then *done*."""
        raise NotImplementedError

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Keys are tuples that start with ``"store"``."""
        raise NotImplementedError

    def on_synced(self, env: Environment, file: str, token: Hashable) -> bool:
        """Tokens are tuples that start with ``"store"``."""
        raise NotImplementedError

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> bool:
        """A force failed: as Apache the flushed position advances all the same, unless ``strictFlush``."""
        raise NotImplementedError

    # --- writing ----------------------------------------------------------------------------------------------------

    def put(self, env: Environment, request: PutRequest, on_stored: OnStored) -> None:
        """Append one message or batch; *on_stored* is called exactly once, perhaps before this returns."""
        raise NotImplementedError

    @property
    def is_writable(self) -> bool:
        """False while shut down, a slave, the disk is full or an error made the store read-only (→ code 14)."""
        raise NotImplementedError

    # --- reading ----------------------------------------------------------------------------------------------------

    def get(
        self,
        env: Environment,
        topic: str,
        queue_id: int,
        offset: int,
        max_messages: int,
        tag_codes: frozenset[int] | None = None,
    ) -> GetResult | None:
        """Messages of one queue from *offset* on; ``tag_codes`` ``None``: all. ``None``: not readable (→ code 1)."""
        raise NotImplementedError

    def min_offset(self, topic: str, queue_id: int) -> int:
        """First queue offset that can still be read; 0 for a queue nobody has written to (RocketMQ answers −1 → 0)."""
        raise NotImplementedError

    def max_offset(self, topic: str, queue_id: int) -> int:
        """One past the last *dispatched* message: what consumers may see."""
        raise NotImplementedError

    def offset_by_time(self, env: Environment, topic: str, queue_id: int, timestamp_ms: int) -> int:
        """Queue offset whose store time is nearest to *timestamp_ms*. RocketMQ: ConsumeQueue#getOffsetInQueueByTime."""
        raise NotImplementedError

    def view(self, env: Environment, physical_offset: int) -> bytes | None:
        """The whole record that starts there (view message by id); ``None`` where there is none."""
        raise NotImplementedError

    def query(
        self, env: Environment, topic: str, key: str, max_messages: int, begin_ms: int, end_ms: int
    ) -> list[bytes]:
        """Records whose topic and key hash match, newest first (QUERY_MESSAGE); false positives are possible."""
        raise NotImplementedError

    # --- replication ------------------------------------------------------------------------------------------------

    @property
    def log_start(self) -> int:
        """Physical offset of the first byte still kept."""
        raise NotImplementedError

    @property
    def log_end(self) -> int:
        """Physical offset of the next byte: everything below it may be read and replicated, flushed or not."""
        raise NotImplementedError

    @property
    def flushed_to(self) -> int:
        """Physical offset below which every byte was forced (or a force of it failed, see ``strictFlush``)."""
        raise NotImplementedError

    def read_raw(self, env: Environment, offset: int, size: int) -> bytes:
        """Up to *size* log bytes from *offset*, never across a file end; empty where there is nothing."""
        raise NotImplementedError

    def append_raw(self, env: Environment, offset: int, data: bytes) -> bool:
        """A slave's append of replicated bytes at *offset* (= ``log_end``, or anywhere into an empty log)."""
        raise NotImplementedError
