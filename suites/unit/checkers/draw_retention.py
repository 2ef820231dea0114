"""Random small logs of which the oldest files are deleted, valid or damaged, and what an oracle says of them.

A broker stores one to three messages a log file, now and then with those of other queues between them, and deletes
whole files, the oldest first, the last one never. It keeps them not at all, or an hour, or 72 until its disk is full;
an hour goes by in the middle. The start of the queue that it tells, and below which it refuses to read, follows later:
until then who asks for what is gone gets an answer that begins behind it. Damage makes it leave out too much, or half a
file, or what is too young.

The oracle knows what is in which file, where the sender was told, and nothing else (:func:`brute.retention_step`). The
checker may pass what the oracle does not, but only as far as its documentation says: it looks at each answer by itself,
and is sure of what was acknowledged in the epoch of the first message that the answer shows where its sender was told
that it is.
"""

from __future__ import annotations

from random import Random

from suites.unit.checkers import brute, draw_log
from suites.unit.checkers.brute import INFINITE, Op, linearizable
from suites.unit.checkers.draw_cuts import Company, Epochs, between, stretch
from suites.unit.checkers.draw_log import Drawn, Shape

MESSAGE_BYTES = 1_000
HOUR_MS = 3_600_000
SLACK_MS = 250
Range = tuple[int, int]


def retention(cuts: bool) -> Company:
    return Company(lambda rng: [_draw(rng, cuts)], _is_legal, _may_pass)


# The broker --------------------------------------------------------------------------------------------------------


