"""Replicas: does a slave hold what its master holds, message by message?

Question: after everything was healed and had time to catch up, are the queues of slave and master the same?

Model. The last look reads every queue on the master (``drain``) and on each slave (``replica``). A slave whose disk was
replaced may begin later (a new one gets its master's last log file only): from the first offset that it has on, both
must be equal. Any other slave has had everything from the beginning, and begins where its master does; but every node
deletes its old log files by its own clock, so that what one has deleted by right (:mod:`checkers.runs.expiry`) and the
other has not yet is no difference:

    differs    the same offset holds two messages
    missing    the slave ends before the master, or has a hole: it stopped following
    ahead      the slave holds offsets that the master does not have

A slave is read last, where consumers had still to come to the end some seconds after its master. So a message without
an answer that a partition held back may have reached the master in between: it is no difference.

Where a synchronous master said SEND_OK it said that a slave has the message. ``unreplicated-ok`` names those that no
slave of it has, wherever in the queue one looks: a slave that was ahead of its restarted master reports a longer log
than the master has, which the master takes for copies of what it stores (RocketMQ: HAService#notifyTransferSome).

Any of them is a failure unless a fault that hit the master has a guarantee that says ``replicas: may-differ`` (a master
that lost its tail, or all it had, is overtaken by its slave, and RocketMQ's classic replication never repairs that) and
this very difference is one that such a slave explains (:mod:`checkers.runs.slave_ahead`).

Limits. What is not in a queue of the run's topic is not compared (the bytes of the logs are, where tests do it). A
slave's queue that was not read to its end proves nothing: UNKNOWN.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from checkers.history.columns import Bools
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import OK, Ledger, ledger_of
from checkers.history.spans import NEVER_NS
from checkers.runs.expiry import Retention
from checkers.runs.mechanisms import SLAVE_AHEAD
from checkers.runs.slave_ahead import Overtaken, overtaken
from checkers.verdict import Anomaly, Outcome, Verdict

Contents = dict[int, tuple[int, int]]
"""Offset → (message, op that read it)."""


def check_replicas(history: History, facts: RunFacts) -> Verdict:
    """Compare every queue of every slave with its master's."""
    anomalies: list[Anomaly] = []
    reasons: list[str] = []
    counts: Counter[str] = Counter()
    ledger = ledger_of(history)
    masters = _contents(history, history.ops.f.mask("drain"))
    copies = {node: _contents(history, _of_slave(history, node)) for node in _slaves(history, facts)}
    why = {node: _why(history, facts, ledger, node, masters, copy) for node, copy in copies.items()}
    if facts.waits_for_slave():
        anomalies += _unreplicated(history, facts, ledger, masters, copies, why)
    for node, replicas in copies.items():
        ended = _ended(history, node)
        for queue in _queues_of(history, facts.cluster.broker_of(node)):
            if queue not in ended:
                reasons.append(f"{history.queues.name(queue)} was not read to its end on {node}")
                continue
            sides = masters.get(queue, {}), replicas.get(queue, {})
            kept_from = _kept_from(history, facts, ledger, node, *sides)
            found = _compare(*sides, is_new=_began_anew(facts, node), kept_from=kept_from)
            late = _came_later(history, facts, queue, *sides)
            found["ahead"] = [offset for offset in found["ahead"] if offset not in late]
            counts.update({kind: len(offsets) for kind, offsets in found.items()})
            anomalies += _anomalies(history, facts, node, queue, found, *sides, why[node])
    outcome = _outcome(anomalies, reasons)
    measures = {kind: counts[kind] for kind in _KINDS}
    measures["unreplicated_ok"] = sum(a.details["count"] for a in anomalies if a.kind == "unreplicated-ok")
    return Verdict("replicas", outcome, tuple(anomalies), measures, tuple(reasons))


_NAMED = 20
_KINDS = ("same", "differs", "missing", "ahead")
_WORDS = {
    "differs": "the same offsets hold different messages",
    "missing": "the slave has not got these",
    "ahead": "the slave has these, its master does not",
}


