"""Loss in a group: which acknowledged messages can an election have lost, and which can none?

Question: a majority had answered for a message, and it is gone. Is that DLedger's documented hazard?

Model. A leader that lives keeps its log, so that a group loses something only when it elects another. Of the elections
after a message was acknowledged one must be able to have lost it (:mod:`checkers.runs.group_copies`). A log loses its
end and nothing else: what lay before a message that an election kept was not lost by it. Everything else is a failure,
also with ``expect: {lost: none}``.

An election after which something may be missing begins a new epoch of the log (:func:`elections_that_lose`): as a fault
that takes data at the instant at which its leader serves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.history.cluster import Mastership
from checkers.history.columns import Ints
from checkers.history.effects import Effect
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.history.ledger import Ledger, ack_ns
from checkers.runs.group_copies import STRICT, Copies, Lack
from checkers.verdict import Anomaly

_NAMED = 20


def elections_that_lose(facts: RunFacts, broker: str) -> list[FaultFact]:
    """Elections of *broker* that may have lost something, in order, each as a fault."""
    return [_as_fault(facts, election) for election in Copies(facts, broker).elections]


def _as_fault(facts: RunFacts, election: Mastership) -> FaultFact:
    before = [f for f in facts.faults if f.takes() and f.effective != 0 and f.begin_ns < election.begin_ns]
    return FaultFact(
        fault=before[-1].fault if before else "",
        kind="election",
        left=(election.node,),
        begin_ns=election.begin_ns,
        inject_ns=election.begin_ns,
        heal_ns=election.begin_ns,
        begin_event=election.event,
        inject_event=election.event,
        recorded=(Effect("takes", "unforced"),),
    )


@dataclass(frozen=True)
class _Loss:
    """*message*, by which election, and why; the latter two empty if nothing explains it."""

    message: int
    election: Mastership | None = None
    lacks: tuple[Lack, ...] = ()

    @property
    def cause(self) -> tuple[int, tuple[str, ...]]:
        """What losses are told of together."""
        by = (lack.by.fault if lack.by else "" for lack in self.lacks)
        return self.election.event if self.election else -1, tuple(dict.fromkeys(by))


def judge_group_loss(
    history: History, facts: RunFacts, ledger: Ledger, broker: str, stored: Ints, lost: Ints
) -> list[Anomaly]:
    """An anomaly for each election that lost some of *lost*, and for what none explains; *stored*: all that *broker*
    had answered for."""
    copies = Copies(facts, broker)
    losses = [_loss(history, ledger, copies, stored, int(message)) for message in lost.tolist()]
    return [
        _anomaly(history, facts, ledger, copies, [loss for loss in losses if loss.cause == cause])
        for cause in sorted({loss.cause for loss in losses})
    ]


def _loss(history: History, ledger: Ledger, copies: Copies, stored: Ints, message: int) -> _Loss:
    row = int(ledger.row[message])
    begun_ns, acked_ns = int(history.ops.invoke_ns[row]), int(history.ops.complete_ns[row])
    for election in copies.elections:
        is_other_log = copies.taken_over(election.begin_ns) is not None
        if election.begin_ns > begun_ns and (
            is_other_log or not _kept_more(history, ledger, stored, message, election)
        ):
            lacks = copies.explain(begun_ns, acked_ns, election.begin_ns)
            if lacks is not None:
                return _Loss(message, election, tuple(lacks))
    return _Loss(message)


def _kept_more(history: History, ledger: Ledger, stored: Ints, message: int, election: Mastership) -> bool:
    """Whether something behind *message* in the same log was there before *election*, and is there at the end."""
    position = int(ledger.position[message])
    answered = history.ops.complete_event[ledger.row[stored]] < election.event
    kept = stored[answered & ledger.drained[stored] & (ledger.attempts[stored] == 1)]
    return position >= 0 and bool((ledger.position[kept] > position).any())


def _anomaly(history: History, facts: RunFacts, ledger: Ledger, copies: Copies, losses: list[_Loss]) -> Anomaly:
    lost = np.array([loss.message for loss in losses], dtype=np.int64)
    lost = lost[np.argsort(ledger.position[lost], kind="stable")]
    election, expects_none = losses[0].election, facts.expect.get("lost") == "none"
    acked_ns = ack_ns(history, ledger, lost)
    is_allowed = election is not None and not expects_none
    first = history.op_text(int(history.ops.op[ledger.row[lost[acked_ns.argmin()]]]))
    many = "1 acknowledged message" if len(lost) == 1 else f"{len(lost)} acknowledged messages"
    if election is None:
        nearest = facts.nearest_fault(int(acked_ns.min()))
        sentence = f"{many} of {copies.broker} gone, first {first}. {_must_be_there(copies)}" + (
            f" The nearest fault is {nearest.words()}." if nearest else " No fault was injected."
        )
    else:
        sentence = (
            f"{many} of {copies.broker} lost when {election.node} was elected at "
            f"{history.clock(election.begin_ns)}, first "
            f"{first}: its log from position {int(ledger.position[lost[0]])} to "
            f"{int(ledger.position[lost[-1]])}. {_why(copies, losses[0].lacks, election.begin_ns)}"
        )
        sentence += " But the scenario expects that nothing is lost." if expects_none else ""
    by = [lack.by for lack in losses[0].lacks if lack.by is not None]
    age_ns = by[0].inject_ns - int(acked_ns.min()) if by else -1
    details = {
        "broker": copies.broker,
        "count": len(lost),
        "fault": by[0].fault if by else "",
        "messages": lost[:_NAMED].tolist(),
        "first_position": int(ledger.position[lost[0]]),
        "last_position": int(ledger.position[lost[-1]]),
        "oldest_age_ns": age_ns,
        "bound_ns": -1,
        "seen_before": int(ledger.seen[lost].sum()),
    }
    ops = history.ops.op[ledger.row[lost[:_NAMED]]].tolist()
    return Anomaly("lost", sentence, tuple(ops), details, is_allowed)


def _must_be_there(copies: Copies) -> str:
    return (
        f"{copies.quorum} of {len(copies.nodes)} members had to have it for SEND_OK, and no election followed in which "
        f"a majority can have been without it: by what was done to the members, too few had lost it or never got it."
    )


def _taken(lacks: list[Lack]) -> str:
    """From whom one fault can have taken it."""
    by = lacks[0].by
    assert by is not None
    return f"{by.words()} can have taken it from {' and '.join(lack.node for lack in lacks)}"


def _why(copies: Copies, lacks: tuple[Lack, ...], at_ns: int) -> str:
    if (foreign := copies.taken_over(at_ns)) is not None:
        return (
            f"{foreign.words()} gave {foreign.left[0]} the disk of another group, whose last term was larger: it was "
            f"elected, and its log became the group's. No file of DLedger's names its group."
        )
    faults = list(dict.fromkeys(lack.by.fault for lack in lacks if lack.by is not None))
    lost = [_taken([lack for lack in lacks if lack.by is not None and lack.by.fault == fault]) for fault in faults]
    never = [f"{lack.node} need not have got it" for lack in lacks if lack.by is None]
    is_unforced = any(lack.by is not None and lack.by.takes() == "unforced" for lack in lacks)
    source = "SEND_OK was said from the memory of a majority; " if is_unforced else ""
    advice = f" Forces before answers ({STRICT}) would have kept it." if is_unforced else ""
    who = f"so that {copies.quorum} of {len(copies.nodes)} could elect without it."
    return f"{source}{', '.join(lost + never)}, {who}{advice}"
