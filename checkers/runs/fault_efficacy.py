"""The check ``faults``: did every fault of the run take effect, and is every one of them gone?

Question: may this run be green at all?

Model. A fault whose probe saw no effect, or could not tell, proves nothing about the broker: the run is UNKNOWN,
whatever the other checks say. The same holds for a fault that is still in force after its heal. A run without faults
passes.

Limits. The probes are those of the injector; nothing is second-guessed here.
"""

from __future__ import annotations

from checkers.history.facts import FaultFact, RunFacts
from checkers.verdict import Outcome, Verdict

CANNOT_TELL = "nobody can tell whether"


def check_faults(facts: RunFacts) -> Verdict:
    """UNKNOWN with a reason for each fault that did not take effect, cannot be told to have, or is not gone."""
    reasons = [reason for fault in facts.faults for reason in _reasons(fault)]
    contract = facts.contract()
    if contract is None:
        reasons.append(f"there is no contract for mode {facts.mode!r}")
    else:
        for kind in sorted({fault.kind for fault in facts.faults if facts.guarantee(fault) is None}):
            reasons.append(f"the contract of {facts.mode} says nothing about {kind} with {facts.flush} flush")
    measures = {
        "faults": len(facts.faults),
        "took_effect": sum(fault.effective == 1 for fault in facts.faults),
        "injected": [fault.words() for fault in facts.faults],
    }
    return Verdict("faults", Outcome.UNKNOWN if reasons else Outcome.PASS, (), measures, tuple(reasons))


def _reasons(fault: FaultFact) -> list[str]:
    why = f": {fault.reason}" if fault.reason else ""
    reasons = []
    if fault.effective == 0:
        reasons.append(f"{fault.words()} did not take effect{why}")
    elif fault.effective < 0:
        reasons.append(f"{CANNOT_TELL} {fault.words()} took effect{why}")
    if fault.is_gone == 0:
        reasons.append(f"{fault.words()} is still in force after its heal{why}")
    return reasons
