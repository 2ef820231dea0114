"""Spans of time: sorted, disjoint intervals in nanoseconds, and the little algebra that judging needs.

Question: how long did something last in all, where several causes overlap?

Model. A span is (begin, end) with begin < end; it contains begin and not end. :data:`NEVER_NS` as an end means that it
was still so when the run was over. Every function takes spans in any order, overlapping or not, and returns them sorted
and disjoint.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

Span = tuple[int, int]
NEVER_NS: Final = 2**62
"""An instant that did not come: a fault that was never healed."""


def union(*groups: Iterable[Span]) -> list[Span]:
    """Everything that is in one of them."""
    merged: list[Span] = []
    for begin, end in sorted(span for group in groups for span in group if span[0] < span[1]):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def within(spans: Iterable[Span], begin: int, end: int) -> list[Span]:
    """The part of *spans* in [begin, end)."""
    return union((max(left, begin), min(right, end)) for left, right in spans)


def meet(one: Iterable[Span], other: Iterable[Span]) -> list[Span]:
    """What is in both."""
    other = union(other)
    return union(part for begin, end in union(one) for part in within(other, begin, end))


def outside(spans: Iterable[Span], begin: int, end: int) -> list[Span]:
    """The part of [begin, end) that is in none of *spans*."""
    free, reached = [], begin
    for left, right in within(spans, begin, end):
        free.append((reached, left))
        reached = right
    return union([*free, (reached, end)])


def length_ns(spans: Iterable[Span], begin: int, end: int) -> int:
    """How much of [begin, end) they cover."""
    return sum(right - left for left, right in within(spans, begin, end))


def back_by(spans: Iterable[Span], end: int, ns: int) -> int:
    """The instant before *end* from which on, without *spans*, exactly *ns* had passed."""
    left, reached = ns, end
    for begin, free_end in reversed(outside(spans, end - ns - length_ns(spans, 0, end), end)):
        reached = max(begin, free_end - left)
        left -= free_end - reached
        if not left:
            return reached
    return reached - left


def holds(spans: Iterable[Span], ns: int) -> bool:
    """Whether one of them contains the instant."""
    return any(begin <= ns < end for begin, end in spans)


def prolonged(spans: Iterable[Span], by_ns: int) -> list[Span]:
    """Each of them longer by so much at its end; those that meet then are one."""
    return union((begin, min(end + by_ns, NEVER_NS)) for begin, end in union(spans))
