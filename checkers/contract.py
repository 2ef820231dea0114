"""What a deployment mode guarantees, and which answers of a broker promise it.

Question: an operation ended with this status; was anything promised? A fault of this kind hit a node of this mode; who
may lose what, by which mechanism, and when must service be back?

Model. Two tables. :func:`classify` maps (operation, status) to one of four outcomes:

    ok     promised: only SEND_OK, and a plain answer for everything that is not a send
    weak   stored somewhere, not promised: FLUSH_DISK_TIMEOUT, FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE
    fail   certainly without effect: refused before the append, or never sent
    info   nobody knows: time-outs, resets, and code 1, which the broker also answers after an append

Code 1 stays unknown whatever its remark: 5.x says "in-sync replicas not enough" before it stores where slaves may act
as masters, and with DLedger after the append, when no majority has confirmed it in time.

``contracts/<mode>.yaml`` has one guarantee a (harm, flush type), if need be apart by the role of who was hit: in words,
with its source, and as data that checkers judge by. A *harm* is what a fault did, whatever verb did it
(:data:`checkers.history.effects.HARMS`). A mode that is ``like`` another one gives only what differs. Bounds that all
modes share stand in ``timings.yaml``. Loss is never a number of messages, it is a mechanism, and only by an act that
takes data away:

    unflushed       a suffix of that node's log, no older than the flush rules of that node allow
    unreplicated    a suffix of it, no older than its slaves may lag: a slave's copy has taken its place
    decayed         a suffix of it that begins with the record of which a byte went bad
    all             everything it had: its disk is gone, and nothing has taken its place

A property of the hit brokers may take away from what a cell allows: ``narrowings.yaml``, one list for all modes.

Limits. A mode or harm without an entry has no guarantee: checks that need one are UNKNOWN and say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

import yaml

from checkers.history.effects import HARMS

OpOutcome = Literal["ok", "weak", "fail", "info"]
Loss = Literal["none", "unflushed", "unreplicated", "decayed", "all"]
Replicas = Literal["agree", "may-differ"]
Acknowledged = Literal["master", "master-and-slave", "majority"]
"""Who must have a message before SEND_OK promises anything."""
Role = Literal["any", "master", "slave", "nameserver", "controller", "client"]
Service = Literal["up", "node-down", "hangs", "cut-off", "not-routed", "read-only"]

STORED_NOT_PROMISED: Final = ("FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE")
REFUSED: Final = (
    "CONNECT_FAILED",
    "NO_ROUTE",
    "SYSTEM_BUSY",
    "MESSAGE_ILLEGAL",
    "SERVICE_NOT_AVAILABLE",
    "NO_PERMISSION",
    "TOPIC_NOT_EXIST",
    "REQUEST_CODE_NOT_SUPPORTED",
    "FLOW_CONTROL",
)
"""Answered before the append, or never sent (RocketMQ: SendMessageProcessor#msgCheck, PutMessageStatus)."""

NO_ANSWER: Final = ("TIMEOUT", "CONNECTION_CLOSED", "NEVER_COMPLETED")
ANSWERED: Final = {
    "pull": ("FOUND", "PULL_NOT_FOUND", "PULL_RETRY_IMMEDIATELY", "PULL_OFFSET_MOVED"),
    "fetch_offset": ("OK", "QUERY_NOT_FOUND"),
    "deliver": ("CONSUMED", "LATER"),
    "decide": ("COMMIT", "ROLLBACK"),
    "check": ("COMMIT", "ROLLBACK", "UNKNOWN"),
    "bury": ("FOUND", "PULL_NOT_FOUND", "PULL_OFFSET_MOVED"),
}
ANSWERED_BY_DEFAULT: Final = ("OK", "SUCCESS")
STORES: Final = ("send", "send_delayed", "send_half", "stray_send", "end_transaction")
"""Operations that append to a log, so that a lost answer hides whether they did."""


def classify(f: str, status: str) -> OpOutcome:
    """The outcome of operation *f* that ended with *status*; total: an unheard-of status is ``info`` for a send.

    The table is the same for every mode: what differs between modes is what ``ok`` promises (``acknowledged_by``).
    """
    if f in STORES:
        return _classify_send(status)
    if status in _answered(f):
        return "ok"
    return "info" if status in NO_ANSWER else "fail"


def _answered(f: str) -> tuple[str, ...]:
    return ANSWERED.get("pull" if f in ("drain", "replica") else f, ANSWERED_BY_DEFAULT)


def _classify_send(status: str) -> OpOutcome:
    if status in ("SEND_OK", "OK"):
        return "ok"
    if status in STORED_NOT_PROMISED:
        return "weak"
    return "fail" if status in REFUSED else "info"


@dataclass(frozen=True)
class Guarantee:
    """One cell of the guarantee matrix: *mode* × *harm* × *flush*, for whoever was hit or for one role only.

    ``loss``: what of the hit master's acknowledged messages may be gone afterwards. ``service``: how the hit node
    serves while the fault lasts. ``others_up``: brokers that are not hit go on. ``unreachable``: a topic may be gone
    until it is created again. ``recover_within_ns``: after the heal, every queue must have served again by then.
    ``replicas``: whether slaves must hold what their master holds at the end, if it is the master that was hit.
    ``loss_of_several``: the loss where the broker has several slaves, if that is another.
    """

    mode: str
    harm: str
    flush: str
    words: str
    source: str
    loss: Loss
    service: Service
    others_up: bool
    unreachable: bool
    recover_within_ns: int
    replicas: Replicas = "agree"
    loss_of_several: Loss | None = None
    role: Role = "any"

    def loss_with(self, slaves: int) -> Loss:
        """What may be gone of a master that has so many slaves."""
        return self.loss_of_several if self.loss_of_several and slaves > 1 else self.loss

    def narrowed(self, properties: Mapping[str, str]) -> Guarantee:
        """What is promised where the hit brokers have these properties."""
        guarantee = self
        for narrowing in narrowings():
            if narrowing.harm == self.harm and properties.get(narrowing.property) == narrowing.value:
                guarantee = replace(guarantee, words=f"{guarantee.words} {narrowing.words}", **narrowing.becomes)
        return guarantee


@dataclass(frozen=True)
class Narrowing:
    """What cells of one *harm* become where brokers have a *property* of this *value*."""

    property: str
    value: str
    harm: str
    words: str
    source: str
    becomes: Mapping[str, Any]


@cache
def narrowings() -> tuple[Narrowing, ...]:
    """All that there are; ``ValueError`` for one that allows more, or is about no cell."""
    return tuple(_narrowing(entry) for entry in yaml.load(_NARROWINGS.read_text(encoding="utf-8"), Loader=_Loader))


def _narrowing(entry: dict[str, Any]) -> Narrowing:
    about = {name: str(entry.pop(name)).strip() for name in ("property", "value", "harm", "words", "source")}
    if about["harm"] not in HARMS or not entry or entry.items() - _NARROWEST.items():
        raise ValueError(f"{_NARROWINGS.name}: {about['property']}: a narrowing says one of {dict(_NARROWEST)}")
    return Narrowing(**about, becomes=entry)


@dataclass(frozen=True)
class RouteBounds:
    """When a NameServer must, and when it must not yet, stop listing a broker (RocketMQ: RouteInfoManager)."""

    closed_within_ns: int
    silent_after_ns: int
    silent_within_ns: int
    relearned_within_ns: int


@dataclass(frozen=True)
class ReadingGuarantee:
    """What consumer groups may rely on, whatever the fault: one entry a mode, each part in words with its source.

    ``commits_kept_after_ns``: a confirmed commit that is older than this when its broker is killed is told afterwards.
    After a fault that takes data the broker may know any older offset, or none; offsets may be used again, and a group
    that is beyond one of them never gets what stands there.
    ``slave_is_complete``: a slave shows everything that was acknowledged (dispatch aside), also without its master.
    ``hides_unconfirmed``: what was stored and not promised (``weak``) need not be shown until others have it.
    """

    commits: str
    deliveries: str
    slave_reads: str
    source: str
    commits_kept_after_ns: int
    slave_is_complete: bool = False
    hides_unconfirmed: bool = False


@dataclass(frozen=True)
class Contract:
    """All guarantees of one mode, and the bounds that hold whatever the fault."""

    mode: str
    statement: str
    visible_within_ns: int
    """An acknowledged message is visible to consumers after this time at the latest (dispatch is asynchronous)."""
    routes: RouteBounds
    slack_ns: Mapping[str, int]
    """By backend: how late a flush timer and its force may be beyond their nominal interval."""
    guarantees: Mapping[tuple[str, str, str], Guarantee]
    """(harm, flush, role) → the cell."""
    acknowledged_by: Acknowledged = "master"
    order: int = 0
    """Where lists of modes put it."""
    replication_lag_ns: int = 0
    """How long a slave may take for what its master has acknowledged, undisturbed; 0 where there are no slaves."""
    forced_within_ns: int = 0
    """Where a majority answers: how long what a member has stays in its memory alone."""
    caught_up_within_ns: int = 0
    """Where a majority answers: when a member that is with its leader again has all that the leader has."""
    leader_within_ns: int = 0
    """Where members elect who serves: when a majority that is connected must have done so."""
    leader_patience_ns: int = 0
    """So long at least a leader that has lost its majority leads on."""
    gives_up_within_ns: int = 0
    """And so long at most."""
    reading: ReadingGuarantee | None = None
    """What consumer groups may rely on; ``None``: nothing is said about them."""

    def guarantee(self, harm: str, flush: str, role: str = "any") -> Guarantee | None:
        """The cell for whom it hit, or for anybody; ``None`` where the contract says nothing."""
        return self.guarantees.get((harm, flush, role)) or self.guarantees.get((harm, flush, "any"))


def known_modes() -> tuple[str, ...]:
    """Modes that have a contract, in the order in which lists show them."""
    contracts = [contract_of(path.stem) for path in _FOLDER.glob("*.yaml")]
    return tuple(c.mode for c in sorted((c for c in contracts if c), key=lambda c: (c.order, c.mode)))


_FOLDER: Final = Path(__file__).parent / "contracts"
_NARROWINGS: Final = Path(__file__).parent / "narrowings.yaml"
_NARROWEST: Final[Mapping[str, Any]] = {"loss": "none", "unreachable": False, "replicas": "agree"}
"""The most that can be promised: nothing else is narrower than every cell."""
_TIMINGS: Final = Path(__file__).parent / "timings.yaml"


@cache
def contract_of(mode: str) -> Contract | None:
    """The contract of *mode*, read once; ``None`` if there is none; ``ValueError`` for a file that breaks the form."""
    path = _FOLDER / f"{mode}.yaml"
    if not path.is_file():
        return None
    return _contract(_read(path), path.name)


def _read(path: Path) -> dict[str, Any]:
    """A contract with the bounds that it does not give itself; ``like``: all else that it does not, from another."""
    own = _document(path)
    like = _read(_FOLDER / f"{own['like']}.yaml") if "like" in own else _document(_TIMINGS)
    document = {**like, **own}
    if "reading" in document:
        document["reading"] = {**_document(_TIMINGS)["reading"], **document["reading"]}
    return document


def _document(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    return document


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

NEVER_S: Final = 10**9
"""A bound that nothing reaches."""
_KEYS: Final = {"harm", "flush", "words", "source", "loss", "service", "others_up", "unreachable", "recover_within_s"}


def _contract(document: Mapping[str, Any], name: str) -> Contract:
    guarantees: dict[tuple[str, str, str], Guarantee] = {}
    for cell in document["guarantees"]:
        for guarantee in _guarantees(document["mode"], cell, name):
            key = (guarantee.harm, guarantee.flush, guarantee.role)
            if key in guarantees:
                raise ValueError(f"{name}: {key} is promised twice")
            guarantees[key] = guarantee
    if document["acknowledged_by"] not in get_args(Acknowledged):
        raise ValueError(f"{name}: acknowledged_by cannot be {document['acknowledged_by']!r}")
    return Contract(
        mode=document["mode"],
        statement=document["statement"].strip(),
        visible_within_ns=_ns(document["visible_within_s"]),
        routes=RouteBounds(**{name.removesuffix("_s") + "_ns": _ns(s) for name, s in document["routes"].items()}),
        slack_ns={backend: _ns(value) for backend, value in document["slack_s"].items()},
        guarantees=guarantees,
        acknowledged_by=document["acknowledged_by"],
        order=document["order"],
        replication_lag_ns=_ns(document.get("replication_lag_s", 0)),
        forced_within_ns=_ns(document.get("forced_within_s", 0)),
        caught_up_within_ns=_ns(document.get("caught_up_within_s", 0)),
        leader_within_ns=_ns(document.get("leader_within_s", 0)),
        leader_patience_ns=_ns(document.get("leader_patience_s", 0)),
        gives_up_within_ns=_ns(document.get("gives_up_within_s", NEVER_S)),
        reading=_reading(document["reading"]) if document["reading"].get("commits") else None,
    )


def _reading(part: Mapping[str, Any]) -> ReadingGuarantee:
    return ReadingGuarantee(
        commits=part["commits"].strip(),
        deliveries=part["deliveries"].strip(),
        slave_reads=part["slave_reads"].strip(),
        source=part["source"].strip(),
        commits_kept_after_ns=_ns(part["commits_kept_after_s"]),
        slave_is_complete=bool(part.get("slave_is_complete", False)),
        hides_unconfirmed=bool(part.get("hides_unconfirmed", False)),
    )


def _guarantees(mode: str, cell: Mapping[str, Any], name: str) -> Iterable[Guarantee]:
    if set(cell) - {"replicas", "loss_of_several", "role"} != _KEYS:
        raise ValueError(f"{name}: cell {cell.get('harm')}: keys differ: {sorted(_KEYS ^ set(cell))}")
    for key, allowed in _ALLOWED.items():
        if (value := cell.get(key)) is not None and value not in get_args(allowed):
            raise ValueError(f"{name}: cell {cell['harm']}: {key} cannot be {value!r}")
    for harm in cell["harm"]:
        if harm not in HARMS:
            raise ValueError(f"{name}: no fault does {harm!r}; known: {', '.join(HARMS)}")
        for flush in cell["flush"]:
            yield Guarantee(
                mode=mode,
                harm=harm,
                flush=flush,
                words=cell["words"].strip(),
                source=cell["source"],
                loss=cell["loss"],
                service=cell["service"],
                others_up=cell["others_up"],
                unreachable=cell["unreachable"],
                recover_within_ns=_ns(cell["recover_within_s"]),
                replicas=cell.get("replicas", "agree"),
                loss_of_several=cell.get("loss_of_several"),
                role=cell.get("role", "any"),
            )


_ALLOWED: Final[Mapping[str, Any]] = {
    "replicas": Replicas,
    "loss": Loss,
    "loss_of_several": Loss,
    "service": Service,
    "role": Role,
}


def _ns(seconds: int | str) -> int:
    """Seconds as the contract writes them (integers, or decimals as text) to nanoseconds, without a float."""
    whole, _, part = str(seconds).partition(".")
    return int(whole) * 1_000_000_000 + int((part + "000000000")[:9])
