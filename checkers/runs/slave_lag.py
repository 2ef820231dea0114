"""The check ``following``: how far behind its master is each slave, all the time?

Question: does a slave follow, does it find its master again after something stood between them, and does it stay away
where it must not find him?

Model. Masters and slaves are asked twice a second for the end of one queue (op ``end``: broker → offset). A slave is
*behind* since the first answer of its master that tells an end which the slave has not reached yet.

    slave-behind   behind for longer than the contract's lag, slack and two looks; after a fault of the set as long
                   again as :data:`FOUND_NS`: a registration, every 30 s, brings a new address, then two attempts of 5 s

A slave with ``haMasterAddress`` learns no other address: as long as a ``reconfigure`` gives its master another one it
must stay behind (``followed-nobody-knows-how`` if it does not).

Limits. One queue stands for the log: dispatch follows the log within milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.observations import Looked, looks_of
from checkers.history.spans import NEVER_NS
from checkers.verdict import Anomaly, Outcome, Verdict

FOUND_NS: Final = 45_000_000_000
LOOKS_NS: Final = 1_500_000_000


def check_following(history: History, facts: RunFacts) -> Verdict:
    """Judge every slave; UNKNOWN where there is none, or nobody told its end."""
    looks = looks_of(history, "end")
    slaves = sorted({look.node for look in looks if facts.cluster.is_slave(look.node)})
    if not slaves:
        return Verdict("following", Outcome.UNKNOWN, reasons=("no slave told how far it is",))
    behind = {slave: _behind(facts, looks, slave) for slave in slaves}
    anomalies = [anomaly for slave in slaves for anomaly in _judge(facts, slave, behind[slave])]
    outcome = Outcome.FAIL if anomalies else Outcome.PASS
    measures: dict[str, Any] = {
        "looks": len(looks),
        "behind_max_ms": {slave: max((ns for ns, _ in its), default=0) // 1_000_000 for slave, its in behind.items()},
        "behind_at_end_ms": {slave: its[-1][0] // 1_000_000 for slave, its in behind.items() if its},
    }
    return Verdict("following", outcome, tuple(anomalies), measures)


def _behind(facts: RunFacts, looks: list[Looked], slave: str) -> list[tuple[int, Looked]]:
    """(for how long it had been behind, the look), in order. Ends only grow, so one pass is enough."""
    broker = facts.cluster.broker_of(slave)
    masters = [
        (look.complete_ns, look.shown[broker]) for look in looks if look.node == facts.cluster.first_master(broker)
    ]
    found, place = [], 0
    for look in looks:
        if look.node != slave:
            continue
        while place < len(masters) and masters[place][1] <= look.shown[broker]:
            place += 1
        since_ns = masters[place][0] if place < len(masters) else look.invoke_ns
        found.append((max(0, look.invoke_ns - since_ns), look))
    return found


def _judge(facts: RunFacts, slave: str, behind: list[tuple[int, Looked]]) -> Iterator[Anomaly]:
    contract = facts.contract()
    lag_ns = (contract.replication_lag_ns if contract else 0) + facts.slack_ns() + LOOKS_NS
    bit = [fault for fault in facts.faults if fault.effective != 0]
    away = [fault for fault in bit if _moves(fault) and _is_fixed(facts, slave)]
    cluster = facts.cluster
    # A slave learns its master's address from a NameServer, so what hits one may keep it from its master, too.
    mine = [
        f
        for f in bit
        if cluster.broker_of(slave) in map(cluster.broker_of, (*f.left, *f.right))
        or any(cluster.is_nameserver(node) for node in f.left)
    ]
    for ns, look in behind:
        if ns > lag_ns and not any(_disturbed(fault, look, fault in away) for fault in mine):
            yield _too_far(slave, ns, look)
            break
    for fault in away:
        found = [
            (ns, look) for ns, look in behind if fault.inject_ns + lag_ns + LOOKS_NS < look.invoke_ns < fault.heal_ns
        ]
        if found and found[-1][0] == 0:
            sentence = (
                f"{slave} has haMasterAddress and yet followed its master to another HA address, {fault.words()}."
            )
            yield Anomaly("followed-nobody-knows-how", sentence, (found[-1][1].op,), {"node": slave})


def _disturbed(fault: FaultFact, look: Looked, is_away: bool) -> bool:
    """From the fault until its slave must have found its master again. A fault that moves the master is over for those
    who can learn of it as soon as it is done."""
    over_ns = fault.inject_ns if _moves(fault) and not is_away else fault.heal_ns
    healed_ns = fault.heal_ns + FOUND_NS if fault.heal_ns != NEVER_NS else NEVER_NS
    return fault.begin_ns < look.complete_ns and (
        look.invoke_ns < over_ns + FOUND_NS or fault.heal_ns <= look.invoke_ns < healed_ns
    )


def _moves(fault: FaultFact) -> bool:
    return fault.does("changes-properties")


def _is_fixed(facts: RunFacts, slave: str) -> bool:
    return bool(facts.nodes.get(slave, {}).get("haMasterAddress"))


def _too_far(slave: str, ns: int, look: Looked) -> Anomaly:
    sentence = (
        f"{slave} did not have at {seconds(look.invoke_ns)} what its master had told {seconds(ns)} before, and nothing "
        f"stood between them any more."
    )
    return Anomaly("slave-behind", sentence, (look.op,), {"node": slave, "behind_ns": ns})
