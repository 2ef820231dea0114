"""Run folders drawn at random: small, valid, and full of what marts count.

Question: on what data would a wrong join, a wrong interval of time or a forgotten NULL show?

A run has two brokers of two queues, a slave, up to two overlapping faults of which some took no effect and some were
never healed, sends that fail, stay open or are repeated, messages that the drain misses or sees twice, a group that
gets messages again, and a slave that loses and finds its master. Nothing is consistent with a real broker; everything
is consistent with the columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from checkers.history.schema import TABLES

MS = 1_000_000
SECOND = 1000 * MS
DAY_MS = 1_795_800_000_000  # 2026-11-27 15:20 UTC
PHASES = {"prepare": 0, "start": 0, "steady": SECOND, "faults": 4 * SECOND, "heal": 12 * SECOND,
          "converge": 13 * SECOND, "drain": 16 * SECOND, "dump": 18 * SECOND, "check": 18 * SECOND}  # fmt: skip
NODES = {
    "namesrv-1": {"listenPort": "9876"},
    "broker-a-0": {"brokerName": "broker-a", "brokerId": "0", "brokerRole": "ASYNC_MASTER"},
    "broker-a-1": {"brokerName": "broker-a", "brokerId": "1", "brokerRole": "SLAVE"},
    "broker-b-0": {"brokerName": "broker-b", "brokerId": "0", "brokerRole": "SYNC_MASTER"},
}
HIT = (["broker-a-0"], ["broker-b-0"], ["broker-a-1"], ["broker-a-0", "broker-b-0"], ["namesrv-1"], [])


class Draft:
    """Rows of one run while they are drawn; numbers of operations and events are given out here."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
        self._event = 0

    def number(self) -> int:
        self._event += 1
        return self._event

    def op(self, f: str, begin: int, end: int = -1, outcome: str = "ok", **fields: Any) -> int:
        op = len(self.tables["ops"])
        answered = {"complete_ns": end, "complete_event": self.number() + 100_000} if end >= 0 else {}
        row = {"op": op, "f": f, "invoke_ns": begin, "invoke_event": self.number(), "outcome": outcome}
        self.tables["ops"].append({**row, **answered, **fields})
        return op

    def reads(self, op: int, found: Sequence[tuple[int, int]]) -> None:
        self.tables["reads"] += [
            {"op": op, "position": n, "message": message, "offset": offset} for n, (message, offset) in enumerate(found)
        ]

    def event(self, kind: str, step: str, ns: int, detail: Any = None, **fields: Any) -> None:
        text = "" if detail is None else json.dumps(detail)
        row = {"kind": kind, "step": step, "ns": ns, "event": self.number(), "detail": text}
        self.tables["events"].append({**row, **fields})


def write_run(parent: Path, name: str, rng: Random) -> Path:
    """A run folder drawn from *rng*."""
    draft = Draft(rng)
    for step, ns in PHASES.items():
        draft.event("phase", step, ns)
    draft.tables["queues"] = [
        {"queue": q, "topic": "t", "broker": f"broker-{'ab'[q // 2]}", "queue_id": q % 2} for q in range(4)
    ]
    faults = [_fault(draft, f"f{n}") for n in range(1, 1 + rng.choice([0, 1, 1, 2]))]
    _sends(draft)
    _consumers(draft)
    lost = _drain(draft)
    _slave(draft)
    folder = parent / name
    folder.mkdir(parents=True)
    for table, rows in draft.tables.items():
        pq.write_table(columns(TABLES[table], rows), folder / f"{table}.parquet")
    (folder / "run.json").write_text(json.dumps(_run(name, rng, faults)))
    (folder / "verdict.json").write_text(json.dumps(_verdict(rng, lost)))
    return folder


