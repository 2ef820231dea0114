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

The first two need no fault. The others are allowed where delivery is at least once, and counted. A message that stands,
after a fault took data, at an offset that the group had passed before is *skipped*: allowed. It has passed what it was
given, and what lies below an offset that it committed: its broker passes over what it does not want. What a listener
refused must come again within a minute (*refused-lost* if it does not), counted (*not-counted*); but not in a group
that broadcasts, where it is gone.

Limits. A group that did not say which tags it wants is expected to want every message of the topic. A message whose
send is unknown may be given or not.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

import numpy as np

from checkers.history.columns import Bools, Ints
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.ledger import FAIL as REFUSED
from checkers.history.ledger import OK, Ledger, ledger_of
from checkers.history.listeners import LATER, Given, given_by_group, is_broadcast, is_retry, wanted_tags
from checkers.runs.excuses import excuses
from checkers.verdict import Anomaly, Outcome, Verdict

ROLLED_BACK = "rollback"
_NAMED = 20
AGAIN_NS = 60_000_000_000
"""A refused message comes again after 10 s, to a member that may have to learn of its queue first (20 s)."""


def check_listeners(history: History, facts: RunFacts) -> Verdict:
    """Account for every delivery to a listener."""
    ledger = ledger_of(history)
    rolled_back = _of_kind(history, ROLLED_BACK, len(ledger))
    promised = np.flatnonzero((ledger.outcome == OK) & ledger.drained & ~rolled_back & of_load(history, len(ledger)))
    groups = given_by_group(history)
    anomalies = [
        anomaly for given in groups for anomaly in _wrong(history, facts, ledger, given, promised, rolled_back)
    ]
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
    failed = any(not anomaly.allowed for anomaly in anomalies)
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("listeners", outcome, tuple(anomalies), measures, reasons)


def of_load(history: History, size: int) -> Bools:
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
    facts: RunFacts,
    ledger: Ledger,
    given: Given,
    promised: Ints,
    rolled_back: Bools,
) -> Iterator[Anomaly]:
    """What was not given although it should have been, and the other way round."""
    got = np.unique(given.message[given.message >= 0])
    missing = np.setdiff1d(_wanted(history, given.group, promised), got).tolist()
    behind = [message for message in missing if _is_behind(history, facts, ledger, given, message)]
    yield from _missing(history, ledger, given, "undelivered", [m for m in missing if m not in behind])
    yield from _missing(history, ledger, given, "skipped", behind)
    shown = got[got < len(rolled_back)]
    if not is_broadcast(history, given.group):
        yield from _after_refusals(history, facts, given)
    yield from _shown(history, given, "rolled-back-delivered", "were rolled back", shown[rolled_back[shown]])
    yield from _shown(history, given, "phantom", "were refused at every send", shown[ledger.outcome[shown] == REFUSED])


def _wanted(history: History, group: str, messages: Ints) -> Ints:
    """Of *messages* those of the tags that the group subscribed to."""
    wanted = wanted_tags(history, group)
    if wanted is None:
        return messages
    of_wanted = history.messages.message[history.messages.tags.mask(*wanted)]
    return np.intersect1d(messages, of_wanted)


def _shown(history: History, given: Given, kind: str, what: str, messages: Ints) -> Iterator[Anomaly]:
    """Messages that nobody should have been given."""
    if not len(messages):
        return
    rows = [int(given.row[np.flatnonzero(given.message == message)[0]]) for message in messages[:_NAMED].tolist()]
    named = "; ".join(history.op_text(int(history.ops.op[row])) for row in rows)
    sentence = f"Group {given.group} was given {len(messages)} messages that {what}: {named}"
    proof = tuple(int(history.ops.op[row]) for row in rows)
    yield Anomaly(kind, sentence, proof, {"group": given.group, "count": len(messages)})


