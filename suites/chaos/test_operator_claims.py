"""What the documents guarantee to operators, shown by scenarios: the verdict, and the claim itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from checkers.history.history import History
from checkers.history.observations import observations_of
from checkers.verdict import Outcome
from harness.run import RunResult
from suites.chaos.came_out import Run, came_out

pytestmark = pytest.mark.chaos

SECOND = 1_000_000_000
SLACK_MS = 3_000


@pytest.fixture
def show(chaos_run) -> Callable[..., Run]:
    """Run a scenario that must come out as *wanted*, every fault of which must have bitten."""
    return lambda name, wanted=Outcome.PASS: came_out(chaos_run(name), wanted)


def measures(result: RunResult, check: str) -> dict:
    return dict(next(verdict.measures for verdict in result.verdicts if verdict.check == check))


def test_cl_06_every_change_of_a_permission_shows_in_the_routes_of_all_topics_of_that_broker(show) -> None:
    result, history, _ = show("permission-changes-under-load")
    after_ms = measures(result, "propagation")["shown_after_ms"]
    assert set(after_ms) == {
        "wipe_write_permission/nameserver",
        "add_write_permission/nameserver",
        "broker_permission/nameserver",
    }
    assert max(after_ms.values()) < SLACK_MS
    shown: dict[str, list[str]] = {}
    for observation in observations_of(history, "look"):
        for subject, permission in observation.shown.items():
            if observation.node == "namesrv-2" and shown.setdefault(subject, [permission])[-1] != permission:
                shown[subject].append(permission)
    for topic in ("chaos", "chaos-second"):
        assert shown[f"permission of broker-a for {topic}"] == ["rw", "r-", "rw", "r-", "-w", "rw"]
        assert shown[f"permission of broker-b for {topic}"] == ["rw"]
    refused = history.ops.f.mask("pull") & history.ops.status.mask("NO_PERMISSION")
    assert {history.ops.node[row] for row in np.flatnonzero(refused).tolist()} == {"broker-a-0"}


def test_cl_07_the_order_of_a_topic_comes_and_goes_with_the_brokers_registration(show) -> None:
    after_ms = measures(show("ordered-topic-comes-with-registration")[0], "propagation")["shown_after_ms"]
    for act in ("put_order", "delete_order"):
        assert after_ms[f"{act}/nameserver"] < SLACK_MS
        assert after_ms[f"{act}/master"] < 30_000 + SLACK_MS
    assert max(after_ms[f"{act}/master"] for act in ("put_order", "delete_order")) > 2_000, "nobody tells the brokers"


def test_cl_21_with_one_of_two_slaves_stopped_every_send_is_still_promised(show) -> None:
    result, history, facts = show("one-of-two-slaves-stopped")
    ops = history.ops
    (fault,) = facts.faults
    during = np.flatnonzero(ops.f.mask("send") & (ops.invoke_ns > fault.inject_ns) & (ops.invoke_ns < fault.heal_ns))
    assert len(during) > 100
    assert set(Counter(ops.status[row] for row in during.tolist())) == {"SEND_OK"}
    assert measures(result, "slave-lag")["behind_max_ms"].keys() == {"broker-a-1", "broker-a-2"}
    assert measures(result, "replicas")["missing"] == 0


def ends(history: History, node: str, begin_ns: int, end_ns: int) -> list[int]:
    return [
        observation.shown["broker-a"]
        for observation in observations_of(history, "end")
        if observation.node == node and begin_ns < observation.invoke_ns < end_ns
    ]


def test_cl_22_a_slave_finds_its_moved_master_by_registering(show) -> None:
    _, history, facts = show("slave-finds-its-moved-master")
    (fault,) = facts.faults
    of_slave = ends(history, "broker-a-1", fault.inject_ns, fault.heal_ns)
    of_master = ends(history, "broker-a-0", fault.inject_ns, fault.heal_ns)
    assert max(of_master) > of_master[0], "somebody wrote to the master where it went"
    assert max(of_slave) > of_master[0], "and the slave followed it there"


def test_cl_22_with_ha_master_address_it_waits_where_the_master_was(show) -> None:
    _, history, facts = show("slave-with-fixed-master-address")
    (fault,) = facts.faults
    before = ends(history, "broker-a-1", 0, fault.begin_ns)
    away = ends(history, "broker-a-1", fault.inject_ns + 2 * SECOND, fault.heal_ns)
    assert before[-1] > before[0] >= 0, "it replicates without the NameServer's word"
    assert len(away) > 40
    assert len(set(away)) == 1, "it gets nothing from elsewhere"
    assert max(ends(history, "broker-a-0", fault.inject_ns, fault.heal_ns)) > away[-1]


def test_cl_23_tables_reach_the_slave_later_and_what_is_younger_dies_with_the_master(show) -> None:
    result, _, _ = show("tables-reach-the-slave")
    found = measures(result, "propagation")
    for kind in ("topic", "group", "offset", "delay"):
        assert found["shown_after_ms"][f"change_{kind}/master"] < SLACK_MS + 1_000
        assert found["shown_after_ms"][f"change_{kind}/slave"] > 2_000, "not at once"
    assert found["forgotten"], "something had been changed since the last copy"
    assert max(found["forgotten_age_ms"].values()) < 70_000


def test_cl_23_the_delay_offsets_lie_in_the_slaves_file_before_it_takes_its_masters_place(show) -> None:
    _, history, facts = show("tables-reach-the-slave")
    (fault,) = facts.faults
    observations = [
        observation for observation in observations_of(history, "look") if observation.invoke_ns < fault.begin_ns
    ]
    in_file = [
        observation.shown["delay in the file"]
        for observation in observations
        if "delay in the file" in observation.shown
    ]
    on_slave = [
        observation.shown["delay"]
        for observation in observations
        if observation.node == "broker-a-1" and "delay" in observation.shown
    ]
    on_master = [
        observation.shown["delay"]
        for observation in observations
        if observation.node == "broker-a-0" and "delay" in observation.shown
    ]
    assert on_master[-1] - 7 <= in_file[-1] <= on_master[-1] > 40, "one every two seconds, copied every ten"
    assert set(on_slave) == {0}, "4.9 does not read the file that it writes"


def test_cl_23_what_a_dead_master_refused_is_not_missed_on_its_slave_and_the_rest_gets_there(show) -> None:
    found = measures(show("tables-survive-a-dead-master")[0], "propagation")
    assert found["refused"] >= 30
    assert found["forgotten"] == {}
    for kind in ("topic", "group", "offset", "delay"):
        assert 2_000 < found["shown_after_ms"][f"change_{kind}/slave"] < 13_000


def test_cl_39_nobody_but_an_operator_makes_a_master_of_a_slave(show) -> None:
    result, history, facts = show("nobody-promotes-a-slave")
    found = measures(result, "masters")
    assert found["masters"] == {"broker-a": ["broker-a-0"], "broker-b": ["broker-b-0"]}
    (fault,) = facts.faults
    observations = [
        observation
        for observation in observations_of(history, "master")
        if observation.invoke_ns > fault.inject_ns + 5 * SECOND
    ]
    assert len(observations) > 200
    assert {observation.shown["broker-a"] for observation in observations} == {"nobody"}
    assert found["without_ms"]["broker-a"] > 55_000


def test_cl_39_the_runbook_gives_the_name_a_master_again(show) -> None:
    result, history, facts = show("operator-promotes-a-slave")
    found = measures(result, "masters")
    assert found["masters"]["broker-a"] == ["broker-a-0", "broker-a-1"]
    kill, promote = facts.faults
    assert found["two_masters_ms"] == 0
    assert 12_000 - SLACK_MS < found["without_ms"]["broker-a"] < 60_000, "as long as the operator took, and a start"
    ops = history.ops
    by_promoted = [row for row in np.flatnonzero(ops.f.mask("send")).tolist() if '"broker-a-1"' in ops.detail[row]]
    assert len(by_promoted) > 100
    assert min(int(ops.complete_ns[row]) for row in by_promoted) > promote.begin_ns > kill.heal_ns - 2**62
    assert measures(result, "accounting")["oldest_lost_age_ms"] < 20_000


def test_cl_39_two_masters_of_one_name_take_messages_for_one_offset_and_one_of_them_is_lost(show) -> None:
    result, _, facts = show("old-master-returns-beside-promoted-slave", Outcome.FAIL)
    found = measures(result, "masters")
    assert found["two_masters_ms"] > 50_000
    assert found["changes"] >= 2, "NameServers list now this one, now that one"
    accounting = next(verdict for verdict in result.verdicts if verdict.check == "accounting")
    assert any("two masters of one name" in anomaly.sentence for anomaly in accounting.anomalies)
    assert measures(result, "expectation")["because"] == "two-values-one-offset"
    assert facts.faults[1].kind == "promote"
