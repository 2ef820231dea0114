"""A reader of EDN by its grammar: what value is written here, and on which line?

Model. ``read_all`` gives (line, value) for every top-level value: maps, vectors, lists, sets, texts with their escapes,
numbers of any size (whole, decimal, with exponent, ``N`` and ``M``, ratios and other radixes as Clojure writes them),
``nil``, ``true`` and ``false``. What EDN tells apart stays apart: keywords are :class:`Keyword`, symbols
:class:`Symbol`, characters :class:`Character` (texts of these types, so that ``type == "ok"`` can be asked), ``1`` is
no ``1.0``. Vectors and lists become lists, sets frozensets. The tag of a map (a record) is dropped, any other value
keeps its tag (:class:`Tagged`). ``#_`` drops the next value; ``;`` begins a comment, a comma is a blank.

Limits. No metadata, no namespaced maps, no ``##NaN``, which is not equal to itself. Anything malformed is
:class:`HistoryFormatError` with its line: an unknown escape, a key that a map has twice, a value that a set has twice.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final, NamedTuple

from checkers.external.values import frozen
from checkers.history.columns import HistoryFormatError


class Keyword(str):
    """``:ok`` as the text ``ok``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f":{self}"


class Symbol(str):
    """``ok`` without a colon."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Character(str):
    """``\\a``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"\\{self}"


class Tagged(NamedTuple):
    """``#inst "2024-01-31"``."""

    tag: str
    value: Any


# A text is matched in long strides, so that one without an end costs no memory: the last quote of a large file.
_TOKEN: Final = re.compile(
    r"""(?P<blank>(?:[\s,]|;[^\n]*)+)|(?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<open>\#?\{|[\[(])|(?P<close>[\])}])"""
    r"""|(?P<drop>\#_)|(?P<tag>\#[A-Za-z][\w.+\-/]*)|(?P<char>\\(?:u[0-9A-Fa-f]{4}|o[0-3]?[0-7]{1,2}|[a-z]{2,}|.))"""
    r"""|(?P<special>\#\#-?[A-Za-z]+)|(?P<atom>[\w.*+!\-?$%&=<>:/'|][\w.*+!\-?$%&=<>:/\#'|]*)""",
    re.DOTALL,
)
_WHOLE: Final = re.compile(r"[+-]?(?:0|[1-9][0-9]*)N?")
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?M?")
_RATIO: Final = re.compile(r"([+-]?[0-9]+)/([0-9]+)")
_RADIX: Final = re.compile(r"([+-]?)(?:0[xX]([0-9A-Fa-f]+)|0([0-7]+)|([0-9]{1,2})[rR]([0-9A-Za-z]+))N?")
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|o?[0-3]?[0-7]{1,2}|.)", re.DOTALL)
_DELIMITER: Final = ' \t\n\r\f\v,"()[]{};'
_CLOSES: Final = {"{": "}", "#{": "}", "[": "]", "(": ")"}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\"}
_CHARS: Final = {
    "newline": "\n", "space": " ", "tab": "\t", "return": "\r", "formfeed": "\f", "backspace": "\b",
}  # fmt: skip
_NAMES: Final = {"nil": None, "true": True, "false": False}
_SPECIAL: Final = {"##Inf": float("inf"), "##-Inf": float("-inf")}
_DROP: Final = object()


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
                reason = "a text does not end" if self.text[self.at] == '"' else "unreadable"
                raise self.fail(f"{reason}: {self.text[self.at : self.at + 20]!r}")
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
            read = _ESCAPE.sub(self.escaped, text[1:-1]) if "\\" in text else text[1:-1]
            self.line += text.count("\n")
            return read
        if kind == "drop":
            self.next_value()
            return _DROP
        if kind == "tag":
            found = self.next_value()
            return found if isinstance(found, dict) else Tagged(text, found)
        if kind == "char":
            return self.character(text[1:])
        if kind == "special" and text in _SPECIAL:
            return _SPECIAL[text]
        if kind == "atom":
            return self.atom(text)
        raise self.fail(f"unexpected {text!r}" if text else "ends in the middle of a value")

    def escaped(self, match: re.Match[str]) -> str:
        found = match[1]
        if found in _ESCAPES:
            return _ESCAPES[found]
        if len(found) == 5:
            return chr(int(found[1:], 16))
        if found.isdecimal():
            return chr(int(found, 8))
        raise self.fail(f"no escape is written {match[0]!r}")

    def character(self, name: str) -> Character:
        if self.at < len(self.text) and self.text[self.at] not in _DELIMITER:
            raise self.fail(f"no character is written \\{name}{self.text[self.at]}")
        if len(name) == 1:
            return Character(name)
        if name in _CHARS:
            return Character(_CHARS[name])
        if name[0] == "u" and len(name) == 5:
            return Character(chr(int(name[1:], 16)))
        if name[0] == "o" and name[1:].isdecimal():
            return Character(chr(int(name[1:], 8)))
        raise self.fail(f"no character is written \\{name}")

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
        return self.unordered(items) if opened == "#{" else items

    def mapping(self, items: list[Any]) -> dict[Any, Any]:
        if len(items) % 2:
            raise self.fail("a map with a key but no value")
        keys = [_hashable(key) for key in items[::2]]
        if len({frozen(key) for key in keys}) < len(keys):
            raise self.fail("a map has a key twice")
        return dict(zip(keys, items[1::2], strict=True))

    def unordered(self, items: list[Any]) -> frozenset[Hashable]:
        """Values as :func:`frozen` tells them apart: to Python, 1 and 1.0 and true are one."""
        members = frozenset(frozen(item) for item in items)
        if len(members) < len(items):
            raise self.fail("a set has a value twice")
        return members

    def atom(self, text: str) -> Any:
        if text in _NAMES:
            return _NAMES[text]
        if text.startswith(":"):
            return Keyword(text[1:])
        return Symbol(text) if (number := _number(text)) is None else number


def _number(text: str) -> Any:
    """The number that *text* is, exactly; ``None`` for a symbol."""
    if _WHOLE.fullmatch(text):
        return whole(text.rstrip("N"))
    if _DECIMAL.fullmatch(text) and re.search("[.eEM]", text):
        try:
            return Decimal(text[:-1]) if text.endswith("M") else float(text)
        except InvalidOperation:
            return None
    if (match := _RATIO.fullmatch(text)) and int(match[2]):
        return Fraction(int(match[1]), int(match[2]))
    if match := _RADIX.fullmatch(text):
        sign, hexadecimal, octal, radix, digits = match.groups()
        base = 16 if hexadecimal else 8 if octal else int(radix)
        try:
            return int(sign + (hexadecimal or octal or digits), base)
        except ValueError:
            return None
    return None


def whole(text: str) -> int:
    """A whole number of any length: Python refuses more than 4,300 digits at once."""
    return int(text) if len(text) < _DIGITS else int(Decimal(text))


_DIGITS: Final = 4_000


def _hashable(value: Any) -> Hashable:
    return value if isinstance(value, str) else frozen(value)


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


def first_value(text: str, place: str, line: int) -> tuple[Any, str]:
    """The first value of *text*, and what stands behind it."""
    reader = _Reader(text, place, line)
    try:
        return reader.next_value(), text[reader.at :]
    except RecursionError:
        raise reader.fail(TOO_DEEP) from None