def _came_later(history: History, facts: RunFacts, queue: int, master: Contents, slave: Contents) -> set[int]:
    """Offsets behind the master's last one of messages of which a send had no answer, and may have been on its way when
    the master was read."""
    ops = history.ops
    read_ns = int(ops.complete_ns[ops.f.mask("drain") & (ops.queue == queue)].max(initial=-1))
    broker = history.queues.broker_of(queue)
    holding = [fault for fault in facts.faults if fault.begin_ns < read_ns <= fault.held_until_ns]
    held = [fault.lasts for fault in holding if fault.effective != 0 and _holds_sends(facts, fault, broker)]
    sends = ops.f.mask("send") & ops.outcome.mask("info")
    done_ns = np.where(ops.complete_ns < 0, NEVER_NS, ops.complete_ns)
    during = [(done_ns > begin_ns) & (ops.invoke_ns < end_ns) for begin_ns, end_ns in held]
    end = max(master, default=-1)
    unanswered = {message for span in during for message in ops.message[sends & span].tolist()}
    return {offset for offset, (message, _) in slave.items() if offset > end and message in unanswered}


def _holds_sends(facts: RunFacts, fault: FaultFact, broker: str) -> bool:
    """Whether it separates a client from a node of *broker*."""
    nodes = {*fault.left, *fault.right, *(node for sides in fault.cuts for side in sides for node in side)}
    clients = [node for node in nodes if facts.cluster.is_client(node)]
    servers = [node for node in nodes if facts.cluster.broker_of(node) == broker]
    return any(fault.hinders(client, server) for client in clients for server in servers)


def _outcome(anomalies: list[Anomaly], reasons: list[str]) -> Outcome:
    if any(not anomaly.allowed for anomaly in anomalies):
        return Outcome.FAIL
    return Outcome.UNKNOWN if reasons else Outcome.PASS


def _slaves(history: History, facts: RunFacts) -> list[str]:
    """Slaves that the run had, and those that were read."""
    read = [
        node for node in history.ops.node.values if (history.ops.f.mask("replica") & history.ops.node.mask(node)).any()
    ]
    brokers = set(history.queues.broker.values)
    now = int(history.ops.invoke_ns.max()) if len(history.ops.invoke_ns) else 0
    known = [
        node
        for node in facts.nodes
        if (broker := facts.cluster.broker_of(node)) in brokers
        and (facts.cluster.is_slave(node) or node in facts.cluster.slaves(broker, now))
        and node != facts.cluster.master_at(broker, now)
    ]
    return sorted({*read, *known})


def _of_slave(history: History, node: str) -> Bools:
    return history.ops.f.mask("replica") & history.ops.node.mask(node)


def _why(
    history: History,
    facts: RunFacts,
    ledger: Ledger,
    node: str,
    masters: dict[int, Contents],
    replicas: dict[int, Contents],
) -> Overtaken:
    """What explains differences between *node* and its master."""
    queues = _queues_of(history, facts.cluster.broker_of(node))
    on_master, on_slave = (
        {(queue, offset): message for queue in queues for offset, (message, _) in side.get(queue, {}).items()}
        for side in (masters, replicas)
    )
    return overtaken(history, facts, ledger, facts.cluster.broker_of(node), on_master, on_slave)


def _queues_of(history: History, broker: str) -> list[int]:
    """Of the topics that the last look reads; retry topics and others that listeners name are not among them, nor are
    queues that the topic has not got: a producer without a route asks for those of the default topic."""
    queues, ops = history.queues, history.ops
    looked = set(ops.queue[ops.f.mask("drain", "replica")].tolist())
    topics = {queues.topic[row] for row, queue in enumerate(queues.queue.tolist()) if queue in looked}
    absent = set(ops.queue[ops.f.mask("drain") & ops.of_no_queue()].tolist())
    return [
        queue
        for row, queue in enumerate(queues.queue.tolist())
        if queues.broker_of(queue) == broker and (not topics or queues.topic[row] in topics) and queue not in absent
    ]


def _contents(history: History, of_ops: Bools) -> dict[int, Contents]:
    """queue → what was read of it by the operations of *of_ops*."""
    ops, reads = history.ops, history.reads
    rows = ops.rows(reads.op)
    contents: dict[int, Contents] = {}
    for index in np.flatnonzero(of_ops[rows]).tolist():
        queue = int(ops.queue[rows[index]])
        contents.setdefault(queue, {})[int(reads.offset[index])] = (int(reads.message[index]), int(reads.op[index]))
    return contents


