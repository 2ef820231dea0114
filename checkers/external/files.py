"""Files of histories: which format is this, and what are its events?

Question: given a file that somebody else's tool wrote, what happened?

Formats, told by what the file begins with:

    text log    ``INFO  jepsen.util - 3 <tab> :invoke <tab> :read <tab> nil``     Jepsen's log; Porcupine's test logs
    EDN         ``{:process 3, :type :invoke, :f :read, :value nil}``             Jepsen's history.edn, Knossos' data:
                one map a line or a vector of maps; Porcupine's key-value files with ``:key``
    JSON        ``{"process": 3, "type": "invoke", "f": "read", "value": null}``  a line each, or an array; Elle's

Every event is known by its line; where several share one, by its number.

Limits. Values are kept as they are written; what they mean is the business of :mod:`checkers.external.check`. An
independent key of Jepsen's (``:value [k v]``) is not told from a pair, so it must be given as ``:key``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from checkers.external.calls import Call, Event, frozen, pair
from checkers.external.edn import TOO_DEEP, is_too_deep, read_all
from checkers.history.columns import HistoryFormatError


def read_calls(path: Path) -> list[Call]:
    """All calls of the history in *path*; :class:`HistoryFormatError` with file and line for what is malformed."""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise HistoryFormatError("history", -1, f"unreadable: {error.strerror}", place=str(path)) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        reason = f"no text: byte 0x{content[error.start]:02x} is not UTF-8"
        raise HistoryFormatError("history", -1, reason, place=f"{path}:{line}") from error
    return pair(_told_apart(list(events_of(text, str(path)))), str(path))


def _told_apart(events: list[Event]) -> list[Event]:
    """Events by their lines; where one line holds several, by their number in the file."""
    if len({event.line for event in events}) == len(events):
        return events
    return [replace(event, line=number, unit="event") for number, event in enumerate(events, 1)]


def is_text_log(path: Path) -> bool:
    """Whether the first line that is not blank is one of a text log."""
    with path.open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    return _LOG_LINE.search(first.rstrip()) is not None


def events_of(text: str, place: str) -> Iterator[Event]:
    """Events of a history's text, in the order of the lines."""
    head = text.lstrip()
    if not head:
        return iter(())
    if _LOG_LINE.search(head.split("\n", 1)[0]):
        return _text_log(text, place)
    if re.match(r'\[?\s*\{\s*"', head):
        return _json(text, place)
    if re.match(r"#?[A-Za-z./]*[\[({]", head) or head.startswith(";"):
        return _edn(text, place)
    raise HistoryFormatError("history", -1, f"no format known begins with {head[:30]!r}", place=f"{place}:1")


_LOG_LINE = re.compile(r"-\s+(\d+|:nemesis)\s+:(invoke|ok|fail|info)\s+:(\S+)\s*(.*)$")


def _text_log(text: str, place: str) -> Iterator[Event]:
    """Lines without a type keyword are the logger's own talk and are left out; a torn operation line is an error."""
    for number, line in enumerate(text.split("\n"), 1):
        match = _LOG_LINE.search(line)
        if match is None:
            if re.search(r":(invoke|ok|fail|info)\b", line):
                raise HistoryFormatError("history", -1, f"unreadable: {line[:80]!r}", place=f"{place}:{number}")
            continue
        process, kind, f, value = match.groups()
        values = [value for _, value in read_all(value, place, first_line=number)]
        its = int(process) if process.isdecimal() else process
        yield Event(number, its, kind, f, values[0] if values else None)


def _edn(text: str, place: str) -> Iterator[Event]:
    for line, row in read_all(text, place, opened=True):
        yield _event(row, line, place)


def _json(text: str, place: str) -> Iterator[Event]:
    """One value after the other: on lines of their own, or in one array."""
    decoder, at, line = json.JSONDecoder(parse_constant=_no_number), 0, 1
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
        yield _event(row, line, place)
        line += text.count("\n", begin, at)
    if is_array:
        raise HistoryFormatError("history", -1, "the array does not end", place=f"{place}:{line}")


def _no_number(name: str) -> Any:
    raise ValueError(f"no JSON: {name} is not equal to itself, or no number at all")


_BETWEEN = {True: re.compile(r"(?:^\s*\[)?[\s,]*"), False: re.compile(r"\s*")}


def _event(row: Any, line: int, place: str) -> Event:
    if not isinstance(row, dict):
        raise HistoryFormatError("history", -1, f"not a map: {row!r}"[:100], place=f"{place}:{line}")
    if "f" not in row and isinstance(row.get("value"), list):
        row = {**row, "f": "txn"}  # Elle's histories have transactions only, and leave it out
    for name in ("process", "type", "f"):
        if name not in row:
            raise HistoryFormatError("history", -1, f"an operation without :{name}", place=f"{place}:{line}")
    if not isinstance(row["process"], int | str) or isinstance(row["process"], bool):
        reason = f"process {row['process']!r} is neither a number nor a name"
        raise HistoryFormatError("history", -1, reason, place=f"{place}:{line}")
    if is_too_deep(row.get("value")):
        raise HistoryFormatError("history", -1, TOO_DEEP, place=f"{place}:{line}")
    return Event(line, row["process"], str(row["type"]), str(row["f"]), row.get("value"), frozen(row.get("key")))
