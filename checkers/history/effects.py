"""What a fault did to the nodes that it hit, as its history tells; checkers ask for this, and never for a verb's name.

Question: did this fault end the process, silence it, take its data? Which guarantee of the contract is about it?

Model. The ``resolve`` event of a fault lists its effects (written by the injector from the verb, ``faults/effects.py``
explains the words). A history that was recorded before they were written has the verb's name only:
:data:`OF_OLD_VERBS` is the one place that derives them from it.

A contract guarantees something for each *harm*. The harm of a fault follows from its effects, the gravest first:
what took data names it before what ended the process, that before what only held it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

NO_HARM: Final = "none"


@dataclass(frozen=True)
class Effect:
    """One effect: ``does`` and ``how`` are words of ``faults/effects.py``, ``at`` is ``act`` or ``heal``."""

    does: str
    how: str = ""
    at: str = "act"
    value: str = ""


_KILLED: Final = (Effect("ends", "killed"), Effect("starts", at="heal"))
_STOPPED: Final = (Effect("ends", "stopped"), Effect("starts", at="heal"))
_RESTARTED: Final = (Effect("ends", "stopped"), Effect("starts"))
_RESTARTED_BY_HEAL: Final = (Effect("ends", "stopped", "heal"), Effect("starts", at="heal"))

OF_OLD_VERBS: Final[Mapping[str, tuple[Effect, ...]]] = {
    "kill": _KILLED,
    "stop": _STOPPED,
    "pause": (Effect("freezes"),),
    "restart": _RESTARTED,
    "cut_power": (Effect("ends", "dark"), Effect("takes", "unforced"), Effect("starts", at="heal")),
    "fail_sync": (Effect("fails-forces"),),
    "flip_bits": (*_KILLED, Effect("takes", "damaged")),
    "wipe": (*_KILLED, Effect("takes", "all")),
    "adopt_slave": (*_KILLED, Effect("takes", "replaced")),
    "partition": (Effect("separates"),),
    "isolate": (Effect("separates"),),
    "fill_disk": (Effect("fills-disk"),),
    "step_clock": (Effect("steps-clock"),),
    "reconfigure": (*_RESTARTED, Effect("changes-properties"), *_RESTARTED_BY_HEAL),
    "promote": (*_RESTARTED, Effect("promotes"), Effect("takes", "replaced"), *_RESTARTED_BY_HEAL),
}

_HARMS: Final[tuple[tuple[str, str, str], ...]] = (
    ("promotes", "", "promoted"),
    ("takes", "foreign", "disk-foreign"),
    ("takes", "all", "disk-lost"),
    ("takes", "replaced", "disk-replaced"),
    ("takes", "damaged", "damaged"),
    ("takes", "unforced", "power-cut"),
    ("damages", "tables", "tables-damaged"),
    ("damages", "derived", "derived-damaged"),
    ("damages", "epochs", "epochs-damaged"),
    ("changes-properties", "", "reconfigured"),
    ("ends", "killed", "killed"),
    ("ends", "dark", "killed"),
    ("ends", "stopped", "stopped"),
    ("separates", "", "separated"),
    ("resets", "", "separated"),  # for a moment, until connections are made again
    ("slows", "", "separated"),  # a link that is slower than a time-out is, for who waits, silent
    ("freezes", "", "frozen"),
    ("starves", "", "starved"),
    ("fails-writes", "", "disk-dead"),
    ("fails-forces", "", "forces-fail"),
    ("holds-forces", "", "forces-late"),
    ("delays-forces", "", "forces-late"),
    ("fills-disk", "", "disk-full"),
    ("steps-clock", "", "clock-stepped"),
)
"""(does, how, harm), the gravest first."""

HARMS: Final = (NO_HARM, *dict.fromkeys(harm for _, _, harm in _HARMS))
"""What a contract can guarantee something for."""


def effects_of(detail: Mapping[str, Any]) -> tuple[Effect, ...]:
    """From the detail of a ``resolve`` event; of a verb that nobody knows, and that tells none, there are none."""
    if "effects" in detail:
        return tuple(Effect(**effect) for effect in detail["effects"])
    return of_verb(str(detail.get("do", "")), detail.get("with") or {})


def of_verb(verb: str, options: Mapping[str, Any] | None = None) -> tuple[Effect, ...]:
    """The effects of a fault of which only the verb and its options are known."""
    effects = OF_OLD_VERBS.get(verb, ())
    if (options or {}).get("how") == "kill":
        effects = tuple(Effect("ends", "killed", e.at) if e.does == "ends" else e for e in effects)
    return effects


def harm_of(effects: Iterable[Effect]) -> str:
    """The name under which contracts speak of it; :data:`NO_HARM` for effects that harm nobody."""
    found = {(effect.does, effect.how) for effect in effects if effect.at == "act"}
    words = {does for does, _ in found}
    for does, how, harm in _HARMS:
        if (does, how) in found or (not how and does in words):
            return harm
    return NO_HARM
