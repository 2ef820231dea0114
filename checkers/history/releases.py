"""Releases of RocketMQ: in what do they differ for whoever judges a run?

Model. ``releases.yaml`` has one row for each release at which something that is judged changed; a row holds until the
next one. Versions are compared by their numbers, so that 5.10 comes after 5.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml

_TABLE: Final = Path(__file__).parent.parent / "releases.yaml"


@dataclass(frozen=True)
class ProducerRests:
    """How long a producer leaves a slow broker alone. ``rests``: an attempt of so many milliseconds or more, and the
    rest; ``failed_ms``: what one counts as that was not stored. ``are_alike``: retries choose as first attempts do, and
    when all rest one of the better half is taken."""

    rests: tuple[tuple[int, int], ...]
    failed_ms: int
    are_alike: bool

    def rest_ms(self, took_ms: int, is_stored: bool) -> int:
        """For how long after an attempt that took *took_ms*."""
        counted_ms = took_ms if is_stored else self.failed_ms
        return max((rest for least, rest in self.rests if counted_ms >= least), default=0)


@dataclass(frozen=True)
class Traits:
    """What a node of one release does; the file says where each is known from."""

    tables_copied_within_ns: int
    slave_delay_is_in_file: bool
    keeps_order_mark: bool
    producer_rests: ProducerRests


@cache
def traits_of(release: str) -> Traits:
    """The traits of the nearest row at or below *release*; the first row for what is older than all."""
    rows = [(numbers_of(since), traits) for since, traits in _rows()]
    fitting = [traits for since, traits in rows if since <= numbers_of(release)]
    return fitting[-1] if fitting else rows[0][1]


@cache
def _rows() -> tuple[tuple[str, Traits], ...]:
    document = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return tuple(
        (
            row["since"],
            Traits(
                tables_copied_within_ns=int(row["tables_copied_within_s"]) * 1_000_000_000,
                slave_delay_is_in_file=bool(row["slave_delay_is_in_file"]),
                keeps_order_mark=bool(row["keeps_order_mark"]),
                producer_rests=ProducerRests(
                    rests=tuple(row["producer_rests"]["ms"].items()),
                    failed_ms=int(row["producer_rests"]["failed_counts_as_ms"]),
                    are_alike=bool(row["producer_rests"]["choices_are_alike"]),
                ),
            ),
        )
        for row in document
    )


def numbers_of(version: str) -> tuple[int, ...]:
    """What versions are compared by: (5, 10) for ``5.10``."""
    return tuple(int(part) for part in re.findall(r"\d+", version))
