"""Text logs of Jepsen: which of these lines is an operation?

Question: a logger wrote a line for each invocation and each completion, among much else; what happened?

Model. An operation is ``process :type :f value [error]`` at the end of a line, its cells parted by tabs or blanks, with
nothing before it (``history.txt``) or with whatever the logger puts there, as long as that ends in its name, a hyphen
or a colon::

    0	:invoke	:write	7
    INFO  jepsen.util - 0	:ok	:write	7
    2026-02-26 23:39:01,300{GMT}	INFO	[jepsen worker 0] jepsen.util: 0	:info	:cas	[7 8]	:timeout

All else is talk of the logger, and left out: it may contain maps with ``:type :ok`` in them. The order of the lines is
the order of events; clocks of loggers are not asked.

Limits. A line that begins like an operation and does not go on as one was torn: an error with its number. An error
cell is not read, only that there is one: a ``:fail`` with an error may have any cause and is no evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkers.external.calls import MISSING, Event
from checkers.external.edn import first_value
from checkers.history.columns import HistoryFormatError

_BEGINS: Final = r"(?:^|(?:[-:]|jepsen\.[\w.]+)\s+)(\d+|:nemesis)\s+:(invoke|ok|fail|info)(?=\s|$)"
_OPERATION: Final = re.compile(_BEGINS + r"\s+:(\S+)(?:\s+(.*))?$")
_DIGITS: Final = 18
"""Of the number of a process."""
_TORN: Final = re.compile(_BEGINS)


def is_text_log(text: str) -> bool:
    """Whether a line of *text* is an operation of a log; what begins as EDN or JSON is no log."""
    head = text.lstrip()[:1]
    return head not in "{[(;#" and any(_OPERATION.search(line.rstrip()) for line in text.split("\n"))


def text_log(text: str, place: str) -> Iterator[Event]:
    """The operations of a log."""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip()
        match = _OPERATION.search(line)
        if match is None:
            if _TORN.search(line):
                raise HistoryFormatError("history", -1, f"unreadable: {line[:80]!r}", place=f"{place}:{number}")
            continue
        process, kind, f, rest = match.groups()
        value, behind = first_value(rest, place, number) if rest else (MISSING, "")
        if behind.strip() and kind in ("invoke", "ok"):
            reason = f"there is more behind the value: {behind.strip()[:40]!r}"
            raise HistoryFormatError("history", -1, reason, place=f"{place}:{number}")
        if len(process) > _DIGITS:
            raise HistoryFormatError("history", -1, f"no process: {process[:20]}…", place=f"{place}:{number}")
        by = int(process) if process.isdecimal() else process
        yield Event(number, by, kind, f, value, error=bool(behind.strip()))
