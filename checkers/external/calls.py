"""Invocations and completions paired into calls, whatever file they came from.

Question: which operation began where, how did it end, and is this a history at all?

Model. An :class:`Event` is one line: process, type (invoke, ok, fail, info), function, value, key. A :class:`Call` is
an invocation with its completion; positions in the file are the times, so that the order of lines is the order of
events. A process does one thing at a time. An invocation without completion, or one that ended ``info``, has ``ret``
``None``. A process is a number or a name; Jepsen's nemesis is none, and is left out.

Malformed (a completion without its invocation, a second invocation while one is open, an unknown type) is
:class:`HistoryFormatError` with the line, never a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from checkers.history.columns import HistoryFormatError

TYPES = ("invoke", "ok", "fail", "info")
NEMESIS = ("nemesis", ":nemesis")


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a history. ``key`` is ``None`` for histories of one object. ``unit``: whether ``line`` counts lines
    or, where several events share one, events."""

    line: int
    process: Any
    type: str
    f: str
    value: Any
    key: Any = None
    unit: str = "line"


@dataclass(frozen=True, slots=True)
class Call:
    """One operation. ``line`` is that of its invocation, ``call`` and ``ret`` are positions among all events.

    ``type`` is ok, fail or info; ``asked`` the value of the invocation, ``answered`` that of the completion.
    """

    line: int
    process: Any
    f: str
    key: Any
    call: int
    ret: int | None
    type: str
    asked: Any
    answered: Any
    unit: str = "line"

    def words(self) -> str:
        """``line 17: process 3 read 4 (ok)``."""
        value = self.asked if self.answered is None else self.answered
        on = f" of {self.key}" if self.key is not None else ""
        return f"{self.unit} {self.line}: process {self.process} {self.f}{on} {value!r} ({self.type})"


class DoesNotFit(Exception):
    """A history that is well formed, but whose operations this model does not describe; the verdict is UNKNOWN."""


def malformed(place: str, call: Call, reason: str) -> HistoryFormatError:
    """The error for a call whose values no operation of the model can have."""
    where = f"{place}:{call.line}" if call.unit == "line" else f"{place}, {call.unit} {call.line}"
    return HistoryFormatError("history", -1, f"{reason} ({call.words()})", place=where)


def by_key(calls: Iterable[Call]) -> dict[Any, list[Call]]:
    """Calls of each object, objects in the order of their first call."""
    parts: dict[Any, list[Call]] = {}
    for call in calls:
        parts.setdefault(call.key, []).append(call)
    return parts


class Truth(Enum):
    """true and false of a history: Python's own are equal to 1 and 0, and theirs are not."""

    TRUE = True
    FALSE = False

    def __repr__(self) -> str:
        return "true" if self.value else "false"


def frozen(value: Any) -> Any:
    """*value* with lists as tuples, so that it can be compared, hashed and kept."""
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    if isinstance(value, frozenset):
        return frozenset(frozen(item) for item in value)
    if isinstance(value, dict):
        return frozenset((frozen(key), frozen(item)) for key, item in value.items())
    return value


def pair(events: Iterable[Event], place: str) -> list[Call]:
    """Calls in the order of their invocations."""
    open_: dict[Any, tuple[int, Event]] = {}
    calls: list[Call] = []
    for position, event in enumerate(events):
        if event.type not in TYPES:
            raise _malformed(place, event, f"type {event.type!r} is not one of {', '.join(TYPES)}")
        if event.process in NEMESIS:
            continue
        if event.type == "invoke":
            if event.process in open_:
                before = open_[event.process][1].line
                raise _malformed(
                    place, event, f"process {event.process} has an open operation since {event.unit} {before}"
                )
            open_[event.process] = (position, event)
            continue
        if event.process not in open_:
            raise _malformed(place, event, f"process {event.process} completes what it never invoked")
        began, invoked = open_.pop(event.process)
        if invoked.f != event.f:
            raise _malformed(
                place, event, f"completes {event.f!r}, but {event.unit} {invoked.line} invoked {invoked.f!r}"
            )
        calls.append(_call(began, invoked, position, event))
    calls += [_call(began, invoked, None, None) for began, invoked in open_.values()]
    return sorted(calls, key=lambda call: call.call)


def _call(began: int, invoked: Event, ended: int | None, event: Event | None) -> Call:
    type_ = "info" if event is None else event.type
    answered = event.value if event is not None and event.type != "info" else None
    ret = None if type_ == "info" else ended
    cells = invoked.line, invoked.process, invoked.f, invoked.key, began, ret, type_, invoked.value, answered
    return Call(*cells, invoked.unit)


def _malformed(place: str, event: Event, reason: str) -> HistoryFormatError:
    where = f"{place}:{event.line}" if event.unit == "line" else f"{place}, {event.unit} {event.line}"
    return HistoryFormatError("history", -1, reason, place=where)
