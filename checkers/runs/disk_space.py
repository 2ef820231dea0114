"""The check ``disk-space``: what does a broker do when its disk is nearly full?

Question: something else has taken the space. Does the broker refuse messages in time, and not too soon, and does it
make space by deleting its oldest log files?

Model (RocketMQ: CleanCommitLogService). A fault left a share of the disk free, and used is the rest. A broker looks
every ten seconds, and cleans up every ten seconds, for the first time a minute after its start:

    above 90 % used     taken-when-full     a message was stored later than :data:`LOOK_NS` after the fault
    up to 90 % used     refused-with-space  a send was refused with SERVICE_NOT_AVAILABLE as late as that
    above 85 % used     kept-when-full      and above ``diskMaxUsedSpaceRatio``: no file was deleted within
                                            :data:`CLEAN_NS`, although the log has several: queues begin where they did

Each bound counts from the fault and from the broker's start, whichever was later, and the contract's slack comes on
top.
The check applies where messages were sent while a disk was full, and to deletion where the log had three files.

Limits. Faults whose share is not written in the history are not judged, nor brokers with other marks of their own
(``diskSpaceWarningLevelRatio``), nor times in which another fault hit the broker. Members of groups refuse by
themselves, and are not judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from checkers.history.columns import Bools
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.verdict import Anomaly, Outcome, Verdict

LOOK_NS: Final = 11_000_000_000
FIRST_CLEAN_NS: Final = 61_000_000_000
CLEAN_NS: Final = 12_000_000_000
REFUSES, FORCES = 90, 85
DELETES: Final = ("diskMaxUsedSpaceRatio", 75)
REFUSED: Final = "SERVICE_NOT_AVAILABLE"
FILE_BYTES: Final = ("mappedFileSizeCommitLog", 1 << 30)
FILES_MIN: Final = 3


def has_disk_space(history: History, facts: RunFacts) -> bool:
    """Whether a disk was filled, by how much is known, and messages were sent meanwhile."""
    is_meant = facts.contract() is not None and not facts.waits_for_majority()
    filled = [(fault, node) for fault in _fills(facts) for node in fault.left] if is_meant else []
    return any(_judged(history, facts, fault, node)[1] for fault, node in filled)


def check_disk_space(history: History, facts: RunFacts) -> Verdict:
    """FAIL for each fault and way in which a broker did not do what it must; UNKNOWN where files had to go, and nobody
    asked afterwards where queues begin."""
    anomalies, seen, reasons = [], 0, []
    for fault in _fills(facts):
        for node in fault.left:
            found, sends = _judged(history, facts, fault, node)
            anomalies += found
            seen += sends
            reasons += _unseen(history, facts, fault, node)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("disk-space", outcome, tuple(anomalies), {"sends": seen}, tuple(reasons))


def _fills(facts: RunFacts) -> Iterator[FaultFact]:
    """Faults that are long enough for a broker to look, on masters with RocketMQ's marks."""
    for fault in facts.faults:
        is_long = fault.lasts[1] - fault.inject_ns > LOOK_NS + facts.slack_ns()
        if fault.does("fills-disk") and fault.effective == 1 and fault.value_of("fills-disk") and is_long:
            masters = all(node == facts.cluster.first_master(facts.cluster.broker_of(node)) for node in fault.left)
            settings = [facts.cluster.properties(node, fault.inject_ns) for node in fault.left]
            if masters and not any(name.startswith("diskSpace") for each in settings for name in each):
                yield fault


def _used(fault: FaultFact) -> int:
    return 100 - int(fault.value_of("fills-disk").rstrip("%"))


def _judged(history: History, facts: RunFacts, fault: FaultFact, node: str) -> tuple[list[Anomaly], int]:
    """What was wrong, and how many sends could show it."""
    begin_ns = max(fault.inject_ns, _started_ns(facts, fault, node)) + LOOK_NS + facts.slack_ns()
    if _is_hit_otherwise(facts, fault, node):
        return [], 0
    ops = history.ops
    here = _sent_to(history, facts, node) & (ops.invoke_ns > begin_ns) & (ops.complete_ns >= 0)
    here &= ops.complete_ns < fault.heal_ns
    used, refused = _used(fault), ops.status.mask(REFUSED)
    wrong = here & ops.outcome.mask("ok", "weak") if used > REFUSES else here & refused
    kind = "taken-when-full" if used > REFUSES else "refused-with-space"
    rows = np.flatnonzero(wrong)
    found = [_wrong_send(history, facts, kind, fault, node, rows.tolist())] if len(rows) else []
    found += _kept(history, facts, fault, node)
    return found, int(here.sum())


