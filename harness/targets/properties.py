"""Which properties does a node know, and what was meant by one that it does not?

Question: ``flushIntervalComitLog: 100`` in a scenario. A broker that ignores it runs with the default, and the run
shows something else than its author thinks: so it must not begin.

Model. A name is known to the reference (obeyed, or known to RocketMQ and without effect) or to a release of RocketMQ,
by the list of its setters (``reference_impl/rocketmq_properties.txt``, of one release a generation). A release that is
in no list has the names of the nearest older one, else of the oldest. ``x-NAME`` is a name that Apache's node is told
as NAME, unchecked: for releases whose names nobody has listed.

Limits. Names, not values.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from typing import Final, Literal

from checkers.history.releases import numbers_of

Kind = Literal["broker", "namesrv"]
UNCHECKED: Final = "x-"


def listed_as(node: str) -> Kind:
    """In whose list the properties of a node of that kind stand: a controller's are among those of a NameServer, which
    can be one, and a slave's are a broker's."""
    return "namesrv" if node in ("namesrv", "controller") else "broker"


@cache
def of_reference(kind: Kind) -> tuple[str, ...]:
    """What the reference takes: what it obeys, then what is without effect there."""
    from reference_impl.node import known_properties

    return tuple(dict.fromkeys((*known_properties(kind), *(name for name, _ in _listed(kind)))))


@cache
def of_rocketmq(kind: Kind, version: str) -> tuple[str, ...]:
    """What RocketMQ's node of *version* knows."""
    releases = sorted({release for _, releases in _listed(kind) for release in releases}, key=numbers_of)
    older = [release for release in releases if numbers_of(release) <= numbers_of(version)]
    nearest = (older or releases)[-1 if older else 0]
    return tuple(name for name, known in _listed(kind) if nearest in known)


def problem(name: str, known: Sequence[str]) -> str:
    """A sentence with the nearest name, if *name* is none of those *known*."""
    if name in known:
        return ""
    near = get_close_matches(name, known, 1)
    return f"unknown property {name}" + (f", did you mean {near[0]}?" if near else "")


@cache
def _listed(kind: Kind) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(name, releases that know it)."""
    from reference_impl.operators_file import KNOWN_TO_ROCKETMQ

    lines = [line.split() for line in KNOWN_TO_ROCKETMQ.read_text("utf-8").splitlines() if line[:1] != "#"]
    return tuple((name, tuple(releases)) for node, name, *releases in lines if node == kind)


UNCHECKED_HINT: Final = f"for a name that Apache's broker has and nobody has listed write {UNCHECKED}NAME"


def unknown_anywhere(name: str, kinds: Sequence[Literal["broker", "namesrv"]]) -> str:
    """What is said of a property that no node of these *kinds*, of whatever target, knows."""
    known = [known for kind in kinds for known in of_reference(kind)]
    return "" if name.startswith(UNCHECKED) else problem(name, known)
