"""Files of histories: which format is this, and what are its events?

Question: given a file that somebody else's tool wrote, what happened?

Formats, told by what the file begins with:

    text log    ``INFO  jepsen.util - 3 <tab> :invoke <tab> :read <tab> nil``     Jepsen's logs and ``history.txt``,
                Porcupine's test logs: see :mod:`checkers.external.textlog`
    EDN         ``{:process 3, :type :invoke, :f :read, :value nil}``             Jepsen's history.edn, Knossos' data:
                one map a line or a vector of maps; Porcupine's key-value files with ``:key``
    JSON        ``{"process": 3, "type": "invoke", "f": "read", "value": null}``  a line each, or an array; Elle's

Every event is known by its line; where several share one, by its number.

The order of the lines is the order of events; an ``:index`` or a ``:time`` that contradicts it is an error.

Limits. Values are kept as they are written; what they mean is the business of :mod:`checkers.external.check`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from checkers.external.calls import MISSING, Call, Event, pair
from checkers.external.edn import TOO_DEEP, is_too_deep, read_all, whole
from checkers.external.textlog import is_text_log, text_log
from checkers.external.values import frozen, shown
from checkers.history.columns import HistoryFormatError


@dataclass(frozen=True)
class Read:
    """What a file holds. ``is_log``: it is a text log, in which a refusal is evidence."""

    calls: list[Call]
    is_log: bool


def read_calls(path: Path) -> list[Call]:
    """All calls of the history in *path*; :class:`HistoryFormatError` with file and line for what is malformed."""
    return read(path).calls


def read(path: Path) -> Read:
    """As :func:`read_calls`; the file is read once, so it may be a pipe."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise HistoryFormatError("history", -1, f"unreadable: {error.strerror}", place=str(path)) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"no text: byte 0x{content[error.start]:02x} is not UTF-8"
        raise HistoryFormatError("history", -1, reason, place=f"{path}:{line}") from error
    return Read(pair(_told_apart(list(events_of(text, str(path)))), str(path)), is_text_log(text))


def _told_apart(events: list[Event]) -> list[Event]:
    """Events by their lines; where one line holds several, by their number in the file."""
    if len({event.line for event in events}) == len(events):
        return events
    return [replace(event, line=number, unit="event") for number, event in enumerate(events, 1)]


def events_of(text: str, place: str) -> Iterator[Event]:
    """Events of a history's text, in the order of the lines."""
    head = text.lstrip()
    if not head:
        return iter(())
    if re.match(r'\[?\s*\{\s*"', head):
        return _json(text, place)
    if re.match(r"#?[A-Za-z./]*[\[({]", head) or head.startswith(";"):
        return _edn(text, place)
    if is_text_log(text):
        return text_log(text, place)
    raise HistoryFormatError("history", -1, f"no format known begins with {head[:30]!r}", place=f"{place}:1")


def _edn(text: str, place: str) -> Iterator[Event]:
    clock = _Clock(place)
    for line, row in read_all(text, place, opened=True):
        clock.require_order(row, line)
        yield _event(row, line, place)


def _json(text: str, place: str) -> Iterator[Event]:
    """One value after the other: on lines of their own, or in one array."""
    decoder, at, line = json.JSONDecoder(parse_constant=_no_number, parse_int=whole), 0, 1
    clock = _Clock(place)
    is_array = text.lstrip().startswith("[")
    while (begin := _BETWEEN[is_array].match(text, at).end()) < len(text):  # type: ignore[union-attr]
        line += text.count("\n", at, begin)
        if is_array and text[begin] == "]":
            if rest := text[begin + 1 :].lstrip():
                line += text.count("\n", begin, len(text) - len(rest))
                raise HistoryFormatError("history", -1, "more behind the end of the array", place=f"{place}:{line}")
            return
        try:
            row, at = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            reason = f"no JSON: {error.msg.removesuffix(' at')}, column {error.colno}"
            raise HistoryFormatError("history", -1, reason, place=f"{place}:{error.lineno}") from error
        except (RecursionError, ValueError) as error:
            reason = str(error) if isinstance(error, ValueError) else TOO_DEEP
            raise HistoryFormatError("history", -1, reason, place=f"{place}:{line}") from error
        clock.require_order(row, line)
        yield _event(row, line, place)
        line += text.count("\n", begin, at)
    if is_array:
        raise HistoryFormatError("history", -1, "the array does not end", place=f"{place}:{line}")


def _no_number(name: str) -> Any:
    raise ValueError(f"no JSON: {name} is not equal to itself, or no number at all")


_BETWEEN = {True: re.compile(r"(?:^\s*\[)?[\s,]*"), False: re.compile(r"\s*")}


class _Clock:
    """Lines are events in their order; numbers and times in them must not say otherwise."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.last: dict[str, tuple[int, int]] = {}
        """Name of the field → its last value, and the line of that."""

    def require_order(self, row: Any, line: int) -> None:
        for name, step in (("index", 1), ("time", 0)):
            at = row.get(name) if isinstance(row, dict) else None
            if at is None:
                continue
            if type(at) is not int:
                reason = f":{name} is {shown(at)}, no whole number"
                raise HistoryFormatError("history", -1, reason, place=f"{self.place}:{line}")
            before, where = self.last.get(name, (at - step, line))
            if at < before + step:
                reason = f":{name} {at} does not come after the {before} of line {where}: lines are not in their order"
                raise HistoryFormatError("history", -1, reason, place=f"{self.place}:{line}")
            self.last[name] = at, line


def _event(row: Any, line: int, place: str) -> Event:
    if not isinstance(row, dict):
        raise HistoryFormatError("history", -1, f"not a map: {shown(row)}", place=f"{place}:{line}")
    if "f" not in row and isinstance(row.get("value"), list):
        row = {**row, "f": "txn"}  # Elle's histories have transactions only, and leave it out
    for name in ("process", "type", "f"):
        if name not in row:
            raise HistoryFormatError("history", -1, f"an operation without :{name}", place=f"{place}:{line}")
        if name != "process" and not isinstance(row[name], str):
            raise HistoryFormatError("history", -1, f":{name} is {shown(row[name])}, no name", place=f"{place}:{line}")
    process = row["process"]
    if not isinstance(process, str) and (type(process) is not int or abs(process) >= 1 << 63):
        reason = f"process {shown(process)} is neither a number nor a name"
        raise HistoryFormatError("history", -1, reason, place=f"{place}:{line}")
    if is_too_deep(row.get("value")):
        raise HistoryFormatError("history", -1, TOO_DEEP, place=f"{place}:{line}")
    value, key = row.get("value", MISSING), frozen(row.get("key"))
    return Event(
        line,
        process if isinstance(process, int) else str(process),
        _word(row["type"]),
        _word(row["f"]),
        value,
        key,
        error=row.get("error") is not None,
    )


def _word(value: Any) -> str:
    return str(value) if isinstance(value, str) else shown(value)
