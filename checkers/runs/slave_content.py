"""What slaves showed: is it what their masters have there?

Question: a slave answered a pull with messages. Does any acknowledgement, or any read of the master, say that another
message stands at that offset?

Model. By queue and offset, what acknowledged sends and reads of masters tell is *known*. A slave copies its master's
log, so at an offset at which something is known it shows just that: else ``slave-shows-another``. And it shows nothing
that goes again: an offset behind the end to which the drain has read the queue is ``slave-showed-more`` (a follower
that shows what its leader has not committed, say).

Limits. A broker whose log lost its end, or whose data was replaced, during the run is only counted: its slaves may have
kept what it has given away since. What nobody else told about is not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import RunFacts
from checkers.history.groups import of_slaves
from checkers.history.history import History
from checkers.runs.losses import data_losses
from checkers.verdict import Anomaly

_WIDTH = 1 << 40
"""More than any offset."""


def wrong_content(history: History, facts: RunFacts) -> Iterator[Anomaly]:
    """An anomaly for each node that showed what its master has not, or has not in the end."""
    ops, reads = history.ops, history.reads
    of_read = ops.rows(reads.op)
    by_slave = of_slaves(history, facts)[of_read] & ops.f.mask("pull")[of_read] & (ops.queue[of_read] >= 0)
    shown = np.flatnonzero(by_slave & _keeps_its_log(history, facts)[of_read])
    where, message = _known(history, facts, of_read)
    place = ops.queue[of_read[shown]] * _WIDTH + reads.offset[shown]
    first = np.searchsorted(where, place)
    last = np.searchsorted(where, place, side="right")
    same = np.zeros(len(shown), dtype=np.bool_)
    for step in range(int((last - first).max(initial=0))):
        inside = first + step < last
        same[inside] |= message[first[inside] + step] == reads.message[shown[inside]]
    wrong = shown[(last > first) & ~same]
    nodes = np.array([ops.node[row] for row in of_read[wrong].tolist()])
    for node in dict.fromkeys(nodes.tolist()):
        yield _anomaly(history, facts, node, wrong[nodes == node], of_read)
    yield from _behind_the_end(history, np.setdiff1d(shown, wrong), of_read)


def _behind_the_end(history: History, shown: Ints, of_read: Ints) -> Iterator[Anomaly]:
    """By node: what it showed, and nobody has in the end."""
    ops, reads = history.ops, history.reads
    drained = np.flatnonzero(ops.f.mask("drain") & ops.status.mask("PULL_NOT_FOUND") & (ops.queue >= 0))
    end = np.full(int(ops.queue.max(initial=-1)) + 1, _WIDTH)
    end[ops.queue[drained]] = ops.offset[drained]
    gone = shown[reads.offset[shown] >= end[ops.queue[of_read[shown]]]]
    nodes = np.array([ops.node[row] for row in of_read[gone].tolist()])
    for node in dict.fromkeys(nodes.tolist()):
        first = int(gone[nodes == node][0])
        queue = int(ops.queue[of_read[first]])
        look, ask = int(ops.op[drained[ops.queue[drained] == queue][-1]]), int(ops.op[of_read[first]])
        sentence = (
            f"{node} showed m{int(reads.message[first])} at {history.queues.name(queue)} @{int(reads.offset[first])} "
            f"({int((nodes == node).sum())} such), and in the end the queue ends at @{int(end[queue])}: it showed what "
            f"was not there to stay. Proof: {history.op_text(ask)}; {history.op_text(look)}."
        )
        details = {"node": node, "queue": queue, "offset": int(reads.offset[first])}
        yield Anomaly("slave-showed-more", sentence, (ask, look), details)


def _keeps_its_log(history: History, facts: RunFacts) -> Bools:
    """By row of ``ops``: nothing took anything from the log of its broker."""
    ops, queues = history.ops, history.queues
    whole = [broker for broker in sorted(set(queues.broker.values)) if not data_losses(facts, broker)]
    judged = [queue for queue in queues.queue.tolist() if queues.broker_of(queue) in whole]
    return np.isin(ops.queue, judged)


def _known(history: History, facts: RunFacts, of_read: Ints) -> tuple[Ints, Ints]:
    """(place, message) of everything that acknowledgements and masters tell, by place."""
    ops, reads = history.ops, history.reads
    acked = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok", "weak") & (ops.queue >= 0) & (ops.offset >= 0))
    by_master = ops.f.mask("pull", "drain") & ~of_slaves(history, facts) & (ops.queue >= 0)
    read = np.flatnonzero(by_master[of_read])
    where = np.concatenate(
        (ops.queue[acked] * _WIDTH + ops.offset[acked], ops.queue[of_read[read]] * _WIDTH + reads.offset[read])
    )
    message = np.concatenate((ops.message[acked], reads.message[read]))
    where, message = np.unique(np.stack((where, message)), axis=1)
    return where, message


def _anomaly(history: History, facts: RunFacts, node: str, wrong: Ints, of_read: Ints) -> Anomaly:
    ops, reads = history.ops, history.reads
    first = int(wrong[0])
    row, offset = int(of_read[first]), int(reads.offset[first])
    queue = int(ops.queue[row])
    sends = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok", "weak") & (ops.queue == queue))
    sends = sends[ops.offset[sends] == offset]
    masters = of_read[reads.offset == offset]
    masters = masters[(ops.queue[masters] == queue) & ~of_slaves(history, facts)[masters]]
    proof = [int(ops.op[rows[0]]) for rows in (sends, masters) if len(rows)][:1]
    told = "; ".join(history.op_text(op) for op in (*proof, int(ops.op[row])))
    sentence = (
        f"{node} showed m{int(reads.message[first])} at {history.queues.name(queue)} @{offset}, where its master has "
        f"another message ({len(wrong)} such). Proof: {told}."
    )
    details = {"node": node, "queue": queue, "offset": offset, "count": len(wrong)}
    return Anomaly("slave-shows-another", sentence, (*proof, int(ops.op[row])), details)
