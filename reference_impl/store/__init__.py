"""The message store: commit log, consume queues, index, checkpoint, flush, recovery. Begin with ``message_store``.

What goes on inside, from the outside in:

    message_store   one store of one broker life: load, put, get, shutdown
    accepting, properties, delay          what a request becomes before it is appended
    commit_log, mapped_files, commit      bytes in files, positions, write buffers
    flush, queue_flush, forcing, waiting  what is durable when, and who waits for it
    dispatch, consume_queue(s), index, index_file    what makes a record visible
    scan, recovery, checkpoint            what a start makes of what survived
    reader, retention, flags              reads, old files, full disks
    config_file                           JSON tables of the rest of the broker

The files are RocketMQ 4.9.7's, byte for byte where the content is determined by what was sent (suites/conformance/
test_golden_store.py). Behaviour is 4.9.7's, too, but for these differences, each named where it is made:

    what                                              RocketMQ                          here
    accepted bytes after a kill                       count as flushed                  forced first (recovery)
    first queue unit empty when a queue is cut        counted: a slot without message   not counted (consume_queue)
    filler without a unit behind it                   blocks the queue up to 2 GiB      ignored (consume_queue)
    group such as ../x in a message that is sent back taken: nothing sent after is read refused (names)
    topic with a NUL or slash in a recovered record   nothing behind it is dispatched   no queue for it (dispatch)
    record of a queue lost, and it was at offset 0    another record's bytes            passed over (reader)
    index entries of an unfinished file               in the page cache at once         in memory, ≤ 4096 (index_file)
    flush time-outs                                   up to 10 ms late                  exact (flush)
    hours of deleteWhen, names of index files         local time                        UTC (retention, index)
    page cache busy                                   after 1 s in the put lock         cannot happen
    folders of a multi-path commit log                anywhere                          below the node's (config)
    made in advance in a folder that became full      stays, and cuts the log later     deleted (mapped_files)
"""

from reference_impl.store.config import StoreConfig
from reference_impl.store.config_file import ConfigFile, ConfigUnreadable
from reference_impl.store.message_store import MessageStore, StoreUnloadable
from reference_impl.store.request import (
    Dispatched,
    GetResult,
    GetStatus,
    PutRequest,
    PutResult,
    PutStatus,
    QueryResult,
)

__all__ = [
    "ConfigFile",
    "ConfigUnreadable",
    "Dispatched",
    "GetResult",
    "GetStatus",
    "MessageStore",
    "PutRequest",
    "PutResult",
    "PutStatus",
    "QueryResult",
    "StoreConfig",
    "StoreUnloadable",
]
