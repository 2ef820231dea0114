"""Who is hit: selectors, written in a plan, resolved against the cluster at the moment of the fault.

Question: which nodes does ``master(broker-a)`` or ``one of slaves`` mean *now*? The answer goes into the history, so
that a reader never has to guess who was separated from whom.

Grammar (blanks do not matter, names are RocketMQ's and ours):

    nodes := term ("," term)*                           the union, in the cluster's order
    term  := all | brokers | masters | slaves | leader | followers | nameservers | controllers
           | clients
           | broker(NAME) | master(NAME) | slave(NAME) | leader(NAME) | follower(NAME)
           | nameserver(N) | controller(N) | client(N)
           | one of TERM | one(nodes) | some(nodes) | minority(nodes) | majority(nodes)
           | minority | majority                      of the nodes of each broker name
           | NODE                                       a node by its own name, e.g. broker-a-0
    sides := nodes "|" nodes | nodes "|" rest           left and right of a partition
           | link(TERM, TERM) | link(TERM, TERM, any|broker|namesrv|ha)

``one``, ``some`` (any non-empty part), ``minority`` ((n−1)/2 of n) and ``majority`` (n/2+1) are drawn from the
generator of the plan. ``all`` means every server, not the clients; ``rest`` is everybody who is not on the left,
clients included. ``masters`` are those who serve a broker name now, a ``leader`` among them; ``leader`` and
``followers`` fit nobody in modes that elect nobody.

Limits. Roles are what the topology says. By names alone (:meth:`Topology.of`) ``broker-a-0`` is broker ``broker-a``
with brokerId 0, its master; a run hands over the roles of the moment (``harness/addressing.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal, get_args

from faults.errors import SelectorError
from faults.levers import PortClass

NodeKind = Literal["namesrv", "controller", "broker", "client", "operator"]
_NUMBERED: Final[Mapping[str, NodeKind]] = {"namesrv": "namesrv", "controller": "controller", "client": "client"}
"""By what a name begins with: all that are no brokers and have numbers."""
Role = Literal["", "master", "slave", "leader", "follower"]
"""Of a broker; ``""``: none now (a dead master whose place another has taken), or no broker."""


@dataclass(frozen=True)
class Node:
    """One node as a selector sees it. ``broker`` is the broker name (empty for others), ``number`` the broker id, or
    the number of the NameServer, controller or client."""

    name: str
    kind: NodeKind
    number: int = 0
    broker: str = ""
    role: Role = ""

    @property
    def is_master(self) -> bool:
        """It serves its broker name: as its master, or as the leader of its group."""
        return self.role in ("master", "leader")

    @property
    def is_slave(self) -> bool:
        """It copies who serves its broker name."""
        return self.role in ("slave", "follower")

    @classmethod
    def named(cls, name: str) -> Node:
        """What a name says: ``namesrv-2``, ``client-1``, ``operator``, ``broker-a-0``; ``ValueError`` for others."""
        stem, _, tail = name.rpartition("-")
        if name == "operator":
            return cls(name, "operator")
        if not stem or not tail.isdecimal():
            raise ValueError(f"{name!r} is not a node name: expected NAME-NUMBER")
        if stem in _NUMBERED:
            return cls(name, _NUMBERED[stem], int(tail))
        return cls(name, "broker", int(tail), stem, "master" if tail == "0" else "slave")


@dataclass(frozen=True)
class Topology:
    """Who is there now, in a stable order; every answer keeps that order."""

    nodes: tuple[Node, ...]

    @classmethod
    def of(cls, names: Iterable[str]) -> Topology:
        """The static topology that node names tell."""
        return cls(tuple(Node.named(name) for name in names))

    def with_roles(self, roles: Mapping[str, Role]) -> Topology:
        """The same nodes, in other roles; one that is not named keeps its own."""
        return Topology(tuple(replace(node, role=roles.get(node.name, node.role)) for node in self.nodes))

    def names(self, which: Callable[[Node], bool]) -> tuple[str, ...]:
        """Names of the nodes for which *which* holds."""
        return tuple(node.name for node in self.nodes if which(node))

    def ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """*names* without repetition, in the topology's order."""
        wanted = frozenset(names)
        return self.names(lambda node: node.name in wanted)


@dataclass(frozen=True)
class Term:
    """One parsed term: a word and its argument. ``word`` is a key of the tables below, or ``node``."""

    word: str
    argument: str = ""
    inner: tuple[Term, ...] = ()

    def __str__(self) -> str:
        inside = ", ".join(map(str, self.inner)) or self.argument
        if self.word == "node":
            return self.argument
        return f"{self.word}({inside})" if inside else self.word


