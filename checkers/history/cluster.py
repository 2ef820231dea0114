"""The cluster over time: who is which node, in which role, of which release, with which settings, at an instant.

Question: a checker meets the name of a node. Is it a broker's, which broker's, and was it master or slave just then?

Model. Members come from ``run.json``: each node's RocketMQ properties and its target (``rocketmq:4.9.7``, ``reference``
with its property ``release``). A member that has a broker name is a broker, by its ``brokerId`` a master (0) or a
slave; any other one is a NameServer. Roles move: a fault that *promotes* a slave makes it a master from the act to the
heal, and where members elect a leader among themselves it is master until the next one is (events ``became_master``;
of brokers that tell nothing themselves, when the NameServers named it, notes ``serves``).

    first_master   as configured at the beginning; its log is the log of the broker where roles do not move
    masters        all who were master some time between two instants

Settings change with a fault that changes properties, from the act to the heal.

Limits. A node that ``run.json`` does not know, as in histories made by hand, is what its name says:
``namesrv-1``, ``client-2``, ``operator``, or broker name and broker id, ``broker-a-0``. Clients are never members.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal

from checkers.history.faults import FaultFact
from checkers.history.history import Events
from checkers.history.spans import NEVER_NS, Span, union

Kind = Literal["broker", "nameserver", "controller", "client"]

MASTER_ID: Final = 0
OPERATOR: Final = "operator"
REFERENCE_RELEASE: Final = "4.9.7"
"""Which release the reference is like, unless a property says otherwise."""


@dataclass(frozen=True)
class Member:
    """One node. ``broker`` is the broker name, ``broker_id`` as configured; empty and −1 for others."""

    node: str
    kind: Kind
    broker: str = ""
    broker_id: int = -1
    release: str = REFERENCE_RELEASE
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_first_master(self) -> bool:
        return self.kind == "broker" and self.broker_id == MASTER_ID


_KINDS: Final[Mapping[str, Kind]] = {"namesrv": "nameserver", "controller": "controller", "client": "client"}
"""By what a node's name begins with; all others are brokers."""
ELECTING: Final = ("enableDLegerCommitLog", "enableControllerMode")
"""Properties of brokers whose roles move by elections."""


@dataclass(frozen=True)
class Mastership:
    """*node* is the master of its broker name from ``begin_ns`` to ``end_ns``."""

    node: str
    begin_ns: int
    end_ns: int = NEVER_NS
    is_elected: bool = False
    """By the members of its group, not by an operator."""
    event: int = -1
    """That tells of an election."""


