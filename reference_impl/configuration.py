"""Configuration files of a node: RocketMQ's ``name=value`` lines, read once into typed values.

Question: what does the file say, and where does it say so? Reading follows java.util.Properties, which RocketMQ uses:
``#`` and ``!`` begin a comment, ``=``, ``:`` or blanks end a name, a backslash at the end continues a line, ``\\uXXXX``
and friends are escapes, the last line of a name counts. Blanks behind a value are dropped, which Java keeps.

:func:`bind` fills a struct by RocketMQ's names (``listenPort`` for ``listen_port``). A bad value is one
:class:`ConfigurationError` with property, value and what was expected; :meth:`Properties.locate` adds file and line,
also to the ``ValueError`` of any other reader that begins its text with the property's name. Which names there may be
is :mod:`reference_impl.operators_file`'s business.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar, get_args

import msgspec

T = TypeVar("T", bound=msgspec.Struct)


class ConfigurationError(ValueError):
    """A property whose value cannot be used."""


@dataclass(frozen=True)
class Properties:
    """Texts by name, and the line (from 1) of each in *source*."""

    values: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    source: str = ""

    def locate(self, error: ValueError) -> ConfigurationError:
        """*error* with ``file:line`` before it, if its text begins with the name of a property that we hold."""
        match = re.match(r"[A-Za-z0-9_.]+", str(error))
        line = self.lines.get(match[0]) if match else None
        return ConfigurationError(f"{self.source}:{line}: {error}" if line else f"{self.source}: {error}")


def parse_properties(text: str, source: str = "properties") -> Properties:
    """All of *text*. :class:`ConfigurationError` for a broken ``\\u`` escape; anything else has a meaning."""
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    for number, line in _logical_lines(text):
        name, value = _split(line)
        try:
            name, value = _unescape(name), _unescape(value)
        except ValueError as error:
            raise ConfigurationError(f"{source}:{number}: {error}") from error
        values[name], lines[name] = value, number
    return Properties(values, lines, source)


def properties_text(values: Mapping[str, str]) -> str:
    """One ``name=value`` a line, in the order of the map, as MixAll#properties2String writes it: nothing is escaped."""
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _logical_lines(text: str) -> Iterable[tuple[int, str]]:
    """(number of its first line, text) of each line that is neither blank nor a comment, continuations joined."""
    pending, begun = "", 0
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        begun = begun or number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1]
            continue
        yield begun, pending + line
        pending, begun = "", 0
    if pending:
        yield begun, pending


def _split(line: str) -> tuple[str, str]:
    match = _NAME.match(line)
    assert match is not None, "the pattern matches every text"
    return match[1], line[match.end() :].rstrip()


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _escaped(match: re.Match[str]) -> str:
    what = match[1]
    if what[0] != "u":
        return _CONTROLS.get(what, what)
    if len(what) != 5:
        raise ValueError(f"broken escape \\{what}")
    return chr(int(what[1:], 16))


_NAME: Final = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|u|.)", re.DOTALL)
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


# Binding -------------------------------------------------------------------------------------------------------------


def property_names(kind: type[msgspec.Struct]) -> list[str]:
    """RocketMQ's names of the fields of *kind*."""
    return [item.encode_name for item in _fields(kind)]


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Evaluating annotations takes longer than all of the rest."""
    return msgspec.structs.fields(kind)


def bind(kind: type[T], values: Mapping[str, str]) -> T:
    """A *kind* (a struct with ``rename="camel"`` whose fields are texts, whole numbers, switches or ``Literal``) from
    those of *values* that it names; the others keep their defaults."""
    bound = {
        item.name: _typed(item.encode_name, values[item.encode_name].strip(), item.type)
        for item in _fields(kind)
        if item.encode_name in values
    }
    return kind(**bound)


def unbind(value: msgspec.Struct) -> dict[str, str]:
    """The texts of all fields, by RocketMQ's names in alphabetical order: what ``bind`` reads back."""
    names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
    return {name: _text(getattr(value, attribute)) for name, attribute in sorted(names)}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(name: str, text: str, kind: Any) -> str | int | bool:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ConfigurationError(f"{name}={text}: expected true or false")
        return text.lower() == "true"
    if kind is int:
        if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
            raise ConfigurationError(f"{name}={text}: expected a whole number")
        return int(text)
    choices = get_args(kind)
    if choices and text not in choices:
        raise ConfigurationError(f"{name}={text}: expected {' or '.join(choices)}")
    return text
