"""The columns of a history: what the recorder writes and every checker may rely on.

One event counter gives a total order of invocations and completions; ``*_ns`` are int64 nanoseconds since the run
began, from one monotonic clock. Numbers that do not apply are −1, texts that do not apply are empty. Message ids are
dense integers of the run. Times of phases and faults are rows of ``events``.

``ops.position`` is the physical position in the answering node's commit log, as its message id tells (−1: not told):
it orders the messages of a node across queues, which is what "a lost suffix of that node's log" is judged by.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

_i64, _text = pa.int64(), pa.string()

OPS: Final = pa.schema(
    [
        ("op", _i64),
        ("process", _i64),
        ("f", _text),
        ("queue", _i64),
        ("message", _i64),
        ("offset", _i64),
        ("count", _i64),
        ("position", _i64),
        ("invoke_event", _i64),
        ("complete_event", _i64),
        ("invoke_ns", _i64),
        ("complete_ns", _i64),
        ("outcome", _text),
        ("status", _text),
        ("node", _text),
        ("group", _text),
        ("detail", _text),
        ("next_offset", _i64),
        ("suggested", _i64),
    ]
)
"""f: send, pull, drain, query_min, query_max, commit_offset, fetch_offset, route, … ``offset`` is the offset asked for
(pull, drain) or answered (send, query); ``count`` the messages read; outcome: ok, weak, fail, info. ``node`` is the
broker name (send) or the node that was asked. ``drain`` is a pull of the drain phase. Of a pull, ``next_offset`` is
where the broker said to go on, ``suggested`` the broker id it said to ask next. A pull of a group that commits offsets
is a delivery of what it read, unless its queue had been taken away meanwhile (:data:`TAKEN_AWAY`)."""

TAKEN_AWAY: Final = "taken away"
"""``detail`` of a pull whose messages the application did not get."""

OPTIONAL: Final = {"ops": {"next_offset": -1, "suggested": -1}}
"""Columns that histories from before they existed do not have, and what stands there then."""

READS: Final = pa.schema([("op", _i64), ("position", _i64), ("offset", _i64), ("message", _i64), ("detail", _text)])
"""One row a message read; ``position`` counts from 0 within the op; message −1: not ours, its digest in ``detail``."""

QUEUES: Final = pa.schema([("queue", _i64), ("topic", _text), ("broker", _text), ("queue_id", _i64)])

MESSAGES: Final = pa.schema(
    [
        ("message", _i64),
        ("process", _i64),
        ("sequence", _i64),
        ("sharding_key", _text),
        ("size", _i64),
        ("tags", _text),
        ("kind", _text),
        ("due_ns", _i64),
    ]
)

EVENTS: Final = pa.schema(
    [
        ("ns", _i64),
        ("event", _i64),
        ("kind", _text),
        ("node", _text),
        ("fault", _text),
        ("step", _text),
        ("effective", _i64),
        ("detail", _text),
    ]
)
"""kind: phase (``step`` = its name), node (started, ready, died …), role (a ``note``), fault (``fault`` = its id,
``step`` = resolve, journal, inject, probe, heal, heal_probe; ``effective`` = 1, 0, −1 unknown), note. ``detail``: JSON,
or free text."""

TABLES: Final = {"ops": OPS, "reads": READS, "queues": QUEUES, "messages": MESSAGES, "events": EVENTS}
