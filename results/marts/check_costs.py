"""One row a check: how many runs it judged again, and the time that took.

Not a query: a history is the same wherever it is judged, and how long that took is no part of it. So the times are
those of the last ``mqchaos lake recheck``, on the machine where it ran; until then there is no such table.

``total_s`` over all runs, ``p50_ms`` and ``max_ms`` of one run.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

from results.marts.whole import replace

NAME = "check_costs"
SCHEMA = pa.schema([
    ("check", pa.string()), ("runs", pa.int64()), ("total_s", pa.float64()), ("p50_ms", pa.float64()),
    ("max_ms", pa.float64())
])  # fmt: skip


def costs_of(rows: pa.Table) -> pa.Table:
    """From the rows of a re-check: ``costs`` is a JSON object, check → seconds. The dearest check first."""
    taken: dict[str, list[float]] = {}
    for text in rows["costs"].to_pylist():
        for name, seconds in json.loads(text).items():
            taken.setdefault(name, []).append(seconds)
    found = [
        {"check": name, "runs": len(times), "total_s": sum(times), "p50_ms": 1000 * median(times),
         "max_ms": 1000 * max(times)}
        for name, times in sorted(taken.items(), key=lambda item: -sum(item[1]))
    ]  # fmt: skip
    return pa.Table.from_pylist(found, schema=SCHEMA)


def write_costs(rows: pa.Table, marts: Path) -> Path:
    """Beside the other tables in *marts*, whole or not at all."""
    marts.mkdir(parents=True, exist_ok=True)
    path = marts / f"{NAME}.parquet"
    replace(path, lambda target: pq.write_table(costs_of(rows), target, compression="zstd"))
    return path