@dataclass(frozen=True)
class Selector:
    """A union of terms."""

    terms: tuple[Term, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.terms))


@dataclass(frozen=True)
class SidesSelector:
    """Two sides. ``right`` is ``None`` for *rest*; ``ports`` is set only by ``link(a, b, ports)``."""

    left: Selector
    right: Selector | None
    ports: PortClass | None = None

    def __str__(self) -> str:
        if self.ports is not None:
            return f"link({self.left}, {self.right}, {self.ports})"
        return f"{self.left} | {'rest' if self.right is None else self.right}"


_GROUPS: Final[dict[str, Callable[[Node], bool]]] = {
    "all": lambda node: node.kind in ("namesrv", "controller", "broker"),
    "brokers": lambda node: node.kind == "broker",
    "masters": lambda node: node.is_master,
    "slaves": lambda node: node.is_slave,
    "leader": lambda node: node.role == "leader",
    "followers": lambda node: node.role == "follower",
    "nameservers": lambda node: node.kind == "namesrv",
    "controllers": lambda node: node.kind == "controller",
    "clients": lambda node: node.kind == "client",
}

_NAMED: Final[dict[str, Callable[[Node, str], bool]]] = {
    "broker": lambda node, argument: node.broker == argument,
    "master": lambda node, argument: node.broker == argument and node.is_master,
    "slave": lambda node, argument: node.broker == argument and node.is_slave,
    "leader": lambda node, argument: node.broker == argument and node.role == "leader",
    "follower": lambda node, argument: node.broker == argument and node.role == "follower",
    "nameserver": lambda node, argument: node.kind == "namesrv" and str(node.number) == argument,
    "controller": lambda node, argument: node.kind == "controller" and str(node.number) == argument,
    "client": lambda node, argument: node.kind == "client" and str(node.number) == argument,
}

_DRAWN: Final[dict[str, Callable[[Random, int], int]]] = {
    "one": lambda rng, count: 1,
    "some": lambda rng, count: rng.randint(1, count),
    "minority": lambda rng, count: (count - 1) // 2,
    "majority": lambda rng, count: count // 2 + 1,
}

_OF_EACH_NAME: Final = ("minority", "majority")
"""Drawn words that may stand alone: of the nodes of each broker name."""

WORDS: Final = (*_GROUPS, *_OF_EACH_NAME, *(f"{word}(…)" for word in (*_NAMED, *_DRAWN)), "one of …")
"""For help texts and documentation."""

SERVING: Final = ("masters", "leader", "leaders")
"""Groups that a fault is on where nothing else is said."""
WITH_SERVING: Final = ("all", "brokers", *_OF_EACH_NAME)
"""Groups that those who serve may belong to."""
LINK: Final = "link"

_TOKEN: Final = re.compile(r"\s*(?:(?P<word>[A-Za-z0-9_][A-Za-z0-9_.-]*)|(?P<sign>[(),|]))")


def group_named(text: str) -> str:
    """The group that a selector names first, ``clients`` for ``client(1) | masters``, ``link`` for a link; empty for
    those who serve, and where nodes have names of their own only."""
    for word in re.findall(r"[A-Za-z0-9_.-]+", text):
        group = word if word in (*_GROUPS, *_OF_EACH_NAME, LINK) else f"{word}s" if word in _NAMED else ""
        if group:
            return "" if group in SERVING else group
    return ""


