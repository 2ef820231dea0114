"""A second oracle, written apart from the first: try every order of every choice of operations on an object that runs.

Question: would a mistake in the first oracle (:mod:`suites.unit.checkers.brute`) be noticed?

Model. The first oracle walks a graph of configurations and asks functions of a state. This one shares neither the walk
nor the objects: it lists the subsets of the operations that may not have happened, lists the orders of what is left
that real time allows (a before b where a returned before b was invoked), and runs each order on a plain object with
methods and variables. An order that the object accepts to the end is a linearization.

Limits. n! orders of 2^u choices: for five or six operations. Whoever draws a history says which operations may be left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple, Protocol


class Did(NamedTuple):
    """One operation: ``ret`` ``None``, and ``may`` it be left out, if nobody knows how it ended."""

    call: int
    ret: int | None
    may: bool
    name: str
    args: tuple[Any, ...] = ()
    process: int = 0


class Thing(Protocol):
    """An object that runs. ``do`` answers whether the operation can have been answered so."""

    def do(self, name: str, args: tuple[Any, ...]) -> bool: ...


def in_real_time(a: Did, b: Did) -> bool:
    """Whether *a* must come before *b*: it had returned when *b* was called."""
    return a.ret is not None and a.ret < b.call


def in_program_order(a: Did, b: Did) -> bool:
    """… or whatever the clock says, if one process did both."""
    return a.process == b.process and a.call < b.call


Before = Callable[[Did, Did], bool]


def explains(new: type[Thing], history: Sequence[Did], before: Before = in_real_time) -> bool:
    """Whether some choice and some order of *history* is what a *new* object would have answered."""
    return any(_runs(new, order) for chosen in _choices(history) for order in _orders(chosen, before))


def _choices(history: Sequence[Did]) -> Iterator[list[Did]]:
    optional = [index for index, did in enumerate(history) if did.may]
    for size in range(len(optional) + 1):
        for left_out in combinations(optional, size):
            yield [did for index, did in enumerate(history) if index not in left_out]


def _orders(history: Sequence[Did], before: Before) -> Iterator[list[Did]]:
    """Every permutation in which no operation comes ahead of one that must be *before* it."""
    if not history:
        yield []
    for index, first in enumerate(history):
        rest = [*history[:index], *history[index + 1 :]]
        if not any(before(other, first) for other in rest):
            yield from ([first, *order] for order in _orders(rest, before))


def _runs(new: type[Thing], order: Sequence[Did]) -> bool:
    thing = new()
    return all(thing.do(did.name, did.args) for did in order)


class Log:
    """Two logs; what is trimmed is trimmed by itself, at the last moment at which somebody notices."""

    def __init__(self) -> None:
        self.held: list[list[int]] = [[], []]
        self.first = [0, 0]

    def do(self, name: str, args: tuple[Any, ...]) -> bool:
        queue = args[0]
        held = self.held[queue]
        if name == "append":
            values, told = args[1:]
            stands = len(held)
            held.extend(values)
            return told is None or told == stands
        if name == "poll":
            at, values = args[1:]
            return at >= self.first[queue] and held[at : at + len(values)] == list(values)
        if name == "empty":
            return len(held) <= args[1]
        if name == "end":
            return len(held) == args[1]
        if name == "refused":
            self.first[queue] = max(self.first[queue], args[1] + 1)
            return len(held) > args[1]
        fits = self.first[queue] <= args[1] <= len(held)
        self.first[queue] = args[1]
        return fits


class Fifo:
    """A queue; ``take`` is a dequeue that got no answer."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def do(self, name: str, args: tuple[Any, ...]) -> bool:
        if name == "enqueue":
            self.held.append(args[0])
            return True
        if name == "empty":
            return not self.held
        if not self.held:
            return name == "take"
        taken = self.held.pop(0)
        return name == "take" or taken == args[0]


class Bag:
    """A queue without an order. A dequeue that got no answer says which value it took, or ``None`` for none."""

    def __init__(self) -> None:
        self.held: list[int] = []

    def do(self, name: str, args: tuple[Any, ...]) -> bool:
        if name == "enqueue":
            self.held.append(args[0])
            return True
        if name == "empty":
            return not self.held
        if args[0] not in self.held:
            return False
        self.held.remove(args[0])
        return True


class Cell:
    """A register; ``refused`` is a swap that found another value."""

    def __init__(self) -> None:
        self.value = -1

    def do(self, name: str, args: tuple[Any, ...]) -> bool:
        if name == "write":
            self.value = args[0]
            return True
        if name == "read":
            return bool(self.value == args[0])
        if name == "refused":
            return bool(self.value != args[0])
        found, self.value = self.value, args[1]
        return bool(found == args[0])


class Greatest:
    """A register that keeps the greatest value; 0 at first."""

    def __init__(self) -> None:
        self.value = 0

    def do(self, name: str, args: tuple[Any, ...]) -> bool:
        if name == "write":
            self.value = max(self.value, args[0])
            return True
        return bool(self.value == args[0])


class Grown:
    """A set that is read as a whole."""

    def __init__(self) -> None:
        self.held: set[int] = set()

    def do(self, name: str, args: tuple[Any, ...]) -> bool:
        if name == "add":
            self.held.add(args[0])
            return True
        return len(set(args)) == len(args) and self.held == set(args)


class Lock:
    """One permit."""

    permits = 1

    def __init__(self) -> None:
        self.owners: list[int] = []

    def do(self, name: str, args: tuple[Any, ...]) -> bool:
        if name == "acquire":
            self.owners.append(args[0])
            return len(self.owners) <= self.permits
        if name == "refused":
            return len(self.owners) == self.permits
        if args[0] not in self.owners:
            return False
        self.owners.remove(args[0])
        return True


class TwoPermits(Lock):
    permits = 2
