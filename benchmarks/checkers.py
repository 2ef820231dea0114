"""How many operations a second does each checker decide, how much memory does it take, and where does Porcupine give
up?

One core, processor time, best of three. Inputs are columns in memory (reading a file is a figure of its own), made by
the same generators that the tests use: half appends, four queues, one in a hundred sends unknown, about five messages
read an operation. The yardstick of the linear checkers is one numpy sort of as many numbers.

Beside Porcupine (its Go module, built from ``benchmarks/porcupine``; left out with the reason where there is no Go):
the 102 published logs of etcd and the key-value files, and logs from 10² to 10⁶ operations, with a limit a history.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figure import Figure, processor_seconds
from checkers.compiled import search as search_compiled
from checkers.compiled.logs import LARGE
from checkers.compiled.queue import is_plainly_legal, on_events
from checkers.external.calls import by_key
from checkers.external.files import read_calls
from checkers.external.register import kv_part, register_part
from checkers.history import schema
from checkers.history.columns import NEVER
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.logs.linear import LogInput, check_log
from checkers.logs.sessions import check_sessions, claims_of
from checkers.objects.models import key, register
from checkers.objects.queue import check_queue, total_queue
from checkers.objects.register import check_register
from checkers.objects.search import Operation, search, search_parts
from checkers.runs.log import check_logs
from suites.unit.checkers.plain_log import is_linearizable, plain
from suites.unit.checkers.synthetic import (
    log_history,
    queue_history,
    register_history,
    stale_or_lost,
    unanswered_writes,
    victim,
)

PUBLIC = Path(__file__).parent.parent / "suites" / "public" / "porcupine"
TIMES = 3
MILLION = 1_000_000
PORCUPINE_LIMIT_S = 5
AIMS = {"log": 5e6, "plain": 0.5e6, "fifo": 3e6, "total": 15e6, "register": 3e6}
"""Operations a second that were aimed at (floors)."""


def measure(quick: bool) -> Iterator[Figure]:
    size = 10_000 if quick else MILLION
    sort = best(lambda: np.sort(np.random.default_rng(1).integers(0, 1 << 40, size)))
    yield Figure(f"numpy sorts {size:,} numbers", size / sort, "numbers/s")
    yield from linear(size, sort)
    yield from pipeline(size)
    yield from published()
    yield from searched(size)
    if not quick:
        yield from memory()
        yield from compiled()
    yield from beside_porcupine(quick)


def best(work: Callable[[], object], times: int = TIMES) -> float:
    return min(processor_seconds(work) for _ in range(times))


def linear(size: int, sort: float) -> Iterator[Figure]:
    """The checkers that need no search."""

    def figure(label: str, work: Callable[[], object], aim: str = "", count: int = size) -> Figure:
        seconds = best(work)
        return Figure(label, count / seconds, "ops/s", sort / seconds, "sort", at_least=AIMS.get(aim))

    logs = log_history(size)
    messages = len(logs.polls.value)
    yield figure(f"log, {size:,} ops, {messages:,} messages read", lambda: must(check_log(logs).holds), "log")
    listed = plain(logs)
    yield figure("the same in plain Python, without explanations", lambda: must(is_linearizable(listed)), "plain")
    crowded = log_history(size, processes=100, batch=60)
    yield figure(f"log, 100 processes, {len(crowded.polls.value):,} read", lambda: must(check_log(crowded).holds))
    many = log_history(size, queues=1024)
    yield figure("log, 1,024 queues", lambda: must(check_log(many).holds))
    fifo = queue_history(size)
    yield figure("FIFO queue, from time stamps", lambda: must(check_queue(fifo).holds), "fifo")
    by_event = on_events(fifo)
    yield figure("FIFO queue, from an event log", lambda: must(check_queue(by_event).holds))
    yield figure("bag, from time stamps", lambda: must(check_queue(fifo, ordered=False).holds))
    yield figure("total-queue accounting", lambda: total_queue(fifo), "total")
    written = register_history(size, swaps=0.0)
    yield figure("register, distinct values", lambda: must(check_register(written).holds), "register")
    swaps = register_history(size)
    yield figure("register with swaps, distinct values", lambda: must(check_register(swaps).holds), "register")
    process_of = np.arange(size, dtype=np.int64) % 10
    claims = claims_of(logs, process_of)
    yield figure("session guarantees", lambda: check_sessions(claims))


def must(answer: bool | None) -> None:
    """A benchmark of a wrong answer measures nothing."""
    if answer is not True:
        raise AssertionError(f"a valid history was judged {answer}")


def pipeline(size: int) -> Iterator[Figure]:
    """A run folder as it is on disk: read, check, explain."""
    with tempfile.TemporaryDirectory() as folder:
        write_run(log_history(size), Path(folder))
        facts = RunFacts("single-master")
        seconds = best(lambda: check_logs(History.load(Path(folder)), facts))
    aim = 2.0 if size == MILLION else None
    yield Figure(f"Parquet → history → log verdict, {size:,} ops", seconds, "s", at_most=aim)


def write_run(log: LogInput, folder: Path) -> None:
    """The columns of a history of ours; stamps become distinct event numbers by their order."""
    tables = run_tables(log)
    for name, fields in schema.TABLES.items():
        table = pa.table(tables[name], schema=fields) if name in tables else fields.empty_table()
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def run_tables(log: LogInput) -> dict[str, dict[str, Any]]:
    parts = (
        ("send", log.appends.queue, log.appends.value, log.appends.offset, log.appends, -1),
        ("pull", log.polls.queue, None, log.polls.asked, log.polls, 1),
        ("pull", log.empties.queue, None, log.empties.at, log.empties, 0),
    )
    op = np.concatenate([part[4].op for part in parts])
    invoke = np.concatenate([part[4].invoke for part in parts])
    ret = np.concatenate([part[4].ret for part in parts])
    known = ret < NEVER
    order = np.argsort(np.concatenate((invoke * 2, ret[known] * 2 + 1)), kind="stable")
    event = np.empty(len(order), dtype=np.int64)
    event[order] = np.arange(len(order))
    complete = np.full(len(op), -1, dtype=np.int64)
    complete[known] = event[len(op) :]
    count = np.concatenate((np.full(len(log.appends), -1), log.polls.count, np.zeros(len(log.empties), dtype=np.int64)))
    f = np.repeat(np.array(["send", "pull", "pull"]), [len(part[4]) for part in parts])
    status = np.repeat(np.array(["SEND_OK", "FOUND", "PULL_NOT_FOUND"]), [len(part[4]) for part in parts])
    empty, minus = np.full(len(op), ""), np.full(len(op), -1, dtype=np.int64)
    by_op = np.argsort(op)
    ops: dict[str, Any] = {
        "op": op,
        "process": op % 10,
        "f": f,
        "queue": np.concatenate([part[1] for part in parts]),
        "message": np.concatenate((log.appends.value, minus[: len(op) - len(log.appends)])),
        "offset": np.concatenate([part[3] for part in parts]),
        "count": count,
        "position": minus,
        "invoke_event": event[: len(op)],
        "complete_event": complete,
        "invoke_ns": invoke,
        "complete_ns": np.where(known, ret, -1),
        "outcome": np.where(known, "ok", "info"),
        "status": np.where(known, status, "TIMEOUT"),
        "node": empty,
        "group": empty,
        "detail": empty,
        "next_offset": minus,
        "suggested": minus,
    }
    ops = {name: column[by_op] for name, column in ops.items()}
    polls = log.polls
    reads: dict[str, Any] = {
        "op": np.repeat(polls.op, polls.count),
        "position": np.arange(len(polls.value)) - np.repeat(polls.ends() - polls.count, polls.count),
        "offset": polls.offset,
        "message": polls.value,
        "detail": np.full(len(polls.value), ""),
    }
    number = np.arange(log.queue_count)
    queues: dict[str, Any] = {
        "queue": number,
        "topic": np.full(len(number), "t"),
        "broker": np.full(len(number), "broker-a"),
        "queue_id": number,
    }
    return {"ops": ops, "reads": reads, "queues": queues}


def etcd_logs() -> dict[str, tuple[bool, list[Operation]]]:
    """name → (published verdict, operations)."""
    verdicts = json.loads((PUBLIC / "verdicts.json").read_text(encoding="utf-8"))
    names = [name for name in verdicts if "etcd" in name]
    return {name: (verdicts[name], register_part(read_calls(PUBLIC / name), name, True)) for name in names}


def published() -> Iterator[Figure]:
    """Our search in pure Python on the published files; parsing is apart."""
    seconds = best(lambda: [read_calls(PUBLIC / name) for name in etcd_logs()], 1)
    yield Figure("102 etcd logs, reading", seconds * 1e3, "ms")
    logs = etcd_logs()
    seconds = best(partial(judge_etcd, logs), 5)
    yield Figure("102 etcd logs, search", seconds * 1e3, "ms", at_most=150)
    for name, aim in (("c10-bad", None), ("c10-ok", None), ("c50-bad", 200), ("c50-ok", 2000)):
        seconds = best(partial(judge_kv, kv_parts(name), "ok" in name))
        yield Figure(f"kv {name}, search", seconds * 1e3, "ms", at_most=aim)


def searched(size: int) -> Iterator[Figure]:
    """Registers with repeated values: one bad read behind twenty unanswered writes; a valid history of many."""
    bad = unanswered_writes(2_000, 20)
    seconds = best(lambda: agree(search(bad, register()).holds, False))
    yield Figure("2,000 operations, 20 writes unanswered, one bad read", seconds * 1e3, "ms", at_most=100)
    count = size // 10
    valid = [operation for operation in unanswered_writes(count, 0) if operation.arg != ("read", 5)]
    seconds = best(lambda: must(search(valid, register()).holds), 1)
    yield Figure(f"register, repeated values, {count:,} ops, search", count / seconds, "ops/s")


def judge_etcd(logs: dict[str, tuple[bool, list[Operation]]]) -> None:
    for wanted, operations in logs.values():
        agree(search(operations, register()).holds, wanted)


def judge_kv(parts: list[list[Operation]], wanted: bool) -> None:
    agree(search_parts(parts, key())[0].holds, wanted)


def kv_parts(name: str) -> list[list[Operation]]:
    calls = read_calls(PUBLIC / "test_data" / "kv" / f"{name}.txt")
    return [kv_part(part, name) for part in by_key(calls).values()]


def agree(answer: bool | None, wanted: bool) -> None:
    if answer is not wanted:
        raise AssertionError(f"{answer} where {wanted} was published")


def memory() -> Iterator[Figure]:
    """Ten million operations, about fifty million messages read, in a process of its own: time and peak."""
    size = 10 * MILLION
    seconds, columns, peak, messages = _apart(_large, size)
    label = f"log, {size:,} ops, {messages:,} messages read"
    path = "numpy" if find_spec("numba") is None else "compiled"
    yield Figure(label, size / seconds, "ops/s", note=f"{seconds:.2f} s of processor time, {path}")
    beyond = (peak - columns) / size
    yield Figure("its peak memory beyond the columns", beyond, "bytes/op", at_most=150)


def compiled() -> Iterator[Figure]:
    """What numba makes of a queue and of the search, each in a process of its own, so that the figures of the plain
    paths stay those of the plain paths. Without numba the queue is decided by numpy and nothing else is shown."""
    size, is_there = 10 * MILLION, find_spec("numba") is not None
    note = "compiled" if is_there else "numpy"
    for given, number, aim in (("an event log", True, 15e6 if is_there else None), ("time stamps", False, None)):
        seconds, beyond = _apart(_large_queue, size, number)
        yield Figure(f"FIFO queue, from {given}, {size:,} ops", size / seconds, "ops/s", at_least=aim, note=note)
        yield Figure("its peak memory beyond the columns", beyond / size, "bytes/op", at_most=150)
    if not is_there:
        return
    yield Figure("102 etcd logs, search, compiled", _apart(_etcd_compiled) * 1e3, "ms", at_most=10)
    seconds, peak = _apart(_large_search, MILLION)
    label = f"register with swaps, repeated values, {MILLION:,} ops, 10 clients, search, compiled"
    yield Figure(label, seconds, "s", at_most=2, note="from operations as Python objects")
    yield Figure("the peak of that process, with the operations", peak / 1e6, "MB", at_most=1000)


def _apart(work: Callable[..., Any], *args: object) -> Any:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, args)


def _large_queue(size: int, number: bool) -> tuple[float, int]:
    """(seconds, bytes that the checker added at its peak)."""
    queue = on_events(queue_history(size)) if number else queue_history(size)
    must(is_plainly_legal(on_events(queue_history(1000)), True))  # whatever is compiled is compiled by now
    before = _resident()
    _reset_peak()
    seconds = best(lambda: must(check_queue(queue).holds))
    return seconds, max(_peak() - before, 0)


def _etcd_compiled() -> float:
    logs = etcd_logs()
    agree(search(unanswered_writes(search_compiled.LARGE, 0), register()).holds, False)
    return best(partial(judge_etcd, logs), 15)


def _large_search(size: int) -> tuple[float, int]:
    """(seconds, bytes of the process at its peak)."""
    operations = [operation for operation in unanswered_writes(size, 0) if operation.arg != ("read", 5)]
    _reset_peak()
    return best(lambda: must(search(operations, register()).holds)), _peak()


def _large(size: int) -> tuple[float, int, int, int]:
    """(seconds, bytes of the columns, bytes the checker added at its peak, messages)."""
    log = log_history(size)
    parts = (log.appends, log.polls, log.empties)
    columns = sum(getattr(part, name).nbytes for part in parts for name in part.__slots__ if _is_column(part, name))
    must(check_log(log_history(LARGE // 5)).holds)  # whatever is compiled is compiled before the clock starts
    before = _resident()
    _reset_peak()
    seconds = processor_seconds(lambda: must(check_log(log).holds))
    return seconds, columns, max(_peak() - before, 0) + columns, len(log.polls.value)


def _is_column(part: object, name: str) -> bool:
    return isinstance(getattr(part, name), np.ndarray)


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def _reset_peak() -> None:
    """Linux: forget the peak so far, so that only the checker's own counts."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def beside_porcupine(quick: bool) -> Iterator[Figure]:
    """The same histories through both, in the same minute."""
    go = shutil.which("go")
    if go is None:
        yield Figure("Porcupine", 0, "", note="left out: there is no Go on this machine")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = folder / "porcupine"
        built = subprocess.run(
            [go, "build", "-o", str(program), "."],
            cwd=Path(__file__).parent / "porcupine",
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "GOFLAGS": "-mod=readonly"},
        )
        if built.returncode:
            yield Figure("Porcupine", 0, "", note=f"left out: {built.stderr.strip().splitlines()[-1]}")
            return
        yield from porcupine_etcd(program, folder)
        yield from porcupine_kv(program, folder)
        yield from porcupine_logs(program, folder, [100, 1000] if quick else [10**power for power in range(2, 7)])


