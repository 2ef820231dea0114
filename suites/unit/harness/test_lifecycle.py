"""The life cycle when the world does not play along: budgets, refusals, nodes that do not start or stay away."""

from __future__ import annotations

import json
from random import Random

import pytest

from checkers.runs.broker_disks import STEP as BROKER_ON_DISK
from checkers.verdict import Outcome
from faults.levers import LeverRefused
from harness.backends.sim.models import Budgets
from harness.backends.sim.world import SimBackend
from harness.cluster import build
from harness.errors import BackendUnavailable, ClusterError
from harness.lifecycle import Life
from harness.recorder import Recorder
from harness.run import run_scenario
from harness.scenario import SECOND, Deadlines
from harness.targets.reference import ReferenceTarget
from suites.unit.harness.tiny import KILL, tiny


class Deaf(ReferenceTarget):
    """Its brokers raise when they start."""

    def role(self, spec):
        role = super().role(spec)
        if spec.kind == "broker":
            role.on_start = self.fail
        return role

    def fail(self, env):
        raise RuntimeError("no licence found")


class OnlyOnce(Deaf):
    """Its brokers start, but not a second time."""

    def __init__(self):
        self.starts = 0

    def role(self, spec):
        if spec.kind != "broker":
            return super().role(spec)
        self.starts += 1
        return super().role(spec) if self.starts > 1 else ReferenceTarget().role(spec)


def life_of(scenario, *, target=None, budgets=None) -> Life:
    backend = SimBackend(target or ReferenceTarget(), 1, budgets)
    recorder = Recorder(backend.now, 1)
    return Life(scenario, build(scenario, backend.host), backend, recorder, Random)


def notes(life: Life) -> list[dict]:
    lines = [json.loads(line) for line in life.recorder.journal().splitlines()]
    told = [line for line in lines if line["t"] == "event" and line["kind"] == "note"]
    return [note for note in told if note["step"] != BROKER_ON_DISK]


def test_a_node_that_ends_while_starting_is_told_at_once_with_its_last_words():
    life = life_of(tiny(), target=Deaf())
    with pytest.raises(ClusterError, match=r"broker-a-0 crashed: .*no licence found"):
        life.live()
    assert life.backend.now() < SECOND


def test_a_cluster_that_is_not_ready_in_time_is_an_error_that_names_what_is_missing():
    scenario = tiny()
    life = life_of(scenario)
    life.scenario = type(scenario)(**{**vars(scenario), "deadlines": Deadlines(ready_ns=10_000_000)})
    with pytest.raises(ClusterError, match="no answer from the NameServers namesrv-1"):
        life.live()


def test_a_budget_that_is_reached_ends_the_run_with_a_note():
    life = life_of(tiny(), budgets=Budgets(events=300))
    life.live()
    assert [note["detail"]["what"] for note in notes(life)] == ["budget"]
    assert "more than 300 events" in notes(life)[0]["detail"]["why"]


def test_a_lever_that_the_backend_lacks_is_no_verdict_but_unavailable():
    life = life_of(tiny(KILL))

    def refuse(node):
        raise LeverRefused("no signals here", "use another backend")

    life.backend.all_levers.kill = refuse
    with pytest.raises(BackendUnavailable, match="no signals here") as caught:
        life.live()
    assert caught.value.hint == "use another backend"


def killed_in_between(life: Life) -> None:
    """Its broker dies behind the harness's back, in the middle of the load."""
    life.backend.after(SECOND, lambda: life.backend.levers.kill("broker-a-0"))


def test_a_broker_that_is_dead_when_everything_is_healed_is_started_once():
    life = life_of(tiny())
    killed_in_between(life)
    life.live()
    assert [(note["step"], note["node"]) for note in notes(life)] == [("revived", "broker-a-0")]


def test_a_broker_that_stays_away_is_named_when_the_deadlines_pass():
    """It starts once and never again: converge and drain end in time, each with a note."""
    life = life_of(tiny(), target=OnlyOnce())
    killed_in_between(life)
    life.scenario = type(life.scenario)(
        **{**vars(life.scenario), "deadlines": Deadlines(converge_ns=5 * SECOND, drain_ns=5 * SECOND)}
    )
    life.live()
    said = [note["detail"] for note in notes(life) if note["step"] == "incomplete"]
    assert [detail["what"] for detail in said] == ["converge", "drain"]
    assert "broker-a-0 waits for an answer to a pull" in said[0]["why"]
    assert "/0 (last: no answer to a query)" in said[1]["why"]


def test_what_a_role_notes_is_an_event_of_its_node():
    life = life_of(tiny())
    life.live()
    lines = [json.loads(line) for line in life.recorder.journal().splitlines()]
    roles = {(line["node"], line["step"]) for line in lines if line["t"] == "event" and line["kind"] == "role"}
    assert ("broker-a-0", "broker_started") in roles


def test_a_log_that_cannot_be_read_is_told_and_the_run_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(store: object, properties: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("harness.lifecycle.member_log", unreadable)
    result = run_scenario("dledger-follower-killed", seed=1)
    assert result.outcome is Outcome.UNKNOWN
    said = [reason for verdict in result.verdicts for reason in verdict.reasons]
    assert any("the log of broker-a-0 could not be read" in reason for reason in said), said
