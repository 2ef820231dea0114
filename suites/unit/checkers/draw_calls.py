"""Random small histories as others write them: for the oracle, and for the whole way from calls to a verdict.

The operations are those of the other drawings. What a file would not say is left out: offsets of acknowledgements,
what an unanswered dequeue took. Stamps become positions: calls are even, returns are odd, so that a return and a call
at one stamp overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from checkers.external.calls import Call
from suites.unit.checkers import brute, draw_log, draw_queue, draw_register, draw_set
from suites.unit.checkers.brute import INFINITE, Op, Step
from suites.unit.checkers.draw_log import Shape


class Written(NamedTuple):
    """The calls, and what they mean: operations, the first state and the step of the object."""

    calls: list[Call]
    ops: list[Op]
    initial: Any
    step: Step
    refusals: bool = False


class _Writer:
    """Calls and operations side by side."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.ops: list[Op] = []

    def write(
        self,
        when: tuple[int, int],
        f: str,
        type_: str,
        asked: Any = None,
        answered: Any = None,
        means: tuple[Any, ...] | None = None,
        process: int | None = None,
        key: Any = None,
    ) -> None:
        """One call; it *means* an operation or, without, nothing."""
        line, (inv, ret) = len(self.calls) + 1, when
        end = None if type_ == "info" else 2 * ret + 1
        self.calls.append(Call(line, process or line, f, key, 2 * inv, end, type_, asked, answered))
        if means is not None:
            self.ops.append(Op(inv, INFINITE if type_ == "info" else ret, type_ != "info", means))


def register(rng: Random) -> Written:
    """Also repeated values, refused swaps that count or do not, and reads without an answer."""
    drawn, writer = draw_register.draw(rng, refused=True), _Writer()
    repeated, refusals = rng.random() < 0.5, rng.random() < 0.5

    def known(value: int) -> int:
        return value % 3 if repeated and value >= 0 else value

    def nil(value: int) -> int | None:
        return None if value < 0 else value

    for one in drawn:
        when, value, old = (one.inv, one.ret), known(one.value), known(one.old)
        if one.kind == "read":
            if rng.random() < 0.9:
                writer.write(when, "read", "ok", None, nil(value), ("read", value))
            else:
                writer.write(when, "read", "info")
        elif one.kind == "write":
            writer.write(when, "write", one.outcome, nil(value), None, ("write", value))
        elif one.kind == "cas":
            writer.write(when, "cas", one.outcome, [nil(old), nil(value)], None, ("cas", old, value))
        else:
            writer.write(when, "cas", "fail", [nil(old), nil(value)], None, ("refused", old) if refusals else None)
    return Written(writer.calls, writer.ops, -1, brute.register_step, refusals)


def queue(ordered: bool) -> Callable[[Random], Written]:
    """Also values that are put in several times, and drains; no unanswered dequeue knows what it took."""

    def draw(rng: Random) -> Written:
        drawn, writer = draw_queue.draw(rng, ordered), _Writer()
        repeated, drains = rng.random() < 0.4, rng.random() < 0.3
        drained: list[draw_queue.Call] = []
        for one in drawn:
            one.value = one.value % 3 if repeated else one.value
            when, value = (one.inv, one.ret), one.value
            if one.kind == "enqueue":
                means = ("enqueue", value) if one.outcome != "fail" else None
                writer.write(when, "enqueue", one.outcome, value, None, means)
            elif one.outcome == "info":
                writer.write(when, "dequeue", "info", means=("crashed", -1))
            elif one.kind == "empty":
                writer.write(when, "dequeue", "ok", means=("empty", -1))
            elif drains and rng.random() < 0.6:
                drained.append(one)
            else:
                writer.write(when, "dequeue", "ok", None, value, ("dequeue", value))
        if drained:
            _drain(writer, drained)
        return Written(writer.calls, writer.ops, ((), 0), _draining(brute.queue_step(ordered)))

    return draw


