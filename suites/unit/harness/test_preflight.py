"""What a backend or target cannot do is said before anything is started, and nothing is left behind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faults.plan import bind_fault
from harness.backends.process import capabilities
from harness.errors import BackendUnavailable, UsageError
from harness.preflight import check_fit, check_load, check_mode, check_plan, check_plantable
from harness.run import run_scenario
from harness.scenario import Scenario, Topology, Workload, server_names
from harness.workloads.table import LOADS
from harness.worlds import open_target

PAIR = Scenario("pair", "multi-master-multi-slave-async", Topology(brokers=1, slaves=1))
NOTHING = capabilities.Machine("needs root", "needs root", "needs strace", "needs libfaketime")


def with_fault(do: str, on: str, **options: str) -> Scenario:
    return replace(PAIR, faults=(bind_fault(1, at="1s", do=do, on=on, options=options),))


@pytest.mark.parametrize(
    ("do", "on", "why"),
    [
        ("partition", "clients | masters", "network of its own"),
        ("isolate", "one of slaves", "network of its own"),
        ("cut_power", "masters", "disk of its own"),
        ("fill_disk", "masters", "disk of its own"),
        ("fail_sync", "masters", "forces cannot be made to fail"),
        ("step_clock", "masters", "wall clock of its own"),
    ],
)
def test_what_a_machine_without_root_cannot_do(do: str, on: str, why: str, monkeypatch) -> None:
    monkeypatch.setattr(capabilities, "scan", lambda: NOTHING)
    with pytest.raises(BackendUnavailable, match=why):
        check_plan(with_fault(do, on), "process", "reference")
    check_plan(with_fault(do, on), "sim", "reference")


@pytest.mark.parametrize("do", ["kill", "stop", "pause", "wipe", "promote"])
def test_what_every_machine_can_do(do: str, monkeypatch) -> None:
    monkeypatch.setattr(capabilities, "scan", lambda: NOTHING)
    check_plan(with_fault(do, "slaves"), "process", "rocketmq:4.9.7")


@pytest.mark.parametrize("world", ["sim", "process"])
def test_clients_are_ended_where_their_load_knows_how_they_begin_again(world: str) -> None:
    killed = with_fault("kill", "one of clients")
    with pytest.raises(BackendUnavailable, match="clients of the load log have one life only"):
        check_plan(killed, world, "reference")
    check_plan(replace(killed, workload=Workload(kind="push")), world, "reference")
    check_plan(with_fault("pause", "one of clients"), world, "reference")
    with pytest.raises(BackendUnavailable, match="harness's own process"):
        check_plan(with_fault("cut_power", "one of clients"), world, "reference")


def test_the_simulator_runs_no_java() -> None:
    with pytest.raises(BackendUnavailable, match="Java"):
        check_fit("sim", "reference,slaves=rocketmq:4.9.7")


@pytest.mark.parametrize(
    ("defect", "target", "error"),
    [
        ("reuse-offset", "rocketmq:4.9.7", BackendUnavailable),
        ("reuse-offset", "rocketmq:4.9.7,nameservers=reference", BackendUnavailable),
        ("reuse-offsets", "reference", UsageError),
    ],
)
def test_a_planted_bug_that_no_node_can_have(defect: str, target: str, error: type[Exception]) -> None:
    servers = server_names(PAIR)
    with pytest.raises(error, match=r"planted bugs: reuse-offset is|did you mean 'reuse-offset'"):
        check_plantable([defect], open_target(target, servers), servers)
    check_plantable(["reuse-offset"], open_target("reference,slaves=rocketmq:4.9.7", servers), servers)


@pytest.mark.parametrize("keep", ["all", "failures"])
def test_a_place_where_no_folder_can_be_made_is_told_before_anything_is_run(tmp_path, keep) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="file is a file"):
            run_scenario(PAIR, seed=1, out=out, keep=keep)


def test_a_refused_plan_leaves_no_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(capabilities, "scan", lambda: NOTHING)
    with pytest.raises(BackendUnavailable):
        run_scenario(with_fault("kill", "client(1)"), seed=1, out=tmp_path)
    with pytest.raises(BackendUnavailable):
        run_scenario(with_fault("step_clock", "masters"), backend="process", seed=1, out=tmp_path)
    with pytest.raises(BackendUnavailable):
        run_scenario(PAIR, backend="process", target="rocketmq:4.9.7", seed=1, out=tmp_path, defects=("reuse-offset",))
    assert list(tmp_path.iterdir()) == []


ELECTED = Scenario("elected", "controller", Topology(nameservers=3, brokers=1, slaves=2))


@pytest.mark.parametrize(
    ("target", "who"),
    [
        ("reference", "reference"),
        ("rocketmq:4.9.7", "rocketmq:4.9.7"),
        ("rocketmq:5.3.3,slaves=reference", "reference"),
        ("rocketmq:5.3.3", ""),
        ("rocketmq:5.5.0,slaves=rocketmq:5.3.3", ""),
    ],
)
def test_a_mode_that_came_with_a_release_needs_it_on_every_node(target: str, who: str) -> None:
    servers = server_names(ELECTED)
    made = open_target(target, servers)
    if not who:
        check_mode(ELECTED, made, servers)
        return
    with pytest.raises(BackendUnavailable, match=f"{who} has no mode controller: it came with RocketMQ 5.0"):
        check_mode(ELECTED, made, servers)


@pytest.mark.parametrize(
    ("load", "given", "missing"),
    [
        ("push-timers", {}, "release=5.3.3"),
        ("push-timers", {"release": "5.3.3", "timerWheelEnable": "false"}, "timerWheelEnable=true"),
        ("push-sql", {}, "enablePropertyFilter=true"),
        ("push-levels", {"messageDelayLevel": "1s 5s"}, "messageDelayLevel=1s 10s"),
    ],
)
def test_a_load_that_brokers_would_not_understand_is_refused(load: str, given: dict[str, str], missing: str) -> None:
    scenario = replace(PAIR, workload=Workload(load), properties={"broker": given})
    with pytest.raises(UsageError, match=f"the load {load} needs brokers with {missing}"):
        check_load(scenario)
    check_load(replace(scenario, properties={"broker": LOADS[load].broker}))
    check_load(replace(PAIR, workload=Workload("push-delayed")))