def run_porcupine(program: Path, model: str, files: list[Path]) -> list[tuple[str, float]]:
    """(verdict, seconds) by file, the check alone."""
    command = [str(program), str(PORCUPINE_LIMIT_S), model, *map(str, files)]
    timeout_s = 60 + 2 * PORCUPINE_LIMIT_S * len(files)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=True)
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    return [(row[1], int(row[2]) / 1e9) for row in rows]


def write_operations(path: Path, rows: Iterator[str]) -> Path:
    path.write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    return path


def porcupine_etcd(program: Path, folder: Path) -> Iterator[Figure]:
    logs = etcd_logs()
    files = [
        write_operations(folder / f"{index}.tsv", map(register_row, operations))
        for index, (_, operations) in enumerate(logs.values())
    ]
    results = run_porcupine(program, "register", files)
    wrong = sum(
        verdict != ("ok" if wanted else "illegal")
        for (verdict, _), (wanted, _) in zip(results, logs.values(), strict=False)
    )
    theirs = sum(seconds for _, seconds in results)
    ours = best(lambda: [search(operations, register()) for _, operations in logs.values()], 5)
    note = f"worst {max(seconds for _, seconds in results) * 1e3:.1f} ms, {wrong} differ from the published verdicts"
    yield Figure("102 etcd logs, Porcupine (Go)", theirs * 1e3, "ms", theirs / ours, "ours", note=note)


