"""A reader of EDN, as far as histories use it: maps, vectors, lists, sets, keywords, texts, numbers, nil, tags.

Question: what value is written here, and on which line?

Model. ``read_all`` gives (line, value) for every top-level value. Keywords become :class:`Keyword` (a str, so that
``value == "ok"`` holds), vectors and lists become lists, sets frozensets, ``nil`` None; a tag is dropped and its value
kept; ``#_`` drops the next value; ``;`` begins a comment, a comma is a blank.

Limits. No metadata, no namespaced maps, no ratios. Anything malformed is :class:`HistoryFormatError` with its line.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

from checkers.history.columns import HistoryFormatError


class Keyword(str):
    """``:ok`` as the text ``ok``; equal to the plain text, but known to have been a keyword."""

    __slots__ = ()


_TOKEN = re.compile(
    r"""(?P<blank>[\s,]+|;[^\n]*)|(?P<text>"(?:[^"\\]|\\.)*")|(?P<open>\#?\{|[\[(])|(?P<close>[\])}])"""
    r"""|(?P<drop>\#_)|(?P<tag>\#[A-Za-z][\w./-]*)|(?P<char>\\(?:newline|space|tab|return|.))"""
    r"""|(?P<atom>[^\s,"\[\](){};\\]+)"""
)
_CLOSES = {"{": "}", "#{": "}", "[": "]", "(": ")"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_CHARS = {"newline": "\n", "space": " ", "tab": "\t", "return": "\r"}
_NAMES = {"nil": None, "true": True, "false": False}
_DROP = object()


class _Reader:
    """A cursor over tokens; a value is read when its closing token has been."""

    def __init__(self, text: str, place: str, first_line: int = 1) -> None:
        self.text, self.place = text, place
        self.at = 0
        self.line = first_line

    def fail(self, reason: str) -> HistoryFormatError:
        return HistoryFormatError("edn", -1, reason, place=f"{self.place}:{self.line}")

    def token(self) -> tuple[str, str]:
        """(kind, text) of the next token that is not blank; kind ``end`` at the end."""
        while self.at < len(self.text):
            match = _TOKEN.match(self.text, self.at)
            if match is None:
                raise self.fail(f"unreadable: {self.text[self.at : self.at + 20]!r}")
            self.at = match.end()
            kind = match.lastgroup or ""
            if kind != "blank":
                return kind, match.group()
            self.line += match.group().count("\n")
        return "end", ""

    def value(self, kind: str, text: str) -> Any:
        """The value that begins with this token; ``_DROP`` for a dropped one."""
        if kind == "open":
            return self.collection(text)
        if kind == "text":
            self.line += text.count("\n")
            return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])
        if kind == "drop":
            self.next_value()
            return _DROP
        if kind == "tag":
            return self.next_value()
        if kind == "char":
            return _CHARS.get(text[1:], text[1:])
        if kind == "atom":
            return self.atom(text)
        raise self.fail(f"unexpected {text!r}" if text else "ends in the middle of a value")

    def next_value(self) -> Any:
        while (value := self.value(*self.token())) is _DROP:
            pass
        return value

    def collection(self, opened: str) -> Any:
        items: list[Any] = []
        while (token := self.token()) != ("close", _CLOSES[opened]):
            value = self.value(*token)
            if value is not _DROP:
                items.append(value)
        if opened == "{":
            return self.mapping(items)
        return frozenset(_hashable(item) for item in items) if opened == "#{" else items

    def mapping(self, items: list[Any]) -> dict[Any, Any]:
        if len(items) % 2:
            raise self.fail("a map with a key but no value")
        return {_hashable(key): value for key, value in zip(items[::2], items[1::2], strict=True)}

    def atom(self, text: str) -> Any:
        if text in _NAMES:
            return _NAMES[text]
        if text.startswith(":"):
            return Keyword(text[1:])
        try:
            return int(text.rstrip("N"))
        except ValueError:
            pass
        try:
            return float(text.rstrip("M"))
        except ValueError:
            return text


def _hashable(value: Any) -> Hashable:
    if isinstance(value, dict):
        return frozenset((_hashable(key), _hashable(item)) for key, item in value.items())
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value


TOO_DEEP = "a value is nested too deeply"
_DEPTH_MAX = 64


def is_too_deep(value: Any) -> bool:
    """Whether *value* has more levels than anything that looks at it should have to descend."""
    level = [value]
    for _ in range(_DEPTH_MAX):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple | frozenset) else ()


def read_all(text: str, place: str = "edn", *, opened: bool = False, first_line: int = 1) -> Iterator[tuple[int, Any]]:
    """(line, value) of every top-level value of *text*; with *opened*, of what a top-level vector or list holds."""
    reader = _Reader(text, place, first_line)
    inside: list[str] = []
    while True:
        kind, token = reader.token()
        if kind == "end" and not inside:
            return
        line = reader.line
        if opened and kind == "open" and token in ("[", "("):
            inside.append(_CLOSES[token])
            continue
        if inside and (kind, token) == ("close", inside[-1]):
            inside.pop()
            continue
        try:
            value = reader.value(kind, token)
        except RecursionError:
            raise reader.fail(TOO_DEEP) from None
        if value is not _DROP:
            yield line, value
