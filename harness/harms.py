"""Which verbs do which harm: where the vocabulary of faults meets that of contracts.

A verb lists its effects (``faults/effects.py``), a contract guarantees something for each harm
(:mod:`checkers.history.effects`). The two rooms do not know each other; those who show both ask here.
"""

from __future__ import annotations

from collections.abc import Mapping

from checkers.history.effects import effects_of, harm_of
from faults.catalogue import VERBS


def harm_of_verb(verb: str, options: Mapping[str, str] | None = None) -> str:
    """The harm that a fault of *verb* does, with these options or its defaults."""
    return harm_of(effects_of({"effects": VERBS[verb].effects_of(options or {})}))


def verbs_of(harm: str) -> list[str]:
    """The verbs that do *harm* by default, in the order of the catalogue."""
    return [name for name in VERBS if harm_of_verb(name) == harm]
