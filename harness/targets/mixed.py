"""A cluster whose nodes are of different implementations: reference brokers beside Apache's, an Apache NameServer
before either.

Question: who is what? A mix is written as one text, the same on the command line, in ``run.json`` and for a replay:

    reference,slaves=rocketmq:4.9.7                                       the slaves are Apache's
    rocketmq:4.9.7,slave(broker-a)=reference,nameservers=rocketmq:5.3.3   three implementations in one cluster

One target stands alone: whatever is not named is that. The others say who they are for, by the selectors of faults
(``masters``, ``broker(broker-a)``, ``nameserver(1)``, ``broker-a-1`` …).

Model. The text is read without a cluster (:func:`parse`) and settled for one (:func:`placed`): then each server has
exactly one target, and whoever asks what runs on a node asks ``Target.at``. A planted bug goes to the reference's
nodes; where none of its kind is left, Apache's refusal stands.

Limits. Servers only, clients are the harness's own. Nothing is drawn (``one of slaves``): the same text must be the
same cluster. Nobody is named twice, and no part of the text is for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

from faults.errors import SelectorError
from faults.selectors import Node, Selector, Term, Topology, parse_nodes, resolve
from harness.backends.backend import NodeSpec, Target
from harness.errors import UsageError
from harness.targets.properties import Kind
from reference_impl.environment import Role

EXAMPLE: Final = "as reference,slaves=rocketmq:4.9.7"
DRAWN: Final = ("one", "some", "minority", "majority")


class MixedTarget:
    """``harness.backends.backend.Target`` of a cluster in which each node has its own."""

    def __init__(self, name: str, targets: Mapping[str, Target]) -> None:
        """*targets*: node → what runs there, of all servers of the cluster."""
        self.name, self._targets = name, targets
        self.has_roles = all(target.has_roles for target in targets.values())
        self.has_defects = any(target.has_defects for target in targets.values())
        self.image = ""  # each node's is that of its own target

    def prepare(self) -> None:
        for target in {target.name: target for target in self._targets.values()}.values():
            target.prepare()

    def unknown_property(self, kind: Kind, name: str) -> str:
        """Of the first target that does not know it; who is asked for one node asks what runs there."""
        return next((text for t in self._targets.values() if (text := t.unknown_property(kind, name))), "")

    def at(self, node: str) -> Target:
        return self._targets[node]

    def role(self, spec: NodeSpec) -> Role:
        return self.at(spec.name).role(self._plantable(spec))

    def arguments(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        return self.at(spec.name).arguments(self._plantable(spec), folder)

    def command(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        return self.at(spec.name).command(self._plantable(spec), folder)

    def _plantable(self, spec: NodeSpec) -> NodeSpec:
        """Without defects, if this node cannot have them and another of its kind can."""
        alike = [target for name, target in self._targets.items() if Node.named(name).kind == spec.kind]
        if not self.at(spec.name).has_defects and any(target.has_defects for target in alike):
            return replace(spec, defects=())
        return spec


@dataclass(frozen=True)
class Mix:
    """A mix as it was written. *rest*: the target of whoever is not named; *parts*: who, and what for them."""

    rest: str
    parts: tuple[tuple[Selector, str], ...]

    def __str__(self) -> str:
        return ",".join([self.rest, *(f"{who}={target}" for who, target in self.parts)])


def is_mix(text: str) -> bool:
    """Whether *text* names several targets."""
    return "=" in text or "," in text


def parse(text: str) -> Mix:
    """Read *text*; ``UsageError`` with the part that is wrong."""
    rest: list[str] = []
    parts: list[tuple[Selector, str]] = []
    for part in _split(text):
        who, sign, target = part.rpartition("=")
        if sign:
            parts.append((_selector(who, part), target.strip()))
        else:
            rest.append(part.strip())
    if len(rest) != 1:
        what = "no target is for the other nodes" if not rest else f"{' and '.join(rest)} are both for the other nodes"
        raise UsageError(f"{text!r}: {what}", hint=f"one target without a selector, {EXAMPLE}")
    return Mix(rest[0], tuple(parts))


def placed(mix: Mix, servers: Sequence[str], open_target: Callable[[str], Target]) -> MixedTarget:
    """The target of a cluster of these *servers*; ``UsageError`` for who is named twice, or for nobody's target."""
    topology = Topology.of(servers)
    named: dict[str, tuple[str, Target]] = {}
    for who, target in mix.parts:
        opened = open_target(target)
        for node in _nodes(who, topology):
            if node in named:
                raise UsageError(f"{node} has two targets: by {named[node][0]} and by {who}", hint="name it once")
            named[node] = (str(who), opened)
    rest = open_target(mix.rest)
    if len(named) == len(servers):
        raise UsageError(f"{mix.rest} is for nobody: every server is named", hint="leave one selector out")
    return MixedTarget(str(mix), {name: named[name][1] if name in named else rest for name in servers})


def _split(text: str) -> list[str]:
    """At commas outside parentheses."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    if any(not part.strip() for part in parts):
        raise UsageError(f"{text!r} has an empty part", hint=EXAMPLE)
    return parts


def _selector(text: str, part: str) -> Selector:
    try:
        selector = parse_nodes(text)
    except SelectorError as error:
        raise UsageError(f"{part.strip()!r}: {error.what}", hint=error.hint or EXAMPLE) from None
    drawn = next((term for term in selector.terms if term.word in DRAWN), None)
    if drawn is not None:
        raise UsageError(f"{part.strip()!r}: {drawn} would be drawn, a target is not", hint="name the nodes")
    if any(_is_client(term) for term in selector.terms):
        raise UsageError(f"{part.strip()!r}: clients are the harness's own", hint="targets are for servers")
    return selector


def _is_client(term: Term) -> bool:
    if term.word == "node":
        return Node.named(term.argument).kind in ("client", "operator")
    return term.word in ("clients", "client")


def _nodes(who: Selector, topology: Topology) -> tuple[str, ...]:
    try:
        return resolve(who, topology, Random(0))
    except SelectorError as error:
        there = ", ".join(node.name for node in topology.nodes)
        raise UsageError(f"no target for {who}: {error.what}", hint=f"there are {there}") from None
