"""What the documents guarantee about copies, shown by scenarios: the verdict, and the claim itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from checkers.history.history import History
from harness.run import RunResult
from suites.chaos.came_out import Run, came_out

pytestmark = pytest.mark.chaos

SECOND = 1_000_000_000


@pytest.fixture
def show(chaos_run) -> Callable[[str], Run]:
    """Run a scenario that must pass, every fault of which must have bitten."""
    return lambda name: came_out(chaos_run(name))


def measures(result: RunResult, check: str) -> dict:
    return dict(next(verdict.measures for verdict in result.verdicts if verdict.check == check))


def statuses(history: History, begin_ns: int, end_ns: int) -> Counter[str]:
    """Answers to sends that were invoked in that time."""
    ops = history.ops
    rows = np.flatnonzero(ops.f.mask("send") & (ops.invoke_ns >= begin_ns) & (ops.invoke_ns < end_ns))
    return Counter(ops.status[row] for row in rows.tolist())


def test_cl_24_an_asynchronous_slave_lacks_the_last_moments_at_most(show) -> None:
    result, _, _ = show("async-slave-adopted")
    assert 0 <= measures(result, "accounting")["oldest_lost_age_ms"] < 1000
    assert measures(result, "replicas")["same"] > 1000


def test_cl_25_a_synchronous_slave_has_everything_that_was_acknowledged(show) -> None:
    result, _, _ = show("sync-slave-adopted")
    assert measures(result, "accounting")["ok"] > 1000
    assert measures(result, "accounting")["lost"] == 0


def test_cl_25_but_a_master_with_its_own_disk_and_asynchronous_flush_loses_all_the_same(show) -> None:
    result, _, _ = show("sync-pair-power-cut")
    assert measures(result, "accounting")["lost"] > 0
    found = measures(result, "replicas")
    assert found["differs"] + found["missing"] + found["ahead"] > 0


def test_cl_25_and_the_slave_that_did_not_acknowledge_lacks_what_the_other_one_did(show) -> None:
    result, history, facts = show("sync-lagging-slave-adopted")
    cut, _, adopted = facts.faults
    assert set(statuses(history, cut.inject_ns, adopted.begin_ns - SECOND)) == {"SEND_OK"}
    assert measures(result, "accounting")["lost"] > 300
    (lost,) = [anomaly for verdict in result.verdicts for anomaly in verdict.anomalies if anomaly.kind == "lost"]
    assert lost.allowed
    assert "broker-a-1 had them, and the data of broker-a-2 took the place" in lost.sentence
    assert 4000 < measures(result, "accounting")["oldest_lost_age_ms"] < 6000


def test_cl_26_what_a_synchronous_master_says_without_a_fit_slave(show) -> None:
    _, history, facts = show("sync-slave-dead-then-slow")
    killed, paused = facts.faults

    assert set(statuses(history, killed.inject_ns + SECOND // 2, killed.heal_ns)) == {"SLAVE_NOT_AVAILABLE"}
    assert set(statuses(history, paused.inject_ns, paused.heal_ns - 4 * SECOND)) == {"FLUSH_SLAVE_TIMEOUT"}


@pytest.mark.parametrize("name", ["replication-link-cut", "sync-slave-dead-then-slow"])
def test_cl_20_cl_30_a_slave_that_was_away_catches_up_and_its_masters_serve_meanwhile(name: str, show) -> None:
    result, _, _ = show(name)
    assert measures(result, "replicas")["missing"] == 0
    assert measures(result, "accounting")["lost"] == 0
    assert measures(result, "accounting")["fail"] == 0


def test_cl_26_a_synchronous_master_that_does_not_hear_its_slave_promises_nothing(show) -> None:
    """The slave had it all: what was not promised was not copied twice either, and nothing is lost."""
    result, history, facts = show("confirmations-lost-one-way")
    (cut,) = facts.faults
    assert set(statuses(history, cut.inject_ns, cut.heal_ns - 4 * SECOND)) == {"FLUSH_SLAVE_TIMEOUT"}
    assert measures(result, "replicas")["missing"] == 0


def test_cl_30_senders_go_on_over_the_connections_that_they_have(show) -> None:
    result, history, facts = show("no-new-connections")
    refused, _ = facts.faults
    assert set(statuses(history, refused.inject_ns, refused.heal_ns)) == {"SEND_OK"}
    assert measures(result, "replicas")["missing"] == 0
