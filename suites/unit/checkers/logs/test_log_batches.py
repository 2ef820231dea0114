"""Atomic batches without an answer: where one message of them was read, the others stand beside it, in its own log."""

from __future__ import annotations

from itertools import permutations

import pytest

from checkers.history.columns import NEVER
from checkers.logs.linear import RETRIED_BATCHES, UNKNOWN, Appends, LogInput, Polls, check_log
from suites.unit.checkers.brute import INFINITE
from suites.unit.checkers.draw_log import Drawn, ints, log_input


def batch_of_two(sent_to: int, offset: int, value: int, read_in: int) -> LogInput:
    """Values 0 and 1 are sent to a queue as one batch and nobody answers; one of them is read at *offset*."""
    appends = Appends(
        queue=ints([sent_to] * 2),
        value=ints([0, 1]),
        offset=ints([-1, -1]),
        invoke=ints([1, 1]),
        ret=ints([int(NEVER)] * 2),
        outcome=ints([UNKNOWN] * 2),
        op=ints([0, 0]),
        batch=ints([0, 0]),
    )
    polls = Polls(*(ints([cell]) for cell in (read_in, 1, 5, 6, 1, offset, offset, value)))
    return LogInput(2, appends=appends, polls=polls)


@pytest.mark.parametrize(
    ("sent_to", "offset", "value", "read_in", "kinds"),
    [
        (0, 0, 0, 0, []),
        (0, 1, 1, 0, []),
        (-1, 0, 0, 1, []),
        (0, 0, 0, 1, ["wrong-queue"]),
        (1, 1, 1, 0, ["wrong-queue"]),
        (0, 0, 1, 0, ["torn-batch"]),
    ],
    ids=["first of it", "last of it", "queue unknown", "other queue", "end of it in the other", "half of it"],
)
def test_a_batch_stands_whole_in_the_queue_that_it_was_sent_to(
    sent_to: int, offset: int, value: int, read_in: int, kinds: list[str]
) -> None:
    found = [violation.kind for violation in check_log(batch_of_two(sent_to, offset, value, read_in)).violations]
    assert found == kinds


def sent(at: int, offset: int = -1, queue: int = 0, first: int = 0) -> Drawn:
    """Messages *first* and the one after it, in one batch; without an *offset* nobody answered."""
    outcome, ret = ("ok", at + 1) if offset >= 0 else ("info", INFINITE)
    return Drawn("append", queue, at, ret, outcome, [first, first + 1], offset, [])


def read(at: int, offset: int, values: list[int], queue: int = 0) -> Drawn:
    return Drawn("poll", queue, at, at + 1, "ok", values, offset, list(range(offset, offset + len(values))))


AGAIN: dict[str, tuple[list[Drawn], list[str]]] = {
    "the one that was acknowledged was read": ([sent(0), sent(5, 0), read(9, 0, [0, 1])], []),
    "both were": ([sent(0), sent(5, 0), read(9, 0, [0, 1, 0, 1])], []),
    "the unanswered one came first": ([sent(0), sent(5, 2), read(9, 1, [1, 0])], []),
    "neither was answered": ([sent(0), sent(5), read(9, 0, [0, 1, 0, 1])], []),
    "the second was not sent yet": ([sent(0), sent(50), read(9, 0, [0, 1, 0])], ["read-from-future"]),
    "three times": ([sent(0), sent(5), read(9, 0, [0, 1, 0, 1, 0])], ["value-at-two-offsets"]),
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_batch_that_was_sent_again_stands_wherever_it_was_read(name: str) -> None:
    drawn, kinds = AGAIN[name]
    assert [violation.kind for violation in check_log(log_input(drawn, 1)).violations] == kinds


def test_which_try_was_read_is_not_known_where_a_queue_is_not() -> None:
    drawn = [sent(0, queue=-1), sent(50), read(9, 0, [0, 1])]
    result = check_log(log_input(drawn, 2))
    assert (result.holds, result.unknown) == (None, (RETRIED_BATCHES,))
    assert check_log(log_input([sent(0, queue=-1), read(9, 0, [0, 1])], 2)).holds is True


def test_a_batch_that_cannot_stand_where_its_message_was_read_explains_nothing() -> None:
    """All at once: 0 is sent alone, [1 0] as a batch, and 0 is read at offset 0; 2 stands at offset 2. Offset 1 needs
    one message, and 0 is taken: the batch cannot have been where it was read, for it would begin below 0."""
    alone = Drawn("append", 0, 0, INFINITE, "info", [0], -1, [])
    batch = Drawn("append", 0, 0, INFINITE, "info", [1, 0], -1, [])
    acked = Drawn("append", 0, 0, 9, "ok", [2], 2, [])
    polled = Drawn("poll", 0, 0, 9, "ok", [0], 0, [0])
    for order in permutations((alone, batch, polled, acked)):
        assert check_log(log_input(list(order), 1)).holds is not True
