"""Forms in which others write what they did: each is judged as it is meant, or refused with its line."""

from __future__ import annotations

import json
import os
import re
import threading
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from checkers.external.check import check_file
from checkers.external.edn import read_all
from checkers.external.values import frozen, shown
from checkers.history.columns import HistoryFormatError
from checkers.verdict import Outcome, Verdict

PASS, FAIL, UNKNOWN = "PASS", "FAIL", "UNKNOWN"


def judge(tmp_path: Path, text: str, model: str) -> Verdict:
    path = tmp_path / "history"
    path.write_text(text, encoding="utf-8")
    return check_file(path, model)


def edn(*steps: tuple[str, str, str], process: int = 0) -> str:
    """One operation after the other: (f, asked, answered) as EDN writes them."""
    return "".join(
        f"{{:process {process}, :type :{type_}, :f :{f}, :value {value}}}\n"
        for f, asked, answered in steps
        for type_, value in (("invoke", asked), ("ok", answered))
    )


def same(f: str, value: str) -> tuple[str, str, str]:
    return f, value, value


KEYED = {
    "register": ([same("write", "[0 1]"), same("write", "[1 5]"), ("read", "[0 nil]", "[0 %s]")], "1", "5"),
    "kv": ([same("put", '[0 "a"]'), same("put", '[1 "b"]'), ("get", "[0 nil]", "[0 %s]")], '"a"', '"b"'),
    "queue": ([same("enqueue", "[0 1]"), same("enqueue", "[1 9]"), ("dequeue", "[1 nil]", "[1 %s]")], "9", "1"),
    "bag": ([same("enqueue", "[0 1]"), same("enqueue", "[1 9]"), ("dequeue", "[1 nil]", "[1 %s]")], "9", "1"),
    "total-queue": ([same("enqueue", "[0 1]"), ("drain", "[0 nil]", "[0 %s]")], "[1]", "[1 1]"),
    "set": ([same("add", "[0 0]"), same("add", "[1 7]"), ("read", "[0 nil]", "[0 %s]")], "#{0}", "#{0 7}"),
    "log": ([same("append", "[0 1]"), same("append", "[1 7]"), ("read", "[0 nil]", "[0 %s]")], "[1]", "[1 7]"),
}


@pytest.mark.parametrize("model", KEYED)
def test_independent_keys_are_so_many_objects(tmp_path: Path, model: str) -> None:
    steps, right, wrong = KEYED[model]
    for answer, outcome in ((right, PASS), (wrong, FAIL)):
        told = [(f, asked, answered.replace("%s", answer)) for f, asked, answered in steps]
        assert judge(tmp_path, edn(*told), model).outcome.name == outcome


def test_two_locks_may_be_held_at_once(tmp_path: Path) -> None:
    one, other, again = (
        edn(same("acquire", f"[{key} nil]"), process=process) for key, process in ((0, 0), (1, 1), (0, 1))
    )
    assert judge(tmp_path, one + other, "mutex").outcome is Outcome.PASS
    assert judge(tmp_path, one + again, "mutex").outcome is Outcome.FAIL


def test_pairs_are_values_where_nobody_asks_for_a_key(tmp_path: Path) -> None:
    assert judge(tmp_path, edn(same("write", "[0 1]"), ("read", "nil", "[0 1]")), "register").outcome is Outcome.PASS


LOGS = {
    "history.txt": "%s",
    "2013": "INFO  jepsen.util - %s",
    "2015": "INFO [2015-05-25 14:24:06,031] jepsen worker 0 - jepsen.util %s",
    "2021": "2021-02-26 23:39:01,300{GMT}\tINFO\t[jepsen worker 0] jepsen.util: %s",
    "blanks": "2021-02-26 23:39:01,300{GMT}  INFO  [jepsen worker 0] jepsen.util: %s",
}
TALK = [
    "INFO  jepsen.core - Running test {:nodes [n1 n2]}",
    "INFO  jepsen.core - Analysis {:valid? true, :ok-count 3, :info-count 1}",
    " :history [{:type :invoke, :f :read, :process 0}",
    "2021-02-26 23:39:01,300{GMT}\tINFO\t[main] jepsen.core: Everything looks good!",
]