def columns(schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """What a row does not say is −1 or empty."""
    blank = {field.name: "" if pa.types.is_string(field.type) else -1 for field in schema}
    return pa.Table.from_pylist([{**blank, **row} for row in rows], schema=schema)


def _fault(draft: Draft, fault: str) -> dict[str, str]:
    rng = draft.rng
    verb, left = rng.choice(["kill", "cut_power", "partition"]), rng.choice(HIT)
    right = ["client-1"] if verb == "partition" else []
    at = rng.randrange(4 * SECOND, 9 * SECOND)
    draft.event("fault", "resolve", at, {"do": verb, "left": left, "right": right}, fault=fault, effective=1)
    if not left or rng.random() < 0.1:
        draft.event("fault", "refused", at, {"reason": "no"}, fault=fault, effective=0)
        return {"do": verb, "on": "x"}
    done = at + rng.randrange(MS, 900 * MS)
    for node in left:
        draft.event("fault", "inject", done, None, fault=fault, node=node)
        probed = rng.choice([1, 1, 1, 1, 0, -1])
        draft.event("fault", "probe", done + MS, {}, fault=fault, node=node, effective=probed)
    if rng.random() < 0.8:
        healed = at + rng.randrange(SECOND, 3 * SECOND)
        draft.event("fault", "heal", healed, {}, fault=fault, node=left[0])
        draft.event("fault", "heal_probe", healed, {}, fault=fault, node=left[0], effective=rng.choice([1, 1, 0]))
    return {"do": verb, "on": rng.choice(["masters", "clients"])}


def _sends(draft: Draft) -> None:
    rng = draft.rng
    stops = rng.choice([7, 12]) * SECOND
    for message in range(rng.randrange(20, 50)):
        queue = rng.randrange(4)
        kind = rng.choice(["", "delayed"])
        draft.tables["messages"].append({"message": message, "process": 1, "sequence": message, "kind": kind})
        for _ in range(rng.choice([1, 1, 1, 1, 2])):
            begin = rng.randrange(SECOND, stops)
            outcome = rng.choice(["ok", "ok", "ok", "ok", "weak", "fail", "info"])
            end = -1 if outcome == "info" and rng.random() < 0.5 else begin + rng.randrange(1, 900) * MS
            broker = f"broker-{'ab'[queue // 2]}"
            draft.op(
                "send",
                begin,
                end,
                outcome,
                message=message,
                queue=queue,
                process=rng.randrange(3),
                node=broker,
                offset=message,
                position=message * 100,
                status="SEND_OK" if outcome == "ok" else "TIMEOUT",
            )


def _consumers(draft: Draft) -> None:
    rng, count = draft.rng, len(draft.tables["messages"])
    if commits := rng.random() < 0.7:
        draft.op("commit_offset", 2 * SECOND, 2 * SECOND + MS, group="g", process=10, queue=0)
    for _ in range(12):
        begin = rng.randrange(2 * SECOND, 14 * SECOND)
        away = "taken away" if commits and rng.random() < 0.2 else ""
        op = draft.op("pull", begin, begin + 50 * MS, group=rng.choice(["g", "h"]), process=rng.choice([10, 11]),
                      queue=rng.randrange(4), node="broker-a-0", detail=away)  # fmt: skip
        draft.reads(op, [(rng.randrange(-1, count), n) for n in range(rng.randrange(4))])


def _drain(draft: Draft) -> int:
    """How many acknowledged messages it misses."""
    rng, seen = draft.rng, set()
    for queue in range(4):
        found = [m["message"] for m in draft.tables["messages"] if rng.random() < 0.25]
        op = draft.op("drain", 16 * SECOND, 16 * SECOND + MS, queue=queue, node="broker-a-0", process=20, group="d")
        draft.reads(op, [(message, rng.choice([n, n, message])) for n, message in enumerate(found)])
        seen |= set(found)
    acknowledged = {o["message"] for o in draft.tables["ops"] if o["f"] == "send" and o["outcome"] == "ok"}
    return len(acknowledged - seen)


def _slave(draft: Draft) -> None:
    rng = draft.rng
    for step in ("ha_master_gone", "ha_master_connected"):
        for _ in range(rng.randrange(3)):
            detail = {"log_end": rng.randrange(0, 3000)} if rng.random() < 0.9 else "nonsense"
            draft.event("role", step, rng.randrange(SECOND, 14 * SECOND), detail, node="broker-a-1")


def _run(name: str, rng: Random, faults: list[dict[str, str]]) -> dict[str, Any]:
    target = rng.choice(["rocketmq:4.9.7", "rocketmq:5.3.3"])
    return {
        "run": name, "scenario": "s", "mode": rng.choice(["single-master", "multi-master"]), "flush": "async",
        "backend": "process", "target": target, "targets": dict.fromkeys(NODES, target), "nodes": NODES,
        "seed": hex(rng.randrange(4)),
        "commit": rng.choice(["c1", "c2"]), "started_epoch_ms": DAY_MS + rng.randrange(10**6),
        "faults": faults, "defects": ["a-bug"] if rng.random() < 0.15 else [], "history_sha256": str(rng.randrange(2)),
    }  # fmt: skip


def _verdict(rng: Random, lost: int) -> dict[str, Any]:
    broken = lost if rng.random() < 0.3 else 0
    findings = [
        {"kind": "lost", "sentence": "some were lost", "ops": [0], "allowed": not broken, "details": {"count": lost}}
    ] * bool(lost)
    outcome = "FAIL" if broken else rng.choice(["PASS", "PASS", "UNKNOWN"])
    checks = [
        {"check": "accounting", "outcome": "FAIL" if broken else "PASS", "reasons": [],
         "measures": {"lost": lost, "expired": 0}, "anomalies": findings},
        {"check": "life-cycle", "outcome": "UNKNOWN" if outcome == "UNKNOWN" else "PASS", "reasons": [],
         "measures": {}, "anomalies": []},
    ]  # fmt: skip
    return {"outcome": outcome, "verdicts": checks}
