"""The check ``store-waits``: is a producer told in time that its message waited for nothing?

Question: a force hangs, a slave is silent. A put waits for it: for how long?

Model (RocketMQ: GroupCommitService, GroupTransferService). A put of a synchronously flushing broker waits
``syncFlushTimeout`` for its force, one of a synchronous master ``slaveTimeout`` for a slave, both at once. After that
it is answered, FLUSH_DISK_TIMEOUT or FLUSH_SLAVE_TIMEOUT. So a send that nobody answers within the longer of the two is

    kept-waiting   its broker ran all that time, and nothing stood between it and its clients

Limits. Producers that give up sooner say nothing. Brokers that are elected are not judged, nor times in which any fault
held up the broker, slowed links or hit clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History, seconds
from checkers.history.spans import Span, meet
from checkers.verdict import Anomaly, Outcome, Verdict

MARGIN_NS: Final = 1_000_000_000
"""Of everything but the wait: a full queue of sends, a step that was long."""
FLUSH_WAIT, SLAVE_WAIT = ("syncFlushTimeout", 5_000), ("slaveTimeout", 3_000)
"""Properties and defaults, in milliseconds."""
SOME_CLIENT: Final = "client-1"
_NAMED: Final = 20


def has_store_waits(history: History, facts: RunFacts) -> bool:
    """Whether puts wait for something that has a time of its own."""
    is_elected = any(facts.cluster.elections(broker) for broker in facts.cluster.brokers)
    is_asked = facts.flush == "sync" or facts.waits_for_slave()
    return facts.contract() is not None and is_asked and not (is_elected or facts.waits_for_majority())


def check_store_waits(history: History, facts: RunFacts) -> Verdict:
    """Every send that was answered late, or not at all."""
    ops = history.ops
    took_ns = ops.complete_ns - ops.invoke_ns
    is_long = (ops.complete_ns >= 0) & (took_ns > MARGIN_NS)
    rows = np.flatnonzero(ops.f.mask("send") & is_long & (ops.queue >= 0) & ~ops.outcome.mask("fail")).tolist()
    late = [row for row in rows if _is_late(history, facts, row)]
    waited = int((ops.f.mask("send") & ops.status.mask("FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT")).sum())
    outcome = Outcome.FAIL if late else Outcome.PASS
    measures = {"told_to_have_waited": waited, "late": len(late)}
    return Verdict("store-waits", outcome, tuple(_anomalies(history, facts, late)), measures)


def _is_late(history: History, facts: RunFacts, row: int) -> bool:
    ops = history.ops
    invoke_ns, complete_ns = int(ops.invoke_ns[row]), int(ops.complete_ns[row])
    broker = history.queues.broker_of(int(ops.queue[row]))
    master = facts.cluster.master_at(broker, invoke_ns)
    bound_ns = _wait_ns(facts, master, invoke_ns) + MARGIN_NS + facts.slack_ns()
    if not master or complete_ns - invoke_ns <= bound_ns:
        return False
    return not _is_hindered(facts, master, (invoke_ns, invoke_ns + bound_ns))


def _wait_ns(facts: RunFacts, master: str, ns: int) -> int:
    settings = facts.cluster.properties(master, ns)
    waits = [FLUSH_WAIT] if facts.flush == "sync" else []
    waits += [SLAVE_WAIT] if facts.waits_for_slave() else []
    return max(int(settings.get(name, default)) for name, default in waits) * 1_000_000


def _is_hindered(facts: RunFacts, master: str, span: Span) -> bool:
    """Whether the answer may have been late for another reason, from the same time before on: what a fault held back
    comes after its end."""
    wide = (span[0] - (span[1] - span[0]), span[1])
    if meet(facts.conditions.held_up(master), [wide]):
        return True
    active = [fault for fault in facts.faults if fault.effective != 0 and meet([_reaches(fault)], [wide])]
    return any(_stands_between(facts, fault, master) for fault in active)


def _reaches(fault: FaultFact) -> Span:
    return fault.begin_ns, fault.held_until_ns


def _stands_between(facts: RunFacts, fault: FaultFact, master: str) -> bool:
    hits_clients = any(facts.cluster.is_client(node) for node in (*fault.left, *fault.right))
    return fault.does("slows") or hits_clients or fault.hinders(SOME_CLIENT, master)


def _anomalies(history: History, facts: RunFacts, late: list[int]) -> Iterator[Anomaly]:
    if late:
        ops, row = history.ops, late[0]
        broker, invoke_ns = history.queues.broker_of(int(ops.queue[row])), int(ops.invoke_ns[row])
        master = facts.cluster.master_at(broker, invoke_ns)
        sentence = (
            f"{history.op_text(int(ops.op[row]))} had no answer for {seconds(int(ops.complete_ns[row]) - invoke_ns)}, "
            f"although {master} waits {seconds(_wait_ns(facts, master, invoke_ns))} at most for its disk and its "
            f"slaves; so it was with {len(late) - 1} more."
        )
        yield Anomaly("kept-waiting", sentence, tuple(ops.op[late[:_NAMED]].tolist()), {"count": len(late)})
