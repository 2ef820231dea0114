"""Histories of other tools, damaged: is each judged, or refused with its line?

A seed takes one small history of each format (EDN, JSON, a log of Jepsen's), damages its text a few times (bytes,
lines, values, brackets, quotes, numbers without end) and gives it to every model. What holds: a verdict, or
:class:`HistoryFormatError` with a place; no other exception, no sentence longer than a screen, no array as large as a
number that stands in the file.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from checkers.external.check import MODELS, check_file
from checkers.history.columns import HistoryFormatError
from checkers.verdict import Verdict

NAME = "histories"
A_SEED = "three damaged histories against every model"
SENTENCE_MAX = 4_000

Row = tuple[int, str, str, Any]


def attack(seed: int) -> None:
    """Damage and judge."""
    rng = Random(f"{NAME}/{seed}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history"
        for written in (_edn, _json, _log):
            text = written(_rows(rng))
            for _ in range(rng.randint(1, 4)):
                text = rng.choice(_DAMAGES)(rng, text)
            path.write_bytes(text.encode("utf-8", "surrogatepass"))
            for model in MODELS:
                _judge(path, model)


def _judge(path: Path, model: str) -> None:
    try:
        verdict = check_file(path, model)
    except HistoryFormatError as refusal:
        place, told = refusal.place, [str(refusal)]
    else:
        place, told = str(path), _told(verdict)
    assert str(path) in place, place
    assert all(len(sentence) < SENTENCE_MAX for sentence in told), max(told, key=len)


def _told(verdict: Verdict) -> list[str]:
    return [*(anomaly.sentence for anomaly in verdict.anomalies), *verdict.reasons]


_STEPS: tuple[tuple[str, Any, Any], ...] = (
    ("write", 1, 1),
    ("read", None, 1),
    ("cas", [1, 2], [1, 2]),
    ("put", "a", "a"),
    ("append", "b", {"offset": 0}),
    ("get", None, "ab"),
    ("enqueue", 3, 3),
    ("dequeue", None, 3),
    ("drain", None, [3, 4]),
    ("add", 5, 5),
    ("read", None, [5]),
    ("read", [0, None], [0, 5]),
    ("write", [0, 5], [0, 5]),
    ("append", 7, None),
    ("poll", 0, [7]),
    ("poll", 0, [[0, 7]]),
    ("end", None, 1),
    ("acquire", None, None),
    ("release", None, None),
    ("txn", [["append", 0, 1]], [["append", 0, 1]]),
    ("txn", [["r", 0, None]], [["r", 0, [1]]]),
    ("send", [["send", 0, 1]], [["send", 0, [0, 1]]]),
    ("poll", [["poll"]], [["poll", {"0": [[0, 1]]}]]),
    ("subscribe", [0], [0]),
    ("assign", [0], [0]),
)


def _rows(rng: Random) -> list[Row]:
    """A few operations of one or two kinds, each by a process of its own, so that they may overlap."""
    steps = rng.sample(_STEPS, rng.randint(1, 3))
    rows: list[Row] = []
    for process in range(rng.randint(2, 10)):
        f, asked, answered = rng.choice(steps)
        rows.append((process, "invoke", f, asked))
        if rng.random() < 0.9:
            rows.append((process, rng.choice(("ok", "ok", "ok", "info", "fail")), f, answered))
    return rows


def _json(rows: list[Row]) -> str:
    return "\n".join(json.dumps({"process": p, "type": t, "f": f, "value": v}) for p, t, f, v in rows)


def _edn(rows: list[Row]) -> str:
    return "\n".join(f"{{:process {p}, :type :{t}, :f :{f}, :value {_value(v)}}}" for p, t, f, v in rows)


def _log(rows: list[Row]) -> str:
    return "\n".join(f"INFO  jepsen.util - {p}\t:{t}\t:{f}\t{_value(v)}" for p, t, f, v in rows)


def _value(value: Any) -> str:
    if value is None:
        return "nil"
    if isinstance(value, list):
        return f"[{' '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{' '.join(f'{_value(key)} {_value(item)}' for key, item in value.items())}}}"
    return json.dumps(value)


def _swap_lines(rng: Random, text: str) -> str:
    lines = text.split("\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _drop_line(rng: Random, text: str) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def _double_line(rng: Random, text: str) -> str:
    lines = text.split("\n")
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "\n".join(lines)


def _cut(rng: Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _put(rng: Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_SCRAPS) + text[at + rng.choice((0, 0, 1, 3)) :]


def _replace_value(rng: Random, text: str) -> str:
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice(_SCRAPS)
    return " ".join(words)


_DAMAGES = (_swap_lines, _drop_line, _double_line, _cut, _put, _put, _replace_value, _replace_value)
_SCRAPS = (
    '"',
    "\\",
    "[",
    "]",
    "{",
    "}",
    "(",
    "#{",
    "#",
    "nil",
    "null",
    "true",
    "-1",
    "1.5",
    "1e999",
    "9" * 5_000,
    "18446744073709551616",
    "1099511627776",
    ":a",
    "a",
    "\\a",
    "[[",
    "[[]]",
    "[0 1 2]",
    '"empty"',
    "\u0000",
    "\ud800",
    "\n",
    "\t",
    ";",
    "#_",
    "##NaN",
    "#inst",
    "[" * 200,
    "{:offset 4611686018427387904}",
    "[nil nil]",
    "invoke",
    ":ok",
    "é",
    "0x",
    "1/0",
    ",",
)