@dataclass(frozen=True)
class Cluster:
    """The members of a run, and what became of them."""

    members: Mapping[str, Member] = field(default_factory=dict)
    masterships: Mapping[str, tuple[Mastership, ...]] = field(default_factory=dict)
    """By broker name, those that began after the start of the run."""
    faults: tuple[FaultFact, ...] = ()
    target: str = ""
    """Of nodes that are no members."""

    @staticmethod
    def of(
        nodes: Mapping[str, Mapping[str, str]],
        targets: Mapping[str, str],
        faults: Iterable[FaultFact] = (),
        events: Events | None = None,
        target: str = "",
    ) -> Cluster:
        """From what ``run.json`` tells of nodes and targets, and what happened; *target*: of who is in no list."""
        known = {node: _member(node, properties, targets.get(node, "")) for node, properties in nodes.items()}
        faults = tuple(faults)
        return Cluster(known, _masterships(known, faults, events), faults, target)

    def member(self, node: str) -> Member:
        """Who *node* is; by its name where nobody else tells."""
        return self.members.get(node) or replace(_named(node), release=_release(self.target, {}))

    def broker_of(self, node: str) -> str:
        """The broker name of *node*; a broker name itself is its own; empty for NameServers and clients."""
        return node if node in self._brokers else self.member(node).broker

    def is_broker(self, node: str) -> bool:
        return self.member(node).kind == "broker"

    def is_nameserver(self, node: str) -> bool:
        return self.member(node).kind == "nameserver"

    def directs(self, node: str) -> bool:
        """It holds no messages and tells others where they are or who serves: a NameServer, or a controller."""
        return self.member(node).kind in ("nameserver", "controller")

    def is_client(self, node: str) -> bool:
        return self.member(node).kind == "client"

    def release_of(self, node: str) -> str:
        return self.member(node).release

    @cached_property
    def _brokers(self) -> frozenset[str]:
        return frozenset(member.broker for member in self.members.values() if member.broker)

    @property
    def brokers(self) -> list[str]:
        """Broker names, sorted."""
        return sorted(self._brokers)

    def nodes_of(self, broker: str) -> list[str]:
        """Nodes of one broker name, in name order."""
        return sorted(node for node, member in self.members.items() if member.broker == broker)

    def nameservers(self) -> list[str]:
        return sorted(node for node, member in self.members.items() if member.kind == "nameserver")

    def first_master(self, broker: str) -> str:
        """Who is configured to be master at the beginning."""
        if elected := self.elections(broker):
            return elected[0].node
        found = [node for node in self.nodes_of(broker) if self.members[node].is_first_master]
        return found[0] if found else f"{broker}-{MASTER_ID}"

    def elections(self, broker: str) -> list[Mastership]:
        """Who was elected by the members of *broker*, in order; empty where nobody is."""
        return [mastership for mastership in self.masterships.get(broker, ()) if mastership.is_elected]

    def master_at(self, broker: str, ns: int) -> str:
        """Who acts as master at that instant; of two at a time the one that was made so last."""
        began = [m for m in self.masterships.get(broker, ()) if m.begin_ns <= ns < m.end_ns]
        return max(began, key=lambda m: m.begin_ns).node if began else self.first_master(broker)

    def masters(self, broker: str, begin_ns: int = 0, end_ns: int = NEVER_NS) -> frozenset[str]:
        """All who were master between the two instants, and the first one, whose log the broker's is."""
        later = {m.node for m in self.masterships.get(broker, ()) if m.begin_ns <= end_ns and begin_ns <= m.end_ns}
        return frozenset({self.first_master(broker), *later})

    def tenures(self, broker: str) -> dict[str, list[Span]]:
        """Node → when it acted as the master of *broker*; of two at a time the one that was made so last."""
        instants = sorted({0, *(edge for m in self.masterships.get(broker, ()) for edge in (m.begin_ns, m.end_ns))})
        found: dict[str, list[Span]] = {}
        for begin_ns, end_ns in pairwise([*instants, NEVER_NS]):
            found.setdefault(self.master_at(broker, begin_ns), []).append((begin_ns, end_ns))
        return {node: union(spans) for node, spans in found.items()}

    def is_master(self, node: str, ns: int = 0) -> bool:
        broker = self.broker_of(node)
        return bool(broker) and node == self.master_at(broker, ns)

    def slaves(self, broker: str, ns: int = 0) -> tuple[str, ...]:
        """Nodes of *broker* that are no masters at that instant, in name order."""
        master = self.master_at(broker, ns)
        return tuple(node for node in self.nodes_of(broker) if node != master)

    def is_slave(self, node: str) -> bool:
        """Whether *node* is a broker's and not its first master; a broker name is no node."""
        member = self.member(node)
        is_node = member.broker_id >= MASTER_ID and node not in self._brokers
        return is_node and node != self.first_master(member.broker)

    def properties(self, node: str, ns: int = 0) -> Mapping[str, str]:
        """Its settings at that instant."""
        settings = dict(self.member(node).properties)
        for fault in self.faults:
            begin_ns, end_ns = fault.lasts
            if fault.took_effect_on(node) and begin_ns <= ns < end_ns:
                settings |= _assignments(fault.value_of("changes-properties"))
        return settings

    def hits(self, fault: FaultFact, broker: str) -> bool:
        """Whether *fault* concerns the master of *broker*: ended, silenced or changed it, took its data, or separated
        it from clients. Slaves do not count, since nobody writes to them, unless one is being promoted."""
        if fault.does("promotes"):
            return any(self.broker_of(node) == broker for node in fault.left)
        masters = self.masters(broker, *fault.lasts)
        if not fault.does("separates"):
            return any(node in masters for node in fault.left)
        if fault.ports not in ("any", "broker"):
            return False
        sides = ((fault.left, fault.right), (fault.right, fault.left))
        return any(
            any(node in masters for node in side) and any(self.is_client(node) for node in other)
            for side, other in sides
        )

    def slave_taken(self, fault: FaultFact, broker: str) -> str:
        """Whose data took the place of what the master of *broker* had; empty if nobody tells."""
        if fault.does("promotes"):
            return next((node for node in fault.left if self.broker_of(node) == broker), "")
        masters = sorted(self.masters(broker, *fault.lasts))
        return next((fault.taken_from[node] for node in masters if node in fault.taken_from), "")


