"""Random small logs over power cuts, valid or damaged, and what the checker and the oracle say of them.

A log lives through one to three power cuts, each of which truncates it anywhere; in half of the histories operations
are answered over a cut. One history has one log, or two of brokers with cuts of their own.

The checker's overhead for each call is hundreds of times its work on ten operations, so the logs of many histories are
judged as one run of many brokers (:class:`Company`): each queue is an object by itself and gets an answer of its own.
Now and then some are judged alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.runs.log import check_logs
from suites.unit.checkers import brute, draw_log
from suites.unit.checkers.brute import INFINITE, Op, linearizable
from suites.unit.checkers.build import Build
from suites.unit.checkers.draw_log import Drawn, Shape


@dataclass(frozen=True)
class Epochs:
    """What one log lived through."""

    parts: list[list[Drawn]]
    """Operations by epoch."""
    cuts: list[int]
    """The stamps of the power cuts between them."""
    properties: dict[str, str] = field(default_factory=dict)
    """How its broker is set up."""
    fills: list[tuple[int, int]] = field(default_factory=list)
    """From when to when its disk is full."""
    others: list[tuple[int, int]] = field(default_factory=list)
    """When it acknowledged messages of another queue, and where in its log they are, in order."""

    def all(self) -> list[Drawn]:
        return [op for part in self.parts for op in part]


Answer = bool | None

OTHERS = 500
"""From this number on, messages of a log are those of its broker's other queue."""


@dataclass(frozen=True)
class Company:
    """Histories of one or two logs, *size* of them judged at a time."""

    draw: Callable[[Random], list[Epochs]]
    is_legal: Callable[[Epochs], bool]
    """The oracle, for each log."""
    may_pass: Callable[[Epochs], bool] | None = None
    """Of logs that are not legal: those that the checker may pass by a limit of its documentation."""
    size: int = 128

    def __call__(self, rng: Random) -> tuple[Answer, bool, list[Epochs]]:
        return self.cases([rng])[0]

    def cases(self, generators: list[Random]) -> list[tuple[Answer, bool, list[Epochs]]]:
        """Of each: (answer of the checker, answer of the oracle, the history)."""
        drawn = [self.draw(rng) for rng in generators]
        return [self._case(one, logs) for one, logs in zip(_answers(drawn), drawn, strict=True)]

    def _case(self, answers: list[Answer], logs: list[Epochs]) -> tuple[Answer, bool, list[Epochs]]:
        """Of one history, with *answers* log by log: where the wrong log is blamed, the answer is wrong, too."""
        wanted = [self.is_legal(log) for log in logs]
        answers = [self._as_documented(*one) for one in zip(answers, wanted, logs, strict=True)]
        answer = False if False in answers else None if None in answers else True
        is_wrong = any(one is not None and one is not right for one, right in zip(answers, wanted, strict=True))
        return (not all(wanted) if is_wrong else answer), all(wanted), logs

    def _as_documented(self, answer: Answer, wanted: bool, log: Epochs) -> Answer:
        return None if answer and not wanted and self.may_pass and self.may_pass(log) else answer


def epochs(half_blind: bool, trim: bool = False) -> Company:
    """One queue."""
    return Company(lambda rng: [_epochs(rng, half_blind, Shape(trim=trim))], _is_legal)


def brokers() -> Company:
    """Two brokers with a queue and power cuts of their own."""
    return Company(_two_brokers, _is_legal)


def _two_brokers(rng: Random) -> list[Epochs]:
    logs = [_epochs(rng, rng.random() < 0.5, Shape(), queue) for queue in range(2)]
    sent = [op.values[0] for log in logs for op in log.all() if op.kind == "append"]
    if sent and rng.random() < 0.2:
        _mislay(rng, rng.choice(rng.choice(logs).parts), sent)
    return logs


def _epochs(rng: Random, half_blind: bool, shape: Shape, queue: int = 0) -> Epochs:
    held: list[int] = []
    sent: list[int] = []
    parts: list[list[Drawn]] = []
    cuts: list[int] = []
    epochs = rng.choice((2, 3, 3, 4) if half_blind else (2, 2, 3))
    for number in range(epochs):
        begin = cuts[-1] + 2 if cuts else 0
        if half_blind:
            parts.append(_run_half_blind(rng, held, begin, sent, shape, most=4 if epochs < 4 else 3))
        else:
            parts.append(_run_log(rng, held, begin, 100 * number, shape))
        cuts.append(1 + max((op.ret for op in parts[-1] if op.ret < INFINITE), default=begin))
        del held[rng.randint(0, len(held)) :]
    cuts.pop()
    sent = [value for part in parts for op in part if op.kind == "append" for value in op.values]
    if sent and rng.random() < 0.7:
        _spoil(rng, parts, cuts, sent, shape)
    if rng.random() < 0.5:
        stretch(rng, [op for part in parts for op in part], cuts)
    else:
        parts = [between(part, cuts, number) for number, part in enumerate(parts)]
    for op in [op for part in parts for op in part]:
        op.queue, op.values = queue, [value + 1_000 * queue for value in op.values]
    return Epochs(parts, cuts)


