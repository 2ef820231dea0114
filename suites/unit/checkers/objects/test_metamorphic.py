"""What must never turn a legal history into an illegal one, and what always must.

Renaming values, splitting a history by queue, widening an interval, dropping an operation that nobody saw the effect
of: all of these only give more freedom. A planted anomaly takes it away. Checked with histories that Hypothesis draws
as programs of a real log (or queue, or register), so that every one of them is legal to begin with.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.history.columns import NEVER
from checkers.logs.linear import LogResult, check_log
from checkers.objects.queue import check_queue
from checkers.objects.register import check_register
from suites.unit.checkers import draw_log, draw_queue, draw_register
from suites.unit.checkers.draw_log import Drawn, Shape, log_input

QUEUES = 2
seeds = st.integers(0, 2**32)
shifts = st.lists(st.integers(0, 6), min_size=60, max_size=60)
common = settings(max_examples=60, deadline=None)


def judged(drawn: list[Drawn], **options: bool) -> LogResult:
    return check_log(log_input(drawn, QUEUES), **options)


def legal_log(seed: int, length: int = 25) -> list[Drawn]:
    """A history of two logs that really ran: the first legal one from this seed on (damage is drawn, too)."""
    for attempt in range(200):
        drawn = draw_log.draw(Random(seed + attempt), Shape(queues=QUEUES, operations=(length // 2, length)))
        if judged(drawn).holds:
            return drawn
    raise AssertionError("200 histories and none of them legal")


@common
@given(seeds, shifts)
def test_widening_intervals_keeps_a_log_legal(seed: int, by: list[int]) -> None:
    drawn = legal_log(seed)
    for op, more in zip(drawn, by, strict=False):
        op.inv = max(0, op.inv - more)
        op.ret += more
    assert judged(drawn).holds is True


@common
@given(seeds, st.randoms(use_true_random=False))
def test_renaming_values_and_queues_changes_nothing(seed: int, random: Random) -> None:
    drawn = draw_log.draw(Random(seed), Shape(queues=QUEUES, operations=(10, 25)))
    before = judged(drawn)
    names = list(range(100))
    random.shuffle(names)
    for op in drawn:
        op.values = [names[value] for value in op.values]
        op.queue = QUEUES - 1 - op.queue
    after = judged(drawn)
    assert after.holds is before.holds


@common
@given(seeds)
def test_a_history_is_legal_iff_each_of_its_queues_is(seed: int) -> None:
    drawn = draw_log.draw(Random(seed), Shape(queues=QUEUES, operations=(10, 25)))
    crossed = {value: op.queue for op in drawn if op.kind == "append" for value in op.values}
    if any(crossed.get(value, op.queue) != op.queue for op in drawn if op.kind == "poll" for value in op.values):
        return  # a value of another queue: each queue alone calls it a phantom, too, but the split is not by operation
    parts = [check_log(log_input([op for op in drawn if op.queue == queue], QUEUES)) for queue in range(QUEUES)]
    assert judged(drawn).holds is all(part.holds for part in parts)


@common
@given(seeds)
def test_dropping_an_unknown_send_that_nobody_saw_keeps_a_log_legal(seed: int) -> None:
    drawn = legal_log(seed)
    result = judged(drawn)
    filled = {int(row) for row in result.content.append.tolist()}
    number = dict(enumerate(op for op in drawn if op.kind == "append"))
    unseen = [op for row, op in number.items() if op.outcome == "info" and row not in filled]
    for op in unseen:
        assert judged([other for other in drawn if other is not op]).holds is True


@common
@given(seeds)
def test_dropping_any_read_keeps_a_log_legal(seed: int) -> None:
    drawn = legal_log(seed)
    for op in [op for op in drawn if op.kind != "append"]:
        holes = judged([other for other in drawn if other is not op])
        assert holes.holds is not False


@common
@given(seeds)
def test_a_planted_anomaly_always_makes_a_log_illegal(seed: int) -> None:
    drawn = legal_log(seed)
    acked = [op for op in drawn if op.kind == "append" and op.outcome == "ok"]
    end = 1 + max((op.ret for op in drawn if op.ret < 1 << 30), default=0)
    for op in acked:
        stale = Drawn("empty", op.queue, end, end + 1, "ok", [], op.offset, [])
        other = Drawn("poll", op.queue, end, end + 1, "ok", [999], op.offset, [op.offset])
        twice = replace(op, inv=end, ret=end + 1, values=[998])
        for anomaly in (stale, other, twice):
            assert judged([*drawn, anomaly]).holds is False


@common
@given(seeds)
def test_fewer_demands_accept_more(seed: int) -> None:
    drawn = draw_log.draw(Random(seed), Shape(queues=QUEUES, operations=(10, 25)))
    if judged(drawn).holds:
        assert judged(drawn, fresh=False).holds is True
        assert judged(drawn, retries=True).holds is True


@common
@given(seeds, shifts)
def test_widening_intervals_keeps_a_queue_legal(seed: int, by: list[int]) -> None:
    calls = draw_queue.draw(Random(seed), ordered=True, operations=(10, 25))
    if check_queue(draw_queue.queue_input(calls)).holds:
        for call, more in zip(calls, by, strict=False):
            call.inv, call.ret = max(0, call.inv - more), call.ret + more
        assert check_queue(draw_queue.queue_input(calls)).holds is True


@common
@given(seeds)
def test_a_fifo_queue_is_a_bag(seed: int) -> None:
    calls = draw_queue.draw(Random(seed), ordered=True, operations=(10, 25))
    queue = draw_queue.queue_input(calls)
    if check_queue(queue).holds:
        assert check_queue(queue, ordered=False).holds is not False


@common
@given(seeds)
def test_a_value_that_comes_out_twice_is_never_legal(seed: int) -> None:
    calls = draw_queue.draw(Random(seed), ordered=True, operations=(10, 25))
    out = [call for call in calls if call.kind == "dequeue" and call.outcome == "ok"]
    for call in out:
        again = replace(call, inv=call.inv + 100, ret=call.ret + 100)
        assert check_queue(draw_queue.queue_input([*calls, again]), ordered=False).holds is False


@common
@given(seeds, shifts)
def test_widening_intervals_keeps_a_register_legal(seed: int, by: list[int]) -> None:
    calls = draw_register.draw(Random(seed))
    if check_register(draw_register.register_input(calls)).holds:
        for call, more in zip(calls, by, strict=False):
            call.inv, call.ret = max(0, call.inv - more), call.ret + more
        assert check_register(draw_register.register_input(calls)).holds is True


@common
@given(seeds)
def test_renaming_values_changes_nothing_for_a_register(seed: int) -> None:
    calls = draw_register.draw(Random(seed))
    register = draw_register.register_input(calls)
    before = check_register(register).holds
    lifted = {
        name: np.where(getattr(register, name) >= 0, getattr(register, name) * 3 + 7, -1)
        for name in ("w_value", "c_old", "c_new", "r_value", "n_old")
    }
    assert check_register(replace(register, **lifted)).holds is before


@common
@given(seeds)
def test_turning_an_answer_into_silence_keeps_a_register_legal(seed: int) -> None:
    """A write whose answer is lost demands less than one that was answered."""
    calls = draw_register.draw(Random(seed))
    register = draw_register.register_input(calls)
    if check_register(register).holds and len(register.w_ret):
        silent = replace(register, w_ret=np.full(len(register.w_ret), NEVER))
        assert check_register(silent).holds is True
