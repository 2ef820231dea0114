"""Who serves a broker name now: by configuration, by registration, and in a run whose roles move."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faults.plan import bind_fault
from faults.selectors import Topology
from harness.addressing import Addressing, BrokerNode, configured, registered
from harness.modes import MODES
from harness.run import run_scenario
from harness.scenario import SECOND, Scenario, Workload
from harness.scenario import Topology as Shape
from harness.workloads.workload import QueueAddress
from reference_impl.wire.bodies import BrokerData, ClusterInfo

PAIR = MODES["multi-master-multi-slave-async"]
ELECTED = replace(PAIR, name="elected", roles_move=True)
A0, A1, A2 = (BrokerNode(f"broker-a-{number}", "broker-a", number, f"10.0.0.{number}:10911") for number in range(3))
B0 = BrokerNode("broker-b-0", "broker-b", 0, "10.0.1.0:10911")
NODES = (A0, A1, A2, B0)
QUEUE = QueueAddress(0, "broker-a", 0, A0.node, A0.address)


def by_configuration(ids: dict[str, str], dead: tuple[str, ...] = ()) -> dict[str, str]:
    all_ids = {node.node: str(node.broker_id) for node in NODES} | ids
    return dict(configured(NODES, all_ids.__getitem__, lambda node: node not in dead))


@pytest.mark.parametrize(
    ("ids", "dead", "a0", "a1"),
    [
        ({}, (), "master", "slave"),
        ({}, (A0.node,), "master", "slave"),
        ({A1.node: "0"}, (A0.node,), "", "master"),
        ({A1.node: "0"}, (), "master", "master"),
        ({A1.node: "0"}, (A0.node, A1.node), "master", "master"),
    ],
)
def test_by_configuration_a_dead_master_is_one_until_a_running_node_has_its_place(ids, dead, a0, a1) -> None:
    roles = by_configuration(ids, dead)
    assert (roles[A0.node], roles[A1.node], roles[A2.node], roles[B0.node]) == (a0, a1, "slave", "master")


def info(**brokers: dict[int, BrokerNode]) -> ClusterInfo:
    table = {
        f"broker-{letter}": BrokerData({key: node.address for key, node in ids.items()}, f"broker-{letter}", "c")
        for letter, ids in brokers.items()
    }
    return ClusterInfo(table, {})


def test_by_registration_the_first_nameserver_that_lists_somebody_who_serves_a_name_tells() -> None:
    silent = info(a={1: A1, 2: A2}, b={0: B0})
    roles = registered(NODES, [silent, info(a={0: A2, 1: A1}, b={0: B0}), info(a={0: A0})])
    assert roles == {A0.node: "follower", A1.node: "follower", A2.node: "leader", B0.node: "leader"}
    assert registered(NODES, [silent]) == {B0.node: "leader"}
    assert registered(NODES, []) == {}


def test_whoever_serves_is_told_once_and_the_last_one_known_is_kept() -> None:
    told: list[str] = []
    addressing = Addressing(NODES, ELECTED, lambda node: told.append(node.node))
    assert addressing.at(QUEUE) is QUEUE
    for _ in range(2):
        addressing.learn({A0.node: "follower", A1.node: "leader", A2.node: "follower"})
    assert told == [A1.node]
    addressing.learn({})
    assert addressing.at(QUEUE) == replace(QUEUE, node=A1.node, address=A1.address, is_moved=True)
    assert addressing.serves("broker-a") == A1
    assert addressing.replicas("broker-a") == (A0, A2)


def test_where_roles_move_who_serves_first_is_told_whatever_its_number() -> None:
    for mode, first in ((ELECTED, [A0.node]), (PAIR, [])):
        told: list[str] = []
        addressing = Addressing(NODES, mode, lambda node, told=told: told.append(node.node))
        addressing.learn(dict.fromkeys((A1.node, A2.node), mode.role_words[1]) | {A0.node: mode.role_words[0]})
        assert told == first


def test_of_two_masters_of_one_name_who_served_goes_on_serving() -> None:
    addressing = Addressing(NODES, PAIR)
    addressing.learn({A0.node: "master", A1.node: "master"})
    assert addressing.serves("broker-a") == A0
    addressing.learn({A0.node: "", A1.node: "master"})
    addressing.learn({A0.node: "master", A1.node: "master"})
    assert addressing.serves("broker-a") == A1
    topology = addressing.topology(Topology.of(node.node for node in NODES))
    assert topology.names(lambda node: node.is_master) == (A0.node, A1.node, B0.node)


# -- in runs -----------------------------------------------------------------------------------------------------------

KILL_LEADER = {"at": "4s", "do": "kill", "on": "leader(broker-a)"}
PROMOTE = {"at": "6s", "do": "promote", "on": "follower(broker-a)"}
PAUSE_LEADER = {"at": "20s", "do": "pause", "on": "leader", "hold": "1s"}


def history(mode: str, faults: list[dict[str, str]], out: Path) -> list[dict[str, Any]]:
    """Events of a run of a pair; an operator stands for the election that the mode does not have."""
    scenario = Scenario(
        name="moving",
        mode=mode,
        topology=Shape(nameservers=2, brokers=1, slaves=1),
        workload=Workload(producers=2, consumers=2, queues=2, rate_per_s=20, duration_ns=25 * SECOND),
        faults=tuple(bind_fault(number, **fault) for number, fault in enumerate(faults, 1)),
    )
    result = run_scenario(scenario, seed=3, out=out)
    assert result.folder is not None
    return [json.loads(line) for line in (result.folder / "journal.jsonl").read_text().splitlines()]


def hit(events: list[dict[str, Any]], fault: str) -> list[str]:
    return [event["node"] for event in events if event.get("fault") == fault and event.get("step") == "resolve"]


def test_where_roles_move_faults_load_and_drain_go_to_whoever_serves(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(MODES, "elected", ELECTED)
    events = history("elected", [KILL_LEADER, PROMOTE, PAUSE_LEADER], tmp_path)
    assert (hit(events, "f1"), hit(events, "f2"), hit(events, "f3")) == ([A0.node], [A1.node], [A1.node])
    assert [event["node"] for event in events if event.get("step") == "serves"] == [A0.node, A1.node, A0.node]
    text = json.dumps(events)
    assert text.count('"by": "broker-a-1"') > 100, "sends that the promoted broker answered"
    drained = [event for event in events if event.get("f") == "drain"]
    assert {event["node"] for event in drained} == {A0.node}, "the way back was over"


def test_where_an_operator_moves_them_selectors_see_the_moment_and_load_stays(tmp_path: Path) -> None:
    faults = [
        {"at": "4s", "do": "kill", "on": "masters"},
        {"at": "6s", "do": "promote", "on": "slaves"},
        {"at": "20s", "do": "pause", "on": "masters", "hold": "1s"},
    ]
    events = history("multi-master-multi-slave-async", faults, tmp_path)
    assert (hit(events, "f1"), hit(events, "f2"), hit(events, "f3")) == ([A0.node], [A1.node], [A1.node])
    assert '"by": "broker-a-1"' not in json.dumps(events)
