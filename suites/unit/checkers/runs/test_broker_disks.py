"""What was found on brokers' disks: who may have what, after which faults."""

from __future__ import annotations

import pytest

from checkers.runs.broker_disks import check_broker_disks, has_broker_disks
from checkers.verdict import Outcome, Verdict
from suites.unit.checkers.build import Build

WRONG = ["unit", "chaos/0 @3 leads to 300: not its message"]
UNINDEXED = ["unindexed", "the record at 300 is not in the index under all its keys"]


def judged(*wrong: list[str], fault: str = "", node: str = "broker-a-0", bit: int = 1) -> Verdict:
    build = Build()
    build.send(0, 1, message=0, offset=0)
    if fault:
        build.fault(fault, node, 10, 20, heal=30, bit=bit)
    build.event(90, "note", "broker_on_disk", "broker-a-0", records=5, units=4, entries=3, wrong=list(wrong))
    history, facts = build.history(), build.facts()
    assert has_broker_disks(history, facts)
    return check_broker_disks(history, facts)


def test_a_disk_on_which_everything_is_in_its_place_passes() -> None:
    verdict = judged()
    assert verdict.outcome is Outcome.PASS
    assert verdict.measures == {"records": 5, "units": 4, "entries": 3}


@pytest.mark.parametrize(
    ("wrong", "fault", "outcome"),
    [
        (WRONG, "", Outcome.FAIL),
        (WRONG, "kill", Outcome.FAIL),
        (WRONG, "stop", Outcome.FAIL),
        (WRONG, "pause", Outcome.FAIL),
        (WRONG, "cut_power", Outcome.PASS),
        (WRONG, "flip_bits", Outcome.PASS),
        (WRONG, "wipe", Outcome.PASS),
        (WRONG, "fill_disk", Outcome.PASS),
        (UNINDEXED, "", Outcome.FAIL),
        (UNINDEXED, "stop", Outcome.FAIL),
        (UNINDEXED, "kill", Outcome.PASS),
    ],
)
def test_only_what_a_fault_did_to_the_disk_may_show_there(wrong: list[str], fault: str, outcome: Outcome) -> None:
    verdict = judged(wrong, fault=fault)
    assert verdict.outcome is outcome
    assert [anomaly.allowed for anomaly in verdict.anomalies] == [outcome is Outcome.PASS]


def test_another_brokers_fault_excuses_nobody() -> None:
    assert judged(WRONG, fault="cut_power", node="broker-b-0").outcome is Outcome.FAIL


def test_a_slave_may_have_what_its_master_lost() -> None:
    """Its log is no copy of any log any more."""
    build = Build()
    build.send(0, 1, message=0, offset=0)
    build.fault("cut_power", "broker-a-0", 10, 20, heal=30)
    build.event(90, "note", "broker_on_disk", "broker-a-1", records=5, units=4, entries=3, wrong=[WRONG])
    nodes = {"broker-a-0": {}, "broker-a-1": {"brokerId": "1", "brokerRole": "SLAVE"}}
    facts = build.facts(mode="multi-master-multi-slave-async", nodes=nodes)
    assert check_broker_disks(build.history(), facts).outcome is Outcome.PASS


def test_a_fault_that_did_nothing_excuses_nobody() -> None:
    assert judged(WRONG, fault="cut_power", bit=0).outcome is Outcome.FAIL


def test_faults_of_one_kind_are_told_once() -> None:
    verdict = judged(WRONG, WRONG, UNINDEXED)
    assert [anomaly.details["what"] for anomaly in verdict.anomalies] == ["unit", "unindexed"]
    assert "and 1 more like that" in verdict.anomalies[0].sentence
