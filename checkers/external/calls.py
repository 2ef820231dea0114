"""Invocations and completions paired into calls, whatever file they came from.

Question: which operation began where, how did it end, and is this a history at all?

Model. An :class:`Event` is one line: process, type (invoke, ok, fail, info), function, value, key. A :class:`Call` is
an invocation with its completion; positions in the file are the times, so that the order of lines is the order of
events. A process does one thing at a time. An invocation without completion, or one that ended ``info``, has ``ret``
``None``. A process is a number or a name; Jepsen's nemesis is none, and is left out.

Malformed (a completion without its invocation, a second invocation while one is open, an unknown type, an answer
without a value, a write that is completed with another value) is :class:`HistoryFormatError` with the line, never a
verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from checkers.external.values import frozen, shown
from checkers.history.columns import HistoryFormatError

TYPES = ("invoke", "ok", "fail", "info")
NEMESIS = ("nemesis", ":nemesis")
MISSING: Final = object()
"""The value of an event that says nothing of one; ``None`` is nil."""

_ANSWERED = ("read", "dequeue", "drain", "get", "poll", "end")
"""An answer to these is a value, which may be nil, but is told."""

_SAME = ("write", "put", "enqueue", "add", "cas", "append")
"""An answer to these says what was asked again, or nothing, or (appends) a map that tells the offset."""


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
    error: bool = False
    """Whether an error is told beside the value."""


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
    error: bool = False

    def words(self) -> str:
        """``line 17: process 3 read 4 (ok)``, ``line 20: process 1 poll 3 → [7 8] (ok)``."""
        on = f" of {shown(self.key)}" if self.key is not None else ""
        asked, answered = shown(self.asked), shown(self.answered)
        if self.answered is None or asked == answered:
            told = asked
        else:
            told = answered if self.asked is None else f"{asked} → {answered}"
        return f"{self.unit} {self.line}: process {self.process} {self.f}{on} {told} ({self.type})"


class DoesNotFit(Exception):
    """A history that is well formed, but whose operations this model does not describe; the verdict is UNKNOWN."""


def malformed(place: str, call: Call, reason: str) -> HistoryFormatError:
    """The error for a call whose values no operation of the model can have."""
    where = f"{place}:{call.line}" if call.unit == "line" else f"{place}, {call.unit} {call.line}"
    return HistoryFormatError("history", -1, f"{reason} ({call.words()})", place=where)


NAMED_MAX: Final = 8
"""Operations that a sentence names."""


def proof(calls: Iterable[Call], lines: Iterable[int]) -> str:
    """The operations on *lines* in words, the first of them if they are many."""
    wanted = list(dict.fromkeys(lines))
    known = {call.line: call for call in calls if call.line in set(wanted)}
    words = [known[line].words() for line in wanted[:NAMED_MAX] if line in known]
    more = f"; and {len(wanted) - NAMED_MAX} more" if len(wanted) > NAMED_MAX else ""
    return "; ".join(words) + more


def by_key(calls: Iterable[Call]) -> dict[Any, list[Call]]:
    """Calls of each object, objects in the order of their first call."""
    parts: dict[Any, list[Call]] = {}
    for call in calls:
        parts.setdefault(call.key, []).append(call)
    return parts


def pair(events: Iterable[Event], place: str) -> list[Call]:
    """Calls in the order of their invocations."""
    open_: dict[Any, tuple[int, Event]] = {}
    calls: list[Call] = []
    for position, event in enumerate(events):
        if event.type not in TYPES:
            raise _malformed(place, event, f"type {shown(event.type)} is not one of {', '.join(TYPES)}")
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
                place, event, f"completes {shown(event.f)}, but {event.unit} {invoked.line} invoked {shown(invoked.f)}"
            )
        _require_agreement(place, invoked, event)
        calls.append(_call(began, invoked, position, event))
    calls += [_call(began, invoked, None, None) for began, invoked in open_.values()]
    return sorted(calls, key=lambda call: call.call)


def _require_agreement(place: str, invoked: Event, event: Event) -> None:
    """An answer says what was asked for, and a write is completed as it was invoked."""
    if event.type != "ok":
        return
    if event.value is MISSING and event.f in _ANSWERED:
        raise _malformed(place, event, f"a {event.f} was answered, and no value is told")
    told = event.value is not MISSING and event.value is not None and not isinstance(event.value, dict)
    if event.f in _SAME and told and frozen(event.value) != frozen(_told(invoked)):
        reason = f"completes {shown(event.value)}, but {event.unit} {invoked.line} invoked {shown(_told(invoked))}"
        raise _malformed(place, event, reason)


def _told(event: Event) -> Any:
    return None if event.value is MISSING else event.value


def _call(began: int, invoked: Event, ended: int | None, event: Event | None) -> Call:
    type_ = "info" if event is None else event.type
    answered = _told(event) if event is not None and event.type != "info" else None
    ret = None if type_ == "info" else ended
    cells = invoked.line, invoked.process, invoked.f, invoked.key, began, ret, type_, _told(invoked), answered
    return Call(*cells, invoked.unit, event is not None and event.error)


def _malformed(place: str, event: Event, reason: str) -> HistoryFormatError:
    where = f"{place}:{event.line}" if event.unit == "line" else f"{place}, {event.unit} {event.line}"
    return HistoryFormatError("history", -1, reason, place=where)
