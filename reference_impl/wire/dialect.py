"""JSON as RocketMQ's peers write it: strict where that will do, fastjson's dialect where they insist.

Question: how are bodies read from any peer, and how are those few written that clients know only in the dialect?

Model. fastjson writes a map with integer keys as ``{0:"a"}`` and one with object keys as ``{{"queueId":0}:7}``; C++ and
Go send enums as ordinals and numbers as texts. :func:`read_json` first tries strict JSON straight into the wanted type,
which is what almost every body is; only when that fails does it parse leniently and convert. Keys become texts: a bare
key its own characters, an object key its compact JSON.

Errors. :class:`RemoteWireError` for text that is not even the dialect, or that lacks the wanted shape.
Limits. Nesting below 64; comments, single quotes and fastjson's ``@type`` are not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from reference_impl.wire.frame import RemoteWireError

T = TypeVar("T")

NESTING_MAX: Final = 64


def read_json(data: bytes, kind: type[T]) -> T:
    """*data* as a *kind* (a Struct, or any type that msgspec knows)."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return convert(parse_lenient(data), kind)


def convert(value: Any, kind: type[T]) -> T:
    """Plain data as a *kind*; texts of numbers count as numbers."""
    try:
        return msgspec.convert(value, kind, strict=False, str_keys=True)
    except msgspec.ValidationError as error:
        raise RemoteWireError(f"body is no {kind.__name__}: {error}") from error


def write_json(value: Any) -> bytes:
    """Strict and compact; struct members in the order of their declaration (alphabetical, as Java has them)."""
    return _encode(value)


def write_dialect(value: Any) -> bytes:
    """As fastjson writes it: integer keys bare, struct keys as objects."""
    if isinstance(value, Mapping):
        return b"{%b}" % b",".join([b"%b:%b" % (_key(key), write_dialect(member)) for key, member in value.items()])
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        members = [(name, getattr(value, attribute)) for name, attribute in names]
        return write_dialect({name: member for name, member in members if member is not msgspec.UNSET})
    if isinstance(value, list | tuple):
        return b"[%b]" % b",".join([write_dialect(member) for member in value])
    return _encode(value)


def _key(key: Any) -> bytes:
    return b"%d" % key if isinstance(key, int) else _encode(key)


def parse_lenient(data: bytes) -> Any:
    """Plain data from strict JSON or the dialect."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Parser(data).document()


class _Parser:
    """Recursive descent over tokens. Only what strict JSON refuses comes here."""

    def __init__(self, data: bytes) -> None:
        try:
            self._text = data.decode()
        except UnicodeDecodeError as error:
            raise RemoteWireError(f"body is not UTF-8: {error}") from error
        self._position = 0

    def document(self) -> Any:
        value = self._value(0)
        if self._peek():
            raise self._error("something behind the end")
        return value

    def _value(self, depth: int) -> Any:
        if depth > NESTING_MAX:
            raise self._error(f"nested deeper than {NESTING_MAX}")
        token = self._next()
        if token == "{":
            return self._object(depth)
        if token == "[":
            return self._array(depth)
        try:
            return msgspec.json.decode(token)
        except msgspec.DecodeError as error:
            raise self._error(f"unexpected {token[:20]!r}") from error

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not self._closes("}", bool(members)):
            key = self._object_key(depth)
            if self._next() != ":":
                raise self._error("':' expected")
            members[key] = self._value(depth + 1)
        return members

    def _object_key(self, depth: int) -> str:
        token = self._peek()
        if token == "{" or token.startswith('"'):
            key = self._value(depth + 1)
            return key if isinstance(key, str) else _encode(key).decode()
        if not _BARE_KEY.fullmatch(token):
            raise self._error(f"{token[:20]!r} is no key")
        return self._next()

    def _array(self, depth: int) -> list[Any]:
        members: list[Any] = []
        while not self._closes("]", bool(members)):
            members.append(self._value(depth + 1))
        return members

    def _closes(self, bracket: str, needs_comma: bool) -> bool:
        """Whether the bracket closes here; takes the comma before a further member."""
        if self._peek() == bracket:
            self._next()
            return True
        if needs_comma and self._next() != ",":
            raise self._error(f"',' or {bracket!r} expected")
        return False

    def _peek(self) -> str:
        match = _TOKEN.match(self._text, self._position)
        return match[1] if match else ""

    def _next(self) -> str:
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            raise self._error("end or stray character")
        self._position = match.end()
        return match[1]

    def _error(self, what: str) -> RemoteWireError:
        return RemoteWireError(f"body is no JSON: {what} at character {self._position}")


_TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[A-Za-z0-9_.+$-]+|[][{}:,])', re.DOTALL)
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_.+$-]+")
_encode: Final = msgspec.json.Encoder().encode