def _ended(history: History, node: str) -> set[int]:
    """Queues of *node* of which an answer said that nothing follows."""
    ops = history.ops
    rows = ops.f.mask("replica") & ops.node.mask(node) & ops.status.mask("PULL_NOT_FOUND")
    return set(ops.queue[rows].tolist())


def _began_anew(facts: RunFacts, node: str) -> bool:
    """Whether a fault put another disk into *node*, or into its master, which a slave follows with an empty one."""
    broker = facts.cluster.broker_of(node)
    replaced = (fault for fault in facts.faults if fault.takes() in ("all", "replaced"))
    return any(facts.cluster.broker_of(hit) == broker for fault in replaced for hit in fault.left)


def _kept_from(history: History, facts: RunFacts, ledger: Ledger, node: str, master: Contents, slave: Contents) -> int:
    """The first offset that both must have: below it one of them had deleted files that were old enough to go, and the
    other had not looked yet. 0 where what is missing had to stay."""
    begin = max(min(master, default=0), min(slave, default=0))
    below = (item for side in (master, slave) for item in side.items() if item[0] < begin)
    known = [(offset, message) for offset, (message, _) in below if message >= 0 and ledger.position[message] >= 0]
    if not known:
        return 0
    message, ops = max(known)[1], history.ops  # files go oldest first: if this one may, so may all before it
    retention = Retention.of(history, facts, facts.cluster.broker_of(node))
    row, last_ns = int(ledger.row[message]), int(ops.complete_ns.max())
    told = (ops.invoke_ns[[row]], ledger.position[[message]], np.array([last_ns], dtype=np.int64))
    return begin if retention.lets_go(*told)[0] else 0


def _compare(master: Contents, slave: Contents, *, is_new: bool, kept_from: int) -> dict[str, list[int]]:
    """Offsets by what is the matter with them."""
    begin = max(kept_from, min(slave, default=0) if is_new else 0)
    found: dict[str, list[int]] = {kind: [] for kind in _KINDS}
    for offset in (offset for offset in sorted({*slave, *master}) if offset >= begin):
        if offset not in slave:
            found["missing"].append(offset)
        elif offset not in master:
            found["ahead"].append(offset)
        else:
            found["same" if slave[offset][0] == master[offset][0] else "differs"].append(offset)
    return found


def _anomalies(
    history: History,
    facts: RunFacts,
    node: str,
    queue: int,
    found: dict[str, list[int]],
    master: Contents,
    slave: Contents,
    why: Overtaken,
) -> list[Anomaly]:
    """By kind: what a slave that was ahead explains, and what it does not."""
    anomalies = []
    for kind, words in _WORDS.items():
        causes = {offset: _cause(kind, offset, master, slave, why) for offset in found[kind]}
        for offsets in _alike(causes):
            cause = causes[offsets[0]]
            sentence = (
                f"{history.queues.name(queue)} on {node}: {words}: {len(offsets)} of them, @{offsets[0]} to "
                f"@{offsets[-1]}.{_because(facts, node, why, cause)}"
            )
            ops = [side[offsets[0]][1] for side in (master, slave) if offsets[0] in side]
            details = {"node": node, "queue": queue, "count": len(offsets), "first_offset": offsets[0]}
            is_allowed = cause is not None and _may_differ(facts)
            anomalies.append(Anomaly(f"replica-{kind}", sentence, tuple(ops), details, allowed=is_allowed))
    return anomalies


def _alike(causes: dict[int, FaultFact | None]) -> list[list[int]]:
    """Offsets, or messages, of the same cause together."""
    groups: dict[str, list[int]] = {}
    for number, cause in causes.items():
        groups.setdefault(cause.fault if cause else "", []).append(number)
    return list(groups.values())


def _cause(kind: str, offset: int, master: Contents, slave: Contents, why: Overtaken) -> FaultFact | None:
    """The fault that explains the difference at *offset*, on both sides where there are two."""
    if kind == "missing":
        return why.explains_lack(master[offset][0])
    old = why.explains_surplus(slave[offset][0])
    return old if kind == "ahead" or old is None else why.explains_lack(master[offset][0])


def _because(facts: RunFacts, node: str, why: Overtaken, cause: FaultFact | None) -> str:
    if cause is not None:
        return f" {cause.words()} explains it: such a slave is never made equal again."
    if why.faults:
        return f" {why.faults[-1][0].words()} let the slave be ahead of its master, but that does not explain these."
    return ""


