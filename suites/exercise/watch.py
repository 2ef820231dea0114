"""What one simulated run exercised.

Question: which requests and answers passed between its nodes, which notable branches were taken, whom did faults hit?

Model. Every frame that a node of the simulator takes apart is counted by its code while a run is watched; notes, faults
and operations are in its history.

Limits. One run at a time a process: the frame decoder is the process's. Runs that are killed exercise nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.verdict import Outcome
from harness.mutation.units import unit_named
from harness.run import run_scenario
from harness.runfolder import load_history
from harness.summary import is_as_expected
from reference_impl.wire import frame
from reference_impl.wire.codes import RequestCode, ResponseCode


@dataclass
class Exercised:
    """By kind, the names of points; ``statuses``: what clients saw, as ``operation STATUS``. ``is_good``: the run came
    out as it should."""

    unit: str
    is_good: bool = True
    points: dict[str, list[str]] = field(default_factory=dict)
    statuses: list[str] = field(default_factory=list)


def watched(unit: str, seed: int) -> Exercised:
    """Run *unit* in the simulator and look."""
    scenario = unit_named(unit).scenario
    with TemporaryDirectory(prefix="mqchaos-") as folder, _frames() as seen:
        result = run_scenario(scenario, seed=seed, out=Path(folder), keep="all")
        assert result.folder is not None
        history = load_history(result.folder)
        facts = RunFacts.from_run(json.loads((result.folder / "run.json").read_text(encoding="utf-8")), history)
    points = {**seen, "branch": _branches(history), "fault": _faults(facts)}
    return Exercised(
        unit,
        result.outcome is Outcome.PASS or is_as_expected(result.outcome, result.verdicts),
        {kind: sorted(names) for kind, names in points.items()},
        sorted(set(_statuses(history))),
    )


@contextmanager
def _frames() -> Iterator[dict[str, set[str]]]:
    """Codes of all frames that are taken apart within."""
    seen: dict[str, set[str]] = {"request": set(), "answer": set()}
    decode = frame._decode_rest

    def looked_at(data: bytes, position: int, total: int, word: int) -> frame.Command:
        command = decode(data, position, total, word)
        kind, codes = ("answer", ResponseCode) if command.flag & frame.ANSWER else ("request", RequestCode)
        if command.code in codes.__members__.values():
            seen[kind].add(codes(command.code).name)
        return command

    with patch.object(frame, "_decode_rest", looked_at):
        yield seen


def _branches(history: History) -> set[str]:
    events = history.events
    return {events.step[row] for row in events.kind.mask("role").nonzero()[0].tolist()}


def _faults(facts: RunFacts) -> set[str]:
    """``kill of master``: those that were seen to take effect."""
    return {f"{fault.kind} of {facts.role_hit(fault)}" for fault in facts.faults if fault.effective == 1}


def _statuses(history: History) -> Iterator[str]:
    ops = history.ops
    for row in range(len(ops)):
        yield f"{ops.f[row]} {ops.status[row] or ops.outcome[row]}"
