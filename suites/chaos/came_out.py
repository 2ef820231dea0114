"""A run of a claim's scenario, with what it is made of: what the tests of claims begin with."""

from __future__ import annotations

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.verdict import Outcome
from harness import runfolder
from harness.run import RunResult

Run = tuple[RunResult, History, RunFacts]


def came_out(result: RunResult, wanted: Outcome = Outcome.PASS) -> Run:
    """The run, its history and its facts; it came out as *wanted*, every fault has bitten, and none was seen to last.

    (A cut between nodes one of which is dead at its heal cannot be told to be gone.)
    """
    assert result.outcome is wanted, [verdict.to_json() for verdict in result.verdicts if verdict.outcome]
    assert result.folder is not None
    history = runfolder.load_history(result.folder)
    facts = RunFacts.from_run(runfolder.read_run(result.folder), history)
    assert [fault for fault in facts.faults if fault.effective != 1 or fault.is_gone == 0] == []
    return result, history, facts
