"""The check ``slave-lag``: how far behind its master is each slave, all the time?

Question: does a slave follow, does it find its master again after something stood between them, and does it stay away
where it must not reconnect?

Model. Masters and slaves are asked twice a second for the end of one queue (op ``end``: broker → offset). A slave is
*behind* since the first answer of its master that tells an end which the slave has not reached yet.

    slave-behind   behind for longer than the contract's lag, slack and two observations; after a fault of
                   the set as long again as :data:`FOUND_NS`: a registration, 10 s after the start and then every
                   30 s, brings the address of a master that has registered before; then two attempts of 5 s

A slave with ``haMasterAddress`` learns no other address: as long as a ``reconfigure`` gives its master another one it
must stay behind (``reconnected-unexpectedly`` if it does not).

Limits. One queue stands for the log: dispatch follows the log within milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.observations import Observed, observations_of
from checkers.history.spans import NEVER_NS
from checkers.runs.mechanisms import SLAVE_AHEAD
from checkers.runs.slave_ahead import let_differ
from checkers.verdict import Anomaly, Outcome, Verdict

FOUND_NS: Final = 52_000_000_000
LOOKS_NS: Final = 1_500_000_000


def check_slave_lag(history: History, facts: RunFacts) -> Verdict:
    """Judge every slave; UNKNOWN where there is none, or nobody told its end."""
    observations = observations_of(history, "end")
    slaves = sorted({observation.node for observation in observations if facts.cluster.is_slave(observation.node)})
    if not slaves:
        return Verdict("slave-lag", Outcome.UNKNOWN, reasons=("no slave told how far it is",))
    behind = {slave: _behind(facts, observations, slave) for slave in slaves}
    anomalies = [anomaly for slave in slaves for anomaly in _judge(facts, slave, behind[slave])]
    outcome = Outcome.FAIL if anomalies else Outcome.PASS
    measures: dict[str, Any] = {
        "observations": len(observations),
        "behind_max_ms": {slave: max((ns for ns, _ in each), default=0) // 1_000_000 for slave, each in behind.items()},
        "behind_at_end_ms": {slave: each[-1][0] // 1_000_000 for slave, each in behind.items() if each},
    }
    return Verdict("slave-lag", outcome, tuple(anomalies), measures)


def _behind(facts: RunFacts, observations: list[Observed], slave: str) -> list[tuple[int, Observed]]:
    """(for how long it had been behind, the observation), in order. Ends only grow, so one pass is enough."""
    broker = facts.cluster.broker_of(slave)
    masters = [
        (observation.complete_ns, observation.shown[broker])
        for observation in observations
        if observation.node == facts.cluster.first_master(broker)
    ]
    found, place = [], 0
    for observation in observations:
        if observation.node != slave:
            continue
        while place < len(masters) and masters[place][1] <= observation.shown[broker]:
            place += 1
        since_ns = masters[place][0] if place < len(masters) else observation.invoke_ns
        found.append((max(0, observation.invoke_ns - since_ns), observation))
    return found


def _judge(facts: RunFacts, slave: str, behind: list[tuple[int, Observed]]) -> Iterator[Anomaly]:
    contract = facts.contract()
    lag_ns = (contract.replication_lag_ns if contract else 0) + facts.slack_ns() + LOOKS_NS
    bit = [fault for fault in facts.faults if fault.may_have_acted]
    away = [fault for fault in bit if _moves(fault) and _is_fixed(facts, slave)]
    cluster = facts.cluster
    # A slave learns its master's address from a NameServer, so what hits one may keep it from its master, too.
    own = [
        f
        for f in bit
        if cluster.broker_of(slave) in map(cluster.broker_of, (*f.left, *f.right))
        or any(cluster.directs(node) for node in f.left)
    ]
    for ns, observation in behind:
        if ns > lag_ns and not any(_disturbed(fault, observation, fault in away) for fault in own):
            is_stuck = _is_stuck(facts, slave, behind, observation, ns)
            yield _too_far(facts, slave, ns, observation, SLAVE_AHEAD if is_stuck else "")
            break
    for fault in away:
        found = [
            (ns, observation)
            for ns, observation in behind
            if fault.inject_ns + lag_ns + LOOKS_NS < observation.invoke_ns < fault.heal_ns
        ]
        if found and found[-1][0] == 0:
            sentence = (
                f"{slave} has haMasterAddress and yet followed its master to another HA address, {fault.words()}."
            )
            yield Anomaly("reconnected-unexpectedly", sentence, (found[-1][1].op,), {"node": slave})


def _disturbed(fault: FaultFact, observation: Observed, is_away: bool) -> bool:
    """From the fault until its slave must have found its master again. A fault that moves the master is over for those
    who can learn of it as soon as it is done."""
    over_ns = fault.inject_ns if _moves(fault) and not is_away else fault.heal_ns
    healed_ns = fault.heal_ns + FOUND_NS if fault.heal_ns != NEVER_NS else NEVER_NS
    return fault.begin_ns < observation.complete_ns and (
        observation.invoke_ns < over_ns + FOUND_NS or fault.heal_ns <= observation.invoke_ns < healed_ns
    )


def _moves(fault: FaultFact) -> bool:
    return fault.does("changes-properties")


def _is_fixed(facts: RunFacts, slave: str) -> bool:
    return bool(facts.nodes.get(slave, {}).get("haMasterAddress"))


def _is_stuck(facts: RunFacts, slave: str, behind: list[tuple[int, Observed]], last: Observed, ns: int) -> bool:
    """Whether it has shown nothing new since its master lost the end of its log, which the slave had kept. What it
    shows may have become less: it lost something itself."""
    broker = facts.cluster.broker_of(slave)
    lost = [f for f in let_differ(facts, broker) if f.inject_ns < last.invoke_ns and f.takes() != "replaced"]
    shown = [one.shown[broker] for _, one in behind if last.invoke_ns - ns < one.invoke_ns <= last.invoke_ns]
    return bool(lost) and all(later <= earlier for earlier, later in pairwise(shown))


def _too_far(facts: RunFacts, slave: str, ns: int, observation: Observed, mechanism: str) -> Anomaly:
    sentence = (
        f"{slave} did not have at {facts.clock(observation.invoke_ns)} what its master had told {seconds(ns)} before, "
        f"and nothing stood between them any more."
    )
    details = {"node": slave, "behind_ns": ns, "mechanism": mechanism}
    return Anomaly("slave-behind", sentence, (observation.op,), details)
