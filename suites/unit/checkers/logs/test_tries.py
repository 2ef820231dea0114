"""Unanswered sends: which of several tries of a message was read, which is left for a hole, which cannot be placed."""

from __future__ import annotations

import pytest

from checkers.logs.holes import POOLED_TRIES, UNEQUAL_BATCHES
from checkers.logs.linear import check_log
from checkers.logs.sequential import check_sequential
from checkers.logs.sequential_fill import POOLED_UNKNOWN
from suites.unit.checkers.brute import INFINITE
from suites.unit.checkers.draw_log import Drawn, ints, log_input

ANY = -1


def tried(value: int, at: int, queue: int = 0, size: int = 1) -> Drawn:
    """A send of *size* messages from *value* on that nobody answered."""
    return Drawn("append", queue, at, INFINITE, "info", list(range(value, value + size)), -1, [])


def acked(value: int, offset: int, at: int, queue: int = 0, size: int = 1) -> Drawn:
    return Drawn("append", queue, at, at + 1, "ok", list(range(value, value + size)), offset, [])


def poll(offset: int, values: list[int], at: int, queue: int = 0) -> Drawn:
    return Drawn("poll", queue, at, at + 1, "ok", values, offset, list(range(offset, offset + len(values))))


def asked(kind: str, offset: int, at: int, queue: int = 0) -> Drawn:
    return Drawn(kind, queue, at, at + 1, "ok", [], offset, [])


def kinds(drawn: list[Drawn]) -> list[str]:
    return [violation.kind for violation in check_log(log_input(drawn, 2)).violations]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (tried(0, 0, ANY), tried(0, 50), []),
        (tried(0, 0), tried(0, 50, ANY), []),
        (tried(0, 40, ANY), tried(0, 50), ["read-from-future"]),
        (tried(0, 0, ANY), tried(0, 1, queue=1), []),
        (tried(0, 0, queue=1), tried(0, 1, queue=1), ["wrong-queue"]),
    ],
    ids=["any queue, in time", "own, in time", "none in time", "any queue, not the other", "the other alone"],
)
def test_a_message_was_read_of_a_try_that_is_in_time_and_may_be_there(
    first: Drawn, second: Drawn, expected: list[str]
) -> None:
    assert kinds([first, second, poll(0, [0], 10)]) == expected


def test_two_places_have_a_try_each() -> None:
    """Read in both queues: the one that went to queue 0 was there, the other one wherever the first was not."""
    read = [poll(0, [0], 10, queue) for queue in (0, 1)]
    assert kinds([tried(0, 0, ANY), tried(0, 5), *read]) == []
    assert kinds([tried(0, 0, ANY), tried(0, 50), *read]) == ["read-from-future"]


@pytest.mark.parametrize("first", [ANY, 0], ids=["any queue", "own queue"])
def test_a_message_that_was_read_together_with_what_is_gone_was_there_before_that_was_trimmed(first: int) -> None:
    """Sent at 0 and at 10; read at 20, together with @0, by who had asked before it was trimmed, which was at 5."""
    reader = Drawn("poll", 0, 2, 20, "ok", [0, 1], 0, [0, 1])
    gone = Drawn("refused", 0, 2, 5, "ok", [], 0, [])
    rest = [acked(0, 0, 0), tried(1, 10), reader, gone]
    assert kinds([tried(1, 0, first), *rest]) == []
    assert kinds([tried(1, 6, first), *rest]) == ["read-of-trimmed"]
    hole = [tried(2, 8), asked("end", 3, 30)]
    assert kinds([tried(1, 0, 0), *rest, *hole]) == []


def test_what_is_left_for_a_hole_is_not_known_where_a_queue_is_not() -> None:
    drawn = [tried(0, 0, ANY), tried(0, 15), acked(1, 1, 20, queue=0), poll(0, [0], 30, queue=1)]
    assert check_log(log_input(drawn, 2)).holds is True
    drawn = [tried(0, 0, ANY), tried(0, 50), acked(1, 1, 20, queue=0), poll(0, [0], 60, queue=0), acked(2, 1, 5, 1)]
    result = check_log(log_input(drawn, 2))
    assert (result.holds, result.unknown) == (None, (POOLED_TRIES,))


@pytest.mark.parametrize(
    ("more", "read_in", "expected"),
    [
        ([tried(0, 50)], 0, []),
        ([tried(0, 0, queue=1)], 0, []),
        ([], 1, ["wrong-queue"]),
        ([tried(0, 0, ANY)], 1, []),
        ([tried(0, 50, queue=1)], 1, ["read-from-future"]),
    ],
    ids=["sent again later", "sent elsewhere, too", "elsewhere", "wherever", "elsewhere, too early"],
)
def test_an_unseen_copy_stands_where_the_message_was_sent_and_not_before(
    more: list[Drawn], read_in: int, expected: list[str]
) -> None:
    """Producers retry unseen. m0 was acknowledged at @0 of queue 0, and read at @1, or in the other queue."""
    drawn = [acked(0, 0, 5), *more, poll(1 - read_in, [0], 10, queue=read_in)]
    found = check_log(log_input(drawn, 2), retries=True).violations
    assert [violation.kind for violation in found] == expected


