"""Small histories, all of them: every way in which a few operations can overlap, with every operation of an alphabet.

Question: random histories miss what is rare; is there a small one that a checker gets wrong?

Model. A :class:`Shape` is a number of operations and an alphabet of what each may be. With calls in the order 0, 1, 2 …
only the last call before each return matters, so n operations overlap in n! ways; calls with no return between them
may change places, and only one of these orders is listed. Every history is given to the checker twice: with distinct
stamps, and with as many equal ones as say the same. Both answers must be the one of the oracle of
:mod:`suites.unit.checkers.second`; *unknown* is counted apart.

Limits. ``every`` takes each so many of the histories only, beginning with the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from checkers.logs.linear import check_log
from checkers.logs.sequential import check_sequential
from checkers.objects.max_register import check_max_register
from checkers.objects.mutex import check_mutex, check_semaphore
from checkers.objects.queue import check_queue
from checkers.objects.register import check_register
from checkers.objects.sets import check_set
from suites.unit.checkers import draw_log, draw_queue, draw_register, draw_set, second
from suites.unit.checkers.brute import INFINITE
from suites.unit.checkers.second import Did, explains

Letter = tuple[Any, ...]
"""What an operation is: its name, whether it was answered (ok, info, fail), its arguments."""

Placed = tuple[Letter, int, int]
"""A letter with the stamps of its call and its return."""

Overlapping = list[tuple[Letter, int]]
"""Letters in the order of their calls, each with the number of the last call before its return."""

Answer = bool | None


@dataclass(frozen=True)
class Shape:
    """``judge`` (the checker's answer) and ``wanted`` (the oracle's) get the same history."""

    operations: int
    alphabet: tuple[Letter, ...]
    judge: Callable[[list[Placed]], Answer]
    wanted: Callable[[list[Placed]], bool]
    fits: Callable[[Overlapping], bool] = lambda history: True
    overlap: bool = True
    """Whether it matters which operations overlap."""
    every: int = 1
    """The tests of the suite take each so many of the histories; ``scripts/enumerate_shapes.py`` takes all."""

    def histories(self) -> Iterator[Overlapping]:
        """All of them; who never returns is listed as returning last."""
        last = self.operations - 1
        for letters in product(self.alphabet, repeat=self.operations):
            if not self.fits([(letter, index) for index, letter in enumerate(letters)]):
                continue  # not even if nothing overlaps
            keys = [self.alphabet.index(letter) for letter in letters]
            ways = [
                range(last if letter[1] == "info" or not self.overlap else index, last + 1)
                for index, letter in enumerate(letters)
            ]
            for ends in product(*ways):
                history = list(zip(letters, ends, strict=True))
                if (not self.overlap or _is_first_of_its_kind(keys, ends)) and self.fits(history):
                    yield history


def _is_first_of_its_kind(keys: list[int], ends: tuple[int, ...]) -> bool:
    """Two calls without a return between them are in the order of the alphabet, or else of their returns."""
    return not any(
        (keys[index], ends[index]) > (keys[index + 1], ends[index + 1])
        for index in range(len(keys) - 1)
        if index not in ends
    )


def compare(shape: Shape, every: int = 1, first: int = 0) -> tuple[dict[str, int], list[list[Placed]]]:
    """(counts of legal, illegal and unknown answers, histories on which the checker was wrong)."""
    counts = {"legal": 0, "illegal": 0, "unknown": 0}
    wrong = []
    for history in islice(shape.histories(), first, None, every):
        apart, tied = _stamped(history, 2), _stamped(history, 1)
        wanted = shape.wanted(apart)
        for stamped in (apart, tied):
            answer = shape.judge(stamped)
            counts["unknown" if answer is None else "legal" if answer else "illegal"] += 1
            if answer is not None and answer is not wanted:
                wrong.append(stamped)
    return counts, wrong


def _stamped(history: Overlapping, step: int) -> list[Placed]:
    """*step* 1: returns share the stamp of the last call before them."""
    return [
        (letter, step * index, INFINITE if letter[1] == "info" else step * end + step - 1)
        for index, (letter, end) in enumerate(history)
    ]


def _did(history: list[Placed], form: Callable[[Letter], tuple[str, tuple[Any, ...]]]) -> list[Did]:
    """For the oracle: what certainly did not happen is left out."""
    return [
        Did(call, None if letter[1] == "info" else ret, letter[1] == "info", *form(letter))
        for letter, call, ret in history
        if letter[1] != "fail"
    ]


def _plainly(letter: Letter) -> tuple[str, tuple[Any, ...]]:
    return letter[0], letter[2:]


# Logs: ("append", outcome, queue, values, offset), ("poll", "ok", queue, at, values), ("empty" …, "ok", queue, at)


def _drawn(history: list[Placed]) -> list[draw_log.Drawn]:
    drawn = []
    for number, (letter, call, ret) in enumerate(history):
        kind, outcome, queue = letter[:3]
        if kind == "append":
            values, told = letter[3:]
            drawn.append(
                draw_log.Drawn(kind, queue, call, ret, outcome, list(values), -1 if told is None else told, [])
            )
        elif kind == "poll":
            at, values = letter[3:]
            offsets = list(range(at, at + len(values)))
            drawn.append(draw_log.Drawn(kind, queue, call, ret, outcome, list(values), at, offsets))
        else:
            drawn.append(draw_log.Drawn(kind, queue, call, ret, outcome, [], letter[3], []))
        drawn[-1].process = number
    return drawn


def _log(history: list[Placed]) -> Answer:
    return check_log(draw_log.log_input(_drawn(history), 2)).holds


def _log_wanted(history: list[Placed]) -> bool:
    """An append whose queue nobody knows went to either."""
    for index, (letter, call, ret) in enumerate(history):
        if letter[2] < 0:
            return any(
                _log_wanted([*history[:index], ((*letter[:2], queue, *letter[3:]), call, ret), *history[index + 1 :]])
                for queue in (0, 1)
            )
    return explains(second.Log, _did(history, _plainly))


def _sequential(history: list[Placed]) -> Answer:
    return check_sequential(draw_log.log_input(_drawn(history), 2), draw_log.ints(_processes(history))).holds


def _sequential_wanted(history: list[Placed]) -> bool:
    dids = [
        (letter, Did(call, None, letter[1] == "info", *_plainly(letter), process))
        for (letter, call, _), process in zip(history, _processes(history), strict=True)
    ]
    return explains(second.Log, [did for letter, did in dids if letter[1] != "fail"], second.in_program_order)


def _processes(history: list[Placed]) -> list[int]:
    """Two processes, each does half; what comes after an operation without an answer is another process."""
    half, process, processes = (len(history) + 1) // 2, 0, []
    for number, (letter, *_) in enumerate(history):
        process += number == half
        processes.append(process)
        process += letter[1] == "info"
    return processes


# Queues: ("enqueue", outcome, value), ("dequeue", "ok" or "info", value), ("empty", "ok"), ("take", "info")


def _queue(ordered: bool) -> Callable[[list[Placed]], Answer]:
    def judge(history: list[Placed]) -> Answer:
        calls = [
            draw_queue.Call({"take": "crashed"}.get(kind, kind), *(args or (-1,)), call, ret, outcome)
            for (kind, outcome, *args), call, ret in history
        ]
        return check_queue(draw_queue.queue_input(calls), ordered=ordered).holds

    return judge


def _fifo_wanted(history: list[Placed]) -> bool:
    return _all_were_sent(history) and explains(second.Fifo, _did(history, _plainly))


def _bag_wanted(history: list[Placed]) -> bool:
    """A dequeue without an answer took any value that was sent, or nothing."""
    for index, (letter, call, ret) in enumerate(history):
        if letter[0] == "take":
            sent = {other[2] for other, *_ in history if other[0] == "enqueue"}
            rest = [*history[:index], *history[index + 1 :]]
            return _bag_wanted(rest) or any(
                _bag_wanted([*history[:index], (("dequeue", "info", value), call, ret), *history[index + 1 :]])
                for value in sent
            )
    return _all_were_sent(history) and explains(second.Bag, _did(history, _plainly))


def _all_were_sent(history: list[Placed]) -> bool:
    """A dequeue that knows its value proves that the value was sent, even if it then got no answer."""
    sent = {letter[2] for letter, *_ in history if letter[0] == "enqueue" and letter[1] != "fail"}
    return all(letter[2] in sent for letter, *_ in history if letter[0] == "dequeue")


def _sends_each_once(history: Overlapping) -> bool:
    letters = [letter for letter, _ in history]
    sent = [letter[2] for letter in letters if letter[0] in ("enqueue", "write") and letter[1] != "fail"]
    sent += [letter[3] for letter in letters if letter[0] == "cas"]
    return len(set(sent)) == len(sent)


# Registers: ("write", outcome, value), ("read", "ok", value), ("cas", outcome, old, new), ("refused", "ok", old)


def _register_calls(history: list[Placed]) -> list[draw_register.Call]:
    calls = []
    for (kind, outcome, *args), call, ret in history:
        old = args[0] if kind in ("cas", "refused") else -1
        value = args[-1] if kind != "refused" else -1
        calls.append(draw_register.Call(kind, value, call, ret, old, outcome))
    return calls


def _register(history: list[Placed]) -> Answer:
    return check_register(draw_register.register_input(_register_calls(history))).holds


def _greatest(history: list[Placed]) -> Answer:
    return check_max_register(draw_register.max_register_input(_register_calls(history))).holds


def _wanted(new: type[second.Thing]) -> Callable[[list[Placed]], bool]:
    return lambda history: explains(new, _did(history, _plainly))


# Sets: ("add", outcome, value), ("read", "ok", values …)


def _set(history: list[Placed]) -> Answer:
    calls = [draw_set.Call(kind, call, ret, list(values), outcome) for (kind, outcome, *values), call, ret in history]
    return check_set(draw_set.set_input(calls)).holds


# Locks: ("acquire", outcome, owner), ("release", outcome, owner), ("refused", "ok", owner)


def _are_holds(history: Overlapping) -> bool:
    """Each owner acquires and may release afterwards, or is refused, once; who got no answer does nothing more."""
    for owner in {letter[2] for letter, _ in history}:
        one = [(letter[0], letter[1], index, end) for index, (letter, end) in enumerate(history) if letter[2] == owner]
        names = [name for name, *_ in one]
        if names not in (["acquire"], ["refused"], ["acquire", "release"]):
            return False
        if len(one) == 2 and (one[0][1] == "info" or one[0][3] >= one[1][2]):
            return False
    return True


def _holds(history: list[Placed]) -> list[draw_register.Hold]:
    holds: dict[int, draw_register.Hold] = {}
    for (name, outcome, owner), call, ret in history:
        if name == "release":
            holds[owner].release_inv, holds[owner].release_ret = call, ret
        else:
            kind = "refused" if name == "refused" else "unknown" if outcome == "info" else "hold"
            holds[owner] = draw_register.Hold(kind, call, ret)
    return list(holds.values())


def _mutex(history: list[Placed]) -> Answer:
    return check_mutex(draw_register.mutex_input(_holds(history))).holds


def _semaphore(history: list[Placed]) -> Answer:
    return check_semaphore(draw_register.mutex_input(_holds(history)), 2).holds


def _append(values: tuple[int, ...], *told: int | None, queue: int = 0) -> tuple[Letter, ...]:
    """An append without an answer, and one that was told each offset of *told*."""
    return (
        ("append", "info", queue, values, None),
        *(("append", "ok", queue, values, offset) for offset in told),
    )


def _poll(at: int, *values: int, queue: int = 0) -> Letter:
    return ("poll", "ok", queue, at, values)


_READS = (_poll(0, 0), _poll(1, 0), _poll(0, 1), _poll(1, 1), _poll(0, 0, 1), _poll(0, 1, 0))
_ENDS = tuple((kind, "ok", 0, at) for kind in ("empty", "end") for at in (0, 1, 2))
_FAILED = ("append", "fail", 0, (0,), None)
_ONE_LOG = (*_append((0,), 0, 1), *_append((1,), 0, 1), _FAILED, *_READS, *_ENDS)
_TRIMMED = (
    *_append((0,), 0, 1),
    *_append((1,), 1),
    _poll(0, 0),
    _poll(0, 0, 1),
    _poll(1, 1),
    *((kind, "ok", 0, at) for kind in ("refused", "start") for at in (0, 1)),
    ("empty", "ok", 0, 1),
    ("start", "ok", 0, 2),
)
_BATCHES = (
    *_append((0,)),
    *_append((1,)),
    *_append((1, 0), 0, 1),
    *_append((0, 1), 0),
    ("append", "ok", 0, (2,), 2),
    ("append", "ok", 0, (2,), 1),
    _poll(0, 0),
    _poll(1, 0),
    _poll(0, 1),
    _poll(1, 1),
    _poll(0, 1, 0),
    ("end", "ok", 0, 2),
)
_TWO_LOGS = (
    *_append((0,), 0),
    *_append((0,), 0, queue=1),
    ("append", "info", -1, (0,), None),
    ("append", "info", -1, (1,), None),
    *_append((1,), 1),
    _poll(0, 0),
    _poll(0, 0, queue=1),
    _poll(0, 1),
    _poll(1, 1),
    _poll(0, 1, queue=1),
    ("empty", "ok", 1, 0),
    ("end", "ok", 0, 1),
    ("end", "ok", 1, 2),
)
_RETRIED = (
    ("append", "info", 0, (0,), None),
    ("append", "info", 0, (1,), None),
    ("append", "info", 0, (1, 0), None),
    ("append", "info", 0, (0, 1), None),
    ("append", "ok", 0, (2,), 1),
    ("append", "ok", 0, (2,), 2),
    ("append", "ok", 0, (2,), 3),
    _poll(0, 0),
    _poll(1, 0),
    _poll(0, 1),
    _poll(1, 1),
    _poll(0, 1, 0),
    _poll(1, 0, 1),
)
_SENDS = tuple(("enqueue", outcome, value) for value in (0, 1, 2) for outcome in ("ok", "info"))
_TAKES = tuple(("dequeue", outcome, value) for value in (0, 1, 2) for outcome in ("ok", "info"))
_QUEUE = (*_SENDS, ("enqueue", "fail", 1), *_TAKES, ("empty", "ok"), ("take", "info"))
_WRITES = tuple(("write", outcome, value) for value in (0, 1, 2) for outcome in ("ok", "info"))
_CELL = (*_WRITES, *(("read", "ok", value) for value in (-1, 0, 1, 2)))
_SWAPS = (
    *(("cas", outcome, old, new) for old, new in ((-1, 1), (0, 1), (1, 2), (2, 0)) for outcome in ("ok", "info")),
    *(("refused", "ok", old) for old in (-1, 0, 1)),
)
_GREATEST = (
    *(("write", outcome, value) for value in (1, 2) for outcome in ("ok", "info")),
    *(("read", "ok", value) for value in (0, 1, 2)),
)
_SET = (
    *(("add", outcome, value) for value in (0, 1) for outcome in ("ok", "info", "fail")),
    ("read", "ok"),
    ("read", "ok", 0),
    ("read", "ok", 1),
    ("read", "ok", 0, 1),
    ("read", "ok", 0, 0),
)

_LOCK = tuple(
    (name, outcome, owner) for owner in (0, 1, 2) for name in ("acquire", "release") for outcome in ("ok", "info")
)
_TRIED = tuple(("refused", "ok", owner) for owner in (1, 2))

SHAPES: dict[str, Shape] = {
    "log, 3 operations": Shape(3, _ONE_LOG, _log, _log_wanted, every=11),
    "log, 4 operations": Shape(4, _ONE_LOG, _log, _log_wanted, every=3001),
    "log, trimmed, 4 operations": Shape(4, _TRIMMED, _log, _log_wanted, every=2003),
    "log, batches, 4 operations": Shape(4, _BATCHES, _log, _log_wanted, every=2003),
    "log, one message sent alone and in batches, 4 operations": Shape(4, _RETRIED, _log, _log_wanted, every=401),
    "logs, queues unknown, 4 operations": Shape(4, _TWO_LOGS, _log, _log_wanted, every=2003),
    "log, sequential, 4 operations": Shape(4, _ONE_LOG, _sequential, _sequential_wanted, overlap=False, every=101),
    "fifo, 4 operations": Shape(4, _QUEUE, _queue(True), _fifo_wanted, _sends_each_once, every=1009),
    "bag, 4 operations": Shape(4, _QUEUE, _queue(False), _bag_wanted, _sends_each_once, every=1009),
    "register, 4 operations": Shape(4, _CELL, _register, _wanted(second.Cell), _sends_each_once, every=307),
    "register, swaps, 4 operations": Shape(
        4, (*_CELL, *_SWAPS), _register, _wanted(second.Cell), _sends_each_once, every=3001
    ),
    "max-register, 4 operations": Shape(4, _GREATEST, _greatest, _wanted(second.Greatest), every=53),
    "mutex, 4 operations": Shape(4, (*_LOCK, *_TRIED), _mutex, _wanted(second.Lock), _are_holds, every=37),
    "semaphore, 5 operations": Shape(5, _LOCK, _semaphore, _wanted(second.TwoPermits), _are_holds, every=101),
    "set, 4 operations": Shape(4, _SET, _set, _wanted(second.Grown), every=503),
}
