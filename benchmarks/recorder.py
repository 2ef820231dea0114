"""How many events a second can be recorded, and how many a second become a history again?

    python benchmarks/recorder.py [--ops 200000]

One thread, one clock (monotonic, as on real backends). An op is two events: a send with its completion, and every
second op a pull with eight messages read. Measured: recording into a file (batched writes, one fsync at the end),
recording into memory, folding the journal into columns, columns into Parquet.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import monotonic_ns

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from harness.recorder import Recorder, decode_journal, fold, write_tables


def record(recorder: Recorder, op_count: int) -> None:
    queue = recorder.queue("bench", "broker-a", 0)
    process = recorder.process()
    for sequence in range(op_count // 2):
        message = recorder.message(process, sequence, 256)
        op = recorder.invoke(process, "send", queue=queue, message=message, node="broker-a")
        recorder.complete(op, "ok", "SEND_OK", offset=sequence, position=sequence * 400)
        op = recorder.invoke(process, "pull", queue=queue, offset=sequence, node="broker-a-0")
        recorder.complete(op, "ok", "FOUND", count=8, offsets=[sequence + i for i in range(8)], messages=[message] * 8)
    recorder.close()


def rate(label: str, count: int, start_ns: int) -> None:
    seconds = (monotonic_ns() - start_ns) / 1e9
    print(f"{label:<42} {count / seconds:>12,.0f} events/s   {seconds:6.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=int, default=200_000)
    op_count = parser.parse_args().ops
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "journal.jsonl"
        start_ns = monotonic_ns()
        record(Recorder(monotonic_ns, 1, path), op_count)
        rate("record into a file", 2 * op_count, start_ns)
        start_ns = monotonic_ns()
        record(Recorder(monotonic_ns, 1), op_count)
        rate("record into memory", 2 * op_count, start_ns)
        data = path.read_bytes()
        start_ns = monotonic_ns()
        columns = fold(decode_journal(data))
        rate(f"fold the journal ({len(data) / 1e6:.0f} MB)", 2 * op_count, start_ns)
        start_ns = monotonic_ns()
        write_tables(columns, Path(name))
        rate("columns into Parquet", 2 * op_count, start_ns)


if __name__ == "__main__":
    main()
