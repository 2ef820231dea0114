"""Anyone's histories: formats, models, and what is malformed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from checkers.external.check import MODELS, NOTHING_READ, check_file
from checkers.external.edn import Keyword, read_all
from checkers.external.files import read_calls
from checkers.history.history import HistoryFormatError
from checkers.verdict import Outcome, Verdict


def judge(tmp_path: Path, text: str, model: str) -> Verdict:
    path = tmp_path / "history"
    path.write_text(text, encoding="utf-8")
    return check_file(path, model)


def edn(*ops: tuple[int, str, str, str]) -> str:
    return "\n".join(f"{{:process {p}, :type :{t}, :f :{f}, :value {value}}}" for p, t, f, value in ops)


def lines(*ops: tuple[int, str, str, Any]) -> str:
    return "\n".join(json.dumps({"process": p, "type": t, "f": f, "value": value}) for p, t, f, value in ops)


def log_lines(*ops: tuple[int, str, str, str]) -> str:
    return "\n".join(f"INFO  jepsen.util - {p}\t:{t}\t:{f}\t{value}" for p, t, f, value in ops)


def done(*steps: tuple[str, Any, Any]) -> list[tuple[int, str, str, Any]]:
    """One process, one operation after the other: (f, asked, answered)."""
    return [row for f, asked, answered in steps for row in ((0, "invoke", f, asked), (0, "ok", f, answered))]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (":ok", Keyword("ok")),
        ("[1 -2 3.5 nil true]", [1, -2, 3.5, None, True]),
        ('{:a "x\\ny", [1 2] #{3}}', {Keyword("a"): "x\ny", (1, 2): frozenset([3])}),
        ("#jepsen.history.Op{:index 0}", {Keyword("index"): 0}),
        ("(1, 2) ; a comment", [1, 2]),
        ("[1 #_2 3]", [1, 3]),
        ("\\a", "a"),
        ("12N", 12),
        ("symbol", "symbol"),
    ],
)
def test_edn(text: str, value: object) -> None:
    assert [value for _, value in read_all(text)] == [value]


def test_edn_knows_its_lines() -> None:
    assert [line for line, _ in read_all("{:a 1}\n\n; no\n{:b\n 2}\n{:c 3}")] == [1, 4, 6]


MALFORMED = [
    (edn((0, "ok", "read", "1")), "history:1", "process 0 completes what it never invoked"),
    (
        edn((0, "invoke", "read", "nil"), (0, "invoke", "read", "nil")),
        "history:2",
        "has an open operation since line 1",
    ),
    (edn((0, "invoke", "read", "nil"), (0, "ok", "write", "1")), "history:2", "line 1 invoked 'read'"),
    (edn((0, "done", "read", "nil")), "history:1", "type 'done' is not one of invoke, ok, fail, info"),
    ("{:process 0, :type :invoke}", "history:1", "an operation without :f"),
    ("{:process 0\n :type", "history:2", "ends in the middle of a value"),
    ("[1 2]", "history:1", "not a map"),
    ('{"process": 0, "type": "invoke", "f": "read", "value": null}\n{"process": ', "history:2", "no JSON"),
    ("hello", "history:1", "no format known begins with 'hello'"),
    (edn((0, "invoke", "cas", "3"), (0, "ok", "cas", "3")), "history:1", "a swap needs a pair"),
    (edn((0, "invoke", "pop", "3")), "history:1", "a register knows read, write and cas"),
    (log_lines((0, "invoke", "read", "nil")) + "\nINFO jepsen.util - 0 :ok", "history:2", "unreadable"),
    (
        f"[{edn((0, 'invoke', 'read', 'nil'), (0, 'ok', 'read', '1'), (1, 'ok', 'read', '1'))}]",
        "history:3",
        "process 1",
    ),
    (f"[{edn((0, 'invoke', 'read', 'nil')).replace(chr(10), ' ')} 7]", "history:1", "not a map: 7"),
    ("[{:process 0, :type :invoke, :f :read}", "history:1", "ends in the middle of a value"),
    ('[\n{"process": 0, "type": "invoke", "f": "read"},\n{"process": 0, "type": }\n]', "history:3", "no JSON"),
    ('[\n{"process": 0, "type": "invoke", "f": "read"},\n7]', "history:3", "not a map: 7"),
    ('[{"process": 0, "type": "invoke", "f": "read"}', "history:1", "the array does not end"),
    ('[{"process": 0, "type": "invoke", "f": "read"}]\n[]', "history:2", "more behind the end of the array"),
]


@pytest.mark.parametrize(("text", "place", "reason"), MALFORMED, ids=[case[2] for case in MALFORMED])
def test_malformed_histories_are_errors_with_their_line(tmp_path: Path, text: str, place: str, reason: str) -> None:
    with pytest.raises(HistoryFormatError) as caught:
        judge(tmp_path, text, "register")
    assert caught.value.place.endswith(place)
    assert reason in caught.value.reason


LOG = [
    (done(("append", "a", {"offset": -4})), "an offset is a number from 0 on"),
    (done(("append", "a", {"offset": True})), "an offset is a number from 0 on"),
    (done(("append", "a", {"offset": 1 << 70})), "an offset is a number from 0 on"),
    (done(("end", None, "x")), "an offset is a number from 0 on"),
    (done(("poll", -1, [])), "an offset is a number from 0 on"),
    (done(("send", [["send", "k", "a"]], [["send", "k", ["z", "a"]]])), "an offset is a number from 0 on"),
    (done(("poll", [["poll"]], [["poll", {"k": [[1]]}]])), "a poll answers a list of [offset value] by key"),
    (done(("poll", [["poll"]], [["poll", 7]])), "a poll answers a list of [offset value] by key"),
    (done(("poll", "x", [])), "a poll asks for an offset and answers a list"),
    (done(("read", None, 5)), "a read of everything answers a list"),
    (done(("txn", 3, 3)), "a transaction is a list of operations"),
]


@pytest.mark.parametrize(("ops", "reason"), LOG)
def test_malformed_operations_of_a_log(tmp_path: Path, ops: list[tuple[int, str, str, Any]], reason: str) -> None:
    with pytest.raises(HistoryFormatError, match=re.escape(reason)) as caught:
        judge(tmp_path, lines(*ops), "log")
    assert caught.value.place.endswith("history:1")


BYTES = [
    (b"\n\xff\xfe", "history:2", "byte 0xff is not UTF-8"),
    (b'{"process": 0, "type": "invoke", "f": "write", "value": NaN}', "history:1", "NaN"),
    (b'{"process": null, "type": "invoke", "f": "read"}', "history:1", "neither a number nor a name"),
    (
        b'{"process": 0, "type": "invoke", "f": "write", "value": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        "history:1",
        "deep",
    ),
    (b"{:process 0 :type :invoke :f :write :value " + b"[" * 5000 + b"]" * 5000 + b"}", "history:1", "deep"),
    (b"{:process 0 :type :invoke :f :write :value " + b"[" * 99 + b"]" * 99 + b"}", "history:1", "deep"),
    (b"\nINFO  jepsen.util - 0\t:invoke\t:write\t[1", "history:2", "ends in the middle of a value"),
]


@pytest.mark.parametrize(("content", "place", "reason"), BYTES, ids=[case[2] + case[1] for case in BYTES])
def test_malformed_files(tmp_path: Path, content: bytes, place: str, reason: str) -> None:
    path = tmp_path / "history"
    path.write_bytes(content)
    with pytest.raises(HistoryFormatError) as caught:
        check_file(path, "register")
    assert caught.value.place.endswith(place)
    assert reason in caught.value.reason


def test_a_byte_order_mark_is_no_part_of_a_history(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b"\xef\xbb\xbf" + lines(*done(*GOOD)).replace("\n", "\r\n").encode())
    assert check_file(path, "register").outcome is Outcome.PASS


def test_processes_may_have_names(tmp_path: Path) -> None:
    text = lines(*done(*BAD)).replace('"process": 0', '"process": "client-1"')
    assert judge(tmp_path, text, "register").outcome is Outcome.FAIL


@pytest.mark.parametrize(("written", "read", "outcome"), [(True, True, "PASS"), (True, 1, "FAIL"), (0, False, "FAIL")])
def test_true_is_not_one(tmp_path: Path, written: Any, read: Any, outcome: str) -> None:
    assert (
        judge(tmp_path, lines(*done(("write", written, written), ("read", None, read))), "register").outcome.name
        == outcome
    )


@pytest.mark.parametrize("value", ["{:a [1]}", "#{1 {:b 2}}", "{{:k 1} 2, 3 4, nil 5}", "[[1] #{[2]}]"])
def test_values_of_any_kind(tmp_path: Path, value: str) -> None:
    text = edn(
        (0, "invoke", "write", value), (0, "ok", "write", value), (0, "invoke", "read", "nil"), (0, "ok", "read", value)
    )
    assert judge(tmp_path, text, "register").outcome is Outcome.PASS


def test_a_value_that_was_appended_twice_without_an_offset_is_not_guessed_at(tmp_path: Path) -> None:
    steps = [("append", 1, None), ("append", 1, None), ("read", None, [1, 1])]
    assert judge(tmp_path, lines(*done(*steps)), "log").outcome is Outcome.UNKNOWN


@pytest.mark.parametrize("steps", [[], [["poll", {}]]])
def test_nothing_answered_is_unknown(tmp_path: Path, steps: list[Any]) -> None:
    assert judge(tmp_path, lines(*done(("poll", [["poll"]], steps))), "log").outcome is Outcome.UNKNOWN


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HistoryFormatError, match="unreadable"):
        read_calls(tmp_path / "nothing")


@pytest.mark.parametrize("model", MODELS)
def test_an_empty_history_is_unknown(tmp_path: Path, model: str) -> None:
    assert judge(tmp_path, "\n", model).outcome is Outcome.UNKNOWN


GOOD = [("write", 1, 1), ("read", None, 1), ("cas", [1, 2], [1, 2]), ("read", None, 2)]
BAD = [*GOOD, ("read", None, 1)]


@pytest.mark.parametrize(("steps", "outcome"), [(GOOD, "PASS"), (BAD, "FAIL")])
@pytest.mark.parametrize("form", ["edn", "json", "array", "log"])
def test_one_history_in_every_format(
    tmp_path: Path, form: str, steps: list[tuple[str, Any, Any]], outcome: str
) -> None:
    ops = done(*steps)
    as_edn = [(p, t, f, "nil" if v is None else str(v).replace(",", "")) for p, t, f, v in ops]
    texts = {
        "edn": edn(*as_edn),
        "json": lines(*ops),
        "array": json.dumps([json.loads(line) for line in lines(*ops).split("\n")]),
        "log": log_lines(*as_edn),
    }
    verdict = judge(tmp_path, texts[form], "register")
    assert verdict.outcome.name == outcome
    assert verdict.measures["operations"] == len(steps)


def test_the_events_of_a_vector_or_an_array_keep_their_lines(tmp_path: Path) -> None:
    """Knossos' data are one vector, Elle's one array; the proof names the lines on which its operations stand."""
    bad = done(*BAD)
    as_edn = [(p, t, f, "nil" if v is None else str(v).replace(",", "")) for p, t, f, v in bad]
    texts = f"; two values\n[{edn(*as_edn)}]", "[\n" + lines(*bad).replace("\n", ",\n") + "\n]"
    for text in texts:
        sentence = judge(tmp_path, text, "register").anomalies[0].sentence
        assert "line 10: process 0 read 1 (ok)" in sentence, sentence
    for text in (text.replace("\n", " ") for text in (texts[0].split("\n", 1)[1], texts[1])):
        sentence = judge(tmp_path, text, "register").anomalies[0].sentence
        assert "event 9: process 0 read 1 (ok)" in sentence, sentence


def test_transactions_over_registers_do_not_fit(tmp_path: Path) -> None:
    verdict = judge(tmp_path, lines(*done(txn(("r", "x", 0), ("r", "y", 0)))), "register")
    assert (verdict.outcome, "a transaction over registers" in verdict.reasons[0]) == (Outcome.UNKNOWN, True)


def test_elle_leaves_the_function_out(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in lines(*done(txn(("append", "x", 1)), txn(("r", "x", [1])))).split("\n")]
    text = json.dumps([{name: cell for name, cell in row.items() if name != "f"} for row in rows])
    assert judge(tmp_path, text, "log").outcome is Outcome.PASS


def test_repeated_values_are_searched(tmp_path: Path) -> None:
    steps = [("write", 1, 1), ("write", 2, 2), ("write", 1, 1), ("read", None, 1)]
    assert judge(tmp_path, lines(*done(*steps)), "register").outcome is Outcome.PASS
    verdict = judge(tmp_path, lines(*done(*steps, ("read", None, 2))), "register")
    assert [anomaly.kind for anomaly in verdict.anomalies] == ["stale-read"]
    both = [(process, kind, "write", process) for kind in ("invoke", "ok") for process in (1, 2)]
    reads = done(("read", None, 1), ("read", None, 2))
    verdict = judge(tmp_path, lines(*done(("write", 1, 1)), *both, *reads), "register")
    assert verdict.outcome is Outcome.FAIL
    assert "the state before its return is 1" in verdict.anomalies[0].sentence


def test_a_refused_swap_is_evidence_in_text_logs_only(tmp_path: Path) -> None:
    ops = [
        (0, "invoke", "write", "1"),
        (0, "ok", "write", "1"),
        (0, "invoke", "cas", "[1 2]"),
        (0, "fail", "cas", "[1 2]"),
    ]
    assert judge(tmp_path, log_lines(*ops), "register").outcome is Outcome.FAIL
    read = [(0, "invoke", "read", "nil"), (0, "ok", "read", "1")]
    assert judge(tmp_path, edn(*ops, *read), "register").outcome is Outcome.PASS


def test_the_nemesis_is_no_process(tmp_path: Path) -> None:
    text = edn(*done(("write", 1, 1), ("read", "nil", 1))) + '\n{:process :nemesis, :type :info, :f :kill, :value "n1"}'
    assert judge(tmp_path, text, "register").outcome is Outcome.PASS


def test_an_operation_that_never_returned_may_have_happened(tmp_path: Path) -> None:
    ops = [(1, "invoke", "write", 7), *done(("read", None, 7))]
    assert judge(tmp_path, lines(*ops), "register").outcome is Outcome.PASS


QUEUE = [("enqueue", "a", "a"), ("enqueue", "b", "b")]


@pytest.mark.parametrize(
    ("steps", "fifo", "bag"),
    [
        ([*QUEUE, ("dequeue", None, "a"), ("dequeue", None, "b"), ("dequeue", None, None)], "PASS", "PASS"),
        ([*QUEUE, ("dequeue", None, "b"), ("dequeue", None, "a")], "FAIL", "PASS"),
        ([*QUEUE, ("dequeue", None, "a"), ("dequeue", None, None)], "FAIL", "FAIL"),
        ([*QUEUE, ("dequeue", None, "a"), ("dequeue", None, "a")], "FAIL", "FAIL"),
        ([*QUEUE, ("dequeue", None, "c")], "FAIL", "FAIL"),
        ([*QUEUE, ("drain", None, ["b", "a"])], "PASS", "PASS"),
        ([*QUEUE, ("drain", None, ["a"])], "FAIL", "FAIL"),
        ([("enqueue", 1, 1), ("enqueue", 1, 1), ("dequeue", None, 1), ("dequeue", None, 1)], "PASS", "PASS"),
        ([("enqueue", 1, 1), ("enqueue", 1, 1), ("dequeue", None, 1), ("dequeue", None, None)], "FAIL", "FAIL"),
    ],
)
def test_queues_and_bags(tmp_path: Path, steps: list[tuple[str, Any, Any]], fifo: str, bag: str) -> None:
    text = lines(*done(*steps))
    assert (judge(tmp_path, text, "queue").outcome.name, judge(tmp_path, text, "bag").outcome.name) == (fifo, bag)


def test_an_unknown_dequeue_may_have_eaten_a_message(tmp_path: Path) -> None:
    ops = [*done(*QUEUE), (1, "invoke", "dequeue", None), (1, "info", "dequeue", None)]
    text = lines(*ops, *done(("dequeue", None, "b"), ("dequeue", None, None)))
    verdict = judge(tmp_path, text, "queue")
    assert verdict.outcome is Outcome.PASS
    assert (verdict.measures["lost"], verdict.measures["lost_for_certain"]) == (1, 0)


def test_a_loss_is_explained_in_words(tmp_path: Path) -> None:
    verdict = judge(tmp_path, lines(*done(*QUEUE, ("dequeue", None, "b"), ("dequeue", None, None))), "queue")
    assert verdict.anomalies[0].sentence == (
        "lost-overtaken: 'a' never came out, and 'b', which was put in later, did. Proof: "
        "line 1: process 0 enqueue 'a' (ok); line 3: process 0 enqueue 'b' (ok); line 5: process 0 dequeue 'b' (ok)"
    )


def txn(*steps: Any) -> tuple[str, Any, Any]:
    """Elle: reads are asked with nil."""
    return (
        "txn",
        [[step[0], step[1], None if step[0] == "r" else step[2]] for step in steps],
        [list(s) for s in steps],
    )


@pytest.mark.parametrize(
    ("steps", "outcome"),
    [
        ([txn(("append", "x", 1)), txn(("append", "x", 2)), txn(("r", "x", [1, 2]))], "PASS"),
        ([txn(("append", "x", 1)), txn(("append", "x", 2)), txn(("r", "x", [2, 1]))], "FAIL"),
        ([txn(("append", "x", 1)), txn(("append", "x", 2)), txn(("r", "x", [2]))], "FAIL"),
        ([txn(("append", "x", 1)), txn(("r", "x", []))], "FAIL"),
        ([txn(("append", "x", 1)), txn(("append", "y", 1)), txn(("r", "y", [1]))], "PASS"),
        ([txn(("append", "x", 1), ("r", "y", []))], "UNKNOWN"),
    ],
)
def test_elle_list_append(tmp_path: Path, steps: list[tuple[str, Any, Any]], outcome: str) -> None:
    assert judge(tmp_path, lines(*done(*steps)), "log").outcome.name == outcome


def test_appends_that_nobody_read_may_be_anywhere_behind(tmp_path: Path) -> None:
    """Acknowledged after the last read was invoked: still possible. Before: lost."""
    late = [(1, "invoke", "read", None), *done(("append", 1, None)), (1, "ok", "read", [])]
    assert judge(tmp_path, lines(*late), "log").outcome is Outcome.PASS
    lost = [*done(("append", 1, None)), (1, "invoke", "read", None), (1, "ok", "read", [])]
    verdict = judge(tmp_path, lines(*lost), "log")
    assert verdict.anomalies[0].kind == "stale-or-lost"


@pytest.mark.parametrize(
    ("polled", "outcome"),
    [([[5, "a"], [7, "b"]], "PASS"), ([[5, "b"]], "FAIL"), ([[7, "b"], [5, "a"]], "FAIL"), ([[5, "z"]], "FAIL")],
)
def test_kafka_sends_and_polls_with_gaps(tmp_path: Path, polled: list[Any], outcome: str) -> None:
    steps = [
        ("send", [["send", "k", "a"]], [["send", "k", [5, "a"]]]),
        ("send", [["send", "k", "b"]], [["send", "k", [7, "b"]]]),
        ("poll", [["poll"]], [["poll", {"k": polled}]]),
    ]
    assert judge(tmp_path, lines(*done(*steps)), "log").outcome.name == outcome


def test_our_own_form_of_logs(tmp_path: Path) -> None:
    steps = [("append", "a", {"offset": 0}), ("end", None, 1), ("poll", 0, ["a"]), ("poll", 1, [])]
    assert judge(tmp_path, lines(*done(*steps)), "log").outcome is Outcome.PASS
    assert judge(tmp_path, lines(*done(*steps, ("end", None, 0))), "log").outcome is Outcome.FAIL


def test_locks(tmp_path: Path) -> None:
    held = [(0, "invoke", "acquire", None), (0, "ok", "acquire", None)]
    other = [(1, "invoke", "acquire", None), (1, "ok", "acquire", None)]
    freed = [(0, "invoke", "release", None), (0, "ok", "release", None)]
    assert judge(tmp_path, lines(*held, *freed, *other), "mutex").outcome is Outcome.PASS
    assert judge(tmp_path, lines(*held, *other, *freed), "mutex").outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        ("register", [("write", 1, 1)]),
        ("kv", [("put", "a", "a"), ("append", "b", "b")]),
        ("queue", [*QUEUE]),
        ("bag", [*QUEUE]),
        ("log", [("append", "a", {"offset": 0})]),
        ("log", [txn(("append", "x", 1))]),
        ("log", [("send", [["send", "k", "a"]], [["send", "k", [5, "a"]]])]),
    ],
)
def test_acknowledgements_alone_prove_nothing(tmp_path: Path, model: str, steps: list[tuple[str, Any, Any]]) -> None:
    verdict = judge(tmp_path, lines(*done(*steps)), model)
    assert (verdict.outcome, verdict.reasons) == (Outcome.UNKNOWN, (NOTHING_READ,))


def test_but_they_may_contradict_each_other(tmp_path: Path) -> None:
    steps = [("append", "a", {"offset": 0}), ("append", "b", {"offset": 0})]
    assert judge(tmp_path, lines(*done(*steps)), "log").outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("steps", "outcome", "kinds"),
    [
        ([*QUEUE, ("dequeue", None, "b"), ("dequeue", None, "a")], "PASS", []),
        ([*QUEUE, ("dequeue", None, "b")], "FAIL", ["lost"]),
        ([*QUEUE, ("drain", None, ["b", "a"]), ("dequeue", None, "c")], "FAIL", ["unexpected"]),
        ([*QUEUE, ("drain", None, ["b", "a", "a"])], "FAIL", ["duplicated"]),
        ([*QUEUE, *QUEUE, ("drain", None, ["b", "a", "a", "b"])], "PASS", []),
        ([*QUEUE, *QUEUE, ("drain", None, ["b", "a", "a"])], "FAIL", ["lost"]),
    ],
)
def test_total_queues(tmp_path: Path, steps: list[tuple[str, Any, Any]], outcome: str, kinds: list[str]) -> None:
    verdict = judge(tmp_path, lines(*done(*steps)), "total-queue")
    assert (verdict.outcome.name, [anomaly.kind for anomaly in verdict.anomalies]) == (outcome, kinds)


def test_what_an_unanswered_dequeue_may_have_taken_is_possibly_lost(tmp_path: Path) -> None:
    crashed = [(1, "invoke", "dequeue", None), (1, "info", "dequeue", None)]
    text = lines(*done(*QUEUE), *crashed, *done(("dequeue", None, "b")))
    assert judge(tmp_path, text, "total-queue").outcome is Outcome.UNKNOWN
    text = lines(*done(*QUEUE), *crashed)
    assert judge(tmp_path, text, "total-queue").anomalies[0].kind == "lost", "two are missing, and one dequeue took one"


def test_a_failure_of_a_log_says_which_weaker_grades_hold(tmp_path: Path) -> None:
    """Another process reads nothing after it was acknowledged: stale, and still sequentially consistent."""
    other = [(1, "invoke", "read", None), (1, "ok", "read", [])]
    sentence = judge(tmp_path, lines(*done(("append", 1, None)), *other), "log").anomalies[0].sentence
    assert sentence.endswith("Sequentially consistent it is; no session guarantee is broken.")
    sentence = judge(tmp_path, lines(*done(("append", 1, None), ("read", None, []))), "log").anomalies[0].sentence
    assert sentence.endswith("Sequentially consistent it is not either; read-your-writes broken.")


def test_a_process_without_an_answer_is_another_one_afterwards(tmp_path: Path) -> None:
    lost = [*done(("append", 1, {"offset": 0})), (0, "invoke", "append", 2), (0, "info", "append", 2)]
    sentence = judge(tmp_path, lines(*lost, *done(("end", None, 0))), "log").anomalies[0].sentence
    assert sentence.endswith("Sequentially consistent it is; no session guarantee is broken.")


def test_operations_of_the_kafka_workload_that_say_nothing_are_no_errors(tmp_path: Path) -> None:
    steps = [
        ("assign", ["k"], ["k"]),
        ("send", [["send", "k", "a"]], [["send", "k", [5, "a"]]]),
        ("crash", None, None),
        ("poll", [["poll"]], [["poll", {"k": [[5, "a"]]}]]),
    ]
    assert judge(tmp_path, lines(*done(*steps)), "log").outcome is Outcome.PASS


def test_a_contradiction_at_the_end_of_a_long_history_is_told_in_a_few_operations(tmp_path: Path) -> None:
    """Twelve writes at the same time, over and over; then one value is read, and another one, and nobody writes."""
    ops = [
        (process, kind, "write", value)
        for step in range(40)
        for kind in ("invoke", "ok")
        for process, value in enumerate((step % 5, 1, 2, 1, 2, 1, 2, 1, 2, 5, 6, 7))
    ]
    verdict = judge(tmp_path, lines(*ops, *done(("read", None, 5), ("read", None, 6))), "register")
    assert verdict.outcome is Outcome.FAIL
    assert len(verdict.anomalies[0].ops) < 20


LONG = "9" * 5_000
"""More digits than Python writes as text."""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "line",
    [
        LONG,
        f"[{LONG}]",
        f'{{"process": 0, "type": {LONG}, "f": "read", "value": 1}}',
        f'{{"process": 0, "type": "invoke", "f": {LONG}, "value": 1}}',
        f'{{"process": {LONG}, "type": "invoke", "f": "read", "value": 1}}',
        f'{{"process": 0, "type": "ok", "f": "dequeue", "value": {LONG}}}',
        f'{{"process": 0, "type": "ok", "f": "poll", "value": [[{LONG}, {LONG}]]}}',
    ],
    ids=["row", "list", "type", "f", "process", "value", "pairs"],
)
def test_a_number_of_any_length_is_judged_or_refused_with_its_line(tmp_path: Path, line: str, model: str) -> None:
    path = tmp_path / "history.json"
    path.write_text('{"process": 0, "type": "invoke", "f": "dequeue", "value": null}\n' + line + "\n")
    try:
        place = f"{path}, judged {check_file(path, model).outcome}"
    except HistoryFormatError as refusal:
        place = refusal.place
    assert str(path) in place
