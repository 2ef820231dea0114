"""Acts: which levers change a node, and under which name the history is told.

Question: a fault says what it wanted; how does everybody else who watches levers (the history, a test) learn what was
done to whom, without a list of levers of its own?

Model. A family's protocol marks what is an act: ``@act("killed")`` says that an event ``killed`` of the node follows
from it, ``@act()`` that it is an act without an event of a node. :func:`acts_of` reads the marks of a protocol, and
:class:`Watched` is made of them: it hands every lever on to a world's, and every act through *around* as well.

Limits. What is no act (a question) passes unseen. A lever of a family that the world does not have is refused when it
is pulled, with the family's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from faults.levers.values import LeverRefused

F = TypeVar("F", bound=Callable[..., Any])

_MARK: Final = "__act__"


@dataclass(frozen=True)
class Act:
    """A lever that changes something. ``event``: what the history calls it (empty: nothing of a node); ``position``:
    which argument names the node; ``unless``: a result that says that nothing was done."""

    lever: str
    event: str
    position: int
    unless: Any = None

    def node(self, arguments: tuple[Any, ...]) -> str:
        """Whom the act hits; levers are called by position."""
        return str(arguments[self.position])

    def happened(self, result: Any) -> bool:
        return self.unless is None or result != self.unless


Around = Callable[[Act, tuple[Any, ...], Callable[[], Any]], Any]
"""(act, arguments, pull): pulls the lever, or not, and returns what it returned."""


def act(event: str = "", *, of: str = "node", unless: Any = None) -> Callable[[F], F]:
    """Mark a lever in its family's protocol; *of* is the parameter that names the node."""

    def mark(lever: F) -> F:
        names = list(inspect.signature(lever).parameters)[1:]
        position = names.index(of) if of in names else 0
        setattr(lever, _MARK, Act(lever.__name__, event, position, unless))
        return lever

    return mark


def acts_of(family: type) -> dict[str, Act]:
    """The acts of a protocol, its parents' among them, by lever."""
    found = ((name, getattr(getattr(family, name), _MARK, None)) for name in dir(family))
    return {name: mark for name, mark in found if mark is not None}


def levers_of(family: type) -> tuple[str, ...]:
    """Names of all levers that a protocol has of its own, acts and questions."""
    return tuple(name for name, value in vars(family).items() if inspect.isfunction(value) and name[0] != "_")


class Watched:
    """Levers of a world, each act of which goes through *around*. *families*: name → protocol."""

    def __init__(self, levers: Any, around: Around, families: Mapping[str, type]) -> None:
        self._levers, self._around = levers, around
        self._acts = {name: act for family in families.values() for name, act in acts_of(family).items()}
        self._family_of = {lever: name for name, family in families.items() for lever in levers_of(family)}

    def __getattr__(self, name: str) -> Any:
        lever = getattr(self._levers, name, None)
        if lever is None:
            if name not in self._family_of:
                raise AttributeError(f"there is no lever {name!r}")
            return self._refuses(name)
        if (mark := self._acts.get(name)) is None:
            return lever
        return lambda *arguments: self._around(mark, arguments, lambda: lever(*arguments))

    def _refuses(self, name: str) -> Callable[..., Any]:
        family = self._family_of[name]

        def refuse(*arguments: Any) -> Any:
            raise LeverRefused(f"this world has no levers of the family {family!r}: {name} cannot be pulled")

        return refuse


class Joined:
    """Levers of several objects as one: each lever is that of the first that has it."""

    def __init__(self, *parts: object) -> None:
        self._parts = parts

    def __getattr__(self, name: str) -> Any:
        for part in self._parts:
            if (lever := getattr(part, name, None)) is not None:
                return lever
        raise AttributeError(f"there is no lever {name!r}")
