"""What people found out about mutants that survived, read from ``reviewed.yaml``.

Question: is a survivor a hole in the harness, or does it change nothing that anybody could see?

Model. One entry a mutant: its id, the place as it was then (for readers), what it ``is`` and the reason, one sentence.

| is | |
|---|---|
| ``equivalent`` | every client sees the same in every run that there can be: it counts nowhere |
| ``unseen`` | only speed, memory or text of messages differ, which nobody is promised: it counts as survived |
| ``hole`` | somebody's guarantee is broken, and no unit asks: it counts as survived, and the reason says what would ask
|

Limits. An entry about a mutant that was not measured is an error of the file: a test finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

import yaml

from harness.errors import UsageError

FILE: Final = Path(__file__).with_name("reviewed.yaml")
What = Literal["equivalent", "unseen", "hole"]


@dataclass(frozen=True)
class Review:
    """Of one mutant."""

    place: str
    what: What
    reason: str


def reviews(path: Path = FILE) -> Mapping[str, Review]:
    """By mutant; ``UsageError`` for an entry that is not whole."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return {str(entry["id"]): _review(entry, path) for entry in entries}


def _review(entry: Mapping[str, str], path: Path) -> Review:
    if entry.get("is") not in get_args(What) or not entry.get("reason") or not entry.get("place"):
        raise UsageError(
            f"the review of {entry.get('id')} is not whole", place=str(path), hint=f"is: {', '.join(get_args(What))}"
        )
    return Review(entry["place"], entry["is"], entry["reason"])  # type: ignore[arg-type]
