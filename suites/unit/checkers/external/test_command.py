"""``mqchaos check FILE --model``: the verdict of somebody's history, its exit code, and errors with their line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checkers.external.check import MODELS
from harness.cli import main
from harness.commands import check

PUBLIC = Path(__file__).resolve().parents[3] / "public" / "porcupine" / "test_data"


@pytest.mark.parametrize(
    ("file", "model", "code", "word"),
    [
        ("jepsen/etcd_002.log", "register", 0, "PASS"),
        ("jepsen/etcd_000.log", "register", 1, "FAIL"),
        ("jepsen/etcd_095.log", "register", 2, "UNKNOWN"),
        ("kv/c10-bad.txt", "kv", 1, "FAIL"),
    ],
)
def test_exit_code_and_first_line(
    capsys: pytest.CaptureFixture[str], file: str, model: str, code: int, word: str
) -> None:
    assert main(["check", str(PUBLIC / file), "--model", model]) == code
    assert capsys.readouterr().out.startswith(f"{word}  ")


def test_a_failure_says_what_contradicts(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", str(PUBLIC / "jepsen/etcd_000.log"), "--model", "register"])
    assert "line 74: process 0 write 1 (ok); line 85: process 11 read 2 (ok)" in capsys.readouterr().out


def test_one_document_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", str(PUBLIC / "jepsen/etcd_000.log"), "--model", "register", "--json"])
    document = json.loads(capsys.readouterr().out)
    assert (document["outcome"], document["model"], document["anomalies"][0]["ops"][-1]) == ("FAIL", "register", 85)


def test_a_malformed_history_is_an_error_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "h.edn"
    path.write_text("{:process 0, :type :ok, :f :read, :value 1}\n", encoding="utf-8")
    assert main(["check", str(path), "--model", "register"]) == 3
    assert f"at {path}:1" in capsys.readouterr().err


def test_the_command_knows_every_model() -> None:
    assert list(MODELS) == list(check.MODELS)


def test_a_file_without_a_model_is_told_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "h.edn"
    path.write_text("", encoding="utf-8")
    assert main(["check", str(path)]) == 64
    error = capsys.readouterr().err
    assert f"{path} is a file" in error
    assert "--model register|kv" in error


@pytest.mark.parametrize(
    ("text", "model", "code", "shown"),
    [
        ("", "log", 2, "the history is empty"),
        ('{"process": 0, "type": "invoke", "f": "read"', "register", 3, "no JSON: Expecting ',' delimiter, column 45"),
        ('{"process": 0, "type": "invoke", "f": "read"}', "queue", 3, "a queue knows enqueue, dequeue and drain"),
        (
            '{"process": 0, "type": "invoke", "value": [["r", "x", null], ["r", "y", null]]}',
            "log",
            2,
            "transactions of",
        ),
    ],
    ids=["empty", "torn", "another object", "does not fit"],
)
def test_what_is_no_history_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, model: str, code: int, shown: str
) -> None:
    path = tmp_path / "history"
    path.write_text(text, encoding="utf-8")
    assert main(["check", str(path), "--model", model]) == code
    told = capsys.readouterr()
    assert shown in told.out + told.err
    assert (f"at {path}:1" in told.err) is (code == 3)
    assert not told.out.endswith("\n  \n")


def hard(path: Path) -> Path:
    """Fourteen clients write all the time what was written before, and nothing in it is plainly wrong: a search."""
    ops = [
        {"process": process, "type": kind, "f": "write", "value": process % 7}
        for _ in range(3000)
        for kind in ("invoke", "ok")
        for process in range(30)
    ]
    reads = [{"process": 0, "type": kind, "f": "read", "value": value} for value in (1, 2) for kind in ("invoke", "ok")]
    path.write_text("\n".join(json.dumps(op) for op in [*ops, *reads]), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("bounds", "reason"),
    [(["--seconds", "0.5"], "given up after 0.5 s"), (["--memory", "600"], "more than 600 MB of memory")],
)
def test_a_bound_that_is_met_is_unknown_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bounds: list[str], reason: str
) -> None:
    assert main(["check", str(hard(tmp_path / "h.json")), "--model", "register", *bounds]) == 2
    assert reason in capsys.readouterr().out
