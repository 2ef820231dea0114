"""A history is validated once: what no recorder of ours writes is an error with table, row and reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from checkers.history import schema
from checkers.history.facts import RunFacts
from checkers.history.history import History, HistoryFormatError, seconds
from suites.unit.checkers.build import Build


def rows() -> dict[str, list[dict[str, Any]]]:
    build = Build()
    build.send(0, 10, 0, 0)
    build.send(5, None, 1)
    build.pull(20, 21, 0, [0, 1])
    build.history()
    queues = [{"queue": 0, "topic": "t", "broker": "broker-a", "queue_id": 0}]
    return {"ops": build.ops, "reads": build.reads, "queues": queues}


def change(table: str, row: int, **cells: Any) -> dict[str, list[dict[str, Any]]]:
    tables = rows()
    tables[table][row].update(cells)
    return tables


MALFORMED = [
    (change("ops", 0, complete_ns=-5, complete_event=0), "ops", 0, "completed before it was invoked (time)"),
    (change("ops", 2, complete_event=3), "ops", 2, "completed before it was invoked (event)"),
    (change("ops", 0, outcome="maybe"), "ops", 0, "outcome 'maybe' is not one of ok, weak, fail, info"),
    (change("ops", 1, outcome="ok"), "ops", 1, "never completed, but its outcome is not 'info'"),
    (change("ops", 1, queue=9), "ops", 1, "queue is not in table queues"),
    (change("ops", 1, invoke_ns=-1), "ops", 1, "invoked before the run began"),
    (change("ops", 1, invoke_event=0), "ops", 1, "event number 0 is used twice"),
    (change("ops", 1, op=0), "ops", 1, "the key occurs twice"),
    (change("ops", 1, message="m1"), "ops", 1, "column 'message' is 'm1', not int"),
    (change("ops", 1, status=None), "ops", 1, "column 'status' is None, not str"),
    (change("ops", 1, queue=1 << 63), "ops", 1, "column 'queue' is not below 2^63: 9223372036854775808"),
    (change("reads", 1, op=7), "reads", 1, "op is not in table ops"),
    (change("reads", 1, position=3), "reads", 1, "positions are not consecutive"),
    (change("reads", 0, position=1), "reads", 0, "positions of an operation do not begin with 0"),
    (change("reads", 1, offset=-1), "reads", 1, "offset is negative"),
]


@pytest.mark.parametrize(("tables", "table", "row", "reason"), MALFORMED, ids=[case[3] for case in MALFORMED])
def test_malformed_histories_are_refused(tables: dict[str, Any], table: str, row: int, reason: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        History.from_rows(tables)
    assert (caught.value.table, caught.value.row, caught.value.reason) == (table, row, reason)


def test_a_missing_column_is_named() -> None:
    tables = rows()
    del tables["ops"][1]["status"]
    with pytest.raises(HistoryFormatError, match="table ops, row 1: column 'status' is missing"):
        History.from_rows(tables)


def arrow(tables: dict[str, list[dict[str, Any]]]) -> dict[str, pa.Table]:
    return {name: pa.Table.from_pylist(rows, schema=schema.TABLES[name]) for name, rows in tables.items()}


def write_folder(tables: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    """A run folder's Parquet files; tables that are not given are empty."""
    for name, table in arrow({name: tables.get(name, []) for name in schema.TABLES}).items():
        pq.write_table(table, folder / f"{name}.parquet")


def test_rows_columns_arrow_and_parquet_give_the_same(tmp_path: Path) -> None:
    tables = rows()
    histories = [
        History.from_rows(tables),
        History.from_columns({name: arrow(tables)[name].to_pydict() for name in tables}),
        History.from_arrow(arrow(tables)),
    ]
    write_folder(tables, tmp_path)
    histories.append(History.load(tmp_path))
    shown = [[history.op_text(op) for op in range(3)] for history in histories]
    assert shown.count(shown[0]) == 4
    assert shown[0][1] == "op 1: send m1 t/broker-a/0 TIMEOUT [0.005 s, never]"
    assert all(history.reads.message.tolist() == [0, 1] for history in histories)


def test_a_history_from_before_a_column_existed_has_nothing_in_it(tmp_path: Path) -> None:
    tables = arrow(rows())
    old = tables | {"ops": tables["ops"].drop_columns(["next_offset", "suggested"])}
    for name, table in old.items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    for name in set(schema.TABLES) - set(old):
        pq.write_table(schema.TABLES[name].empty_table(), tmp_path / f"{name}.parquet")
    for history in (History.from_arrow(old), History.load(tmp_path), History.from_arrow(tables)):
        assert history.ops.next_offset.tolist() == history.ops.suggested.tolist() == [-1, -1, -1]


def test_rows_are_sorted_by_their_keys() -> None:
    tables = rows()
    tables["ops"].reverse()
    tables["reads"].reverse()
    history = History.from_rows(tables)
    assert history.ops.op.tolist() == [0, 1, 2]
    assert history.reads.position.tolist() == [0, 1]


@pytest.mark.parametrize("missing", schema.TABLES)
def test_a_folder_that_lacks_a_table_is_an_error(tmp_path: Path, missing: str) -> None:
    write_folder(rows(), tmp_path)
    (tmp_path / f"{missing}.parquet").unlink()
    with pytest.raises(HistoryFormatError, match=rf"there is no {missing}\.parquet"):
        History.load(tmp_path)


def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    write_folder(rows(), tmp_path)
    (tmp_path / "ops.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(HistoryFormatError, match="unreadable"):
        History.load(tmp_path)


def test_people_read_instants_on_the_clock_of_the_scenario() -> None:
    """``at: 1s`` in a run whose nodes took 400 ms to start: one clock in an operation, a fault, and facts of a run."""
    build = Build()
    build.event(0, "phase", "prepare")
    build.event(400, "phase", "steady")
    build.send(300, 650, 0, 0)
    build.event(1_400, "fault", "inject", node="broker-a-0", fault="f1", do="kill")
    history = build.history()
    facts = RunFacts.from_run({"mode": "single-master"}, history)
    assert history.op_text(0).endswith("[-0.100 s, 0.250 s]")
    assert [history.clock(1_400_000_000), facts.clock(400_000_000)] == ["1.000 s", "0.000 s"]
    assert [fault.words() for fault in facts.faults] == ["kill of broker-a-0 (f1) at 1.000 s"]


def test_times_for_people_are_exact() -> None:
    assert [seconds(ns) for ns in (0, 999_999, 1_234_567_890, -1_500_000_000)] == [
        "0.000 s",
        "0.000 s",
        "1.234 s",
        "-1.500 s",
    ]


def test_a_refusal_of_megabytes_is_told_in_a_screen() -> None:
    told = str(HistoryFormatError("history", -1, f"type {'9' * 5_000_000} is not one of invoke, ok", place="x.edn:3"))
    assert len(told) < 1_100
    assert told.startswith("x.edn:3: type 999")
    assert told.endswith("999 is not one of invoke, ok")
