"""S2's append-only streams: operations of one client, one after the other, as its verification cases write them.

Question: what does such a case claim about a log?

Model. ``append``: a batch of ``n`` records, of which ``records`` are shown; ``tail`` is the end after it; ``out`` ok,
fail (certainly not) or info; ``match_seq_num``: it was to happen only if that was the end. ``read-all``: everything
from 0, and the end. ``check-tail``: the end.

A batch of which only some records are shown, because it is huge, is entered by those and by its last offset; offsets
then may have gaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from checkers.history.columns import NEVER
from checkers.logs.linear import ACKED, FAILED, UNKNOWN, Appends, Claims, LogInput, Polls

_LAST = -1


def s2_input(ops: Sequence[Mapping[str, Any]]) -> tuple[LogInput, bool]:
    """(columns, whether offsets may have gaps) of one case; op numbers are indexes, operation i lasts over [2i, 2i +
    1]."""
    gaps = any(op["op"] == "append" and op["n"] != len(op["records"]) for op in ops)
    values: dict[Any, int] = {}
    appends: list[tuple[int, ...]] = []
    reads: list[tuple[int, ...]] = []
    polls: list[tuple[int, ...]] = []
    ends: list[tuple[int, ...]] = []
    for index, op in enumerate(ops):
        call, ret = 2 * index, 2 * index + 1
        if op["op"] == "append":
            appends += _append_rows(op, index, call, ret, values, gaps)
            if "match_seq_num" in op and op["out"] == "ok":
                ends.append((0, op["match_seq_num"], call, ret, index))
            continue
        ends.append((0, op["tail"], call, ret, index))
        if op["op"] == "read-all" and op["records"]:
            polls.append((0, len(op["records"]), call, ret, index, 0))
            reads += [(at, values.setdefault(record, len(values))) for at, record in enumerate(op["records"])]
    return LogInput(
        1,
        appends=Appends(*_columns(appends, 8)),
        polls=Polls(*_columns(polls, 6), *_columns(reads, 2)),
        ends=Claims(*_columns(ends, 5)),
    ), gaps


def _append_rows(
    op: Mapping[str, Any], index: int, call: int, ret: int, values: dict[Any, int], gaps: bool
) -> list[tuple[int, ...]]:
    """(queue, value, offset, invoke, ret, outcome, op, batch) by record."""
    outcome = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}[op["out"]]
    names = list(op["records"])
    offsets = list(range(len(names)))
    if gaps and op["n"] > len(names):
        names.append((_LAST, index))
        offsets.append(op["n"] - 1)
    first = op["tail"] - op["n"] if outcome == ACKED else 0
    return [
        (
            0,
            values.setdefault(name, len(values)),
            first + offset if outcome == ACKED else -1,
            call,
            int(NEVER) if outcome == UNKNOWN else ret,
            outcome,
            index,
            index if len(names) > 1 else -1,
        )
        for name, offset in zip(names, offsets, strict=True)
    ]


def _columns(rows: list[tuple[int, ...]], width: int) -> list[Any]:
    return [np.array([row[place] for row in rows], dtype=np.int64) for place in range(width)]
