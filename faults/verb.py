"""What a verb is: how one kind of fault is applied, proved, undone, and proved undone.

Question: what must a fault family supply so that the injector can carry any fault through its life cycle
``resolve → journal → inject → probe → hold → heal → heal probe``?

Model. A :class:`Verb` is a value of functions over levers (``faults/levers/``); it holds no state. What it learns
while injecting (was the node alive before? could the pair talk before?) it returns as *facts*, which come back
to its probes: "nobody gets through" proves a partition only where somebody got through before it.

A probe answers 1 (yes), 0 (no) or −1 (cannot be told, with the reason in ``detail``). For ``probe`` yes means *the
fault bit*; for ``heal_probe`` yes means *it is gone*.

Limits. Functions block and run outside the world's own loop (``Backend.perform``): they touch levers and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, Literal

from faults.effects import Effect
from faults.levers import HealStep
from faults.selectors import Topology

YES: Final = 1
NO: Final = 0
UNTOLD: Final = -1

Shape = Literal["nodes", "sides"]
Condition = Literal["dead", "paused", "starved", "exhausted", "separated", "failing", "full", "own", "none"]
"""What the fault keeps a node in until it is healed: two that keep a node in the same end with the last of them.
``own``: it undoes what it did, whatever else lasts; ``none``: it is over as soon as it is done."""

Role = Literal["", "master", "slave"]

Facts = Mapping[str, Any]
Sides = tuple[tuple[str, ...], tuple[str, ...]]
"""Left and right of a partition."""


@dataclass(frozen=True)
class Division:
    """Who is kept from whom: the sides as the history tells them; ``cuts``, where one pair of sides does not say it;
    ``kept``, pairs that still reach each other, and must, for the shape to be that one."""

    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    cuts: tuple[Sides, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Strike:
    """One resolved fault, about to be done or done. ``left`` are the nodes hit; ``right`` the other side of a
    partition."""

    fault: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    topology: Topology = field(default_factory=lambda: Topology(()))
    cuts: tuple[Sides, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()

    @property
    def sides(self) -> tuple[Sides, ...]:
        """Every partition that it is made of."""
        return self.cuts or ((self.left, self.right),)

    def only(self, nodes: Sequence[str]) -> Strike:
        """The same strike on a part of its nodes."""
        return replace(self, left=tuple(nodes))


@dataclass(frozen=True)
class Probed:
    """One answer of a probe; ``node`` empty for a partition as a whole. ``detail`` holds JSON values."""

    node: str
    answer: int
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Option:
    """One key of ``with``: ``choices`` empty means that ``read`` decides. Values are kept as text."""

    default: str
    meaning: str
    choices: tuple[str, ...] = ()
    read: Callable[[str], object] = str
    """Raises ``ValueError`` (with a sentence) for a text that does not fit."""
    required: bool = False
    """There is no default that makes sense."""
    samples: tuple[str, ...] = ()
    """Values that a random plan draws from; none: it leaves the option alone."""


@dataclass(frozen=True)
class Verb:
    """One kind of fault. The texts make the table in ``docs/faults.md``."""

    name: str
    family: str
    summary: str
    takes_effect_when: str
    """What the efficacy probe looks at."""
    undone_by: str
    shape: Shape
    condition: Condition
    effects: tuple[Effect, ...]
    """What it does to each node of the left side, for those who judge."""
    inject: Callable[[Any, Strike], Facts]
    """The first argument of each function: levers, of the families that it ``needs``."""
    probe: Callable[[Any, Strike, Facts], list[Probed]]
    heal: Callable[[Any, Strike, Facts], None]
    heal_probe: Callable[[Any, Strike, Facts], list[Probed]]
    heal_steps: Callable[[Any, Strike], list[HealStep]] = lambda levers, strike: []
    """What outlives the harness and must be undone after its death; nothing, where it ends with the nodes."""
    options: Mapping[str, Option] = field(default_factory=dict)
    divide: Callable[[tuple[str, ...], Topology, Random], Division] | None = None
    """Of shape ``nodes``: whom it keeps from whom; :class:`~faults.errors.SelectorError` if these nodes cannot be."""
    least_nodes: int = 1
    """Fewer than so many cannot be hit."""
    role: Role = ""
    """The only one whose nodes can be hit; empty: all."""
    reaches_back: str = ""
    """The option that says how many bytes before the end of a node's log it hits."""
    grows_by: str = ""
    """The option that says by how many bytes a node's log must grow while it is injected."""
    refuses: Callable[[Mapping[str, str]], str] = lambda options: ""
    """Why options of these values (defaults filled in) cannot go together; empty: they can."""
    needs: tuple[str, ...] = ("process",)
    """Families of levers (``faults.levers.FAMILIES``) that its functions pull; they touch no others."""

    @property
    def holds(self) -> bool:
        """Whether ``for`` means anything."""
        return self.condition != "none"

    def filled(self, options: Mapping[str, str]) -> dict[str, str]:
        """All options of a fault for which these were given."""
        return {name: option.default for name, option in self.options.items()} | dict(options)

    def effects_of(self, options: Mapping[str, str]) -> list[dict[str, str]]:
        """The effects of a fault with these options, as they stand in a history."""
        filled = self.filled(options)
        return [effect.to_json(filled) for effect in self.effects if effect.happens_with(filled)]


def option(strike: Strike, verb_options: Mapping[str, Option], name: str) -> str:
    """The value in the plan, or the option's default."""
    return strike.options.get(name, verb_options[name].default)
