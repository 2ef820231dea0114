"""A lake of any size without running anything: for measuring marts, pages and re-checks, and for trying queries.

    python scripts/synthetic_lake.py LAKE --runs 10000 [--ops 5000]

Runs look like those of a single broker or of three whose first is hit by one fault for three seconds: sends to it get
no answer meanwhile, the last acknowledged ones before a power cut may be lost, everything else is drained. Figures are
drawn from a seeded generator and mean nothing; the columns are valid, and joins have the sizes of real ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.harms import harm_of_verb  # noqa: E402
from harness.modes import MODES as KNOWN_MODES  # noqa: E402
from results.lake import SCHEMAS, Lake  # noqa: E402
from results.lake.commits import Commit, data_file  # noqa: E402
from results.lake.places import ROW_GROUP  # noqa: E402

SECOND: Final = 1_000_000_000
MODES: Final = ("single-master", "multi-master", "multi-master-multi-slave-async", "multi-master-multi-slave-sync")
FAULTS: Final = ("kill", "cut_power", "pause", "partition", "isolate", "restart", "none")
TARGETS: Final = ("reference", "rocketmq:4.9.7", "rocketmq:5.3.3")
DAY_MS: Final = 1_795_800_000_000
PHASES: Final = {
    "prepare": 0,
    "start": 0,
    "steady": 1,
    "faults": 8,
    "heal": 22,
    "converge": 23,
    "drain": 25,
    "dump": 26,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lake", type=Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--ops", type=int, default=5000)
    parser.add_argument("--batch", type=int, default=200)
    options = parser.parse_args()
    lake, started = Lake(options.lake), time.monotonic()
    for begin in range(0, options.runs, options.batch):
        mode = MODES[begin // options.batch % len(MODES)]
        numbers = range(begin, min(options.runs, begin + options.batch))
        write_batch(lake, mode, [one_run(number, mode, options.ops) for number in numbers])
        print(f"{numbers[-1] + 1}/{options.runs} runs, {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 0


def write_batch(lake: Lake, mode: str, runs: list[dict[str, Any]]) -> None:
    names = [run["name"] for run in runs]
    batch, day = f"{names[0]}+{len(names) - 1}", "2026-11-27"
    rows = {}
    for table, schema in SCHEMAS.items():
        parts = [filled(run[table], schema, run["name"]) for run in runs]
        whole = pa.concat_tables(parts)
        with lake.place.table_writer(data_file(table, mode, day, batch), schema) as writer:
            writer.write_table(whole, ROW_GROUP)
        rows[table] = len(whole)
    digests = {name: {"history": sha256(name.encode()).hexdigest(), "verdict": ""} for name in names}
    lake.commit(Commit(batch, mode, day, digests, rows))


def filled(columns: dict[str, Any], schema: pa.Schema, run: str) -> pa.Table:
    """What is not given is −1, empty or an empty list."""
    count = len(next(iter(columns.values())))
    blank = {pa.string(): "", pa.int64(): -1, pa.bool_(): False}
    arrays = []
    for field in schema:
        if field.name == "run":
            arrays.append(pa.repeat(pa.scalar(run), count))
        elif field.name in columns:
            arrays.append(pa.array(columns[field.name], field.type))
        elif pa.types.is_list(field.type):
            arrays.append(pa.array([[]] * count, field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(blank[field.type], field.type), count))
    return pa.table(arrays, schema=schema)


def one_run(number: int, mode: str, ops: int) -> dict[str, Any]:
    rng = np.random.default_rng(number)
    verb, brokers = str(rng.choice(FAULTS)), min(3, KNOWN_MODES[mode].brokers.most)
    sends = operations(rng, ops, brokers, verb)
    lost = int((sends["ok"] & ~sends["drained"]).sum())
    outcome = str(rng.choice(["PASS", "UNKNOWN", "FAIL"], p=[0.97, 0.02, 0.01]))
    name = f"r-synthetic-{number:07}"
    facts = {"scenario": f"synthetic-{mode}-{verb}", "flush": str(rng.choice(["async", "sync"])), "backend": "process",
             "target": str(rng.choice(TARGETS)), "seed": hex(number), "commit": "synthetic",
             "fault": verb, "outcome": outcome,
             "started_epoch_ms": DAY_MS + number, "plan": f"{mode}-{verb}", "ops": len(sends["table"]["op"]),
             "duration_ns": 26 * SECOND, "history_sha256": str(number), "folder": f"/synthetic/{name}",
             "replay": f"mqchaos replay {name}"}  # fmt: skip
    return {
        "name": name,
        "runs": {key: [value] for key, value in facts.items()},
        "ops": sends["table"],
        "reads": sends["reads"],
        "queues": {"queue": np.arange(brokers * 4), "topic": ["t"] * brokers * 4,
                   "queue_id": np.arange(brokers * 4) % 4,
                   "broker": [f"broker-{'abc'[q // 4]}" for q in range(brokers * 4)]},
        "messages": {"message": np.arange(sends["count"]), "sequence": np.arange(sends["count"])},
        "events": events(verb),
        "nodes": {"node": [f"broker-{'abc'[b]}-0" for b in range(brokers)], "role": ["master"] * brokers,
                  "broker": [f"broker-{'abc'[b]}" for b in range(brokers)]},
        "verdicts": {"check": ["accounting", "log"], "outcome": [outcome, "PASS"],
                     "measures": [f'{{"lost": {lost}}}', "{}"],
                     "anomalies": [0, 0], "allowed": [int(lost > 0), 0]},
        "anomalies": {"check": ["accounting"] * (lost > 0), "kind": ["lost"] * (lost > 0),
                      "allowed": [True] * (lost > 0),
                      "details": [f'{{"count": {lost}}}'] * (lost > 0)},
    }  # fmt: skip


def operations(rng: np.random.Generator, ops: int, brokers: int, verb: str) -> dict[str, Any]:
    """Half of the operations are sends, half pulls, and one drain a queue."""
    queues = brokers * 4
    count = pulls = (ops - queues) // 2
    queue = rng.integers(0, queues, count)
    begin = np.sort(rng.integers(SECOND, 22 * SECOND, count))
    away = (queue < 4) & (begin >= 8 * SECOND) & (begin < 11 * SECOND) & (verb != "none")
    ok = ~away
    end = begin + np.where(away, 3 * SECOND, rng.integers(200_000, 6_000_000, count))
    drained = ok.copy()
    if verb != "none" and harm_of_verb(verb) == "power-cut":
        tail = np.flatnonzero(ok & (queue < 4) & (begin < 8 * SECOND))[-int(rng.integers(0, 60)) - 1 :]
        drained[tail] = False
    kept = np.flatnonzero(drained)
    pulled = rng.integers(SECOND, 22 * SECOND, pulls)
    total = count + pulls + queues
    names = np.array([f"broker-{'abc'[b]}" for b in range(brokers)])
    table = {
        "op": np.arange(total),
        "f": np.repeat(["send", "pull", "drain"], [count, pulls, queues]),
        "process": np.arange(total) % 8,
        "queue": np.concatenate([queue, rng.integers(0, queues, pulls), np.arange(queues)]),
        "message": np.concatenate([np.arange(count), np.full(pulls + queues, -1)]),
        "offset": np.concatenate([np.arange(count), np.zeros(pulls + queues, dtype=np.int64)]),
        "position": np.concatenate([np.arange(count) * 281, np.full(pulls + queues, -1)]),
        "invoke_event": np.arange(total) * 2,
        "complete_event": np.arange(total) * 2 + 1,
        "invoke_ns": np.concatenate([begin, pulled, np.full(queues, 25 * SECOND)]),
        "complete_ns": np.concatenate([end, pulled + 2_000_000, np.full(queues, 25 * SECOND + 1_000_000)]),
        "outcome": np.concatenate([np.where(ok, "ok", "info"), np.repeat("ok", pulls + queues)]),
        "status": np.concatenate([np.where(ok, "SEND_OK", "TIMEOUT"), np.repeat("FOUND", pulls + queues)]),
        "node": np.concatenate([names[queue // 4], np.repeat("broker-a-0", pulls + queues)]),
    }
    readers = np.concatenate([count + rng.integers(0, pulls, len(kept)), count + pulls + queue[kept]])
    order = np.argsort(readers, kind="stable")
    ops_read = readers[order]
    begins = np.concatenate([[True], ops_read[1:] != ops_read[:-1]])
    place = np.arange(len(ops_read))
    reads = {
        "op": ops_read,
        "position": place - np.maximum.accumulate(np.where(begins, place, 0)),
        "message": np.concatenate([kept, kept])[order],
        "offset": np.concatenate([kept, kept])[order],
    }
    return {"table": table, "reads": reads, "ok": ok, "drained": drained, "count": count}


def events(verb: str) -> dict[str, Any]:
    steps = [("phase", step, second * SECOND, "", -1, "") for step, second in PHASES.items()]
    if verb != "none":
        detail = f'{{"do": "{verb}", "left": ["broker-a-0"], "right": []}}'
        steps += [("fault", "resolve", 8 * SECOND, "f1", 1, detail), ("fault", "inject", 8 * SECOND, "f1", -1, "{}"),
                  ("fault", "probe", 8 * SECOND, "f1", 1, "{}"), ("fault", "heal", 11 * SECOND, "f1", -1, "{}"),
                  ("fault", "heal_probe", 11 * SECOND, "f1", 1, "{}")]  # fmt: skip
    kind, step, ns, fault, effective, detail = (list(column) for column in zip(*steps, strict=True))
    return {"kind": kind, "step": step, "ns": ns, "fault": fault, "effective": effective, "detail": detail,
            "event": list(range(10**9, 10**9 + len(steps))),
            "node": ["broker-a-0" if k == "fault" else "" for k in kind]}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
