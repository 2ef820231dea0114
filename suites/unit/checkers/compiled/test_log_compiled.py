"""The compiled pass says nothing but "legal", and then leaves what the numpy path leaves, to the number."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random

import numpy as np
import pytest

from checkers.compiled.logs import LARGE, is_worth_it, legal_content
from checkers.logs.columns import LogInput
from checkers.logs.content import Content
from checkers.logs.linear import check_log
from suites.unit.checkers import draw_log
from suites.unit.checkers.draw_log import Shape
from suites.unit.checkers.synthetic import PLANTS, log_history, victim

HISTORIES = 5_000


def same(first: Content, second: Content) -> bool:
    arrays, flags = ("value", "append", "lo", "hi", "spare"), ("may_differ", "spare_may_differ")
    assert {*arrays, *flags, "appends", "slots", "group", "due", "violations"} == {
        field.name for field in fields(Content)
    }
    assert first.due is second.due is None, "nothing is trimmed here"
    return all(np.array_equal(getattr(first, name), getattr(second, name)) for name in (*arrays, *flags))


def test_small_inputs_never_load_it() -> None:
    assert not is_worth_it(log_history(1_000))


def test_without_numba_it_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkers.compiled.logs.has_numba", lambda: False)
    monkeypatch.setattr("checkers.compiled.logs.LARGE", 0)
    assert not is_worth_it(log_history(1_000))


@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("shape", [Shape(), Shape(queues=2), Shape(retries=True), Shape(queues=2, pooled=True)])
def test_on_small_histories(shape: Shape, fresh: bool) -> None:
    pytest.importorskip("numba")
    said = legal = 0
    for seed in range(HISTORIES):
        log = draw_log.log_input(draw_log.draw(Random(seed), shape), shape.queues)
        result, content = check_log(log, fresh=fresh), legal_content(log, fresh)
        legal += result.holds is True
        if content is not None:
            said += 1
            assert result.holds is True, seed
            assert same(content, result.content), seed
    assert said > legal // 3 > HISTORIES // 10


def judged(log: LogInput) -> Content | None:
    """As check_log does with large inputs."""
    return legal_content(log, True)


@pytest.mark.parametrize("plant", PLANTS)
def test_one_violation_among_thousands_is_left_to_the_other_path(plant: str) -> None:
    pytest.importorskip("numba")
    valid = log_history(20_000)
    assert judged(valid) is not None
    assert judged(PLANTS[plant][0](valid, victim(valid, 0.5), 1)) is None


@pytest.mark.parametrize("part", ["appends", "polls"])
def test_a_queue_that_is_none_is_left_to_the_other_path(part: str) -> None:
    """The loops look into arrays by these numbers."""
    pytest.importorskip("numba")
    valid = log_history(2_000)
    for queue in (-1, valid.queue_count):
        rows = getattr(valid, part)
        queues = rows.queue.copy()
        queues[7] = queue
        assert judged(replace(valid, **{part: replace(rows, queue=queues)})) is None


def test_a_large_input_goes_through_it() -> None:
    pytest.importorskip("numba")
    log = log_history(LARGE // 4)
    assert is_worth_it(log)
    assert judged(log) is not None
    assert check_log(log).holds is True