def _may_differ(facts: RunFacts) -> bool:
    return facts.expect.get("replicas") != "agree"


def _unreplicated(
    history: History,
    facts: RunFacts,
    ledger: Ledger,
    masters: dict[int, Contents],
    copies: dict[str, dict[int, Contents]],
    why: dict[str, Overtaken],
) -> list[Anomaly]:
    """By broker: acknowledged, on the master, and on no slave that was read to its end; what slaves that were ahead
    explain apart from what nothing does."""
    by_broker: dict[str, list[int]] = {}
    for queue, contents in masters.items():
        broker = history.queues.broker_of(queue)
        if slaves := [node for node in copies if facts.cluster.broker_of(node) == broker]:
            copies_of_queue = {node: copies[node].get(queue, {}) for node in slaves}
            by_broker.setdefault(broker, []).extend(_on_no_slave(history, ledger, queue, contents, copies_of_queue))
    anomalies = []
    for broker, messages in by_broker.items():
        reasons = [reason for node, reason in why.items() if facts.cluster.broker_of(node) == broker]
        causes = {message: _cause_of_all(message, reasons) for message in messages}
        is_stuck = _is_stuck(history, masters, broker, messages)
        anomalies += [
            _false_ok(history, facts, ledger, broker, alike, causes[alike[0]], is_stuck) for alike in _alike(causes)
        ]
    return anomalies


def _cause_of_all(message: int, reasons: list[Overtaken]) -> FaultFact | None:
    """The fault that explains why none of these slaves has *message*."""
    causes = [why.explains_lack(message) for why in reasons]
    return causes[0] if all(causes) else None


def _is_stuck(history: History, masters: dict[int, Contents], broker: str, messages: list[int]) -> bool:
    """Whether what no slave has goes on to the end of every queue: nothing is dispatched there any more."""
    lacking, queues = frozenset(messages), _queues_of(history, broker)
    ends = [masters[queue][max(masters[queue])][0] for queue in queues if masters.get(queue)]
    return bool(ends) and all(end in lacking for end in ends)


def _on_no_slave(
    history: History, ledger: Ledger, queue: int, master: Contents, copies: dict[str, Contents]
) -> list[int]:
    """Messages of one queue; none where a slave was not read to its end. What is older than a new slave is not asked
    for."""
    if not all(queue in _ended(history, node) for node in copies):
        return []
    begin = min((min(copy, default=0) for copy in copies.values()), default=0)
    copied = {message for copy in copies.values() for message, _ in copy.values()}
    ours = (message for offset, (message, _) in sorted(master.items()) if offset >= begin and message >= 0)
    return [message for message in ours if message not in copied and ledger.outcome[message] == OK]


def _false_ok(
    history: History,
    facts: RunFacts,
    ledger: Ledger,
    broker: str,
    messages: list[int],
    cause: FaultFact | None,
    is_stuck: bool,
) -> Anomaly:
    by_position = sorted(messages, key=lambda message: int(ledger.position[message]))
    first = by_position[0]
    op = int(history.ops.op[ledger.row[first]])
    at = int(ledger.position[first])
    why = f": the slave was ahead of its restarted master, after {cause.words()}" if cause else ""
    sentence = (
        f"SEND_OK although the slave's log differs at {at}{why}. {_many(messages)} of {broker} that its synchronous "
        f"master acknowledged can be read on no slave, first {history.op_text(op)}.{STUCK if is_stuck else ''}"
    )
    details = {
        "broker": broker,
        "count": len(messages),
        "first_position": at,
        "messages": by_position[:_NAMED],
        "mechanism": SLAVE_AHEAD if cause else "",
    }
    is_allowed = cause is not None and _may_differ(facts)
    return Anomaly("unreplicated-ok", sentence, (op, _read_by(history, first)), details, allowed=is_allowed)


STUCK = (
    " The slave shows nothing of what came since: it stores and confirms bytes, and dispatches none, since its own end "
    "is no border of a record of its master's."
)


def _many(messages: list[int]) -> str:
    return "1 message" if len(messages) == 1 else f"{len(messages)} messages"


def _read_by(history: History, message: int) -> int:
    """The operation of the drain that read *message*."""
    reads, ops = history.reads, history.ops
    rows = np.flatnonzero((reads.message == message) & ops.f.mask("drain")[ops.rows(reads.op)])
    return int(reads.op[rows[0]])