@pytest.mark.parametrize("name", LOGS)
def test_text_logs_as_each_version_writes_them(tmp_path: Path, name: str) -> None:
    operations = [
        "0\t:invoke\t:write\t7",
        "0\t:ok\t:write\t7",
        ":nemesis\t:info\t:start\tnil",
        "0\t:invoke\t:cas\t[7 8]",
        "0\t:info\t:cas\t[7 8]\t:timeout",
        "1\t:invoke\t:read\tnil",
        "1\t:ok\t:read\t8",
    ]
    written = [LOGS[name] % operation for operation in operations]
    assert judge(tmp_path, "\n".join([*TALK, *written, *TALK]), "register").outcome is Outcome.PASS
    assert (
        judge(tmp_path, "\n".join([*written[:-1], LOGS[name] % "1\t:ok\t:read\t9"]), "register").outcome is Outcome.FAIL
    )
    for torn in ("1\t:ok", "1\t:ok\t7"):
        with pytest.raises(HistoryFormatError, match="history:8: unreadable"):
            judge(tmp_path, "\n".join([*written, LOGS[name] % torn]), "register")


def test_a_log_through_a_pipe_keeps_its_refusals(tmp_path: Path) -> None:
    rows = ["invoke\t:write\t1", "ok\t:write\t1", "invoke\t:cas\t[1 2]", "fail\t:cas\t[1 2]"]
    text = "".join(f"INFO  jepsen.util - 0\t:{row}\n" for row in rows)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(text, encoding="utf-8"))
    writer.start()
    verdict = check_file(pipe, "register")
    writer.join()
    assert verdict.outcome is judge(tmp_path, text, "register").outcome is Outcome.FAIL
    with_cause = text.replace("fail\t:cas\t[1 2]", "fail\t:cas\t[1 2]\t:timed-out")
    assert judge(tmp_path, with_cause, "register").outcome is Outcome.UNKNOWN


APART = [
    "1",
    "1.0",
    "1M",
    "2",
    "1/2",
    "0x11",
    '"a"',
    ":a",
    "a",
    "\\a",
    "true",
    "nil",
    "[1]",
    "#{1}",
    '"1"',
    "1_000",
    "1000",
]


@pytest.mark.parametrize("other", APART)
@pytest.mark.parametrize("one", APART)
def test_values_are_equal_iff_edn_says_so(one: str, other: str) -> None:
    (_, first), (_, second) = next(read_all(one)), next(read_all(other))
    assert (frozen(first) == frozen(second)) is (one == other)


EQUAL = [
    ('"\\u00e9t\\u00e9"', '"été"'),
    ("\\u0041", "\\A"),
    ("\\newline", "\\u000a"),
    ("12N", "12"),
    ("+7", "7"),
    ("1e2", "100.0"),
    ("2r101", "5"),
    ("0xff", "255"),
    ("017", "15"),
    ("2/4", "1/2"),
    ("[1 2]", "(1 2)"),
    ("1,", "1"),
    ("#{1 2}", "#{2 1}"),
    ('"a\\tb"', '"a\tb"'),
    ("#foo.Bar{:a 1}", "{:a 1}"),
    ("##Inf", "##Inf"),
    ("9" * 5000, "9" * 5000),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=[one[:20] for one, _ in EQUAL])
def test_one_value_may_be_written_in_several_ways(one: str, other: str) -> None:
    assert frozen(next(read_all(one))[1]) == frozen(next(read_all(other))[1])


