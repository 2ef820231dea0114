"""Load of kind ``batch``: four messages in one request, each an operation with a place of its own."""

from __future__ import annotations

import numpy as np

from checkers.verdict import Outcome
from harness import runfolder
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario, Topology, Workload
from harness.workloads.batches import BATCH

LOAD = Workload("batch", producers=2, consumers=1, queues=2, rate_per_s=80, duration_ns=2 * SECOND)


def test_messages_of_a_batch_lie_one_behind_the_other_and_end_together(tmp_path) -> None:
    scenario = Scenario("batches", "single-master", Topology(1, 1, 0, "async"), LOAD)
    result = run_scenario(scenario, seed=1, out=tmp_path)
    assert result.outcome is Outcome.PASS
    ops = runfolder.load_history(result.folder).ops
    phases = dict(runfolder.read_run(result.folder)["phases"])
    of_load = (phases["steady"] <= ops.invoke_ns) & (ops.invoke_ns <= phases["heal"])
    sends = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok") & of_load)
    assert len(sends) == 160
    by_answer: dict[tuple[int, int], list[int]] = {}
    for row in sends[np.argsort(ops.complete_event[sends])].tolist():
        by_answer.setdefault((int(ops.queue[row]), int(ops.complete_ns[row])), []).append(row)
    for rows in by_answer.values():
        assert len(rows) % BATCH == 0
        offsets, places = ops.offset[rows], ops.position[rows]
        assert (np.diff(offsets) == 1).all()
        assert (np.diff(places) > 0).all()
        assert len({int(ops.process[row]) for row in rows}) == len(rows)