def _member(node: str, properties: Mapping[str, str], target: str) -> Member:
    release = _release(target, properties)
    if "brokerName" in properties:
        number = int(properties.get("brokerId", MASTER_ID))
        return Member(node, "broker", properties["brokerName"], number, release, properties)
    named = _named(node)
    return Member(node, named.kind, named.broker, named.broker_id, release, properties)


def _release(target: str, properties: Mapping[str, str]) -> str:
    """``5.3.3`` of ``rocketmq:5.3.3``; the reference says by a property which release it is like."""
    return target.partition(":")[2] or properties.get("release", REFERENCE_RELEASE)


def _named(node: str) -> Member:
    """What a name says."""
    stem, _, tail = node.rpartition("-")
    if node == OPERATOR:
        return Member(node, "client")
    if not stem or not tail.isdecimal():
        return Member(node, "broker", node)  # a broker name
    if stem in _KINDS:
        return Member(node, _KINDS[stem])
    return Member(node, "broker", stem, int(tail))


def _masterships(
    members: Mapping[str, Member], faults: tuple[FaultFact, ...], events: Events | None
) -> dict[str, tuple[Mastership, ...]]:
    found: dict[str, list[Mastership]] = {}
    for fault in faults:
        for node in fault.left if fault.does("promotes") and fault.effective != 0 else ():
            broker = (members.get(node) or _named(node)).broker
            found.setdefault(broker, []).append(Mastership(node, *fault.lasts))
    for broker, elected in _elected(members, events).items():
        found.setdefault(broker, []).extend(elected)
    return {broker: tuple(sorted(those, key=lambda m: m.begin_ns)) for broker, those in found.items()}


def _elected(members: Mapping[str, Member], events: Events | None) -> dict[str, list[Mastership]]:
    """Who became master by an election; each until the next one."""
    if events is None:
        return {}
    told = events.kind.mask("role") & events.step.mask("became_master")
    listed = events.kind.mask("note") & events.step.mask("serves")
    by_broker: dict[str, list[tuple[int, str, int]]] = {}
    for rows in (told, listed):
        known = frozenset(by_broker)
        for row in rows.nonzero()[0].tolist():
            node = events.node[row]
            broker = (members.get(node) or _named(node)).broker
            if broker not in known and (rows is told or _elects(members, broker)):
                by_broker.setdefault(broker, []).append((int(events.ns[row]), node, int(events.event[row])))
    return {broker: _in_turn(elected) for broker, elected in by_broker.items()}


def _elects(members: Mapping[str, Member], broker: str) -> bool:
    """Whether the nodes of *broker* are configured as members of a group, or as replicas of controllers."""
    of_broker = (member for member in members.values() if member.broker == broker)
    return any(member.properties.get(name) == "true" for member in of_broker for name in ELECTING)


def _in_turn(elected: list[tuple[int, str, int]]) -> list[Mastership]:
    ends = [ns for ns, _, _ in elected[1:]]
    return [
        Mastership(node, ns, end_ns, is_elected=True, event=event)
        for (ns, node, event), end_ns in zip(elected, [*ends, NEVER_NS], strict=True)
    ]


def _assignments(text: str) -> dict[str, str]:
    """``name=value, name=value``, as plans write them."""
    parts = (part.partition("=") for part in text.split(",") if "=" in part)
    return {name.strip(): value.strip() for name, _, value in parts}