def _drain(writer: _Writer, drained: list[draw_queue.Call]) -> None:
    """One call that took all of it, in any order, and then found nothing."""
    when = min(one.inv for one in drained), max(one.ret for one in drained)
    writer.write(when, "drain", "ok", None, [one.value for one in drained], ("drained", len(drained)))
    writer.ops += [Op(*when, True, ("drain", one.value)) for one in drained]


def _draining(step: Step) -> Step:
    """*step* with the number of values that the drain has taken."""

    def with_drain(state: Any, what: tuple[Any, ...]) -> Any:
        queue, taken = state
        if what[0] == "drained":
            return (state,) if not queue and taken == what[1] else ()
        is_drain = what[0] == "drain"
        return tuple((after, taken + is_drain) for after in step(queue, ("dequeue", what[1]) if is_drain else what))

    return with_drain


def grown_set(rng: Random) -> Written:
    drawn, writer = draw_set.draw(rng), _Writer()
    for one, op in zip([one for one in drawn if one.outcome != "fail"], draw_set.oracle_ops(drawn), strict=True):
        asked, answered = (one.values[0], None) if one.kind == "add" else (None, one.values)
        writer.write((one.inv, one.ret), one.kind, one.outcome, asked, answered, op.what)
    for one in drawn:
        if one.outcome == "fail":
            writer.write((one.inv, one.ret), "add", "fail", one.values[0])
    return Written(writer.calls, writer.ops, (), brute.set_step)


def mutex(rng: Random) -> Written:
    """Every owner is a process; refusals count or do not."""
    writer, refusals = _Writer(), rng.random() < 0.5
    for owner, hold in enumerate(draw_register.draw_lock(rng, 1, refused=True), start=1):
        when = (hold.inv, hold.ret)
        if hold.kind == "refused":
            means = ("refused", owner) if refusals else None
            writer.write(when, "acquire", "fail", means=means, process=owner)
            continue
        outcome = "info" if hold.kind == "unknown" else "ok"
        writer.write(when, "acquire", outcome, means=("acquire", owner), process=owner)
        if hold.release_inv >= 0:
            outcome = "ok" if hold.release_ret < INFINITE else "info"
            when = (hold.release_inv, hold.release_ret)
            writer.write(when, "release", outcome, means=("release", owner), process=owner)
    return Written(writer.calls, writer.ops, (), brute.lock_step(1), refusals)


def log(rng: Random) -> Written:
    """One or two logs that are read whole or from an offset on; some, all or none of the acknowledgements tell their
    offset. Where all do, messages may be sent again."""
    keys, whole, told = rng.choice((1, 1, 2)), rng.random() < 0.5, rng.choice((0, 0.5, 1))
    drawn, writer = draw_log.draw(rng, Shape(queues=keys, retries=told == 1 and rng.random() < 0.5)), _Writer()
    for one in drawn:
        when, key, (values, offset) = (one.inv, one.ret), one.queue, (one.values, one.offset)
        if one.kind == "append":
            tells = one.outcome == "ok" and rng.random() < told
            means = ("append", key, tuple(values), offset if tells else None) if one.outcome != "fail" else None
            answer = {"offset": offset} if tells else None
            writer.write(when, "append", one.outcome, values[0], answer, means, key=key)
        elif one.kind == "end":
            writer.write(when, "end", "ok", None, offset, ("end", key, offset), key=key)
        elif not whole:
            means = ("poll", key, offset, tuple(enumerate(values, offset))) if values else ("empty", key, offset)
            writer.write(when, "poll", "ok", offset, list(values), means, key=key)
        elif offset == 0:
            writer.write(when, "read", "ok", None, list(values), ("whole", key, tuple(values)), key=key)
    return Written(writer.calls, writer.ops, ((0, ()),) * keys, _whole_or_log_step)


def _whole_or_log_step(state: Any, what: tuple[Any, ...]) -> Any:
    if what[0] == "whole":
        return (state,) if state[what[1]][1] == what[2] else ()
    return brute.log_step()(state, what)
