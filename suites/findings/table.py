"""The table of findings, read and checked.

Question: which finding is shown by what?

Model. ``findings.yaml`` has one entry a finding, with either ``run`` (a scenario on processes, with seeds) or ``ask``
(a function of this package that talks to a broker of its own). A run shows its finding by one of

    anomaly: KIND, words: TEXT     an anomaly of that kind, allowed or not, whose sentence has that text
    measure: NAME                  a figure of some check is above 0
    error: TEXT                    the run does not get ready, and says so
    history: NAME                  a function of ``histories.py`` sees it in what happened

``chance`` names a function there that asks whether a run without it could have shown it at all.

Limits. An entry that names what is not there is an error when the table is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

TABLE: Final = Path(__file__).with_name("findings.yaml")
SHOWN_BY: Final = ("anomaly", "measure", "error", "history")


@dataclass(frozen=True)
class Finding:
    """One entry. ``since``: the first release that has what it is about."""

    number: int
    title: str
    run: str = ""
    seeds: tuple[int, ...] = (1,)
    shows: dict[str, str] = field(default_factory=dict)
    chance: str = ""
    ask: str = ""
    since: str = ""
    needs: tuple[str, ...] = ()
    """Programs beside Java, as ``go``."""

    def __post_init__(self) -> None:
        assert bool(self.run) is not bool(self.ask), f"finding {self.number}: either run or ask"
        assert bool(self.run) is any(name in SHOWN_BY for name in self.shows), f"finding {self.number}: shown by what?"


@cache
def findings() -> tuple[Finding, ...]:
    """All, by number."""
    document: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text("utf-8"))
    return tuple(_bound(entry) for entry in document)


def _bound(entry: dict[str, Any]) -> Finding:
    lists = {name: tuple(entry[name]) for name in ("seeds", "needs") if name in entry}
    return Finding(**{**entry, **lists})
