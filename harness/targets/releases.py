"""Releases of Apache RocketMQ as targets: what does each need, and what does it do differently?

Question: ``--target rocketmq:VERSION`` names any release; which habits are its own?

Model. ``releases.yaml`` is the one table: rows that hold from a release on, the releases that were run, and those whose
servers are not published as a whole. A release that is not known gets the row that holds for it, and a warning.

Limits. What differs for the judgement of a run is the checkers' (``checkers/history/releases.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from checkers.history.releases import numbers_of

_TABLE: Final = Path(__file__).with_name("releases.yaml")


@dataclass(frozen=True)
class Release:
    """A row; the file says what each field means and where it is known from."""

    since: str
    generation: int
    refused_start_exit: int
    failed_force_counts: bool
    forces_tables: bool
    batches_name_cluster: bool
    commits_keep_origin: bool
    retries_need_group: bool
    offsets_can_be_copied: bool
    dledger: str
    opens: tuple[str, ...]

    @property
    def is_4(self) -> bool:
        return self.generation == 4


def row_of(version: str) -> Release:
    """The last row that holds at *version*; the first one for what is older than all."""
    holding = [row for row in rows() if numbers_of(row.since) <= numbers_of(version)]
    return holding[-1] if holding else rows()[0]


@cache
def rows() -> tuple[Release, ...]:
    """From the oldest on."""
    return tuple(Release(**{**row, "opens": tuple(row["opens"])}) for row in _document()["rows"])


@cache
def known() -> tuple[str, ...]:
    """The releases that were run, from the oldest on."""
    return tuple(_document()["known"])


def incomplete() -> Mapping[str, str]:
    """Release → what is not published of it."""
    found: dict[str, str] = _document()["incomplete"]
    return found


def warning_of(version: str) -> str:
    """What to say before a release is run that nobody has run here; empty for a known one."""
    if version in known():
        return ""
    return f"release {version} is not known: run as those from {row_of(version).since} on (known: {', '.join(known())})"


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return document