def _is_hit_otherwise(facts: RunFacts, fault: FaultFact, node: str) -> bool:
    others = [one for one in facts.faults if one is not fault and one.effective != 0]
    hit = [one for one in others if node in (*one.left, *one.right)]
    return any(one.begin_ns < fault.lasts[1] and one.lasts[1] > fault.inject_ns for one in hit)


def _sent_to(history: History, facts: RunFacts, node: str) -> Bools:
    ops, broker = history.ops, facts.cluster.broker_of(node)
    queues = [number for number in np.unique(ops.queue).tolist() if number >= 0]
    own = [number for number in queues if history.queues.broker_of(number) == broker]
    is_own: Bools = np.isin(ops.queue, own) & ops.f.mask("send")
    return is_own


def _wrong_send(history: History, facts: RunFacts, kind: str, fault: FaultFact, node: str, rows: list[int]) -> Anomaly:
    ops, row = history.ops, rows[0]
    what = "stored" if kind == "taken-when-full" else "refused"
    sentence = (
        f"{history.op_text(int(ops.op[row]))} was {what} by {node}, whose disk was {_used(fault)} % full since "
        f"{facts.clock(fault.inject_ns)}; so were {len(rows) - 1} more."
    )
    return Anomaly(kind, sentence, tuple(ops.op[rows[:20]].tolist()), {"node": node, "count": len(rows)})


def _kept(history: History, facts: RunFacts, fault: FaultFact, node: str) -> Iterator[Anomaly]:
    due_ns, files = _deletion(history, facts, fault, node)
    asked = _asked_begin(history, facts, node, due_ns)
    if not files or not asked.any() or (history.ops.offset[asked] > 0).any():
        return
    sentence = (
        f"{node}, whose disk was {_used(fault)} % full from {facts.clock(fault.inject_ns)} on, had {files} log "
        f"files and deleted none by {facts.clock(due_ns)}: its queues still begin at 0."
    )
    first = history.ops.op[_sent_to(history, facts, node) & (history.ops.offset == 0)]
    yield Anomaly("kept-when-full", sentence, tuple(first[:1].tolist()), {"node": node, "files": files})


def _unseen(history: History, facts: RunFacts, fault: FaultFact, node: str) -> list[str]:
    due_ns, files = _deletion(history, facts, fault, node)
    if not files or _is_hit_otherwise(facts, fault, node) or _asked_begin(history, facts, node, due_ns).any():
        return []
    return [f"{node} had to delete files by {facts.clock(due_ns)}, and nobody asked then where its queues begin"]


def _deletion(history: History, facts: RunFacts, fault: FaultFact, node: str) -> tuple[int, int]:
    """By when files have to go, and how many the log had; none if it need not delete any."""
    due_ns = max(fault.inject_ns + CLEAN_NS, _started_ns(facts, fault, node) + FIRST_CLEAN_NS) + facts.slack_ns()
    ops = history.ops
    sent = _sent_to(history, facts, node) & ops.outcome.mask("ok") & (ops.complete_ns < due_ns - CLEAN_NS)
    files = int(ops.position[sent].max(initial=0)) // _file_bytes(facts, node) + 1
    deletes_above = int(facts.cluster.properties(node, fault.inject_ns).get(*DELETES))
    is_due = _used(fault) > max(FORCES, deletes_above) and fault.heal_ns >= due_ns and files >= FILES_MIN
    return due_ns, files if is_due else 0


def _asked_begin(history: History, facts: RunFacts, node: str, due_ns: int) -> Bools:
    """Questions for the least offset of a queue of its broker, after that."""
    ops = history.ops
    sent = _sent_to(history, facts, node)
    asked: Bools = ops.f.mask("query_min") & (ops.invoke_ns > due_ns) & np.isin(ops.queue, ops.queue[sent])
    return asked


def _started_ns(facts: RunFacts, fault: FaultFact, node: str) -> int:
    """When the process that *fault* met was started."""
    return max((ns for ns in facts.starts.get(node, ()) if ns <= fault.inject_ns), default=0)


def _file_bytes(facts: RunFacts, node: str) -> int:
    return int(facts.cluster.properties(node).get(*FILE_BYTES))
