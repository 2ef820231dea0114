"""The operations that a violation names suffice as its proof: with everything else made permissive it stays one.

What is not named may have happened at any time from its call on, or never; what it saw is forgotten. Where an
acknowledged message stands is not forgotten, only when that was acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from random import Random
from typing import Any

import pytest

from checkers.logs.linear import check_log
from checkers.objects.queue import check_queue
from checkers.objects.register import check_register
from suites.unit.checkers import draw_log, draw_queue, draw_register
from suites.unit.checkers.brute import INFINITE
from suites.unit.checkers.draw_log import Shape

HISTORIES = 400


def log(rng: Random) -> list[Any]:
    return draw_log.draw(rng, Shape(queues=1))


def fifo(rng: Random) -> list[Any]:
    return draw_queue.draw(rng, ordered=True)


def bag(rng: Random) -> list[Any]:
    return draw_queue.draw(rng, ordered=False)


def register(rng: Random) -> list[Any]:
    return draw_register.draw(rng, cas=False)


def swaps(rng: Random) -> list[Any]:
    return draw_register.draw(rng, cas=True)


CASES: dict[str, tuple[Callable[[Random], list[Any]], Callable[[list[Any]], Any]]] = {
    "log": (log, lambda drawn: check_log(draw_log.log_input(drawn, 1))),
    "fifo": (fifo, lambda calls: check_queue(draw_queue.queue_input(calls))),
    "bag": (bag, lambda calls: check_queue(draw_queue.queue_input(calls), ordered=False)),
    "register": (register, lambda calls: check_register(draw_register.register_input(calls))),
    "register, swaps": (swaps, lambda calls: check_register(draw_register.register_input(calls))),
}
WRITES = ("append", "enqueue", "write", "cas")


def permissive(history: list[Any], named: tuple[int, ...]) -> list[Any]:
    """*history*, in which only the operations *named* bind anything."""
    kept = []
    for number, op in enumerate(history):
        if number in named or op.kind == "crashed":
            kept.append(op)
        elif op.kind in WRITES and op.outcome != "fail":
            kept.append(copy(op))
            kept[-1].ret = INFINITE
            if op.kind != "append":
                kept[-1].outcome = "info"
    return kept


@pytest.mark.parametrize("name", CASES)
def test_the_operations_named_suffice(name: str) -> None:
    draw, judge = CASES[name]
    kinds = set()
    for seed in range(HISTORIES):
        history = draw(Random(f"proof/{name}/{seed}"))
        for violation in judge(history).violations:
            kinds.add(violation.kind)
            left = permissive(history, violation.ops)
            assert judge(left).holds is False, (seed, violation, history)
    assert len(kinds) > 3
