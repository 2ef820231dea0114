"""The check ``listeners``: did every group's listeners get everything at least once, and why some of it again?

Question: after everything was healed and the groups had gone quiet, was each acknowledged message that is still there
given to a listener of each group? What was given twice, and for which reason?

Model. What is there is what the drain found. A message that was rolled back must never be given, one that was
committed must be (kinds of messages: ``plain``, ``ordered``, ``delayed``, ``commit``, ``rollback``). Deliveries beyond
the first are attributed:

    given-back      the listener had refused it: it came from the retry topic, or with a higher count
    stored-twice    it stands at two places of the log: a producer tried again
    moved           another member got it: the queue had changed hands before the first one's offset was committed
    went-back       the same member got it again from the same place: the group's offset was older than that

and the first two need no fault. The others are allowed where delivery is at least once, and counted.

Limits. Every group is expected to want every message of the topic. A message whose send is unknown may be given or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.ledger import FAIL as REFUSED
from checkers.history.ledger import OK, Ledger, ledger_of
from checkers.history.listeners import Given, given_by_group, is_retry
from checkers.verdict import Anomaly, Outcome, Verdict

ROLLED_BACK = "rollback"
_NAMED = 20


def check_listeners(history: History, facts: RunFacts) -> Verdict:
    """Account for every delivery to a listener."""
    ledger = ledger_of(history)
    rolled_back = _of_kind(history, ROLLED_BACK, len(ledger))
    promised = np.flatnonzero((ledger.outcome == OK) & ledger.drained & ~rolled_back & _of_load(history, len(ledger)))
    groups = given_by_group(history)
    anomalies = [anomaly for given in groups for anomaly in _wrong(history, ledger, given, promised, rolled_back)]
    causes: Counter[str] = Counter()
    for given in groups:
        causes.update(_causes(history, ledger, given))
    reasons = () if len(promised) else ("no acknowledged message was there in the end: nothing had to be delivered",)
    measures = {
        "promised": len(promised),
        "groups": len(groups),
        "deliveries": sum(len(given.row) for given in groups),
        "again_by_cause": dict(sorted(causes.items())),
    }
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("listeners", outcome, tuple(anomalies), measures, reasons)


def _of_load(history: History, size: int) -> Bools:
    """Messages of applications: where these are told apart from attempts, an operator's are not among them."""
    ops = history.ops
    produced = ops.message[ops.f.mask("produce") & (ops.message >= 0)]
    mask = np.full(size, not len(produced), dtype=np.bool_)
    mask[produced[produced < size]] = True
    return mask


def _of_kind(history: History, kind: str, size: int) -> Bools:
    mask = np.zeros(size, dtype=np.bool_)
    numbers = history.messages.message[history.messages.kind.mask(kind)]
    mask[numbers[numbers < size]] = True
    return mask


def _wrong(
    history: History,
    ledger: Ledger,
    given: Given,
    promised: Ints,
    rolled_back: Bools,
) -> Iterator[Anomaly]:
    """What was not given although it should have been, and the other way round."""
    got = np.unique(given.message[given.message >= 0])
    missing = np.setdiff1d(promised, got)
    if len(missing):
        yield Anomaly(
            "undelivered",
            f"Group {given.group} was never given {len(missing)} acknowledged messages that are there: "
            + "; ".join(_place(history, ledger, message) for message in missing[:_NAMED].tolist()),
            tuple(int(history.ops.op[ledger.row[message]]) for message in missing[:_NAMED].tolist()),
            {"group": given.group, "count": len(missing)},
        )
    shown = got[got < len(rolled_back)]
    yield from _shown(history, given, "rolled-back-delivered", "were rolled back", shown[rolled_back[shown]])
    yield from _shown(history, given, "phantom", "were refused at every send", shown[ledger.outcome[shown] == REFUSED])


def _shown(history: History, given: Given, kind: str, what: str, messages: Ints) -> Iterator[Anomaly]:
    """Messages that nobody should have been given."""
    if not len(messages):
        return
    rows = [int(given.row[np.flatnonzero(given.message == message)[0]]) for message in messages[:_NAMED].tolist()]
    named = "; ".join(history.op_text(int(history.ops.op[row])) for row in rows)
    sentence = f"Group {given.group} was given {len(messages)} messages that {what}: {named}"
    proof = tuple(int(history.ops.op[row]) for row in rows)
    yield Anomaly(kind, sentence, proof, {"group": given.group, "count": len(messages)})


def _place(history: History, ledger: Ledger, message: int) -> str:
    return f"m{message} ({history.queues.name(int(ledger.queue[message]))})"


def _causes(history: History, ledger: Ledger, given: Given) -> list[str]:
    """Of each delivery of a message beyond its first."""
    ops, times = history.ops, given.times(history)
    order = np.lexsort((np.arange(len(given.row)), given.message))
    causes = []
    for before, now in zip(order[:-1].tolist(), order[1:].tolist(), strict=True):
        message = int(given.message[now])
        if message < 0 or message != given.message[before]:
            continue
        earlier, later = int(given.row[before]), int(given.row[now])
        if is_retry(history, int(ops.queue[later])) or times[now] > times[before]:
            causes.append("given-back")
        elif (ops.queue[earlier], ops.offset[earlier]) != (ops.queue[later], ops.offset[later]):
            causes.append("stored-twice")
        else:
            causes.append("went-back" if ops.node[earlier] == ops.node[later] else "moved")
    return causes
