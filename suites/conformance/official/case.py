"""What a case is: a few steps of an official client, and what it was told, in words that do not change by the run.

Question: which cases are there, for which clients?

Model. A case is a function of a place and a client; it returns an *observation*: JSON values without addresses, ids and
times. The same observation from the reference and from Apache's broker is conformance; nobody says beforehand what it
must be. ``@case`` names it and says for which kinds of client it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from reference_impl.wire.codes import response_name
from suites.conformance.official.place import OfficialClient, Place

Observation = Any
Steps = Callable[[Place, OfficialClient], Observation]
JAVA: Final = ("java",)
BOTH: Final = ("java", "go")


@dataclass(frozen=True)
class Case:
    """One case; *clients* are kinds without their versions."""

    name: str
    clients: tuple[str, ...]
    steps: Steps

    @property
    def text(self) -> str:
        """What is done, in a line."""
        return (self.steps.__doc__ or "").strip().splitlines()[0]


CASES: Final[dict[str, Case]] = {}


def case(clients: tuple[str, ...]) -> Callable[[Steps], Steps]:
    """Add a case under the name of its function."""

    def add(steps: Steps) -> Steps:
        name = getattr(steps, "__name__", "").replace("_", "-")
        assert name not in CASES, f"two cases {name}"
        CASES[name] = Case(name, clients, steps)
        return steps

    return add


def without_numbers(text: str) -> list[str]:
    """Lines of a tool's output without what changes by the run: addresses, ids, numbers, times, blanks."""
    text = re.sub(r"\d+\.\d+\.\d+\.\d+(:\d+)?", "ADDRESS", text)
    text = re.sub(r"CODE: (\d+)", lambda code: f"CODE {response_name(int(code[1]))}", text)
    text = re.sub(r"\b[0-9A-F]{16,}\b", "ID", text)
    text = re.sub(r"(?<![A-Za-z%_])-?\d[\d.,:-]*", "N", text)
    text = re.sub(r"(Official|G|K|i)\d+", r"\1N", text)
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines()]
    return [line for line in lines if line]