class Broker:
    """One queue of a broker, which is asked at one instant after the other."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.file_bytes = MESSAGE_BYTES * rng.choice((1, 1, 1, 2, 2, 3))
        self.busy = rng.random() < 0.4
        self.values: list[int] = []
        self.positions: list[int] = []
        self.end = 0
        self.start = self.told = 0
        self.sent = 0
        self.others: list[tuple[int, int]] = []

    def go_on(self) -> None:
        """Whole files go; what is told follows, or does not."""
        if self.rng.random() < 0.4 and self.positions:
            first = self.rng.randint(0, self.positions[-1] // self.file_bytes)
            gone = sum(1 for position in self.positions if position // self.file_bytes < first)
            self.start = max(self.start, gone)
        if self.rng.random() < 0.12:
            self.told = self.start

    def append(self, op: Drawn) -> None:
        op.kind, op.values, op.offset = "append", [self.sent], len(self.values)
        self.sent += 1
        for _ in range(self.rng.choice((1, 2, 3)) if self.busy and self.rng.random() < 0.4 else 0):
            if self.rng.random() < 0.5:
                self.others.append((max([op.inv, *(stamp for stamp, _ in self.others)]), self.end))
            self.end += MESSAGE_BYTES
        draw_log.end_somehow(self.rng, op, self.values, Shape())
        if len(self.values) > len(self.positions):
            self.positions.append(self.end)
            self.end += MESSAGE_BYTES
        if op.outcome == "ok":
            op.position = self.positions[-1]

    def poll(self, op: Drawn) -> None:
        is_bold = self.told < self.start and self.rng.random() < 0.9
        asked = self.rng.randrange(self.told, self.start) if is_bold else self.rng.randint(0, len(self.values) + 1)
        op.offset = asked
        if asked < self.told:
            op.kind = "refused"
            return
        first = max(asked, self.start)
        if first >= len(self.values):
            op.kind, op.offset = "empty", max(first, len(self.values))
            return
        end = self.rng.randint(first + 1, len(self.values))
        op.kind, op.offsets, op.values = "poll", list(range(first, end)), self.values[first:end]

    def lose_power(self) -> None:
        """Its end is lost from anywhere on, and deleted files may be there again."""
        keep = self.rng.randint(0, len(self.values))
        if keep < len(self.values):
            self.end = self.positions[keep]
        del self.values[keep:], self.positions[keep:]
        self.start = self.told = self.rng.randint(0, min(self.start, keep))


def _draw(rng: Random, cuts: bool) -> Epochs:
    broker = Broker(rng)
    parts: list[list[Drawn]] = []
    its_cuts: list[int] = []
    for _ in range(rng.choice((2, 2, 3)) if cuts else 1):
        begin = its_cuts[-1] + 2 if its_cuts else 0
        parts.append(_run(rng, broker, begin, rng.randint(2, 5) if cuts else rng.randint(4, 10)))
        its_cuts.append(1 + max((op.ret for op in parts[-1] if op.ret < INFINITE), default=begin))
        broker.lose_power()
    its_cuts.pop()
    for _ in range(rng.choice((1, 1, 2, 3)) if rng.random() < 0.6 else 0):
        _damage(rng, rng.choice(parts), broker.file_bytes)
    if cuts and rng.random() < 0.5:
        stretch(rng, [op for part in parts for op in part], its_cuts)
    elif cuts:
        parts = [between(part, its_cuts, number) for number, part in enumerate(parts)]
    hours = rng.choice((0, 0, 0, 1, 1, 72))
    properties = {"fileReservedTime": str(hours), "mappedFileSizeCommitLog": str(broker.file_bytes)}
    log = Epochs(parts, its_cuts, properties, [_fill(rng, parts)] if hours == 72 else [], broker.others)
    _put_in_order(log)
    return _over_an_hour(rng, log) if hours else log


def _fill(rng: Random, parts: list[list[Drawn]]) -> Range:
    """Most of what happens happens afterwards."""
    latest = max((op.inv for part in parts for op in part), default=0)
    begin = rng.randint(0, rng.randint(0, latest))
    return begin, rng.randint(begin, latest + 1)


def _run(rng: Random, broker: Broker, begin: int, count: int) -> list[Drawn]:
    width = rng.choice((1, 2, 3, 5))
    drawn: list[Drawn] = []
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        at = begin + instant
        op = Drawn("", 0, max(begin, at - rng.randrange(width)), at + rng.randrange(width), "ok", [], -1, [])
        broker.go_on()
        kind = rng.random()
        if kind < 0.48 or not broker.values:
            broker.append(op)
        elif kind < 0.86:
            broker.poll(op)
        elif kind < 0.9:
            op.kind, op.offset = "end", len(broker.values)
        else:
            op.kind, op.offset = "start", broker.told
        drawn.append(op)
    return drawn


def _damage(rng: Random, drawn: list[Drawn], file_bytes: int) -> None:
    """One change: where an answer begins, where a message was stored, or any of those of other logs."""
    way = rng.random()
    skips = [op for op in drawn if op.kind == "poll" and (_skips(op) or way < 0.05)]
    stored = [op for op in drawn if op.position >= 0]
    if skips and way < 0.4:
        op = rng.choice(skips)
        step = rng.choice((-1, 1))
        if rng.random() < 0.5:
            op.offset = max(0, op.offset + step)
        elif op.offsets[0] + step >= op.offset:
            op.offsets = [offset + step for offset in op.offsets]
            op.values = [value + step for value in op.values] if op.values[0] + step >= 0 else op.values
    elif stored and way < 0.55:
        op = rng.choice(stored)
        op.position = max(0, op.position + rng.choice((-2, -1, 1, 2)) * rng.choice((MESSAGE_BYTES, file_bytes)))
    elif drawn:
        op = rng.choice(drawn)
        draw_log.damage(rng, [op], Shape())
        if op.outcome != "ok":
            op.position = -1


def _put_in_order(log: Epochs) -> None:
    """No damage lets positions of one epoch fall as its offsets rise: no log is judged by that."""
    stored = [op for op in log.all() if op.position >= 0]
    for epoch in range(len(log.cuts) + 1):
        one = sorted((op for op in stored if _epochs_of(log, op) == (epoch, epoch)), key=lambda op: op.offset)
        for op, position in zip(one, sorted(op.position for op in one), strict=True):
            op.position = position


def _over_an_hour(rng: Random, log: Epochs) -> Epochs:
    """One hour goes by somewhere, less the three milliseconds that make it matter when exactly."""
    noon = rng.randrange(2 + max((op.inv for op in log.all()), default=0))

    def later(stamp: int) -> int:
        return stamp + HOUR_MS - 3 if noon <= stamp < INFINITE else stamp

    for op in log.all():
        op.inv, op.ret = later(op.inv), later(op.ret)
    fills = [(later(begin), later(end)) for begin, end in log.fills]
    others = [(later(stamp), position) for stamp, position in log.others]
    return Epochs(log.parts, [later(cut) for cut in log.cuts], log.properties, fills, others)


# The oracle --------------------------------------------------------------------------------------------------------


def _is_legal(log: Epochs) -> bool:
    files = {op.values[0]: op.position // _file_bytes(log) for op in _stored(log)}
    sent = {op.values[0]: op.inv for op in log.all() if op.kind == "append"}
    step = brute.retention_step(files, sent, _last_file(log), lambda inv, now: _may_go(log, inv, now))
    return linearizable(_oracle_ops(log), (0, 0, ()), step)


def _may_pass(log: Epochs) -> bool:
    """Answers that begin later are looked at one by one, and some of what was acknowledged before a power cut is not
    known to be there any more."""
    if any(_skips(op) and not _may_be_gone(log, op) for op in log.all()):
        return False
    sent = {op.values[0]: 0 for op in log.all() if op.kind == "append"}
    return linearizable(_oracle_ops(log), (0, 0, ()), brute.retention_step({}, sent, 1, lambda _inv, _now: True))


def _oracle_ops(log: Epochs) -> list[Op]:
    """Where an answer begins later, the start that is told may lag behind; 0 is no news."""
    drawn = log.all()
    does_lag = any(_skips(op) for op in drawn)
    ops = [Op(cut, cut, True, ("cut", 0)) for cut in log.cuts]
    for op in drawn:
        if op.kind == "start" and does_lag:
            ops += [Op(op.inv, op.ret, True, ("refused", 0, op.offset - 1))] if op.offset else []
        elif op.kind == "poll":
            got = tuple(zip(op.offsets, op.values, strict=True))
            ops.append(Op(op.inv, op.ret, True, ("poll", 0, op.offset, got, op.ret)))
        else:
            ops += draw_log.oracle_ops([op])
    return ops


def _skips(op: Drawn) -> bool:
    return op.kind == "poll" and op.offsets[0] > op.offset


def _stored(log: Epochs) -> list[Drawn]:
    return [op for op in log.all() if op.kind == "append" and op.outcome == "ok"]


def _file_bytes(log: Epochs) -> int:
    return int(log.properties["mappedFileSizeCommitLog"])


def _last_file(log: Epochs) -> int:
    """Of those in which a message was acknowledged."""
    positions = [op.position for op in _stored(log)] + [position for _, position in log.others]
    return max(positions, default=0) // _file_bytes(log)


def _may_go(log: Epochs, sent_ms: int, now_ms: int) -> bool:
    """As old as files are kept, or sent before a disk that has been full had room again and was seen to have."""
    is_old = now_ms - sent_ms >= int(log.properties["fileReservedTime"]) * HOUR_MS
    return is_old or any(begin < now_ms and sent_ms < end + SLACK_MS for begin, end in log.fills)


def _may_be_gone(log: Epochs, answer: Drawn) -> bool:
    """Is there a log file, not the first, and not behind the last, that can be the first one that was left, as far as
    is known from the epoch that the answer shows?"""
    file_bytes = _file_bytes(log)
    first, stored = answer.offsets[0], _stored(log)
    epoch = _epoch_shown(log, answer)
    known = [op for op in stored if _epochs_of(log, op) == (epoch, epoch)]
    before = [op.position // file_bytes for op in known if op.offset < first]
    behind = [op.position // file_bytes for op in known if op.offset >= first]
    others = [op.inv for op in log.all() if op.kind == "append" and op.outcome != "fail" and op not in known]
    sent_ms = [op.inv for op in known if op.offset < first] or [min(others, default=INFINITE)]
    is_old = all(_may_go(log, sent, answer.ret) for sent in sent_ms)
    return is_old and max([0, *before]) < min([_last_file(log), *behind])


def _epoch_shown(log: Epochs, answer: Drawn) -> int:
    """The epoch from which the answer shows a message, so that nothing before it has been lost since; −1: none."""
    for offset, value in zip(answer.offsets, answer.values, strict=True):
        for op in log.all():
            if op.kind == "append" and op.outcome == "ok" and (op.offset, op.values) == (offset, [value]):
                first, last = _epochs_of(log, op)
                return first if first == last else -1
    first, last = _epochs_of(log, answer)
    return first if first == last else -1


def _epochs_of(log: Epochs, op: Drawn) -> Range:
    """(in which epoch it was asked, in which it was answered): a call or an answer at the stamp of a cut may have been
    on either side of it."""
    return sum(cut < op.inv for cut in log.cuts), sum(cut <= op.ret for cut in log.cuts)
