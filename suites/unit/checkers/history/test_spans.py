"""The algebra of spans, against the same on sets of instants."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from checkers.history.spans import Span, back_by, holds, length_ns, meet, outside, prolonged, union, within

SPANS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=6)


def instants(spans: list[Span]) -> set[int]:
    return {ns for begin, end in spans for ns in range(begin, end)}


@given(SPANS, SPANS)
def test_union_and_meet_are_those_of_sets(one: list[Span], other: list[Span]) -> None:
    assert instants(union(one, other)) == instants(one) | instants(other)
    assert instants(meet(one, other)) == instants(one) & instants(other)
    assert union(one) == sorted(union(one)), "sorted"
    assert all(left[1] < right[0] for left, right in zip(union(one), union(one)[1:], strict=False)), "disjoint"


@given(SPANS, st.integers(0, 30), st.integers(0, 30))
def test_parts_within_and_outside_make_the_whole(spans: list[Span], begin: int, end: int) -> None:
    whole = set(range(begin, end))
    assert instants(within(spans, begin, end)) == whole & instants(spans)
    assert instants(outside(spans, begin, end)) == whole - instants(spans)
    assert length_ns(spans, begin, end) == len(whole & instants(spans))
    assert [holds(spans, ns) for ns in range(31)] == [ns in instants(spans) for ns in range(31)]


@given(SPANS, st.integers(0, 5))
def test_a_prolonged_span_holds_so_much_longer(spans: list[Span], by: int) -> None:
    assert instants(prolonged(spans, by)) == {ns + more for ns in instants(spans) for more in range(by + 1)}


@given(SPANS, st.integers(20, 60), st.integers(1, 15))
def test_back_by_finds_the_instant_from_which_so_much_was_free(spans: list[Span], end: int, ns: int) -> None:
    at = back_by(spans, end, ns)
    assert (end - at) - length_ns(spans, at, end) == ns
