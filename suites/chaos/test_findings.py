"""What mqchaos finds on Apache's brokers, found again: the scenarios that are there to fail, and their mended twins.

Question: does each of these scenarios still FAIL, for the reason that it names, with the mechanism in words; and do the
same seeds pass where the broker is told to do better, so that it is that mechanism and no other that was found?

Model. The reference does as RocketMQ does by default and can be told not to: ``strictFlush`` (a force that failed never
ends in SEND_OK), ``cleanTruncatedTail`` (what lies behind a recovered end is zeroed), ``strictSysFlag`` and
``strictHaReport`` (a frame that makes promises for others is refused). Against a slave that is ahead of
its master no property helps; a master whose disk had everything (synchronous flush) does not fall behind.

Limits. On real processes a run takes half a minute and more, so one is run where ``MQCHAOS_FINDINGS=1`` asks for it,
with ``--backend process --target rocketmq:VERSION``; what came of that stands in ``docs/findings.md``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from checkers.verdict import Anomaly, Outcome
from faults.plan import bind_fault
from harness.backends.table import BACKENDS
from harness.judge import EXPECTATION
from harness.run import RunResult, run_scenario
from harness.scenario import SECOND, Expect, Scenario, Topology, Workload, find, shipped
from harness.scenario_file import load
from harness.summary import is_as_expected, lines_of

pytestmark = pytest.mark.chaos

ASKED_FOR = "MQCHAOS_FINDINGS"


@dataclass(frozen=True)
class Finding:
    """*words*: what a person must be told; *mended*: what makes the same runs pass."""

    kind: str
    words: tuple[str, ...]
    mended: Callable[[Scenario], Scenario]


def told(**properties: str) -> Callable[[Scenario], Scenario]:
    """The scenario with these properties of its brokers beside its own."""

    def tell(scenario: Scenario) -> Scenario:
        of_broker = {**scenario.properties.get("broker", {}), **properties}
        return replace(scenario, properties={**scenario.properties, "broker": of_broker})

    return tell


def with_synchronous_flush(scenario: Scenario) -> Scenario:
    return replace(scenario, topology=replace(scenario.topology, flush="sync"))


AHEAD = ("SEND_OK although the slave's log differs at", "the slave was ahead of its restarted master")

FINDINGS = {
    "finding-old-records-come-back": Finding(
        "resurrected",
        ("of before the cut at", "came back behind newer ones", "RocketMQ does not clear what lies behind"),
        told(cleanTruncatedTail="true"),
    ),
    "finding-send-ok-although-fsync-failed": Finding(
        "unforced-ok",
        ("SEND_OK although fsync failed", "every force failed"),
        told(strictFlush="true"),
    ),
    "finding-stale-units-hide-messages": Finding(
        "hidden",
        ("RocketMQ leaves the units behind the recovered end of a queue", "took those of before flip_bits"),
        told(cleanTruncatedTail="true"),
    ),
    "finding-slave-ahead-of-its-master": Finding("unreplicated-ok", AHEAD, with_synchronous_flush),
    "finding-slave-stuck-behind-its-master": Finding(
        "unreplicated-ok", (*AHEAD, "dispatches none"), with_synchronous_flush
    ),
    "finding-send-ok-lost-with-the-master": Finding(
        "unreplicated-ok", (*AHEAD, "lost by adopt_slave"), with_synchronous_flush
    ),
    "finding-one-frame-costs-the-log": Finding(
        "lost",
        ("acknowledged messages of broker-a gone", "and no power cut of broker-a followed"),
        told(strictSysFlag="true"),
    ),
    "finding-eight-bytes-stand-for-a-slave": Finding(
        "lost",
        ("acknowledged messages of broker-a gone", "allows no loss by adopt_slave"),
        told(strictHaReport="true"),
    ),
}
each = pytest.mark.parametrize("name", FINDINGS)


@pytest.fixture(autouse=True)
def _asked_for(request: pytest.FixtureRequest, backend: str) -> None:
    if not BACKENDS[backend].runs_at_once and os.environ.get(ASKED_FOR) != "1":
        pytest.skip(f"findings on real processes take minutes: {ASKED_FOR}=1")


def anomalies(result: RunResult) -> list[Anomaly]:
    return [anomaly for verdict in result.verdicts for anomaly in verdict.anomalies if not anomaly.allowed]


@each
def test_it_fails_for_the_reason_it_names(chaos_run: Callable[..., RunResult], name: str) -> None:
    result = chaos_run(name)
    assert result.outcome is Outcome.FAIL, [verdict.reasons for verdict in result.verdicts]
    assert is_as_expected(result.outcome, result.verdicts)
    found = [anomaly for anomaly in anomalies(result) if anomaly.kind == FINDINGS[name].kind]
    assert any(all(words in anomaly.sentence for words in FINDINGS[name].words) for anomaly in found), found
    others = {anomaly.kind for anomaly in anomalies(result)} - {FINDINGS[name].kind}
    head = lines_of(result)[0]
    assert head.endswith(f"as expected (also found: {', '.join(sorted(others))})" if others else "as expected")


@pytest.mark.on("sim")
@each
def test_a_broker_that_does_better_passes_with_the_same_seed(chaos_run: Callable[..., RunResult], name: str) -> None:
    scenario = FINDINGS[name].mended(load(find(name)))
    mended = replace(scenario, expect=Expect(lost=scenario.expect.lost, replicas=scenario.expect.replicas))
    result = chaos_run(mended, expect=("PASS", "UNKNOWN"))
    assert anomalies(result) == []
    unknown = [reason for verdict in result.verdicts for reason in verdict.reasons]
    assert all("nothing was unwritten" in reason for reason in unknown), "a cut that takes nothing cannot be told"


CUT_THEN_KILLED = Scenario(
    name="cut-then-killed",
    mode="single-master",
    topology=Topology(brokers=1, flush="async"),
    workload=Workload(producers=2, consumers=0, queues=1, rate_per_s=200, duration_ns=3 * SECOND),
    faults=(
        bind_fault(1, at="1500ms..2s", do="cut_power", on="master(broker-a)", hold="100ms"),
        bind_fault(2, at="2300ms", do="kill", on="master(broker-a)", hold="100ms"),
    ),
)
"""A power cut after which a page of the middle is missing leaves whole records behind the end that recovery finds."""

CUTS_MAX = 150
"""One cut in about thirty is of that kind."""


def test_a_power_cut_alone_can_bring_old_records_back_too() -> None:
    runs = (run_scenario(CUT_THEN_KILLED, seed=seed, keep="none") for seed in range(CUTS_MAX))
    found = next((result for result in runs if result.outcome is Outcome.FAIL), None)
    assert found is not None, f"none of {CUTS_MAX} cuts left whole records behind a hole"
    finding = FINDINGS["finding-old-records-come-back"]
    assert {anomaly.kind for anomaly in anomalies(found)} == {finding.kind}
    assert any(all(words in anomaly.sentence for words in finding.words) for anomaly in anomalies(found))
    mended = run_scenario(finding.mended(CUT_THEN_KILLED), seed=found.seed, keep="none")
    assert mended.outcome is Outcome.PASS


@pytest.mark.on("sim")
def test_a_finding_that_is_not_shown_is_unknown_and_not_as_expected(chaos_run: Callable[..., RunResult]) -> None:
    """The negative control stayed silent: such a run must not pass for a proof that the broker was mended."""
    name = "finding-old-records-come-back"
    result = chaos_run(FINDINGS[name].mended(load(find(name))), expect="UNKNOWN")
    (expectation,) = [verdict for verdict in result.verdicts if verdict.check == EXPECTATION]
    assert "show a failure of the kind 'resurrected', and none was seen" in expectation.reasons[0]
    assert not is_as_expected(result.outcome, result.verdicts)


def test_every_finding_that_comes_with_the_project_is_one_of_these() -> None:
    failing = {path.stem for path in shipped() if path.stem.startswith("finding-") and load(path).expect.verdict}
    assert failing == FINDINGS.keys()
