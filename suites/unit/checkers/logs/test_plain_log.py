"""Two programs for one theorem, written apart, agree: on small histories of every kind, and on large ones."""

from __future__ import annotations

from random import Random

import pytest

from checkers.logs.linear import check_log
from suites.unit.checkers import draw_log
from suites.unit.checkers.draw_log import Shape
from suites.unit.checkers.plain_log import is_linearizable, plain
from suites.unit.checkers.synthetic import PLANTS, log_history, victim

HISTORIES = 3_000


@pytest.mark.parametrize("queues", [1, 2])
def test_on_small_histories(queues: int) -> None:
    answers = set()
    for seed in range(HISTORIES):
        log = draw_log.log_input(draw_log.draw(Random(seed), Shape(queues=queues)), queues)
        if (log.polls.asked != log.polls.offset[log.polls.ends() - log.polls.count]).any():
            continue  # a poll that does not begin where it was asked to is judged before the theorem
        answer = check_log(log).holds
        assert is_linearizable(plain(log)) is answer, seed
        answers.add(answer)
    assert answers == {True, False}


@pytest.mark.parametrize("distance", [0, 1])
@pytest.mark.parametrize("plant", PLANTS)
def test_on_large_histories_with_one_violation(plant: str, distance: int) -> None:
    valid = log_history(6_000)
    log = PLANTS[plant][0](valid, victim(valid, 0.5), distance)
    assert is_linearizable(plain(log)) is check_log(log).holds is (distance == 0)
