"""Outcomes of answers, guarantees of modes, and what a run's events tell about its faults."""

from __future__ import annotations

import pytest

from checkers.contract import _narrowing, classify, contract_of, known_modes
from checkers.history.effects import HARMS
from checkers.history.facts import FaultFact, RunFacts
from checkers.history.history import History
from checkers.runs.checks import CHECKS, check_all
from checkers.runs.fault_efficacy import check_faults
from checkers.verdict import Outcome, worst
from suites.unit.checkers.build import MS, Build

SEND = [
    ("SEND_OK", "ok"),
    ("FLUSH_DISK_TIMEOUT", "weak"),
    ("FLUSH_SLAVE_TIMEOUT", "weak"),
    ("SLAVE_NOT_AVAILABLE", "weak"),
    ("SYSTEM_BUSY", "fail"),
    ("MESSAGE_ILLEGAL", "fail"),
    ("SERVICE_NOT_AVAILABLE", "fail"),
    ("NO_PERMISSION", "fail"),
    ("TOPIC_NOT_EXIST", "fail"),
    ("CONNECT_FAILED", "fail"),
    ("SYSTEM_ERROR", "info"),
    ("TIMEOUT", "info"),
    ("CONNECTION_CLOSED", "info"),
    ("CODE_999", "info"),
]


@pytest.mark.parametrize(("status", "outcome"), SEND)
def test_only_send_ok_is_promised(status: str, outcome: str) -> None:
    assert classify("send", status) == outcome


@pytest.mark.parametrize(
    ("f", "status", "outcome"),
    [
        ("pull", "FOUND", "ok"),
        ("drain", "PULL_NOT_FOUND", "ok"),
        ("pull", "PULL_OFFSET_MOVED", "ok"),
        ("pull", "TOPIC_NOT_EXIST", "fail"),
        ("pull", "TIMEOUT", "info"),
        ("query_max", "OK", "ok"),
        ("fetch_offset", "QUERY_NOT_FOUND", "ok"),
        ("create_topic", "CONNECT_FAILED", "fail"),
    ],
)
def test_other_operations(f: str, status: str, outcome: str) -> None:
    assert classify(f, status) == outcome


@pytest.mark.parametrize("mode", known_modes())
def test_every_mode_guarantees_something_for_every_harm_and_flush(mode: str) -> None:
    contract = contract_of(mode)
    assert contract is not None
    needs_slave = set() if contract.acknowledged_by == "master-and-slave" else {"disk-replaced", "promoted"}
    needs_controllers = set() if mode == "controller" else {"epochs-damaged"}
    needs_group = set() if contract.acknowledged_by == "majority" else {"disk-foreign"}
    for harm in set(HARMS) - needs_slave - needs_controllers - needs_group:
        for flush in ("sync", "async"):
            guarantee = contract.guarantee(harm, flush)
            assert guarantee is not None, (harm, flush)
            is_from_memory = flush == "async" or contract.acknowledged_by == "majority"  # whatever the flush type
            assert (guarantee.loss == "unflushed") == (harm == "power-cut" and is_from_memory)
            assert guarantee.words.endswith(".")
            assert guarantee.source


@pytest.mark.parametrize("harm", ["disk-replaced", "promoted"])
def test_one_copy_is_what_send_ok_of_a_master_with_several_slaves_means(harm: str) -> None:
    contract = contract_of("multi-master-multi-slave-sync")
    assert contract is not None
    guarantee = contract.guarantee(harm, "async")
    assert guarantee is not None
    assert [guarantee.loss_with(slaves) for slaves in (0, 1, 2, 3)] == ["none", "none", "unreplicated", "unreplicated"]


def test_an_unknown_mode_has_no_contract() -> None:
    assert contract_of("no-such-mode") is None


def test_a_fault_is_what_its_events_say() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("cut_power", "broker-a-0", 50, 52, heal=60)
    facts = build.facts()
    (fault,) = facts.faults
    assert (fault.kind, fault.left, fault.begin_ns, fault.inject_ns, fault.heal_ns) == (
        "cut_power",
        ("broker-a-0",),
        50 * MS,
        52 * MS,
        60 * MS,
    )
    assert (fault.effective, fault.is_gone) == (1, 1)
    assert facts.hits(fault, "broker-a")
    assert not facts.hits(fault, "broker-b")


