"""The table of loads, observers and operators: the one place that knows their names.

Question: what may a scenario's ``workload`` be made of, and which class is each?

    load        who sends and who reads                               log, batch, producer, group, external …
    observers   who asks nodes again and again what they know         routes, ends, masters
    operators   who changes something at set times, and looks at it   permissions, order, metadata

Model. A scenario has one load and any of the others (:func:`make_workload`). Those are *parts* of a client node: of the
first measuring consumer, or of all of them (``everywhere``), or of a node of their own if the load has none. Names of
the time when each pair was a kind of its own still stand for what they meant (:data:`SHORTHANDS`).

    to add one   a module, and a row here

Limits. Rows name modules, which are imported when they are made: scenario files are read without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from harness.workloads.parts import Part, PartHost
    from harness.workloads.workload import Stage, Workload


Again = Literal["nobody", "producers", "everybody"]


@dataclass(frozen=True)
class LoadRow:
    """One load; ``maker`` is ``module:name`` of what takes a stage and the rows of its companions."""

    name: str
    summary: str
    maker: str
    begins_again: Again = "nobody"
    """Whose clients can be killed, stopped and started."""
    is_simulated: bool = True
    """Its clients are roles of ours, which a simulator can run."""
    is_for_grids: bool = True
    """Whatever befalls a cluster, its check has something to judge; else a scenario must see to it."""
    broker: Mapping[str, str] = field(default_factory=dict)
    """Properties of brokers without which a run of seconds shows little; grids set them."""
    needs_properties: bool = False
    """Without them it would mean something else: a scenario that does not set them is refused."""

    def can_end(self, client: int, producers: int) -> bool:
        """Whether *client* (from 1; the *producers* come first) may die, since it knows how to begin again."""
        return self.begins_again == "everybody" or (self.begins_again == "producers" and client <= producers)

    def make(self, stage: Stage, companions: Sequence[Companion]) -> Workload:
        workload: Workload = _found(self.maker)(stage, companions)
        return workload


@dataclass(frozen=True)
class Companion:
    """One observer or operator; ``maker`` is ``module:name`` of what takes the client node that hosts it."""

    name: str
    summary: str
    maker: str
    is_everywhere: bool = False
    """On every measuring consumer, not only on the first."""
    attacks: bool = False
    """It is there to break a guarantee: what the load shows beside it is its doing."""
    is_alone: bool = False
    """It asks for all that there is, or needs settings of its own: another operator would change its answers."""

    def make(self, host: PartHost) -> Part:
        part: Part = _found(self.maker)(host)
        return part


def _found(maker: str) -> Callable[..., Any]:
    module, _, name = maker.partition(":")
    made: Callable[..., Any] = getattr(import_module(module, __package__), name)
    return made


DELAY_LEVELS: Final = "1s 10s 2s 11s 3s 12s 4s 13s 5s 14s 6s 15s 7s 16s 8s 17s 9s 18s"
"""``messageDelayLevel`` for runs of seconds: who takes a level for its neighbour is early with one of the two."""

AGAIN: Final = "everybody"
"""``begins_again``."""

LOADS: Final[dict[str, LoadRow]] = {
    row.name: row
    for row in (
        LoadRow("log", "producers that never retry, consumers that pull; everything is recorded", ".log:LogWorkload"),
        LoadRow("batch", "the same, but producers send four messages in one request", ".batches:BatchWorkload"),
        LoadRow("producer", "RocketMQ's own producers, with their retries", ".producers:ProducerWorkload", "producers"),
        LoadRow(
            "producer-avoiding",
            "the same, with their avoidance of brokers that were slow or failed",
            ".avoiding:AvoidingWorkload",
            "producers",
            is_for_grids=False,
        ),
        LoadRow(
            "producer-avoiding-5x",
            "the same, as 5.x does it",
            ".avoiding:Avoiding5xWorkload",
            "producers",
            is_for_grids=False,
        ),
        LoadRow("group", "the producers of log, and consumer groups that commit offsets", ".group:GroupWorkload"),
        LoadRow("push", "the producers of producer, and a group of push consumers", ".push:PushWorkload", AGAIN),
        LoadRow("push-delayed", "the same, with delayed messages", ".push:DelayedWorkload", AGAIN),
        LoadRow(
            "push-levels",
            "the same, with all eighteen delay levels",
            ".push:LevelsWorkload",
            AGAIN,
            broker={"messageDelayLevel": DELAY_LEVELS},
            needs_properties=True,
        ),
        LoadRow(
            "push-timers",
            "the same, with messages that want a time of their own (5.x)",
            ".push:TimersWorkload",
            AGAIN,
            broker={"release": "5.3.3", "timerWheelEnable": "true"},
            needs_properties=True,
        ),
        LoadRow("push-retries", "the same, with messages that always fail", ".retries:RetryWorkload", AGAIN),
        LoadRow("push-ordered", "the same, with keys and orderly listeners", ".ordered:OrderedWorkload", AGAIN),
        LoadRow("push-tags", "the same, with tags and a property; the group wants some", ".tags:TagsWorkload", AGAIN),
        LoadRow(
            "push-sql",
            "the same, with a condition in SQL92",
            ".sql:SqlWorkload",
            AGAIN,
            broker={"enablePropertyFilter": "true"},
            needs_properties=True,
        ),
        LoadRow("broadcast", "the same, but every member reads everything", ".push:BroadcastWorkload", AGAIN),
        LoadRow(
            "transactions",
            "halves, commits, rollbacks, questions",
            ".transactions:TransactionWorkload",
            AGAIN,
            broker={"transactionCheckInterval": "5000", "transactionTimeOut": "2000"},
        ),
        LoadRow("requests", "clients that ask, and a group that replies", ".requests:RequestWorkload", AGAIN),
        LoadRow("locks", "clients that lock queues at their brokers", ".locks:LockWorkload", AGAIN),
        LoadRow(
            "external",
            "other people's producers and a group of their consumers",
            ".external:ExternalWorkload",
            is_simulated=False,
        ),
        LoadRow(
            "external-ordered",
            "the same, with keys and orderly listeners",
            ".external:OrderedExternalWorkload",
            is_simulated=False,
        ),
    )
}
OBSERVERS: Final[dict[str, Companion]] = {
    row.name: row
    for row in (
        Companion("routes", "what every NameServer lists", ".routes:RoutesPart", is_everywhere=True),
        Companion("ends", "the end of a queue on all nodes that have it", ".scripts:ends"),
        Companion("masters", "who is master, at every NameServer", ".scripts:masters"),
    )
}
OPERATORS: Final[dict[str, Companion]] = {
    row.name: row
    for row in (
        Companion("permissions", "write permission away and back, then read only, write only", ".scripts:permissions"),
        Companion("order", "a topic becomes ordered, and is no more", ".scripts:order"),
        Companion("host-bit", "one send with a bit that only a broker may set", ".hostile:host_bit", attacks=True),
        Companion(
            "ha-report", "a report of 2^62 at a master's HA port, by nobody's slave", ".hostile:HaReport", attacks=True
        ),
        Companion(
            "made-up-slave", "nobody's slaves: one follows, one is silent", ".made_up_slave:MadeUpSlave", is_alone=True
        ),
        Companion("metadata", "topics, groups, offsets, delayed messages, every two seconds", ".scripts:metadata"),
        Companion(
            "topic-life", "a topic and its groups, from the first to the last", ".topic_life:topic_life", is_alone=True
        ),
        Companion("lookups", "messages are looked up by key, time and place", ".lookups:lookups", is_alone=True),
        Companion("sends", "messages of all shapes, large answers, delayed ones", ".sends:sends", is_alone=True),
        Companion(
            "moved-group", "a push consumer is sent back in time, and leaves", ".moved_group:moved_group", is_alone=True
        ),
        Companion(
            "nameserver-tables",
            "entries and settings of NameServers come and go",
            ".nameserver_tables:tables",
            is_alone=True,
        ),
        Companion(
            "nameserver-entries", "entries that outlive a NameServer", ".nameserver_tables:entries", is_alone=True
        ),
        Companion("registrations", "made-up brokers come, move and go", ".registrations:registrations", is_alone=True),
        Companion("registrations-5x", "the same, as 5.x has it", ".registrations:registrations_5x", is_alone=True),
        Companion("admin-client", "our own client for administration", ".admin_client:admin_client", is_alone=True),
        Companion("halves", "halves that end well, wrongly, or not at all", ".halves:halves", is_alone=True),
        Companion("figures", "what a broker tells of itself and of its clients", ".figures:figures", is_alone=True),
        Companion("acting", "a slave acts as its dead master, until that is back", ".acting:acting", is_alone=True),
        Companion(
            "member-rpcs", "a group's own protocol, spoken to its members", ".member_rpcs:member_rpcs", is_alone=True
        ),
        Companion("wishes", "members of groups wish, and are given what they want", ".wishes:wishes", is_alone=True),
    )
}


class Made(NamedTuple):
    """What a shorthand stands for."""

    load: str
    operators: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()


SHORTHANDS: Final[dict[str, Made]] = {
    "routes": Made("log", observers=("routes",)),
    "permissions": Made("log", operators=("permissions",)),
    "order": Made("log", operators=("order",)),
    "metadata": Made("log", operators=("metadata",)),
    "replication": Made("log", observers=("ends",)),
    "moving": Made("producer", observers=("ends",)),
    "promotion": Made("producer", observers=("masters",)),
}
"""Kinds of former scenario files."""


def make_workload(stage: Stage, load: str, operators: Sequence[str], observers: Sequence[str]) -> Workload:
    """``KeyError`` for names that scenario files would not have let pass."""
    companions = [*(OPERATORS[name] for name in operators), *(OBSERVERS[name] for name in observers)]
    return LOADS[load].make(stage, companions)
