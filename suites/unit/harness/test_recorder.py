"""The recorder: one order, lines that survive their writer, tables that follow from the lines alone."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.history import History
from checkers.history.schema import TABLES
from harness.errors import HistoryError
from harness.recorder import Columns, Recorder, decode_journal, fold, read_journal, tables, write_tables


class Clock:
    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        self.ns += 10
        return self.ns


def record(path=None) -> Recorder:
    """Two sends (one never answered), a pull that reads both and a stranger, a phase and a fault."""
    r = Recorder(Clock(), run=7, path=path)
    r.phase("steady")
    queue = r.queue("T", "broker-a", 0)
    p, other = r.process(), r.process()
    m0, m1 = r.message(p, 0, 100), r.message(other, 0, 100, tags="A")
    s0 = r.invoke(p, "send", queue=queue, message=m0, node="broker-a")
    s1 = r.invoke(other, "send", queue=queue, message=m1, node="broker-a")
    r.complete(s0, "ok", "SEND_OK", offset=0, position=4096)
    r.event("fault", fault="f0", step="inject", node="broker-a-0", detail={"do": "kill"})
    pull = r.invoke(p, "pull", queue=queue, offset=0, node="broker-a-0")
    r.complete(
        pull, "ok", "FOUND", count=3, offsets=[0, 1, 2], messages=[m0, m1, -1], unrecognised=[(2, "not ours: 0a0b")]
    )
    assert s1 == 1
    return r


OPS = {
    "op": [0, 1, 2],
    "process": [0, 1, 0],
    "f": ["send", "send", "pull"],
    "queue": [0, 0, 0],
    "message": [0, 1, -1],
    "offset": [0, -1, 0],
    "count": [-1, -1, 3],
    "position": [4096, -1, -1],
    "invoke_event": [1, 2, 5],
    "complete_event": [3, -1, 6],
    "outcome": ["ok", "info", "ok"],
    "status": ["SEND_OK", "NEVER_COMPLETED", "FOUND"],
    "node": ["broker-a", "broker-a", "broker-a-0"],
    "group": ["", "", ""],
    "detail": ["", "", ""],
}


def plain(columns: Columns) -> dict[str, dict[str, list[Any]]]:
    """Lists, whatever a column is kept in."""
    return {table: {name: list(column) for name, column in one.items()} for table, one in columns.items()}


def test_ops_fold_into_rows_by_op_number():
    ops = plain(record().columns())["ops"]
    assert {name: ops[name] for name in OPS} == OPS
    assert all(type(ns) is int for ns in ops["invoke_ns"] + ops["complete_ns"])


def test_reads_events_queues_and_messages():
    columns = plain(record().columns())
    assert columns["reads"] == {
        "op": [2, 2, 2],
        "position": [0, 1, 2],
        "offset": [0, 1, 2],
        "message": [0, 1, -1],
        "detail": ["", "", "not ours: 0a0b"],
    }
    assert columns["events"]["event"] == [0, 4]
    assert columns["events"]["kind"] == ["phase", "fault"]
    assert columns["events"]["detail"] == ["", '{"do":"kill"}']
    assert columns["queues"] == {"queue": [0], "topic": ["T"], "broker": ["broker-a"], "queue_id": [0]}
    assert columns["messages"]["tags"] == ["", "A"]


def test_one_counter_numbers_invocations_completions_and_events():
    columns = plain(record().columns())
    numbers = [e for e in columns["ops"]["invoke_event"] + columns["ops"]["complete_event"] if e >= 0]
    numbers += columns["events"]["event"]
    assert sorted(numbers) == list(range(len(numbers)))


def test_a_queue_gets_one_number():
    r = Recorder(Clock(), run=1)
    assert [r.queue("T", "b", 0), r.queue("T", "b", 1), r.queue("T", "b", 0)] == [0, 1, 0]
    assert plain(r.columns())["queues"]["queue_id"] == [0, 1]


def test_a_history_is_built_from_the_columns_and_from_parquet(tmp_path):
    columns = plain(record().columns())
    write_tables(columns, tmp_path)
    direct, loaded = History.from_columns(columns), History.load(tmp_path)
    for row in range(3):
        assert direct.op_text(row) == loaded.op_text(row)
    assert {name: table.schema for name, table in tables(columns).items()} == TABLES


def test_tables_of_an_empty_run_have_all_columns():
    columns = plain(Recorder(Clock(), run=1).columns())
    assert {name: list(table) for name, table in columns.items()} == {name: s.names for name, s in TABLES.items()}
    assert all(table.num_rows == 0 for table in tables(columns).values())


def test_the_digest_is_that_of_the_file(tmp_path):
    path = tmp_path / "journal.jsonl"
    recorder = record(path)
    digest = recorder.close()
    assert digest == sha256(path.read_bytes()).hexdigest() == recorder.close()
    assert digest == record().close(), "the same calls make the same bytes, in a file or in memory"


def test_a_second_journal_does_not_overwrite_the_first(tmp_path):
    record(tmp_path / "j").close()
    with pytest.raises(FileExistsError):
        Recorder(Clock(), run=1, path=tmp_path / "j")


def test_a_phase_puts_everything_before_it_into_the_file(tmp_path):
    path = tmp_path / "journal.jsonl"
    recorder = Recorder(lambda: 0, run=1, path=path)
    recorder.event("note", detail="before")
    recorder.phase("heal")
    assert path.read_bytes().count(b"\n") == 3


def test_lines_reach_the_file_by_time_without_a_phase(tmp_path):
    path = tmp_path / "journal.jsonl"
    now = [0]
    recorder = Recorder(lambda: now[0], run=1, path=path)
    recorder.event("note")
    assert path.read_bytes() == b""
    now[0] = 100_000_000
    recorder.event("note")
    assert path.read_bytes().count(b"\n") == 3


@given(cut=st.integers(0, 2000))
def test_a_journal_torn_anywhere_is_readable(tmp_path_factory, cut):
    """A killed writer leaves a prefix of the bytes: whole lines are kept, the torn one is dropped."""
    whole = record().journal()
    path = tmp_path_factory.mktemp("torn") / "journal.jsonl"
    path.write_bytes(whole[:cut])
    columns = plain(read_journal(path))
    lines = whole[:cut].count(b"\n")
    kept = len(columns["events"]["event"]) + len(columns["queues"]["queue"]) + len(columns["messages"]["message"])
    ops = columns["ops"]
    kept += len(ops["op"]) + sum(event >= 0 for event in ops["complete_event"])
    assert kept == max(0, lines - 1)
    if lines:
        History.from_columns(columns)


HEAD = b'{"t":"head","run":7}\n'
INVOKE = b'{"t":"invoke","e":0,"ns":0,"op":0,"p":0,"f":"send"}\n'
COMPLETE = b'{"t":"complete","e":1,"ns":5,"op":0,"outcome":"ok"}\n'


@pytest.mark.parametrize(
    ("data", "line", "what"),
    [
        (HEAD + b"not json\n" + INVOKE, 2, "malformed"),
        (HEAD + INVOKE[:20] + b"\n" + COMPLETE, 2, "malformed"),
        (HEAD + b'{"t":"surprise"}\n', 2, "malformed"),
        (HEAD + b"\n", 2, "malformed"),
        (INVOKE, 1, "head"),
        (HEAD + HEAD, 2, "head"),
        (HEAD + COMPLETE, 2, "op 0 completes but is not open"),
        (HEAD + INVOKE + COMPLETE + COMPLETE, 4, "op 0 completes but is not open"),
        (HEAD + INVOKE + INVOKE, 3, "op 0 is invoked where op 1 is due"),
        (HEAD + INVOKE.replace(b'"op":0', b'"op":3'), 2, "op 3 is invoked where op 0 is due"),
    ],
)
def test_damage_that_no_crash_leaves_is_refused_with_its_line(data, line, what):
    with pytest.raises(HistoryError, match=what) as caught:
        fold(decode_journal(data))
    assert caught.value.place == f"journal:{line}"


def test_a_missing_journal_is_one_clear_error(tmp_path):
    with pytest.raises(HistoryError, match="No such file"):
        read_journal(tmp_path / "journal.jsonl")
