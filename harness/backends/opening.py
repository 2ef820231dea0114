"""Opening a world: what is asked for, what is got, and the journal of what would outlive us.

Limits. Nothing here knows which backends there are (``table.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.journal import HEAL_COMMAND, HealJournal
from harness.backends.backend import Backend, Target
from harness.errors import UsageError

SAME_NAME_MAX: Final = 100


@dataclass(frozen=True)
class Order:
    """What a run wants. ``folder`` (of the run) is ``None`` only for a world whose nodes write no files."""

    run: str
    target: Target
    seed: int
    folder: Path | None


@dataclass(frozen=True)
class World:
    """A backend with what it owes. ``heal_journal`` is ``None`` where nothing outlives the harness."""

    backend: Backend
    heal_journal: HealJournal | None = None

    def close(self) -> None:
        """End every node and give back everything; idempotent."""
        self.backend.close()
        if self.heal_journal is not None:
            self.heal_journal.close()


def open_heal_journal(run: str, folder: Path | None = None) -> HealJournal:
    """A heal journal of *run*. Runs of the same second and seed whose folders lie apart have one name, and may live at
    the same time: the second one's journal is ``<run>.2``, and so on."""
    for number in range(1, SAME_NAME_MAX + 1):
        try:
            return HealJournal.open(run if number == 1 else f"{run}.{number}", folder)
        except FileExistsError:
            continue
    raise UsageError(f"{SAME_NAME_MAX} runs named {run} have heal journals", hint=HEAL_COMMAND)
