"""What clients may rely on, and which harm excuses that it is not so: one table, for checks and for people.

Question: a group was never given a message whose transaction committed. Is that a failure, after what was done to this
cluster?

Model. ``client_guarantees.yaml`` has one entry a kind of violation: the check that finds it, the guarantee in words
with its source, and the harms (:data:`checkers.history.effects.HARMS`) after which it is allowed; ``modes`` has those
of a mode where they are others. The guarantee holds in every mode and under every harm that is not named.

Limits. Checks may ask for more than the harm: that it hit this broker, and when (``locks``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from checkers.history.effects import HARMS

_FILE: Final = Path(__file__).parent / "client_guarantees.yaml"


@dataclass(frozen=True)
class ClientGuarantee:
    """One entry; ``excused_by``: harms, ``modes``: those of a mode that has others."""

    kind: str
    check: str
    words: str
    source: str
    excused_by: tuple[str, ...]
    modes: Mapping[str, tuple[str, ...]]

    def excuses(self, mode: str) -> tuple[str, ...]:
        """Harms after which it need not hold in *mode*."""
        return self.modes.get(mode, self.excused_by)


@cache
def client_guarantees() -> Mapping[str, ClientGuarantee]:
    """By kind; ``ValueError`` for a harm that no fault does."""
    entries = yaml.safe_load(_FILE.read_text(encoding="utf-8"))
    found = {}
    for entry in entries:
        modes = {mode: tuple(harms) for mode, harms in entry.get("modes", {}).items()}
        guarantee = ClientGuarantee(
            entry["kind"],
            entry["check"],
            entry["words"].strip(),
            entry["source"],
            tuple(entry["excused_by"]),
            modes,
        )
        for harm in (*guarantee.excused_by, *(harm for harms in modes.values() for harm in harms)):
            if harm not in HARMS:
                raise ValueError(f"{_FILE.name}: {guarantee.kind}: no fault does {harm!r}")
        found[guarantee.kind] = guarantee
    return found