def consistent(drawn: list[Drawn], processes: list[int], queues: int = 1) -> tuple[bool | None, tuple[str, ...]]:
    result = check_sequential(log_input(drawn, queues), ints(processes))
    return result.holds, result.unknown


def test_any_queue_may_have_an_append_whose_queue_nobody_knows() -> None:
    drawn = [tried(0, 0, ANY), acked(1, 1, 5, queue=1)]
    assert consistent(drawn, [0, 1], queues=2) == (True, ())
    assert consistent(drawn[1:], [1], queues=2) == (False, ())


def test_a_hole_that_only_such_appends_of_processes_that_knew_more_could_fill_is_not_decided() -> None:
    drawn = [poll(1, [1], 0, queue=1), tried(0, 5, ANY), acked(1, 1, 6, queue=1)]
    assert consistent(drawn, [0, 0, 1], queues=2) == (None, (POOLED_UNKNOWN,))


@pytest.mark.parametrize(("known", "legal"), [(1, True), (2, False)])
def test_the_more_demanding_try_is_the_one_that_was_read(known: int, legal: bool) -> None:
    """m0 stands at @1. Process 1 sent it when it knew of the end 1, so the send of process 0 is left for @0."""
    drawn = [tried(0, 0), asked("end", known, 5), tried(0, 6), poll(1, [0], 7)]
    assert consistent(drawn, [0, 1, 1, 2]) == (legal, ())


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], (None, (UNEQUAL_BATCHES,))),
        ([tried(7, 1)], (True, ())),
        ([asked("end", 5, 1)], (False, ())),
    ],
    ids=["perhaps the batch", "a single suffices", "nothing suffices"],
)
def test_holes_are_not_filled_with_halves_of_batches(
    others: list[Drawn], expected: tuple[bool | None, tuple[str, ...]]
) -> None:
    """@0 is missing below @1; two messages were sent at once and never answered."""
    drawn = [tried(0, 0, size=2), acked(5, 1, 2), *others]
    assert consistent(drawn, list(range(len(drawn)))) == expected


TRIMMED = [acked(0, 0, 0), acked(1, 1, 1), acked(2, 2, 2)]


@pytest.mark.parametrize(
    ("first", "second", "legal"),
    [
        (asked("refused", 0, 5), poll(1, [1, 2], 6), True),
        (asked("refused", 1, 5), poll(1, [1, 2], 6), False),
        (asked("start", 2, 5), poll(1, [1, 2], 6), False),
        (asked("start", 2, 5), asked("start", 1, 6), False),
        (asked("start", 1, 5), asked("refused", 1, 6), True),
        (asked("start", 2, 5), asked("refused", 0, 6), True),
    ],
    ids=["above", "refused, read", "gone, read", "back", "up", "refused, as it was gone"],
)
def test_the_start_only_moves_up_for_a_process(first: Drawn, second: Drawn, legal: bool) -> None:
    assert consistent([*TRIMMED, first, second], [0, 0, 0, 1, 1])[0] is legal
    assert consistent([*TRIMMED, first, second], [0, 0, 0, 1, 2])[0] is True


def test_processes_agree_on_the_order_in_which_the_start_moved_and_messages_came() -> None:
    """Process 1 finds @0 gone before it finds @1 not there yet; so who read @0 and @1 is wrong."""
    drawn = [
        acked(0, 0, 0),
        asked("refused", 0, 1),
        asked("empty", 1, 2),
        acked(1, 1, 3),
        poll(0, [0, 1], 4),
    ]
    result = check_sequential(log_input(drawn, 1), ints([0, 1, 1, 2, 3]))
    assert result.holds is False
    assert sorted(result.violations[0].ops) == [1, 2, 3, 4]


def test_who_saw_what_was_gone_knows_what_those_knew_who_had_still_read_it() -> None:
    """Process 1 knew of the end 3 and read @0. Process 2 found @0 gone, so its send is none of the first three; of the
    others, one is missing, unless two messages were sent at once."""
    rest = [asked("end", 3, 3), poll(0, [0], 4), asked("refused", 0, 5), tried(3, 6), tried(4, 7)]
    assert consistent([tried(0, 0), *rest], [0, 1, 1, 2, 2, 3])[0] is False
    assert consistent([tried(0, 0), tried(5, 1), *rest], [0, 4, 1, 1, 2, 2, 3]) == (True, ())
    either = consistent([tried(0, 0), tried(1, 1, size=2), *rest], [0, 4, 1, 1, 2, 2, 3])
    assert either == (None, (UNEQUAL_BATCHES,))