def _is_behind(history: History, facts: RunFacts, ledger: Ledger, given: Given, message: int) -> bool:
    """Whether a fault took data of its broker, so that it stands at an offset that the group had passed before."""
    ops, row = history.ops, int(ledger.row[message])
    broker = history.queues.broker_of(int(ops.queue[row]))
    taken = [fault for fault in facts.faults if fault.takes() and fault.effective != 0]
    taken = [
        fault for fault in taken if facts.cluster.hits(fault, broker) and fault.begin_event < ops.complete_event[row]
    ]
    if not taken:
        return False
    here = given.row[ops.queue[given.row] == ops.queue[row]]
    before = here[ops.invoke_event[here] < ops.complete_event[row]]
    told = np.flatnonzero(ops.f.mask("commit_offset") & ops.group.mask(given.group) & (ops.queue == ops.queue[row]))
    told = told[ops.invoke_event[told] < ops.complete_event[row]]
    passed = max(int(ops.offset[before].max(initial=-1)), int(ops.offset[told].max(initial=0)) - 1)
    return passed >= int(ops.offset[row])


def _missing(history: History, ledger: Ledger, given: Given, kind: str, messages: list[int]) -> Iterator[Anomaly]:
    """Acknowledged, there, and never given; *skipped* is allowed."""
    if messages:
        named = "; ".join(_place(history, ledger, message) for message in messages[:_NAMED])
        sentence = f"Group {given.group} was never given {len(messages)} acknowledged messages that are there: {named}"
        proof = tuple(int(history.ops.op[ledger.row[message]]) for message in messages[:_NAMED])
        details = {"group": given.group, "count": len(messages)}
        yield Anomaly(kind, sentence, proof, details, allowed=kind == "skipped")


def _after_refusals(history: History, facts: RunFacts, given: Given) -> Iterator[Anomaly]:
    """What a listener refused must come again, counted; unless a fault took data, where it may be gone."""
    times = given.times(history)
    refused = history.ops.status.mask(LATER)[given.row]
    last = refused & (times < _given_up_at(history, given.group))
    order = np.lexsort((np.arange(len(given.row)), given.message))
    end_ns = max(int(history.ops.complete_ns.max(initial=0)), int(history.events.ns.max(initial=0)))
    gone = []
    for place, now in enumerate(order.tolist()):
        following = int(order[place + 1]) if place + 1 < len(order) else -1
        is_last = following < 0 or given.message[following] != given.message[now]
        if last[now] and given.message[now] >= 0 and is_last:
            gone += [now] if end_ns - history.ops.complete_ns[given.row[now]] >= AGAIN_NS else []
    taken = bool(excuses(facts, "refused-lost"))
    uncounted = _uncounted(history, facts, given)
    yield from _refusal(history, given, "not-counted", "came again with the count that it had", uncounted, False)
    yield from _refusal(history, given, "refused-lost", "was refused and came never again", gone, taken)


def _uncounted(history: History, facts: RunFacts, given: Given) -> list[int]:
    """Retries of which there are more, with one count, than refusals at one less can have made. A refusal makes one, or
    two where its answer was lost in a fault: the broker's, and the one that the member then sends itself."""
    ops, times = history.ops, given.times(history)
    refused = Counter[tuple[int, int]]()
    made: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
    for place, row in enumerate(given.row.tolist()):
        key = (int(given.message[place]), int(times[place]))
        refused[key] += ops.status[row] == LATER
        if key[0] >= 0 and is_retry(history, int(ops.queue[row])):
            made.setdefault(key, {}).setdefault((int(ops.queue[row]), int(ops.offset[row])), place)
    each = 2 if facts.faults else 1
    return [
        place
        for (message, count), places in sorted(made.items())
        for place in list(places.values())[each * refused[message, count - 1] :]
    ]


def _given_up_at(history: History, group: str) -> int:
    """The count at which a refused message is a dead letter, as whoever read those says."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("bury") & ops.group.mask(group)).tolist()
    return min((int(json.loads(ops.detail[row])["times_max"]) for row in rows if ops.detail[row]), default=2**31)


def _refusal(
    history: History, given: Given, kind: str, what: str, places: list[int], allowed: bool
) -> Iterator[Anomaly]:
    if places:
        ops = tuple(int(history.ops.op[given.row[place]]) for place in places[:_NAMED])
        sentence = f"Group {given.group}: {len(places)} times a message {what}; the first: {history.op_text(ops[0])}."
        yield Anomaly(kind, sentence, ops, {"group": given.group, "count": len(places)}, allowed)


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