def between(part: list[Drawn], cuts: list[int], number: int) -> list[Drawn]:
    """Operations that begin after the cut before and, if they end, end before the next."""
    begin = cuts[number - 1] if number else -1
    end = cuts[number] if number < len(cuts) else INFINITE
    return [op for op in part if begin < op.inv < end and (op.ret < end or op.outcome == "info")]


def _run_log(rng: Random, log: list[int], begin: int, first_value: int, shape: Shape) -> list[Drawn]:
    """A few operations of one real log from *begin* on; *log* is what it holds, and is changed. What was trimmed before
    may be there again."""
    count, width, start = rng.randint(1, 5), rng.choice((1, 2, 4)), 0
    drawn: list[Drawn] = []
    for number, instant in enumerate(sorted(rng.randrange(3 * count) for _ in range(count))):
        at = begin + instant
        if shape.trim and rng.random() < 0.3:
            start = rng.randint(start, len(log))
        op = Drawn("", 0, max(begin, at - rng.randrange(width)), at + rng.randrange(width), "ok", [], -1, [])
        if rng.random() < 0.55:
            op.kind, op.values, op.offset = "append", [first_value + number], len(log)
            draw_log.end_somehow(rng, op, log, shape)
        elif shape.trim and rng.random() < 0.3:
            op.kind, op.offset = rng.choice((("start", start), ("end", len(log))))
        else:
            draw_log.poll_somewhere(rng, op, log, start)
        drawn.append(op)
    return drawn


def _run_half_blind(rng: Random, log: list[int], begin: int, sent: list[int], shape: Shape, most: int) -> list[Drawn]:
    """As :func:`_run_log`, but half of the sends get no answer, some messages are sent again, and the end is asked for
    more often than what stands before it: who stood where is left open as often as can be. *sent* grows. At
    *most* so many operations: more of them over three cuts are beyond exhaustion."""
    count, width, start = rng.randint(1, most), rng.choice((1, 2, 4)), 0
    drawn: list[Drawn] = []
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        at = begin + instant
        op = Drawn("", 0, max(begin, at - rng.randrange(width)), at + rng.randrange(width), "ok", [], -1, [])
        kind = rng.random()
        if shape.trim and rng.random() < 0.3:
            start = rng.randint(start, len(log))
        if kind < 0.6:
            again = bool(sent) and rng.random() < 0.15
            op.kind, op.values, op.offset = "append", [rng.choice(sent) if again else len(set(sent))], len(log)
            sent += op.values
            if rng.random() < 0.55:
                op.outcome, op.offset, op.ret = "info", -1, INFINITE
            if op.outcome == "ok" or rng.random() < 0.6:
                log += op.values
        elif kind < 0.8:
            is_start = shape.trim and rng.random() < 0.5
            op.kind, op.offset = ("start", start) if is_start else ("end", len(log))
        else:
            draw_log.poll_somewhere(rng, op, log, start)
        drawn.append(op)
    return drawn


def stretch(rng: Random, drawn: list[Drawn], cuts: list[int]) -> None:
    """Some begin at or before a cut that came before them, or are answered at or after one that came later."""
    for op in drawn:
        before = [cut for cut in cuts if cut <= op.inv]
        if before and rng.random() < 0.35:
            op.inv = max(0, rng.choice(before) - rng.randrange(4))
        after = [cut for cut in cuts if cut >= op.ret]
        if after and op.ret < INFINITE and rng.random() < 0.35:
            op.ret = rng.choice(after) + rng.randrange(4)


def _spoil(rng: Random, parts: list[list[Drawn]], cuts: list[int], sent: list[int], shape: Shape) -> None:
    """One to three changes somewhere: a stamp, an offset, a message where another was, an answer in another epoch."""
    for _ in range(rng.randint(1, 3)):
        number, way = rng.randrange(len(parts)), rng.random()
        if not parts[number]:
            continue
        if way < 0.2:
            draw_log.damage(rng, parts[number], shape)
        elif way < 0.7:
            _mislay(rng, parts[number], sent)
        else:
            _carry(rng, parts, cuts, number)


def _carry(rng: Random, parts: list[list[Drawn]], cuts: list[int], number: int) -> None:
    """One operation goes from part *number* to a neighbour: what was lost is back, or what is new was there before."""
    op = rng.choice(parts[number])
    other = number + rng.choice((-1, 1))
    if not 0 <= other < len(parts):
        return
    parts[number].remove(op)
    parts[other].append(op)
    begin = cuts[other - 1] + 2 if other else 0
    end = cuts[other] - 1 if other < len(cuts) else begin + 12
    op.inv = rng.randint(begin, max(begin, end))
    op.ret = op.ret if op.ret >= INFINITE else rng.randint(op.inv, max(op.inv, end))


