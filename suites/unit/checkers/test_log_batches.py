"""Atomic batches without an answer: where one message of them was read, the others stand beside it, in its own log."""

from __future__ import annotations

import pytest

from checkers.columns import NEVER
from checkers.log import UNKNOWN, Appends, LogInput, Polls, check_log
from suites.unit.checkers.draw_log import ints


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
