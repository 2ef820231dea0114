"""Everything of a run that would outlive the harness: how to undo it is in the heal journal before it is made.

Question: who undoes it, and how often is that written? Once: the same steps are carried out by ``close`` at the end of
a run and by ``mqchaos heal`` after the harness has died.

Limits. One thread at a time (levers run one after another).
"""

from __future__ import annotations

from faults.errors import FaultTrouble
from faults.journal import HEAL_COMMAND, HealJournal
from faults.levers import HealStep
from faults.mechanisms import undo
from harness.errors import UndoError


class UndoSteps:
    """The undo steps of one backend, newest last."""

    def __init__(self, journal: HealJournal) -> None:
        self._journal = journal
        self._steps: dict[int, tuple[str, HealStep]] = {}

    def record(self, what: str, step: HealStep) -> int:
        """Before making *what*: on the disk when this returns."""
        entry = self._journal.record(what, [step])
        self._steps[entry] = (what, step)
        return entry

    def undo(self, entry: int) -> None:
        """Undo one thing now."""
        undo.carry_out(self._steps[entry][1])
        del self._steps[entry]
        self._journal.undone(entry)

    def undo_all(self) -> None:
        """Undo everything, newest first; all are tried, ``UndoError`` names what is left."""
        left = []
        for entry, (what, _) in reversed(list(self._steps.items())):
            try:
                self.undo(entry)
            except (FaultTrouble, OSError) as error:
                left.append(f"{what}: {error}")
        if left:
            raise UndoError("left behind: " + "; ".join(left), hint=f"type: {HEAL_COMMAND}")