REFUSED = [
    ('"\\q"', "no escape is written"),
    ("\\foo", "no character is written"),
    ("#{1 1}", "a set has a value twice"),
    ("{:a 1 :a 2}", "a map has a key twice"),
    ("##NaN", "unexpected"),
    ("^{:a 1} [2]", "unreadable"),
    ('"abc', "a text does not end"),
    ("#:a{:b 1}", "unreadable"),
    ("@x", "unreadable"),
    ("{:a}", "a map with a key but no value"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_no_edn_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(HistoryFormatError, match=f"edn:2: {re.escape(reason)}"):
        list(read_all(f"\n{text}"))


@pytest.mark.parametrize("quote", ['"', "json"])
def test_numbers_of_5000_digits_are_compared_digit_by_digit(tmp_path: Path, quote: str) -> None:
    large = "9" * 5000
    other = large[:-1] + "8"
    for answer, outcome in ((large, PASS), (other, FAIL)):
        text = edn(same("write", large), ("read", "nil", answer))
        if quote == "json":
            rows = [
                ("invoke", "write", large),
                ("ok", "write", large),
                ("invoke", "read", "null"),
                ("ok", "read", answer),
            ]
            text = "\n".join(f'{{"process": 0, "type": "{t}", "f": "{f}", "value": {v}}}' for t, f, v in rows)
        verdict = judge(tmp_path, text, "register")
        assert verdict.outcome.name == outcome
        assert all(len(anomaly.sentence) < 1000 for anomaly in verdict.anomalies)


def test_a_stray_quote_costs_no_memory(tmp_path: Path) -> None:
    row = '{:process 0, :type :invoke, :f :write, :value "x\\"y"}\n'
    text = '"' + row * 40_000
    tracemalloc.start()
    try:
        with pytest.raises(HistoryFormatError):
            judge(tmp_path, text, "register")
        assert tracemalloc.get_traced_memory()[1] < 10 * len(text)
    finally:
        tracemalloc.stop()


def json_rows(*rows: dict[str, Any]) -> str:
    return "\n".join(json.dumps({"process": 0, **row}) for row in rows)


def write(value: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"type": type_, "f": "write", "value": value, **more} for type_ in ("invoke", "ok")]


CONTRADICTIONS = [
    (
        "an index that goes back",
        [{"type": "invoke", "f": "read", "index": 3}, {"type": "ok", "f": "read", "value": 1, "index": 2}],
        "register",
        ":index 2 does not come after the 3 of line 1",
    ),
    (
        "an index twice",
        [{"type": "invoke", "f": "read", "index": 3}, {"type": "ok", "f": "read", "value": 1, "index": 3}],
        "register",
        ":index 3 does not come after the 3 of line 1",
    ),
    (
        "a time that goes back",
        [{"type": "invoke", "f": "read", "time": 9}, {"type": "ok", "f": "read", "value": 1, "time": 8}],
        "register",
        ":time 8 does not come after the 9 of line 1",
    ),
    (
        "a time that is no number",
        [*write(1), {"type": "invoke", "f": "read", "time": "noon"}],
        "register",
        ":time is 'noon'",
    ),
    (
        "a read without a value",
        [*write(1), {"type": "invoke", "f": "read"}, {"type": "ok", "f": "read"}],
        "register",
        "a read was answered, and no value is told",
    ),
    (
        "a dequeue without a value",
        [{"type": "invoke", "f": "dequeue"}, {"type": "ok", "f": "dequeue"}],
        "queue",
        "a dequeue was answered, and no value is told",
    ),
    (
        "another value",
        [{"type": "invoke", "f": "write", "value": 1}, {"type": "ok", "f": "write", "value": 2}],
        "register",
        "completes 2, but line 1 invoked 1",
    ),
    (
        "nil is put in",
        [{"type": "invoke", "f": "enqueue", "value": None}, {"type": "ok", "f": "enqueue", "value": None}],
        "queue",
        "nil says that a queue is empty",
    ),
    (
        "half of them keys",
        [*write(5), {"type": "invoke", "f": "read", "value": [0, None]}, {"type": "ok", "f": "read", "value": [0, 5]}],
        "register",
        "no pair [key value], as line 3 asks for",
    ),
    (
        "the answer of another key",
        [
            *write([0, 5]),
            {"type": "invoke", "f": "read", "value": [0, None]},
            {"type": "ok", "f": "read", "value": [1, 5]},
        ],
        "register",
        "no pair with the key that was asked for",
    ),
    (
        "some offsets",
        [{"type": "invoke", "f": "poll", "value": 0}, {"type": "ok", "f": "poll", "value": [[0, 7], 8]}],
        "log",
        "a pair [offset message] for each",
    ),
    (
        "steps that are none",
        [{"type": "invoke", "f": "txn", "value": [1, 2]}, {"type": "ok", "f": "txn", "value": [["send", 0, [0, 5]]]}],
        "log",
        "a transaction is a list of operations",
    ),
]


@pytest.mark.parametrize(
    ("rows", "model", "reason"), [case[1:] for case in CONTRADICTIONS], ids=[case[0] for case in CONTRADICTIONS]
)
def test_lines_that_contradict_each_other_are_refused(
    tmp_path: Path, rows: list[dict[str, Any]], model: str, reason: str
) -> None:
    with pytest.raises(HistoryFormatError, match=r"history:\d+: .*" + re.escape(reason)):
        judge(tmp_path, json_rows(*rows), model)


def step(f: str, asked: Any, answered: Any, process: int = 0) -> list[dict[str, Any]]:
    return [{"process": process, "type": t, "f": f, "value": v} for t, v in (("invoke", asked), ("ok", answered))]


EMPTY = [
    ("a value that looks like an answer", ["empty"], ["empty", None], PASS),
    ("an answer that looks like a value", ["a"], ["a", "empty"], PASS),
    ("lost, and then exhausted", ["a"], ["exhausted"], FAIL),
    ("put in once, and out twice", ["empty"], ["empty", "empty"], UNKNOWN),
]


@pytest.mark.parametrize(("put", "out", "outcome"), [case[1:] for case in EMPTY], ids=[case[0] for case in EMPTY])
def test_empty_is_an_answer_unless_it_was_put_in(tmp_path: Path, put: list[Any], out: list[Any], outcome: str) -> None:
    rows = [row for value in put for row in step("enqueue", value, value)]
    rows += [row for value in out for row in step("dequeue", None, value)]
    assert judge(tmp_path, json_rows(*rows), "queue").outcome.name == outcome


POLLS = [
    ("pairs", [7], 0, [[0, 7]], PASS),
    ("values", [7], 0, [7], PASS),
    ("pairs that leave out where they began", [7, 8], 0, [[1, 8]], FAIL),
    ("pairs that leave one out", [7, 8, 9], 0, [[0, 7], [2, 9]], FAIL),
    ("messages that are pairs", [[0, 7], [0, 8]], 0, [[0, 7], [0, 8]], PASS),
]


@pytest.mark.parametrize(
    ("sent", "at", "got", "outcome"), [case[1:] for case in POLLS], ids=[case[0] for case in POLLS]
)
def test_polls_with_and_without_offsets(tmp_path: Path, sent: list[Any], at: int, got: list[Any], outcome: str) -> None:
    rows = [row for number, value in enumerate(sent) for row in step("append", value, {"offset": number})]
    assert judge(tmp_path, json_rows(*rows, *step("poll", at, got)), "log").outcome.name == outcome


def test_a_rebalance_is_no_skip_and_no_way_back(tmp_path: Path) -> None:
    rows = [row for at in range(3) for row in step("send", [["send", "k", at]], [["send", "k", [at, at]]])]

    def polled(process: int, at: int) -> list[dict[str, Any]]:
        return step("poll", [["poll"]], [["poll", {"k": [[at, at]]}]], process)

    rows += step("subscribe", ["k"], ["k"], 1) + polled(1, 0)
    alone = judge(tmp_path, json_rows(*rows, *polled(1, 2), *polled(1, 1)), "log")
    assert {anomaly.kind for anomaly in alone.anomalies} == {"skipped", "out-of-order"}
    rows += step("subscribe", ["k"], ["k"], 2) + polled(2, 1)
    assert judge(tmp_path, json_rows(*rows, *polled(1, 2), *polled(1, 1)), "log").outcome is Outcome.PASS


def test_a_value_is_shown_in_a_few_letters() -> None:
    assert shown(list(range(10_000))) == "[0 1 2 3 4 5 6 7 … 9992 more]"
    assert shown({"offset": 2}) == "{'offset' 2}"
    assert len(shown("x" * 10_000)) == 60
    assert len(shown([["y" * 100] * 100] * 100)) <= 240


def test_the_end_of_a_drain_does_not_wait_for_what_was_refused(tmp_path: Path) -> None:
    """A refused enqueue of the same value comes after the drain: it puts nothing in."""
    rows = [
        *step("enqueue", 0, 0),
        {"process": 1, "type": "invoke", "f": "drain", "value": None},
        *step("enqueue", 2, 2),
        {"process": 1, "type": "ok", "f": "drain", "value": [0]},
        {"process": 2, "type": "invoke", "f": "enqueue", "value": 0},
        {"process": 2, "type": "fail", "f": "enqueue", "value": 0},
    ]
    assert judge(tmp_path, json_rows(*rows), "queue").outcome is Outcome.PASS