def _mislay(rng: Random, drawn: list[Drawn], sent: list[int]) -> None:
    """One message where another was, or an end that is a little too far: no stamp changes."""
    answers = [op for op in drawn if op.kind in ("poll", "end", "start", "refused") or op.outcome == "ok"]
    if not answers:
        return
    op = rng.choice(answers)
    if op.kind == "poll":
        op.values[rng.randrange(len(op.values))] = rng.choice(sent)
    else:
        op.offset = max(0, op.offset + rng.choice((-1, 1, 1, 2)))


def _is_legal(log: Epochs) -> bool:
    ops = [op._replace(what=(op.what[0], 0, *op.what[2:])) for op in draw_log.oracle_ops(log.all())]
    ops += [Op(cut, cut, True, ("cut", 0)) for cut in log.cuts]
    return linearizable(ops, ((0, ()),), brute.log_step(fresh=False))


def _answers(drawn: list[list[Epochs]]) -> list[list[Answer]]:
    """What the checker says of each log of each history, all judged as one run. Where it is not sure of all of them,
    those that it does not blame are asked about by themselves."""
    history, facts = _run_of(drawn)
    verdict = check_logs(history, facts)
    anomalies = [anomaly for anomaly in verdict.anomalies if not anomaly.allowed and anomaly.kind != "stale"]
    broken = {anomaly.details["queue"] for anomaly in anomalies}
    is_sure = all(reason.startswith("no message was read") for reason in verdict.reasons)
    answers: list[list[Answer]] = []
    for logs, first in zip(drawn, _first_queues(drawn), strict=True):
        blamed = [history.queues.name(queue) in broken for queue in range(first, first + len(logs))]
        if is_sure or len(drawn) == 1:
            answers.append([False if one else True if is_sure else None for one in blamed])
        else:
            answers += _answers([logs])
    return answers


def _first_queues(drawn: list[list[Epochs]]) -> list[int]:
    return list(accumulate((len(logs) for logs in drawn[:-1]), initial=0))


def _run_of(drawn: list[list[Epochs]]) -> tuple[History, RunFacts]:
    """A run of ours: a broker for each log, with power cuts of its own between its parts; times are milliseconds. A
    message of one history is none of another."""
    names = [f"broker-of-{number}" for number in range(sum(map(len, drawn)))]
    logs = [log for one in drawn for log in one]
    build = Build([*names, *(name for name, log in zip(names, logs, strict=True) if log.others)])
    for one, first in zip(drawn, _first_queues(drawn), strict=True):
        for op in [op for log in one for op in log.all()]:
            _enter(build, op, op.queue + first, [value + 1_000 * first for value in op.values])
    for queue, number in enumerate((number for number, log in enumerate(logs) if log.others), len(names)):
        for offset, (stamp, position) in enumerate(logs[number].others):
            build.send(stamp, stamp, 1_000 * number + OTHERS + offset, offset, queue=queue, position=position)
    cuts = [(cut, name) for name, log in zip(names, logs, strict=True) for cut in log.cuts]
    for number, (cut, name) in enumerate(cuts):
        build.fault("cut_power", f"{name}-0", cut, cut, heal=cut + 1, fault=f"f{number}")
    fills = [(*fill, name) for name, log in zip(names, logs, strict=True) for fill in log.fills]
    for number, (begin, end, name) in enumerate(fills):
        build.fault("fill_disk", f"{name}-0", begin, begin, heal=end, fault=f"fill{number}")
    history = build.history()
    nodes = {f"{name}-0": log.properties for name, log in zip(names, logs, strict=True)}
    return history, RunFacts.from_run({"mode": "multi-master", "nodes": nodes}, history)


def _enter(build: Build, op: Drawn, queue: int, values: list[int]) -> None:
    ret = None if op.ret >= INFINITE else op.ret
    if op.kind == "append":
        status = {"ok": "SEND_OK", "info": "TIMEOUT", "fail": "SERVICE_NOT_AVAILABLE"}[op.outcome]
        position = op.position if op.position >= 0 else None
        build.send(op.inv, ret, values[0], op.offset, status=status, queue=queue, position=position)
    elif op.kind == "end":
        build.query_max(op.inv, op.ret, op.offset, queue)
    elif op.kind == "start":
        build.query_min(op.inv, op.ret, op.offset, queue)
    elif op.kind == "refused":
        build.trimmed(op.inv, op.ret, op.offset, queue)
    else:
        first = op.offsets[0] if op.offsets else op.offset
        build.pull(op.inv, op.ret, op.offset, values, queue, first=first)
