"""The tables of the lake and their columns.

Question: which columns may a query rely on, whatever the age of the run?

Model. The five tables of a history, each with the run's name as first column, and four about runs: ``runs`` (one row a
run), ``nodes``, ``verdicts`` (one row a check), ``anomalies`` (one row a finding of a check). Every table is
partitioned by ``mode`` and ``day``. Times are int64 nanoseconds since the start of the run; the start itself is a
column of ``runs``.

Evolution. A column is only ever added, at the end. A file from before it reads as NULL there; what a history from
before a column means by its absence is :data:`checkers.history.schema.OPTIONAL`, filled in when the run is ingested. A
column that this version does not know is left out, and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from checkers.history.schema import TABLES

_i64, _text, _flag = pa.int64(), pa.string(), pa.bool_()

PARTITIONS: Final = ("mode", "day")

RUNS: Final = pa.schema(
    [
        ("run", _text),
        ("scenario", _text),
        ("flush", _text),
        ("backend", _text),
        ("target", _text),
        ("seed", _text),
        ("commit", _text),
        ("fault", _text),
        ("outcome", _text),
        ("started_epoch_ms", _i64),
        ("defects", _text),
        ("plan", _text),
        ("ops", _i64),
        ("duration_ns", _i64),
        ("history_sha256", _text),
        ("folder", _text),
        ("failed_checks", _text),
        ("replay", _text),
    ]
)
"""``fault``: the verbs of the plan, as people say it. ``plan``: a digest of the scenario, the same for runs that differ
in seed, target or code only. ``failed_checks``: checks that were not PASS, with their outcomes. ``folder``: where the
run folder was when it was ingested."""

VERDICTS: Final = pa.schema(
    [
        ("run", _text),
        ("check", _text),
        ("outcome", _text),
        ("reasons", _text),
        ("measures", _text),
        ("anomalies", _i64),
        ("allowed", _i64),
    ]
)
"""``measures``: JSON. ``anomalies`` counts those that the contract does not allow, ``allowed`` the others."""

ANOMALIES: Final = pa.schema(
    [
        ("run", _text),
        ("check", _text),
        ("position", _i64),
        ("kind", _text),
        ("allowed", _flag),
        ("sentence", _text),
        ("ops", pa.list_(pa.field("element", _i64))),
        ("details", _text),
    ]
)

NODES: Final = pa.schema([("run", _text), ("node", _text), ("broker", _text), ("role", _text), ("target", _text)])
"""The nodes of a run as they were set up; ``role``: nameserver, master, slave or member (of a DLedger group)."""

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    **{name: pa.schema([pa.field("run", _text), *schema]) for name, schema in TABLES.items()},
    "runs": RUNS,
    "verdicts": VERDICTS,
    "anomalies": ANOMALIES,
    "nodes": NODES,
}
"""Table → columns, the partition columns apart."""

JUDGED: Final = ("runs", "verdicts", "anomalies")
"""Tables that change when a run is judged again; the others are what happened."""
