"""Values of others' histories: when are two of them the same, and how are they shown?

Question: a history was written in EDN or JSON, whose values Python would mix up; what was written, exactly?

Model. :func:`frozen` makes a value that can be compared, hashed and kept. Two are equal iff the languages that wrote
them say so: ``true`` is no 1, 1 is no 1.0, ``:a`` is neither ``"a"`` nor ``a`` nor ``\\a``, and whole numbers are equal
digit by digit. Lists and vectors are tuples.

:func:`shown` writes a value for a person, shortened: a sentence about a read of ten thousand values must stay one.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any, Final


class Truth(Enum):
    """true and false of a history: Python's own are equal to 1 and 0, and theirs are not."""

    TRUE = True
    FALSE = False

    def __repr__(self) -> str:
        return "true" if self.value else "false"


@dataclass(frozen=True, slots=True)
class Exact:
    """A value whose type counts: a number that is not whole, or a word that is no text."""

    type: str
    value: Any

    def __repr__(self) -> str:
        return str(self.value)


def frozen(value: Any) -> Any:
    """*value* with lists as tuples, so that it can be compared, hashed and kept."""
    if value is None or isinstance(value, Truth | Exact):
        return value
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, str | int):
        return value if type(value) in (str, int) else Exact(type(value).__name__, repr(value))
    if isinstance(value, list | tuple):
        return tuple(frozen(item) for item in value)
    if isinstance(value, frozenset):
        return frozenset(frozen(item) for item in value)
    if isinstance(value, dict):
        return frozenset((frozen(key), frozen(item)) for key, item in value.items())
    return Exact(type(value).__name__, value)


ITEMS_SHOWN: Final = 8
LETTERS_SHOWN: Final = 60
_LONG: Final = 10**40


def shown(value: Any) -> str:
    """*value* in at most some two hundred letters."""
    if value is None:
        return "nil"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and not -_LONG < value < _LONG:
        return f"a number of {Decimal(value).adjusted() + 1} digits"
    if isinstance(value, dict):
        cells = [f"{shown(key)} {shown(item)}" for key, item in islice(value.items(), ITEMS_SHOWN + 1)]
        return _cut(f"{{{_listed(cells, len(value))}}}", 4)
    if isinstance(value, list | tuple | frozenset):
        some = islice(value if not isinstance(value, frozenset) else sorted(value, key=shown), ITEMS_SHOWN + 1)
        opened, closed = ("#{", "}") if isinstance(value, frozenset) else ("[", "]")
        return _cut(f"{opened}{_listed([shown(item) for item in some], len(value))}{closed}", 4)
    return _cut(repr(value))


def _listed(items: list[str], count: int) -> str:
    more = f" … {count - ITEMS_SHOWN} more" if count > ITEMS_SHOWN else ""
    return " ".join(items[:ITEMS_SHOWN]) + more


def _cut(text: str, times: int = 1) -> str:
    most = LETTERS_SHOWN * times
    return text if len(text) <= most else f"{text[: most - 1]}…"