@pytest.mark.parametrize(
    ("left", "right", "ports", "hit"),
    [
        (("client-1",), ("broker-a-0", "broker-b-0"), "any", ["broker-a", "broker-b"]),
        (("broker-a-0",), ("broker-b-0", "namesrv-1", "client-1"), "any", ["broker-a"]),
        (("broker-a-0",), ("broker-a-1",), "ha", []),
        (("broker-a-0",), ("namesrv-1", "client-1"), "namesrv", []),
        (("namesrv-1",), ("client-1",), "any", []),
    ],
)
def test_a_cut_hits_the_brokers_it_parts_from_clients(
    left: tuple[str, ...], right: tuple[str, ...], ports: str, hit: list[str]
) -> None:
    fault = FaultFact("f1", "partition", left, right, ports=ports)
    facts = RunFacts("multi-master", faults=(fault,))
    assert [broker for broker in ("broker-a", "broker-b") if facts.hits(fault, broker)] == hit


@pytest.mark.parametrize(
    ("bit", "gone", "outcome"), [(1, 1, "PASS"), (0, 1, "UNKNOWN"), (-1, 1, "UNKNOWN"), (1, 0, "UNKNOWN")]
)
def test_a_fault_that_did_not_take_effect_or_is_not_gone_is_unknown(bit: int, gone: int, outcome: str) -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.fault("kill", "broker-a-0", 50, 52, heal=60, bit=bit, gone=gone)
    verdict = check_faults(build.facts())
    assert verdict.outcome.name == outcome
    assert len(verdict.reasons) == (outcome == "UNKNOWN")


def test_a_fault_that_fitted_nobody_is_unknown() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    for step in ("resolve", "inject", "probe"):
        build.event(50, "fault", step, "", "f1", 0, do="kill", reason="slaves fits no node of this cluster")
    verdict = check_faults(build.facts())
    assert verdict.outcome is Outcome.UNKNOWN
    assert "slaves fits no node" in verdict.reasons[0]


@pytest.mark.parametrize(
    ("harm", "properties", "unreachable"),
    [
        ("power-cut", {}, True),
        ("power-cut", {"metadataSync": "false"}, True),
        ("power-cut", {"metadataSync": "true"}, False),
        ("disk-lost", {"metadataSync": "true"}, True),
    ],
)
def test_a_property_takes_away_what_its_harm_may_take(harm: str, properties: dict[str, str], unreachable: bool) -> None:
    for mode in known_modes():
        contract = contract_of(mode)
        assert contract is not None
        guarantee = contract.guarantee(harm, "sync")
        assert guarantee is None or guarantee.narrowed(properties).unreachable is (
            unreachable and guarantee.unreachable
        )


@pytest.mark.parametrize("wrong", [{"loss": "all"}, {"unreachable": True}, {"service": "up"}, {}, {"harm": "nothing"}])
def test_a_property_never_allows_more(wrong: dict[str, object]) -> None:
    entry = {"property": "p", "value": "true", "harm": "killed", "words": "w", "source": "s"}
    assert _narrowing({**entry, "loss": "none"}).becomes == {"loss": "none"}
    with pytest.raises(ValueError, match=r"narrowings.yaml: p: a narrowing says one of"):
        _narrowing({**entry, **wrong})


def test_an_empty_history_is_unknown() -> None:
    verdicts = check_all(History.from_rows({}), Build().facts())
    assert worst(verdicts) is Outcome.UNKNOWN


def test_a_good_run_passes_every_check_by_name() -> None:
    build = Build()
    build.send(0, 1, 0, 0)
    build.drain(10, 11, 0, [0])
    build.drained(12, 1)
    verdicts = check_all(build.history(), build.facts())
    assert [verdict.check for verdict in verdicts] == ["faults", "accounting", "log", "availability"]
    assert worst(verdicts) is Outcome.PASS


def test_a_checker_that_raises_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setitem(CHECKS, "log", broken)
    build = Build()
    build.send(0, 1, 0, 0)
    by_name = {verdict.check: verdict for verdict in check_all(build.history(), build.facts())}
    assert by_name["log"].outcome is Outcome.UNKNOWN
    assert "boom" in by_name["log"].reasons[0]