class _Parser:
    """Recursive descent over tokens; errors carry the offset within the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._tokens(text)
        self.index = 0

    @staticmethod
    def _tokens(text: str) -> list[tuple[str, int]]:
        tokens, position, end = [], 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise SelectorError(f"unexpected {text[position:].strip()[0]!r}", offset=position)
            tokens.append((match.group(match.lastgroup or 0), match.start(match.lastgroup or 0)))
            position = match.end()
        return tokens

    def peek(self) -> str:
        return self.tokens[self.index][0] if self.index < len(self.tokens) else ""

    def offset(self) -> int:
        return self.tokens[self.index][1] if self.index < len(self.tokens) else len(self.text)

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if (expected and token != expected) or not token:
            found = repr(token) if token else "the end"
            raise SelectorError(
                f"expected {repr(expected) if expected else 'a selector'}, found {found}", offset=self.offset()
            )
        self.index += 1
        return token

    def finish(self) -> None:
        if self.peek():
            raise SelectorError(f"unexpected {self.peek()!r}", offset=self.offset())

    def nodes(self) -> Selector:
        terms = [self.term()]
        while self.peek() == ",":
            self.take(",")
            terms.append(self.term())
        return Selector(tuple(terms))

    def term(self) -> Term:
        start = self.offset()
        word = self.take()
        if word in "(),|":
            raise SelectorError(f"expected a selector, found {word!r}", offset=start)
        if word == "one" and self.peek() == "of":
            self.take("of")
            return Term("one", inner=(self.term(),))
        if self.peek() == "(":
            return self._call(word, start)
        if word in _GROUPS or word in _OF_EACH_NAME:
            return Term(word)
        return self._node(word, start)

    def _call(self, word: str, start: int) -> Term:
        self.take("(")
        if word in _DRAWN:
            term = Term(word, inner=self.nodes().terms)
        elif word in _NAMED:
            term = Term(word, self.take())
        else:
            raise SelectorError(f"unknown selector {word!r}", offset=start, known=(*_NAMED, *_DRAWN, LINK), word=word)
        self.take(")")
        return term

    @staticmethod
    def _node(word: str, start: int) -> Term:
        try:
            Node.named(word)
        except ValueError:
            if word in _NAMED:
                raise SelectorError(f"{word} of what?", offset=start, hint=f"{word}(…), or {word}s of all") from None
            if word.startswith("broker-"):
                hint = f"a node is {word}-0, all nodes of a broker are broker({word})"
                raise SelectorError(f"{word!r} names no node", offset=start, hint=hint) from None
            raise SelectorError(
                f"unknown selector {word!r}", offset=start, known=(*_GROUPS, *_NAMED, *_DRAWN), word=word
            ) from None
        return Term("node", word)

    def sides(self) -> SidesSelector:
        if self.peek() == LINK:
            return self._link()
        left = self.nodes()
        self.take("|")
        if self.peek() == "rest":
            self.take("rest")
            return SidesSelector(left, None)
        return SidesSelector(left, self.nodes())

    def _link(self) -> SidesSelector:
        self.take(LINK)
        self.take("(")
        left = self.term()
        self.take(",")
        right = self.term()
        ports: PortClass = "any"
        if self.peek() == ",":
            self.take(",")
            start = self.offset()
            ports = port_class(self.take(), start)
        self.take(")")
        return SidesSelector(Selector((left,)), Selector((right,)), ports)


def port_class(text: str, offset: int = 0) -> PortClass:
    """``any``, ``broker``, ``namesrv`` or ``ha``; :class:`SelectorError` for others."""
    for name in get_args(PortClass):
        if name == text:
            known: PortClass = name
            return known
    raise SelectorError(f"unknown port class {text!r}", offset=offset, known=get_args(PortClass), word=text)


def parse_nodes(text: str) -> Selector:
    """A selector of nodes; :class:`SelectorError` with the offset of the trouble."""
    parser = _Parser(text)
    selector = parser.nodes()
    parser.finish()
    return selector


def parse_sides(text: str) -> SidesSelector:
    """A selector of two sides (``left | right`` or ``link(a, b, ports)``)."""
    parser = _Parser(text)
    selector = parser.sides()
    parser.finish()
    return selector


def resolve(selector: Selector, topology: Topology, rng: Random) -> tuple[str, ...]:
    """The nodes meant now, in the topology's order, never empty: :class:`SelectorError` if nobody fits."""
    return topology.ordered(name for term in selector.terms for name in _resolve_term(term, topology, rng))


def _resolve_term(term: Term, topology: Topology, rng: Random) -> Sequence[str]:
    names = _candidates(term, topology, rng)
    if not names:
        raise SelectorError(f"{term} fits no node of this cluster")
    return names


def _candidates(term: Term, topology: Topology, rng: Random) -> Sequence[str]:
    if term.word == "node":
        return topology.names(lambda node: node.name == term.argument)
    if term.word in _NAMED and term.argument:
        return topology.names(lambda node: _NAMED[term.word](node, term.argument))
    if term.word in _GROUPS:
        return topology.names(_GROUPS[term.word])
    if not term.inner:
        names = dict.fromkeys(node.broker for node in topology.nodes if node.broker)
        pools = [topology.names(lambda node, name=name: node.broker == name) for name in names]  # type: ignore[misc]
    else:
        pools = [resolve(Selector(term.inner), topology, rng)]
    return [name for pool in pools for name in rng.sample(pool, min(len(pool), _DRAWN[term.word](rng, len(pool))))]


def resolve_sides(selector: SidesSelector, topology: Topology, rng: Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Both sides, never empty and disjoint."""
    left = resolve(selector.left, topology, rng)
    if selector.right is None:
        right = topology.names(lambda node: node.name not in left)
    else:
        right = resolve(selector.right, topology, rng)
    both = [name for name in left if name in right]
    if both:
        raise SelectorError(f"{', '.join(both)} is on both sides of {selector}")
    if not right:
        raise SelectorError(f"nobody is on the right side of {selector}")
    return left, right
