"""Faults as data: what is to be broken, when, on whom, for how long.

Question: what does a plan say, independent of any backend and of who happens to be master when it strikes?

    - {at: 6s, do: cut_power, on: master(broker-a), for: 3s}
    - {at: 4s..9s, do: partition, on: clients | masters, for: 5s, with: {ports: broker}}

Model. A :class:`Fault` is a value: it can be printed, compared, stored, replayed. ``at`` counts from the beginning of
the load; ``at`` and ``for`` may be ranges, of which the plan's generator draws one value. Without ``for`` a fault
stays until everything is healed. ``do`` is a verb of the catalogue, or one of OpenChaos' names where its meaning is
the same; an alias also brings its selector, unless it is a ``fixed-…`` one.

Limits. Whether a backend can do it is not known here (:class:`faults.levers.LeverRefused`); whether a selector fits
anybody is known only when it is resolved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from faults.catalogue import VERBS
from faults.catalogue.operator import assignments
from faults.errors import PlanError, SelectorError, suggestion
from faults.selectors import Selector, SidesSelector, parse_nodes, parse_sides
from faults.units import duration_ns, duration_text
from faults.verb import Verb


@dataclass(frozen=True)
class Span:
    """A duration, or a range of which one is drawn; ``0 ≤ low_ns ≤ high_ns``."""

    low_ns: int
    high_ns: int

    @classmethod
    def parse(cls, text: str) -> Span:
        """``6s`` or ``4s..9s``; ``ValueError`` with a sentence."""
        low, dots, high = text.partition("..")
        span = cls(duration_ns(low), duration_ns(high if dots else low))
        if span.low_ns > span.high_ns:
            raise ValueError(f"{text!r} is a range that ends before it begins")
        return span

    def draw(self, rng: Random) -> int:
        """One value, inclusive; a fixed span draws nothing from *rng*."""
        return self.low_ns if self.low_ns == self.high_ns else rng.randint(self.low_ns, self.high_ns)

    def __str__(self) -> str:
        low = duration_text(self.low_ns)
        return low if self.low_ns == self.high_ns else f"{low}..{duration_text(self.high_ns)}"


@dataclass(frozen=True)
class Alias:
    """An OpenChaos name: our verb, and our selector unless the user names the nodes (``fixed-…``)."""

    verb: str
    on: str = ""
    difference: str = ""


HALF_IS_NO_MAJORITY: Final = "of an even number one node more: half of them is no majority"

ALIASES: Final[Mapping[str, Alias]] = {
    "minor-kill": Alias("kill", "minority(brokers)"),
    "major-kill": Alias("kill", "majority(brokers)", HALF_IS_NO_MAJORITY),
    "random-kill": Alias("kill", "some(brokers)"),
    "fixed-kill": Alias("kill"),
    "minor-suspend": Alias("pause", "minority(brokers)"),
    "major-suspend": Alias("pause", "majority(brokers)", HALF_IS_NO_MAJORITY),
    "random-suspend": Alias("pause", "some(brokers)"),
    "fixed-suspend": Alias("pause"),
    "random-partition": Alias("isolate", "some(brokers)"),
    "fixed-partition": Alias("isolate"),
    "partition-majorities-ring": Alias("ring", "brokers", "each sees a majority: its neighbours alone may be none"),
}
"""OpenChaos' names whose meaning is one of our verbs (``bridge`` is one itself). Its ``random-loss`` and ``leader-…``
need verbs or modes that are not here."""


@dataclass(frozen=True)
class Fault:
    """One fault of a plan. ``id`` is ``f1``, ``f2`` … in the order of the plan; ``hold`` ``None``: until heal all."""

    id: str
    at: Span
    do: str
    on: Selector | SidesSelector
    hold: Span | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def verb(self) -> Verb:
        return VERBS[self.do]

    @property
    def latest_ns(self) -> int:
        """When it can strike at the latest, from the beginning of the load."""
        return self.at.high_ns

    def __str__(self) -> str:
        hold = f" for {self.hold}" if self.hold else ""
        options = "".join(f" {key}={value}" for key, value in self.options.items())
        return f"{self.do} {self.on} at {self.at}{hold}{options}"


def properties_of(fault: Fault) -> tuple[str, ...]:
    """Names of properties of nodes that its options set."""
    given = ((fault.verb.options[name], text) for name, text in fault.options.items())
    return tuple(name for option, text in given if option.read is assignments for name in assignments(text))


def bind_fault(
    number: int, *, at: str, do: str, on: str = "", hold: str = "", options: Mapping[str, str] | None = None
) -> Fault:
    """Fault *number* (from 1) of its texts; :class:`PlanError` whose ``key`` is at, do, on, for or a key of with."""
    verb, alias = _verb(do)
    options = dict(options or {})
    _check_options(verb, options)
    if hold and not verb.holds:
        raise PlanError(f"{verb.name} is over as soon as it is done: it takes no 'for'", key="for")
    selector = _selector(verb, on or alias.on)
    if isinstance(selector, SidesSelector) and selector.ports and "ports" in options:
        raise PlanError("the ports are named twice: in link(…) and in 'with'", key="ports")
    return Fault(
        id=f"f{number}",
        at=_span("at", at),
        do=verb.name,
        on=selector,
        hold=_span("for", hold) if hold else None,
        options=options,
    )


def _verb(do: str) -> tuple[Verb, Alias]:
    if do in VERBS:
        return VERBS[do], Alias(do)
    if do in ALIASES:
        return VERBS[ALIASES[do].verb], ALIASES[do]
    close = suggestion(do, (*VERBS, *ALIASES))
    exists = f"there are {', '.join(VERBS)}"
    raise PlanError(f"unknown fault {do!r}", key="do", hint=f"{close}; {exists}" if close.startswith("did") else exists)


def _span(key: str, text: str) -> Span:
    try:
        return Span.parse(text)
    except ValueError as error:
        raise PlanError(str(error), key=key) from None


def _selector(verb: Verb, text: str) -> Selector | SidesSelector:
    if not text:
        raise PlanError(f"{verb.name} needs 'on': whom does it hit?", key="on")
    try:
        return parse_sides(text) if verb.shape == "sides" else parse_nodes(text)
    except SelectorError as error:
        error.key = "on"
        if verb.shape == "sides" and "'|'" in error.what:
            error.hint = "a partition has two sides: LEFT | RIGHT, or link(A, B, ports); isolate separates one from all"
        raise


def _check_options(verb: Verb, options: Mapping[str, str]) -> None:
    for name, value in options.items():
        known = verb.options.get(name)
        if known is None:
            what, hint = f"{verb.name} has no option {name!r}", "" if verb.options else "it takes none"
            raise PlanError(what, key=name, known=tuple(verb.options), word=name, hint=hint)
        if known.choices and value not in known.choices:
            raise PlanError(f"{name} cannot be {value!r}", key=name, known=known.choices, word=value)
        try:
            known.read(value)
        except ValueError as error:
            raise PlanError(str(error), key=name) from None
    for name, known in verb.options.items():
        if known.required and name not in options:
            raise PlanError(f"{verb.name} needs {name!r} in 'with': {known.meaning}", key="do")
    if why := verb.refuses(verb.filled(options)):
        raise PlanError(why, key="do")
