"""How many events a second can be recorded, and how many a second become a history again?

One thread, one clock (monotonic, as on real backends), processor time but for the file, where the wall counts. An op is
two events: a send with its completion, and every second op a pull with eight messages read. Measured: recording into a
file (batched writes, one fsync at the end), recording into memory, folding the journal into columns, columns into
Parquet. The yardstick is the standard library's ``json.dumps`` of one small event, written nowhere.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import monotonic_ns

from benchmarks.figure import Figure, processor_seconds, wall_seconds
from harness.recorder import Recorder, decode_journal, fold, write_tables

OPS = 100_000
AIM = 100_000
TIMES = 3


def record(recorder: Recorder, op_count: int) -> None:
    """Two events an op: sends and pulls in turns."""
    queue = recorder.queue("bench", "broker-a", 0)
    process = recorder.process()
    for sequence in range(op_count // 2):
        message = recorder.message(process, sequence, 256)
        op = recorder.invoke(process, "send", queue=queue, message=message, node="broker-a")
        recorder.complete(op, "ok", "SEND_OK", offset=sequence, position=sequence * 400)
        op = recorder.invoke(process, "pull", queue=queue, offset=sequence, node="broker-a-0")
        recorder.complete(op, "ok", "FOUND", count=8, offsets=[sequence + i for i in range(8)], messages=[message] * 8)
    recorder.close()


def record_into(path: Path, op_count: int) -> None:
    """Into a new file, forced to the disk when it is complete."""
    record(Recorder(monotonic_ns, 1, path), op_count)


def dump_plain(event_count: int) -> None:
    """What a recorder of the standard library would do at least."""
    line = {"t": "invoke", "e": 1, "ns": 1, "op": 1, "p": 1, "f": "send", "q": 0, "m": 1, "node": "broker-a"}
    for number in range(event_count):
        line["e"] = number
        json.dumps(line)


def measure(quick: bool) -> Iterator[Figure]:
    op_count = 1_000 if quick else OPS
    times = 1 if quick else TIMES
    events = 2 * op_count
    plain = events / min(processor_seconds(lambda: dump_plain(events)) for _ in range(times))
    yield Figure("json.dumps, written nowhere", plain, "events/s", 1.0, "json.dumps")

    def figure(label: str, seconds: float, aim: int | None = None) -> Figure:
        return Figure(label, events / seconds, "events/s", events / seconds / plain, "json.dumps", at_least=aim)

    with tempfile.TemporaryDirectory() as name:
        paths = [Path(name) / f"{number}.jsonl" for number in range(times)]
        seconds = min(wall_seconds(partial(record_into, path, op_count)) for path in paths)
        yield figure("record into a file", seconds, AIM)
        yield figure(
            "record into memory",
            min(processor_seconds(lambda: record(Recorder(monotonic_ns, 1), op_count)) for _ in range(times)),
            AIM,
        )
        data = paths[0].read_bytes()
        seconds = min(processor_seconds(lambda: fold(decode_journal(data))) for _ in range(times))
        yield figure(f"fold the journal ({len(data) / 1e6:.0f} MB) into columns", seconds)
        columns = fold(decode_journal(data))
        seconds = min(processor_seconds(lambda: write_tables(columns, Path(name))) for _ in range(times))
        yield figure("columns into Parquet", seconds)
