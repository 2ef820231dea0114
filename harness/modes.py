"""The table of modes: which clusters there are, what each consists of, and how it is configured.

Question: a scenario names its mode. How many brokers and slaves has it if it does not say, how many may it have, which
RocketMQ properties make its masters and slaves, and which of its clusters are rows of the matrix?

Model. One :class:`Mode` a mode; scenario files, the matrix and ``mqchaos list modes`` read this table and nothing else.
A mode is added by one row here and one contract (``checkers/contracts/<mode>.yaml``), which also says where lists put
it.

Limits. What a mode guarantees stands in its contract.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from faults.selectors import Role

Flush = Literal["async", "sync"]


@dataclass(frozen=True)
class Count:
    """How many there may be, and how many there are if a scenario does not say."""

    least: int
    most: int
    default: int

    def problem(self, count: int, what: str) -> str:
        """Why there cannot be *count*; empty if there can."""
        if self.least <= count <= self.most:
            return ""
        if not self.most:
            return f"has no {what}s"
        if self.least == self.most:
            return f"has {self.least} {what}{'s' if self.least > 1 else ''}, not {count}"
        if count < self.least:
            return f"needs at least {self.least} {what}{'s' if self.least > 1 else ''}"
        return f"has at most {self.most} {what}s, not {count}"


@dataclass(frozen=True)
class GridRow:
    """One row of the matrix; ``by_default``: also if nobody asks for it."""

    flush: Flush
    brokers: int
    slaves: int = 0
    by_default: bool = False


@dataclass(frozen=True)
class Mode:
    """One deployment mode. ``hint`` goes with the complaint about a count that does not fit."""

    name: str
    brokers: Count
    slaves: Count
    grid: tuple[GridRow, ...]
    master: Mapping[str, str] = field(default_factory=lambda: {"brokerRole": "ASYNC_MASTER"})
    """What the nodes with broker id 0 say. ``{broker}``, ``{number}`` and ``{peers}`` (the nodes of the broker name as
    members of a group) stand for the node's own."""
    slave: Mapping[str, str] = field(default_factory=lambda: {"brokerRole": "SLAVE", "slaveReadEnable": "true"})
    hint: str = ""
    roles_move: bool = False
    """Who serves a broker name is elected: the run asks the NameServers who it is, the configuration does not tell."""
    nameserver: Mapping[str, str] = field(default_factory=dict)
    """What NameServers say besides, if no controllers stand apart: that they are them."""
    controllers: Count = Count(0, 0, 0)
    """That may stand apart."""
    controller: Mapping[str, str] = field(default_factory=dict)
    """What controllers say, apart or in NameServers; ``{number}``, ``{controllers}`` and ``{electors}`` stand for who
    they are together."""
    since: str = ""
    """The first release of Apache's that has it; the reference has not got a mode that says one."""

    @property
    def role_words(self) -> tuple[Role, Role]:
        """What who serves a broker name and who does not are called."""
        return ("leader", "follower") if self.roles_move else ("master", "slave")

    @property
    def has_slaves(self) -> bool:
        return self.slaves.most > 0


_NONE: Final = Count(0, 0, 0)
_SLAVES: Final = Count(1, 9, 1)

_MEMBER: Final = {
    "enableDLegerCommitLog": "true",
    "dLegerGroup": "{broker}",
    "dLegerSelfId": "n{number}",
    "dLegerPeers": "{peers}",
    "slaveReadEnable": "true",
}
"""Of a group, whose members elect who serves."""

_CONTROLLED: Final = {
    "enableControllerMode": "true",
    "controllerAddr": "{controllers}",
    # Else SEND_OK waits for nobody, as in the asynchronous mode.
    "allAckInSyncStateSet": "true",
    "inSyncReplicas": "2",
    "minInSyncReplicas": "2",
    "totalReplicas": "3",
    "slaveReadEnable": "true",
}
"""Of a broker to whom controllers give its id and its role."""

_CONTROLLER: Final = {
    "controllerDLegerGroup": "controllers",
    "controllerDLegerPeers": "{electors}",
    "controllerDLegerSelfId": "n{number}",
}
"""Of a controller, which may be a NameServer, too; they agree on their decisions by DLedger."""

_ROWS: Final = (
    Mode(
        "single-master",
        brokers=Count(1, 1, 1),
        slaves=_NONE,
        grid=(GridRow("async", 1, by_default=True), GridRow("sync", 1, by_default=True)),
        hint="or use multi-master",
    ),
    Mode(
        "multi-master",
        brokers=Count(2, 26, 2),
        slaves=_NONE,
        grid=(GridRow("async", 3, by_default=True), GridRow("sync", 3)),
        hint="or use a mode with slaves, or single-master",
    ),
    Mode(
        "multi-master-multi-slave-async",
        brokers=Count(1, 26, 2),
        slaves=_SLAVES,
        grid=(GridRow("async", 2, 1, by_default=True), GridRow("sync", 2, 1)),
        hint="or use multi-master",
    ),
    Mode(
        "multi-master-multi-slave-sync",
        brokers=Count(1, 26, 2),
        slaves=_SLAVES,
        grid=(GridRow("async", 2, 1, by_default=True), GridRow("sync", 2, 1)),
        # A 5.x master waits for nobody unless inSyncReplicas says so.
        master={"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"},
        hint="or use multi-master",
    ),
    Mode(
        "dledger",
        brokers=Count(1, 26, 1),
        slaves=Count(1, 8, 2),
        grid=(GridRow("async", 1, 2),),
        master=_MEMBER,
        slave=_MEMBER,
        roles_move=True,
    ),
    Mode(
        "controller",
        brokers=Count(1, 26, 1),
        slaves=Count(1, 8, 2),
        grid=(),
        master=_CONTROLLED,
        slave=_CONTROLLED,
        nameserver={"enableControllerInNamesrv": "true"},
        controllers=Count(0, 9, 0),
        controller=_CONTROLLER,
        roles_move=True,
        since="5.0",
    ),
)

MODES: Final[dict[str, Mode]] = {mode.name: mode for mode in _ROWS}
