"""Acknowledgements that tell no offset: they stand wherever everything else agrees, and nowhere if nothing does."""

from __future__ import annotations

from typing import Any

import pytest

from checkers.external.calls import Call
from checkers.external.check import check_calls

NEVER = None


def call(f: str, begin: int, end: int | None, asked: Any = None, answered: Any = None) -> Call:
    """One process a call; the line is where it begins."""
    type_ = "info" if end is None else "ok"
    return Call(begin, begin, f, "k", begin, end, type_, asked, answered)


def kinds(*calls: Call) -> list[str]:
    return [anomaly.kind for anomaly in check_calls(calls, "log").anomalies]


CASES: dict[str, tuple[list[Call], list[str]]] = {
    "the later call returned before the end was 1": (
        [call("append", 0, 100, "a"), call("append", 1, 2, "b"), call("end", 3, 4, answered=1)],
        [],
    ),
    "both had returned before": (
        [call("append", 0, 2, "a"), call("append", 1, 3, "b"), call("end", 4, 5, answered=1)],
        ["stale-or-lost"],
    ),
    "below one that was told": (
        [call("append", 0, 9, "a"), call("append", 1, 8, "b", {"offset": 1}), call("end", 20, 21, answered=2)],
        [],
    ),
    "below one that was there before": (
        [call("append", 1, 8, "b", {"offset": 1}), call("append", 10, 12, "a"), call("end", 20, 21, answered=2)],
        ["hole-without-writer"],
    ),
    "not in the hole, which is older": (
        [
            call("append", 0, NEVER, "lost"),
            call("append", 10, 12, "b"),
            call("append", 14, 20, "a"),
            call("poll", 15, 16, 1, ["b"]),
        ],
        [],
    ),
    "nothing is in the hole": (
        [call("append", 10, 12, "b"), call("append", 14, 20, "a"), call("poll", 15, 16, 1, ["b"])],
        ["hole-without-writer"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_place_is_found_if_there_is_one(name: str) -> None:
    calls, expected = CASES[name]
    assert kinds(*calls) == expected


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "Sequentially consistent it is not either; read-your-writes broken."),
        ([call("append", 8, 9, "b")], "Sequentially consistent it may be."),
    ],
    ids=["one place", "two of them"],
)
def test_weaker_grades_are_only_denied_where_the_places_are_certain(more: list[Call], words: str) -> None:
    own = [call("append", 0, 1, "a"), Call(5, 0, "read", "k", 5, 6, "ok", None, [])]
    (anomaly,) = check_calls([*own, *more], "log").anomalies
    assert anomaly.sentence.endswith(words)
