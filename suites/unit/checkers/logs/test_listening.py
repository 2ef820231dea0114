"""Order by key and one listener at a time: by hand, and against a search over all pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.logs.listening import NEVER, Listened, Pair, Sends, disorders, overlaps


def ints(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


def sends(*rows: tuple[int, int, int, int]) -> Sends:
    """(key, value, begin, end)."""
    return Sends(*(ints(list(column)) for column in zip(*rows, strict=True))) if rows else Sends(*[ints([])] * 4)


def listened(*rows: tuple[int, int, int, int]) -> Listened:
    """(lane, value, begin, end)."""
    return Listened(*(ints(list(column)) for column in zip(*rows, strict=True))) if rows else Listened(*[ints([])] * 4)


ONE_AFTER_THE_OTHER = sends((0, 0, 0, 1), (0, 1, 2, 3), (0, 2, 4, 5))


def test_in_order_is_in_order() -> None:
    assert disorders(ONE_AFTER_THE_OTHER, listened((0, 0, 6, 7), (0, 1, 8, 9), (0, 2, 10, 11))) == []


def test_a_later_one_first_is_a_disorder() -> None:
    found = disorders(ONE_AFTER_THE_OTHER, listened((0, 0, 6, 7), (0, 2, 8, 9), (0, 1, 10, 11)))
    assert found == [Pair(1, 2)]


def test_a_later_one_before_the_earlier_is_done_is_a_disorder() -> None:
    assert disorders(ONE_AFTER_THE_OTHER, listened((0, 0, 6, 9), (0, 1, 8, 10))) == [Pair(0, 1)]


def test_what_comes_again_is_no_disorder() -> None:
    again = listened((0, 0, 6, 7), (0, 1, 8, 9), (0, 0, 10, 11), (0, 1, 12, 13), (0, 2, 14, 15))
    assert disorders(ONE_AFTER_THE_OTHER, again) == []


def test_other_keys_and_unacknowledged_ones_order_nothing() -> None:
    assert disorders(sends((0, 0, 0, 1), (1, 1, 2, 3)), listened((0, 1, 4, 5), (0, 0, 6, 7))) == []
    assert disorders(sends((0, 0, 0, -1), (0, 1, 2, 3)), listened((0, 1, 4, 5), (0, 0, 6, 7))) == []


def test_two_at_work_in_one_lane() -> None:
    assert overlaps(listened((0, 0, 0, 5), (1, 1, 1, 2), (0, 2, 6, 8), (0, 3, 7, 9))) == [Pair(2, 3)]
    assert overlaps(listened((0, 0, 0, -1), (0, 1, 9, 10))) == [Pair(0, 1)]


def by_search(them: Sends, heard: Listened) -> list[int]:
    """Rows of sends at which there is a disorder, from the definition."""
    end = [int(e) if e >= 0 else NEVER for e in heard.end]

    def first(value: int) -> int | None:
        rows = [row for row in range(len(heard.value)) if heard.value[row] == value]
        return min(rows, key=lambda row: heard.begin[row]) if rows else None

    found = []
    for b in range(len(them.value)):
        for a in range(len(them.value)):
            if them.key[a] != them.key[b] or them.end[a] < 0 or them.end[a] >= them.begin[b]:
                continue
            one, other = first(int(them.value[a])), first(int(them.value[b]))
            if one is not None and other is not None and heard.begin[other] < end[one]:
                found.append(b)
                break
    return found


@st.composite
def histories(draw: st.DrawFn) -> tuple[Sends, Listened]:
    """A few sends of two keys and deliveries of them; all positions differ."""
    count, heard = draw(st.integers(1, 6)), draw(st.integers(0, 8))
    positions = draw(st.permutations(range(2 * (count + heard))))
    spans = [sorted((positions[2 * i], positions[2 * i + 1])) for i in range(count + heard)]
    rows = [(draw(st.integers(0, 1)), i, a, b if draw(st.booleans()) else -1) for i, (a, b) in enumerate(spans[:count])]
    given_rows = [
        (draw(st.integers(0, 1)), draw(st.integers(0, count - 1)), a, b if draw(st.booleans()) else -1)
        for a, b in spans[count:]
    ]
    return sends(*rows), listened(*given_rows)


@settings(max_examples=400, deadline=None)
@given(histories())
def test_the_pass_agrees_with_the_definition(history: tuple[Sends, Listened]) -> None:
    assert sorted(pair.second for pair in disorders(*history)) == by_search(*history)


@settings(max_examples=200, deadline=None)
@given(histories())
def test_overlaps_agree_with_the_definition(history: tuple[Sends, Listened]) -> None:
    heard = history[1]
    end = [int(e) if e >= 0 else NEVER for e in heard.end]
    expected = {
        later
        for later in range(len(heard.lane))
        for earlier in range(len(heard.lane))
        if heard.lane[earlier] == heard.lane[later] and heard.begin[earlier] < heard.begin[later] < end[earlier]
    }
    assert {pair.second for pair in overlaps(heard)} == expected
