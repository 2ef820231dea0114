"""Logs of members on their disks: what is broken has a name, and what a healthy group leaves has none."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from reference_impl.dledger.entry import Entry, entry_of, unit_of
from suites.conformance.dledger.dumped import Dumped, broken


def member(*terms: int, body: str = "m", term: int = 9, committed: int = -1) -> Dumped:
    """A log of entries of these terms."""
    entries: list[Entry] = []
    for index, of_term in enumerate(terms):
        pos = entries[-1].pos + entries[-1].size if entries else 0
        entries.append(entry_of(f"{body}{index}".encode(), index=index, term=of_term, pos=pos))
    return Dumped(entries, {entry.index: unit_of(entry) for entry in entries}, term, committed)


def without_unit(dump: Dumped) -> Dumped:
    return Dumped(dump.entries, {**dump.units, 1: None}, dump.term, dump.committed)


def moved(dump: Dumped) -> Dumped:
    wrong = msgspec.structs.replace(dump.entries[1], pos=4711)
    return Dumped([dump.entries[0], wrong, *dump.entries[2:]], {**dump.units, 1: unit_of(wrong)}, 9, -1)


CASES: dict[str, tuple[Callable[[], dict[str, Dumped]], list[str]]] = {
    "the same": (lambda: {"n0": member(1, 1, 2), "n1": member(1, 1, 2)}, []),
    "empty": (lambda: {"n0": member(), "n1": member()}, []),
    "one lags": (lambda: {"n0": member(1, 1, 2), "n1": member(1, 1)}, ["I14"]),
    "a tail of an older term": (lambda: {"n0": member(1, 1, 2), "n1": member(1, 1, 1)}, ["I14"]),
    "another body at one term": (lambda: {"n0": member(1, 1), "n1": member(1, 1, body="x")}, ["I4", "I14"]),
    "another place": (lambda: {"n0": member(1, 1, 1), "n1": moved(member(1, 1, 1))}, ["I4", "I14"]),
    "joined to a foreign entry": (lambda: {"n0": member(1, 2, 3), "n1": member(1, 1, 3)}, ["I4", "I14"]),
    "committed, and different": (
        lambda: {"n0": member(1, 2, committed=1), "n1": member(1, 1, committed=1)},
        ["I5", "I14"],
    ),
    "committed beyond the end": (lambda: {"n0": member(1, committed=1), "n1": member(1)}, ["I9"]),
    "terms go down": (lambda: {"n0": member(2, 1), "n1": member(2, 1)}, ["I10", "I10"]),
    "an entry of a later term": (lambda: {"n0": member(1, 2, term=1), "n1": member(1, 2)}, ["I3"]),
    "a unit is missing": (lambda: {"n0": without_unit(member(1, 1)), "n1": member(1, 1)}, ["I11"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_broken_has_a_name(name: str) -> None:
    members, names = CASES[name]
    assert [sentence.partition(":")[0] for sentence in broken(members())] == names


def test_a_group_that_is_not_at_rest_may_end_anywhere() -> None:
    assert broken({"n0": member(1, 1, 2), "n1": member(1, 1)}, at_rest=False) == []
