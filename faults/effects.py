"""What faults do to nodes, as data: the one home of that fact.

Question: a broker was dead, separated, without its disk. Which fault did that, from when until when, and to whom?
Whoever judges a run needs the answer, and must not know the names of verbs for it.

Model. A :class:`Effect` is one thing that happens to each node of the left side of a fault:

    ends                 no process: killed, stopped in order, or dark (the machine is off and closes no connection)
    starts               the process begins again and recovers its own data
    freezes              no instruction runs; connections stay open
    starves              it lacks what it needs of its machine: cpu (little of a processor, everything is late) or files
                         (none can be opened: no new connection, no new file; those that are open go on)
    separates            nothing passes between left and right, or nothing of left's (out), or of right's (in), or
                         nothing that opens a connection (new); the fault's ``ports`` narrow it
    takes                data is gone: unforced (what no force had reached), damaged (from a damaged record on), all,
                         replaced (all but what the copy of a slave has), foreign (all, and somebody else's is there)
    damages              files beside the log have gone bad: derived (made from the log, and made again from it),
                         tables (topics, groups, offsets) or epochs (who was master when which part was written)
    slows                everything passes between left and right, late, or not all of it; connections were reset once
    resets               every connection between left and right was reset once
    fails-writes         every write fails
    fails-forces         every force fails and writes nothing
    delays-forces        every force reaches the disk, and ends, later (the probe says by how much)
    holds-forces         no force reaches the disk, or ends, before the heal
    fills-disk           no space for new files
    steps-clock          the wall clock differs from that of all others
    changes-properties   other settings
    promotes             a slave acts as the master of its broker name

What has a duration ends with the heal, or with the process. ``at`` says when: with the *act*, or with the *heal*.
``only_if`` names the option (and its value) without which the effect is not there, ``value`` the option that says how
much. A verb lists its effects (``Verb.effects``); the injector writes those of each fault into its ``resolve`` event,
so that a history can be judged without the code that made it.

Limits. Effects of load on clients have no words yet: a verb that needs one adds it here and in
the checkers' reader (``checkers/history/effects.py``), and a test holds the two lists against each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Does = Literal[
    "ends",
    "starts",
    "freezes",
    "starves",
    "separates",
    "slows",
    "resets",
    "takes",
    "damages",
    "fails-writes",
    "fails-forces",
    "delays-forces",
    "holds-forces",
    "fills-disk",
    "steps-clock",
    "changes-properties",
    "promotes",
]
When = Literal["act", "heal"]

HOW: Final[Mapping[Does, tuple[str, ...]]] = {
    "ends": ("killed", "stopped", "dark"),
    "starves": ("cpu", "files"),
    "separates": ("", "out", "in", "new"),
    "takes": ("unforced", "damaged", "all", "replaced", "foreign"),
    "damages": ("derived", "tables", "epochs"),
}
"""What ``how`` may say; nothing where a word has no entry."""


@dataclass(frozen=True)
class Effect:
    """One effect of a verb; ``ValueError`` for a ``how`` that ``does`` does not have."""

    does: Does
    how: str = ""
    at: When = "act"
    only_if: tuple[str, str] | None = None
    value: str = ""

    def __post_init__(self) -> None:
        if self.how not in HOW.get(self.does, ("",)):
            raise ValueError(f"{self.does} cannot be {self.how!r}: {', '.join(HOW.get(self.does, ('',)))}")

    def happens_with(self, options: Mapping[str, str]) -> bool:
        """Whether a fault with these options (defaults filled in) has it."""
        return self.only_if is None or options.get(self.only_if[0]) == self.only_if[1]

    def to_json(self, options: Mapping[str, str]) -> dict[str, str]:
        """As it stands in the ``resolve`` event of a fault with these options (defaults filled in)."""
        how = {"how": self.how} if self.how else {}
        value = {"value": options[self.value]} if self.value else {}
        return {"does": self.does, **how, **value, "at": self.at}


STARTS_WITH_HEAL: Final = Effect("starts", at="heal")
KILLED: Final = (Effect("ends", "killed"), STARTS_WITH_HEAL)
STOPPED: Final = (Effect("ends", "stopped"), STARTS_WITH_HEAL)
RESTARTED_IN_ORDER: Final = (Effect("ends", "stopped"), Effect("starts"))
RESTARTED_BY_HEAL: Final = (Effect("ends", "stopped", at="heal"), STARTS_WITH_HEAL)
