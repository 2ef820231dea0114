"""Ext fields: the typed members of a request or answer that travel as a map of texts.

Question: how does a role write and read them? Writing turns numbers and booleans into Java's texts and leaves out
``None``. Reading follows Java's mistakes, since clients rely on them: a missing mandatory field, and a number that is
none, surface as code 1 with a NullPointerException in the remark; a boolean is true for ``true`` in any case only.
"""

from __future__ import annotations

from functools import lru_cache

from reference_impl.wire.codes import ResponseCode
from reference_impl.wire.frame import Command


class RequestRefused(Exception):
    """A handler's answer that is a refusal: *code* and *remark* go to the peer. Not a failure of ours."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(remark)
        self.code, self.remark = code, remark


def ext_fields(**values: str | int | bool | None) -> dict[str, str]:
    """Ext fields as Java writes them: decimal numbers, ``true``/``false``, ``None`` left out."""
    return {name: _text(value) for name, value in values.items() if value is not None}


def _text(value: str | int | bool) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value))


def text(command: Command, name: str) -> str:
    """A mandatory text; :class:`RequestRefused` (code 1) if it is absent."""
    value = command.fields.get(name)
    if value is None:
        raise _null(name)
    return value


def integer(command: Command, name: str) -> int:
    """A mandatory number; :class:`RequestRefused` (code 1) if it is absent or no Java ``long``."""
    value = integer_or_none(command, name)
    if value is None:
        raise _null(name)
    return value


def small_integer(command: Command, name: str) -> int:
    """The same for a Java ``int``: what RocketMQ puts into four bytes."""
    value = integer_or_none(command, name, bits=32)
    if value is None:
        raise _null(name)
    return value


def integer_or_none(command: Command, name: str, *, bits: int = 64) -> int | None:
    """A number that may be absent; one that Java cannot read as a signed number of *bits* counts as absent."""
    return java_number(command.fields.get(name), bits)


@lru_cache(maxsize=65_536)
def java_number(value: str | None, bits: int) -> int | None:
    """*value* as a signed decimal of *bits*, as Java reads it; ``None`` if it is none.

    Most numbers of a busy broker are few and small: queue ids, flags, sizes, recent offsets."""
    if value is None or not value.isascii():
        return None
    digits = value[1:] if value[:1] in ("-", "+") else value
    number = int(value) if digits.isdigit() and len(digits) < 20 else None
    return number if number is not None and -1 << bits - 1 <= number < 1 << bits - 1 else None


def boolean(command: Command, name: str, default: bool = False) -> bool:
    """``true`` in any case; any other text is false, as Java's parser has it (so C++'s ``1`` is false)."""
    value = command.fields.get(name)
    return default if value is None else value.lower() == "true"


def _null(name: str) -> RequestRefused:
    return RequestRefused(ResponseCode.SYSTEM_ERROR, f"java.lang.NullPointerException: ext field {name} is null")