def register_row(operation: Operation) -> str:
    kind, *values = operation.arg
    cells = [-1 if value is None else value for value in values]
    forms = {"write": ["w", *cells], "read": ["r", *cells], "cas": ["c", *cells, 1], "refused": ["c", *cells, -2, 0]}
    ret = -1 if operation.ret is None else operation.ret
    return "\t".join(map(str, [operation.op, operation.call, ret, *forms[kind]]))


def porcupine_kv(program: Path, folder: Path) -> Iterator[Figure]:
    for name in ("c10-ok", "c10-bad", "c50-ok", "c50-bad"):
        parts = kv_parts(name)
        rows = (
            "\t".join(map(str, (op.op, op.call, op.ret, number, op.arg[0][0], op.arg[1])))
            for number, part in enumerate(parts)
            for op in part
        )
        verdict, theirs = run_porcupine(program, "kv", [write_operations(folder / f"{name}.tsv", rows)])[0]
        ours = best(partial(search_parts, parts, key()))
        yield Figure(f"kv {name}, Porcupine (Go): {verdict}", theirs * 1e3, "ms", theirs / ours, "ours")


def porcupine_logs(program: Path, folder: Path, sizes: list[int]) -> Iterator[Figure]:
    """Valid logs without and with unknown sends, and one stale answer at nine tenths; up to the size it gives up
    at."""
    for label, unknown, stale in (("no unknown", 0.0, False), ("1 % unknown", 0.01, False), ("1 stale", 0.01, True)):
        for size in sizes:
            log = log_history(size, unknown=unknown)
            if stale:
                log = stale_or_lost(log, victim(log, 0.9), 1)
            file = write_operations(folder / f"log-{size}.tsv", log_rows(log))
            verdict, theirs = run_porcupine(program, "log", [file])[0]
            begin_ns = perf_counter_ns()
            ours_verdict = check_log(log).holds
            ours = (perf_counter_ns() - begin_ns) / 1e9
            note = f"ours: {'ok' if ours_verdict else 'illegal'} in {ours * 1e3:.1f} ms"
            name = f"log, {label}, {size:,} ops, Porcupine: {verdict}"
            yield Figure(name, theirs * 1e3, "ms", theirs / ours, "ours", note=note)
            if verdict == "unknown":
                break


def log_rows(log: LogInput) -> Iterator[str]:
    appends, polls, empties = log.appends, log.polls, log.empties
    for row in range(len(appends)):
        unknown = int(appends.ret[row]) >= NEVER
        ret, offset = (-1, -1) if unknown else (int(appends.ret[row]), int(appends.offset[row]))
        cells = (row, appends.invoke[row], ret, appends.queue[row], "a", appends.value[row], offset)
        yield "\t".join(map(str, cells))
    ends = polls.ends()
    for row in range(len(polls)):
        values = polls.value[ends[row] - polls.count[row] : ends[row]].tolist()
        cells = (row, polls.invoke[row], polls.ret[row], polls.queue[row], "p", polls.asked[row], *values)
        yield "\t".join(map(str, cells))
    for row in range(len(empties)):
        yield "\t".join(
            map(str, (row, empties.invoke[row], empties.ret[row], empties.queue[row], "p", empties.at[row]))
        )


if __name__ == "__main__":
    for shown in measure("--quick" in sys.argv):
        print(shown.line(), flush=True)
