"""Every checker against the oracle by exhaustion, one random small history a seed.

``OBJECTS`` maps a name to a function of a generator that draws a history, asks both, and returns (answer of the
checker, answer of the oracle, the history); a :class:`Company` can do so for many seeds at a time. The checker may
answer ``None`` (unknown); it must never be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle, islice
from random import Random
from typing import Any

from checkers.external.check import check_calls
from checkers.logs.content import EMPTY
from checkers.logs.entries import check_entries
from checkers.logs.linear import check_log
from checkers.logs.sequential import check_sequential
from checkers.logs.sessions import check_sessions, claims_of
from checkers.logs.staleness import freshness
from checkers.objects import models
from checkers.objects.max_register import check_max_register
from checkers.objects.mutex import check_mutex, check_semaphore
from checkers.objects.queue import check_queue
from checkers.objects.register import check_register
from checkers.objects.search import FIRST_BUDGET, Operation, search_parts
from checkers.objects.sets import check_set
from checkers.verdict import Outcome
from suites.unit.checkers import (
    brute,
    draw_calls,
    draw_cuts,
    draw_entries,
    draw_log,
    draw_queue,
    draw_register,
    draw_retention,
    draw_set,
)
from suites.unit.checkers.brute import INFINITE, Op, linearizable
from suites.unit.checkers.draw_cuts import Company
from suites.unit.checkers.draw_log import Shape, ints

Answer = bool | None
Case = tuple[Answer, bool, Any]
Draw = Callable[[Random], Case]


def log(shape: Shape, gaps: bool = False) -> Draw:
    def case(rng: Random) -> Case:
        drawn = draw_log.draw(rng, shape)
        fresh = rng.random() < 0.7
        wanted = linearizable(
            draw_log.oracle_ops(drawn), ((0, ()),) * shape.queues, brute.log_step(gaps=gaps, fresh=fresh)
        )
        result = check_log(draw_log.log_input(drawn, shape.queues), fresh=fresh, gaps=gaps)
        return result.holds, wanted, drawn

    return case


def unseen_retries(shape: Shape) -> Draw:
    """Logs of at most three offsets: the oracle has two copies of each send beside the send itself."""

    def case(rng: Random) -> Case:
        drawn = draw_log.draw(rng, shape)
        fresh = rng.random() < 0.7
        result = check_log(draw_log.log_input(drawn, shape.queues), fresh=fresh, retries=True)
        if len(result.content.slots) > 1 + COPIES:
            return None, True, drawn
        ops = draw_log.oracle_ops(drawn) + draw_log.copies_of(drawn, COPIES)
        wanted = linearizable(ops, ((0, ()),) * shape.queues, brute.log_step(fresh=fresh))
        return result.holds, wanted, drawn

    return case


COPIES = 2


def entries(leaders_write: bool) -> Draw:
    """The log of a group, read by index."""
    step = draw_entries.oracle_step(leaders_write)

    def case(rng: Random) -> Case:
        drawn = draw_entries.draw(rng, leaders_write)
        result = check_entries(*draw_entries.columns(drawn), leaders_write=leaders_write)
        return result.holds, linearizable(draw_entries.oracle_ops(drawn), (), step), drawn

    return case


def fresh_within(shape: Shape) -> Draw:
    """Is every answer "the end is at most …" at most so old? The oracle lets these answers be given so much earlier."""

    def case(rng: Random) -> Case:
        drawn = draw_log.draw(rng, shape)
        log, bound = draw_log.log_input(drawn, 1), rng.randrange(6)
        result = check_log(log, fresh=False)
        late = [freshness(result.content, claims).late for claims in (log.empties, log.ends)]
        answer = result.holds and max((int(found.max(initial=0)) for found in late), default=0) <= bound
        ops = draw_log.oracle_ops(drawn)
        lower = [op for op in ops if op.what[0] != "empty"]
        upper = [op._replace(inv=op.inv - bound, what=("empty", *op.what[1:])) for op in ops if op.what[0] in _ENDS]
        return answer, linearizable([*lower, *upper], ((0, ()),), _fresh_or_not), drawn

    return case


def _fresh_or_not(state: Any, what: tuple[Any, ...]) -> Iterable[Any]:
    """Only who says that there is nothing says how far the log reaches."""
    return _FRESH(state, what) if what[0] == "empty" else _STALE(state, what)


_FRESH, _STALE = brute.log_step(), brute.log_step(fresh=False)
_ENDS = ("empty", "end")


def sessions(rng: Random) -> Case:
    """The four guarantees with the conditions of content are sequential consistency of one log; holes are not asked."""
    drawn = sorted(draw_log.draw(rng, Shape()), key=lambda op: op.inv)
    processes = _renewed(drawn)
    for number, op in enumerate(drawn):
        op.inv, op.ret = number, max(op.ret, number)
    log = draw_log.log_input(drawn, 1)
    content = check_log(log, fresh=False).content
    kept = [index for index, op in enumerate(drawn) if op.outcome != "fail"]
    ops = [draw_log.oracle_ops([drawn[index]])[0] for index in kept]
    wanted = brute.sequentially_consistent(ops, [processes[index] for index in kept], ((0, ()),), brute.log_step())
    if content.violations:
        return False, wanted, drawn
    if (content.value == EMPTY).any():
        return None, wanted, drawn
    return check_sessions(claims_of(log, ints(processes), content)).holds, wanted, drawn


def sequential(shape: Shape) -> Draw:
    def case(rng: Random) -> Case:
        drawn = sorted(draw_log.draw(rng, shape), key=lambda op: op.inv)
        processes = _renewed(drawn)
        for number, op in enumerate(drawn):
            op.inv, op.ret = number, max(op.ret, number)
        kept = [index for index, op in enumerate(drawn) if op.outcome != "fail"]
        ops = [draw_log.oracle_ops([drawn[index]])[0] for index in kept]
        initial = ((0, ()),) * shape.queues
        wanted = brute.sequentially_consistent(ops, [processes[index] for index in kept], initial, brute.log_step())
        result = check_sequential(draw_log.log_input(drawn, shape.queues), ints(processes))
        return result.holds, wanted, drawn

    return case


def _renewed(drawn: list[draw_log.Drawn]) -> list[int]:
    """A process that got no answer goes on under a new number."""
    numbers: dict[int, int] = {}
    fresh, processes = 3, []
    for op in drawn:
        processes.append(numbers.get(op.process, op.process))
        if op.outcome == "info":
            numbers[op.process], fresh = fresh, fresh + 1
    return processes


def queue(ordered: bool) -> Draw:
    def case(rng: Random) -> Case:
        calls = draw_queue.draw(rng, ordered)
        result = check_queue(draw_queue.queue_input(calls), ordered=ordered)
        wanted = linearizable(draw_queue.oracle_ops(calls), (), brute.queue_step(ordered))
        if _saw_what_nobody_sent(calls):
            # An unknown dequeue that knows its value proves that the value was there; the oracle may leave it out.
            return result.holds, False, calls
        return result.holds, wanted, calls

    return case


def _saw_what_nobody_sent(calls: list[draw_queue.Call]) -> bool:
    sent = [call.value for call in calls if call.kind == "enqueue" and call.outcome != "fail"]
    return any(call.kind == "dequeue" and call.value not in sent for call in calls)


def registers(cas: bool, refused: bool) -> Draw:
    def case(rng: Random) -> Case:
        calls = draw_register.draw(rng, cas=cas, refused=refused)
        result = check_register(draw_register.register_input(calls))
        return result.holds, linearizable(draw_register.oracle_ops(calls), -1, brute.register_step), calls

    return case


def grown_set(rng: Random) -> Case:
    calls = draw_set.draw(rng)
    result = check_set(draw_set.set_input(calls))
    return result.holds, linearizable(draw_set.oracle_ops(calls), (), brute.set_step), calls


def max_register(rng: Random) -> Case:
    calls = draw_register.draw(rng, maximum=True)
    found = check_max_register(draw_register.max_register_input(calls))
    return found.holds, linearizable(draw_register.oracle_ops(calls), 0, brute.max_register_step), calls


def mutex(rng: Random) -> Case:
    holds = draw_register.draw_lock(rng, 1, refused=True)
    found = check_mutex(draw_register.mutex_input(holds))
    return found.holds, linearizable(draw_register.lock_ops(holds), (), brute.lock_step(1)), holds


def semaphore(rng: Random) -> Case:
    holds = draw_register.draw_lock(rng, 2, refused=False)
    found = check_semaphore(draw_register.mutex_input(holds), 2)
    return found.holds, linearizable(draw_register.lock_ops(holds), (), brute.lock_step(2)), holds


def searched(model: models.Model, draw: Callable[[Random], list[Op]], first: int = FIRST_BUDGET) -> Draw:
    """The general search, with *first* as its first budget; the oracle steps with the same model, so what is compared
    is the order, not the object."""

    def step(state: Any, what: tuple[Any, ...]) -> Iterable[Any]:
        after = model.step(state, what)
        return () if after is models.IMPOSSIBLE else (after,)

    def case(rng: Random) -> Case:
        ops = draw(rng)
        operations = [Operation(op.inv, op.ret if op.must else None, op.what) for op in ops]
        return (
            search_parts([operations], model, first=first)[0].holds,
            linearizable(ops, model.initial, step),
            ops,
        )

    return case


def _register_ops(rng: Random) -> list[Op]:
    """Repeated values and refused swaps."""
    calls = draw_register.draw(rng, cas=True, refused=True)
    if rng.random() < 0.5:
        for call in calls:
            call.value, call.old = (value % 3 if value >= 0 else value for value in (call.value, call.old))
    return draw_register.oracle_ops(calls)


def _queue_ops(ordered: bool) -> Callable[[Random], list[Op]]:
    def draw(rng: Random) -> list[Op]:
        calls = [call for call in draw_queue.draw(rng, ordered) if call.kind != "crashed"]
        if rng.random() < 0.5:
            for call in calls:
                call.value = call.value % 3 if call.value >= 0 else call.value
        ops = draw_queue.oracle_ops(calls)
        return [op._replace(what=("empty",)) if op.what[0] == "empty" else op for op in ops]

    return draw


def _stream_ops(rng: Random) -> list[Op]:
    forms: dict[str, Callable[[draw_log.Drawn], tuple[Any, ...]]] = {
        "append": lambda op: ("append", tuple(op.values), op.offset if op.outcome == "ok" else None),
        "poll": lambda op: ("poll", op.offset, tuple(op.values)),
        "empty": lambda op: ("empty", op.offset),
        "end": lambda op: ("end", op.offset),
    }
    drawn = [op for op in draw_log.draw(rng, Shape(batches=True)) if op.outcome != "fail"]
    return [Op(op.inv, op.ret, op.outcome == "ok", forms[op.kind](op)) for op in drawn]


def _key_ops(rng: Random) -> list[Op]:
    count, width, text = rng.randint(3, 8), rng.choice((1, 2, 4)), ""
    ops = []
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        inv, ret = max(0, instant - rng.randrange(width)), instant + rng.randrange(width)
        kind, letter = rng.random(), rng.choice("abc")
        if kind < 0.55:
            unknown = rng.random() < 0.2
            if not unknown or rng.random() < 0.5:
                text = letter if kind < 0.15 else text + letter
            what = ("put" if kind < 0.15 else "append", letter)
            ops.append(Op(inv, INFINITE if unknown else ret, not unknown, what))
        else:
            ops.append(Op(inv, ret, True, ("get", text if rng.random() < 0.8 else text[:-1])))
    return ops


def anyones(model: str, draw: Callable[[Random], draw_calls.Written]) -> Draw:
    """The whole way from the calls of a file to the verdict. Where nobody was told anything it is unknown."""
    answers = {Outcome.PASS: True, Outcome.FAIL: False, Outcome.UNKNOWN: None}

    def case(rng: Random) -> Case:
        written = draw(rng)
        verdict = check_calls(written.calls, model, refusals=written.refusals)
        wanted = linearizable(written.ops, written.initial, written.step)
        return answers[verdict.outcome], wanted, written.calls

    return case


WIDE = (3, 6, 12)
"""What is trimmed while it is read is rare among short operations."""

OBJECTS: dict[str, Draw | Company] = {
    "log": log(Shape()),
    "logs": log(Shape(queues=2)),
    "logs, queue of unknown sends unknown": log(Shape(queues=2, pooled=True)),
    "log, trimmed": log(Shape(trim=True)),
    "log, batches": log(Shape(batches=True)),
    "logs, trimmed, batches": log(Shape(queues=2, trim=True, batches=True)),
    "log, retries": log(Shape(retries=True)),
    "logs, retries": log(Shape(queues=2, retries=True)),
    "logs, retries, queues unknown": log(Shape(queues=2, trim=True, pooled=True, retries=True)),
    "log, trimmed, retries": log(Shape(trim=True, retries=True, widths=WIDE)),
    "log, batches sent again": log(Shape(batches=True, retries=True)),
    "logs, batches sent again, queues unknown": log(
        Shape(queues=2, trim=True, batches=True, pooled=True, retries=True)
    ),
    "log, unseen retries": unseen_retries(Shape(copies=True, operations=(2, 4))),
    "logs, unseen retries, queues unknown": unseen_retries(
        Shape(queues=2, trim=True, pooled=True, retries=True, copies=True, operations=(2, 4))
    ),
    "log, fresh within": fresh_within(Shape()),
    "log, trimmed, fresh within": fresh_within(Shape(trim=True, widths=WIDE)),
    "log, sessions": sessions,
    "log, gaps": log(Shape(operations=(3, 7)), gaps=True),
    "logs, gaps, trimmed": log(Shape(queues=2, trim=True, operations=(3, 7)), gaps=True),
    "logs, gaps, trimmed, retries, queues unknown": log(
        Shape(queues=2, trim=True, pooled=True, retries=True, operations=(3, 7), widths=WIDE), gaps=True
    ),
    "log, power cuts": draw_cuts.epochs(half_blind=False),
    "log, power cuts, half blind": draw_cuts.epochs(half_blind=True),
    "log, power cuts, half blind, trimmed": draw_cuts.epochs(half_blind=True, trim=True),
    "log, power cuts, trimmed": draw_cuts.epochs(half_blind=False, trim=True),
    "logs, power cuts": draw_cuts.brokers(),
    "log, retention": draw_retention.retention(cuts=False),
    "log, power cuts, retention": draw_retention.retention(cuts=True),
    "entries of a group": entries(leaders_write=False),
    "entries of a group, leaders write": entries(leaders_write=True),
    "log, sequential": sequential(Shape()),
    "logs, sequential": sequential(Shape(queues=2)),
    "log, sequential, trimmed, batches": sequential(Shape(trim=True, batches=True)),
    "log, sequential, trimmed, retries": sequential(Shape(trim=True, pooled=True, retries=True)),
    "logs, sequential, batches sent again": sequential(Shape(queues=2, batches=True, retries=True, pooled=True)),
    "logs, sequential, queues unknown": sequential(Shape(queues=2, trim=True, pooled=True, retries=True)),
    "fifo": queue(ordered=True),
    "bag": queue(ordered=False),
    "register": registers(cas=False, refused=False),
    "register, swaps": registers(cas=True, refused=False),
    "register, refused swaps": registers(cas=True, refused=True),
    "set": grown_set,
    "max-register": max_register,
    "mutex": mutex,
    "semaphore": semaphore,
    "search: register": searched(models.register(-1), _register_ops),
    "search: register, late proofs": searched(models.register(-1), _register_ops, first=1),
    "search: fifo": searched(models.fifo(), _queue_ops(ordered=True)),
    "search: bag": searched(models.bag(), _queue_ops(ordered=False)),
    "search: stream": searched(models.stream(), _stream_ops),
    "search: key": searched(models.key(), _key_ops),
    "anyone's register": anyones("register", draw_calls.register),
    "anyone's queue": anyones("queue", draw_calls.queue(ordered=True)),
    "anyone's bag": anyones("bag", draw_calls.queue(ordered=False)),
    "anyone's set": anyones("set", draw_calls.grown_set),
    "anyone's mutex": anyones("mutex", draw_calls.mutex),
    "anyone's log": anyones("log", draw_calls.log),
}


def compare(name: str, seeds: Iterable[int]) -> tuple[dict[str, int], list[tuple[int, Any]]]:
    """(counts of legal, illegal and unknown answers, the seeds and histories on which the checker was wrong)."""
    counts = {"legal": 0, "illegal": 0, "unknown": 0}
    wrong = []
    for seed, (answer, wanted, history) in _cases(name, seeds):
        counts["unknown" if answer is None else "legal" if answer else "illegal"] += 1
        if answer is not None and answer is not wanted:
            wrong.append((seed, history))
    return counts, wrong


def _cases(name: str, seeds: Iterable[int]) -> Iterator[tuple[int, Case]]:
    draw, left = OBJECTS[name], iter(seeds)
    sizes = cycle((draw.size, *[1] * ALONE) if isinstance(draw, Company) else (1,))
    while group := list(islice(left, next(sizes))):
        generators = [Random(f"{name}/{seed}") for seed in group]
        cases = draw.cases(generators) if isinstance(draw, Company) else [draw(generators[0])]
        yield from zip(group, cases, strict=True)


ALONE = 4
"""Histories that are judged alone, after each company."""
