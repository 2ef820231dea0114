"""What goes into the store and what comes out: plain values, no behaviour.

Question: in which words do a broker and its store talk?

Model. A broker hands in a :class:`PutRequest` and gets exactly one :class:`PutResult`, perhaps before ``put`` returns,
perhaps much later (group commit, replication). It asks for messages with ``get`` and gets a :class:`GetResult` at
once. Statuses carry RocketMQ's names and are mapped to response codes by the broker, not here.

Units. Offsets named *physical* are bytes in the commit log, offsets named *queue* count messages of one queue;
timestamps are wall milliseconds.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class PutStatus(Enum):
    """RocketMQ: PutMessageStatus. The first four mean *stored*, and only ``PUT_OK`` promises anything."""

    PUT_OK = "PUT_OK"
    FLUSH_DISK_TIMEOUT = "FLUSH_DISK_TIMEOUT"
    FLUSH_SLAVE_TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
    SLAVE_NOT_AVAILABLE = "SLAVE_NOT_AVAILABLE"
    SERVICE_NOT_AVAILABLE = "SERVICE_NOT_AVAILABLE"
    CREATE_MAPEDFILE_FAILED = "CREATE_MAPEDFILE_FAILED"
    MESSAGE_ILLEGAL = "MESSAGE_ILLEGAL"
    PROPERTIES_SIZE_EXCEEDED = "PROPERTIES_SIZE_EXCEEDED"
    IN_SYNC_REPLICAS_NOT_ENOUGH = "IN_SYNC_REPLICAS_NOT_ENOUGH"
    OS_PAGE_CACHE_BUSY = "OS_PAGE_CACHE_BUSY"
    UNKNOWN_ERROR = "UNKNOWN_ERROR"

    __hash__ = object.__hash__
    """Enum's own hash is a call of Python for every answer."""

    @property
    def is_stored(self) -> bool:
        """Bytes are in the log; they may or may not survive."""
        return self in _STORED


_STORED = (
    PutStatus.PUT_OK,
    PutStatus.FLUSH_DISK_TIMEOUT,
    PutStatus.FLUSH_SLAVE_TIMEOUT,
    PutStatus.SLAVE_NOT_AVAILABLE,
)


class GetStatus(Enum):
    """RocketMQ: GetMessageStatus."""

    FOUND = "FOUND"
    NO_MATCHED_MESSAGE = "NO_MATCHED_MESSAGE"
    MESSAGE_WAS_REMOVING = "MESSAGE_WAS_REMOVING"
    OFFSET_FOUND_NULL = "OFFSET_FOUND_NULL"
    OFFSET_OVERFLOW_BADLY = "OFFSET_OVERFLOW_BADLY"
    OFFSET_OVERFLOW_ONE = "OFFSET_OVERFLOW_ONE"
    OFFSET_TOO_SMALL = "OFFSET_TOO_SMALL"
    NO_MATCHED_LOGIC_QUEUE = "NO_MATCHED_LOGIC_QUEUE"
    NO_MESSAGE_IN_QUEUE = "NO_MESSAGE_IN_QUEUE"

    __hash__ = object.__hash__


class PutRequest(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One message, or with ``is_batch`` a batch body, to be appended.

    ``properties`` is the text as the client sent it; the store adds ``CLUSTER``, drops ``WAIT`` and brings the pairs
    into Java's order, as a 4.9.7 broker does. With ``is_internal`` it is stored byte for byte (messages that the broker
    writes for itself), ``wait`` alone decides about waiting and ``delay_level`` alone about delay (> 0: the text is
    rewritten for the schedule topic); without, both are read from the properties. Hosts are ``host:port``.
    """

    topic: str
    queue_id: int
    body: bytes
    properties: str = ""
    flag: int = 0
    sys_flag: int = 0
    born_timestamp: int = 0
    born_host: str = "0.0.0.0:0"
    reconsume_times: int = 0
    prepared_transaction_offset: int = 0
    is_batch: bool = False
    is_internal: bool = False
    delay_level: int = 0
    wait: bool = True


class PutResult(msgspec.Struct, frozen=True, gc=False):
    """The one answer to a put.

    ``physical_offsets`` has one entry a record (more than one only for batches) and is empty where nothing was stored;
    ``queue_offset`` is that of the first record, −1 where nothing was stored.
    """

    status: PutStatus
    physical_offsets: tuple[int, ...] = ()
    queue_offset: int = -1
    store_timestamp: int = 0
    end_offset: int = -1
    remark: str = ""

    @property
    def physical_offset(self) -> int:
        """Of the first record; −1 where nothing was stored."""
        return self.physical_offsets[0] if self.physical_offsets else -1


class GetResult(msgspec.Struct, frozen=True, gc=False):
    """What a read of one queue found. ``records`` are whole stored records, ready to be joined into a pull answer."""

    status: GetStatus
    next_offset: int
    min_offset: int
    max_offset: int
    records: tuple[bytes, ...] = ()
    queue_offsets: tuple[int, ...] = ()
    suggest_slave: bool = False


class QueryResult(msgspec.Struct, frozen=True, gc=False):
    """Records found by key, oldest first; the last update of the index as QUERY_MESSAGE tells it."""

    records: tuple[bytes, ...] = ()
    last_update_timestamp: int = 0
    last_update_offset: int = 0


class Dispatched(msgspec.Struct, frozen=True, gc=False):
    """One record of the log as its indexes need it. RocketMQ: DispatchRequest.

    ``keys`` is the KEYS property, ``unique_key`` UNIQ_KEY ("" where absent); ``end`` is where the next record starts.
    """

    topic: str
    queue_id: int
    physical_offset: int
    size: int
    tags_code: int
    store_timestamp: int
    queue_offset: int
    keys: str
    unique_key: str
    sys_flag: int
