"""Who is who at an instant: configured, promoted, elected, reconfigured; whatever brokers are called."""

from __future__ import annotations

import pytest

from checkers.history.cluster import Cluster
from checkers.history.facts import RunFacts
from checkers.history.faults import FaultFact
from suites.unit.checkers.build import MS, Build

NODES = {
    "namesrv-1": {"listenPort": "9876"},
    "eu-1-0": {"brokerName": "eu-1", "brokerId": "0"},
    "eu-1-1": {"brokerName": "eu-1", "brokerId": "1", "release": "5.3.3"},
    "eu-1-2": {"brokerName": "eu-1", "brokerId": "2"},
    "blue": {"brokerName": "broker-7", "brokerId": "0"},
}
TARGETS = {**dict.fromkeys(NODES, "reference"), "eu-1-2": "rocketmq:5.3.3", "namesrv-1": "rocketmq:4.9.7"}


def promoted(begin: int, heal: int) -> FaultFact:
    return FaultFact("f", "promote", ("eu-1-1",), begin_ns=begin, inject_ns=begin, heal_ns=heal, effective=1)


def test_names_with_digits_and_dashes_are_what_properties_say() -> None:
    cluster = Cluster.of(NODES, TARGETS)
    assert cluster.brokers == ["broker-7", "eu-1"]
    assert cluster.first_master("broker-7") == "blue"
    assert cluster.broker_of("eu-1-1") == "eu-1"
    assert cluster.broker_of("eu-1") == "eu-1", "a broker name is its own"
    assert cluster.slaves("eu-1") == ("eu-1-1", "eu-1-2")
    assert [node for node in NODES if cluster.is_slave(node)] == ["eu-1-1", "eu-1-2"]
    assert cluster.is_nameserver("namesrv-1")
    assert cluster.is_client("client-3")
    assert not cluster.is_slave("eu-1")


def test_a_controller_that_stands_apart_is_no_nameserver_and_no_calm() -> None:
    nodes = {**NODES, "controller-1": {"controllerDLegerGroup": "controllers"}}
    kill = FaultFact("f", "kill", ("controller-1",), begin_ns=1, inject_ns=1, heal_ns=2, effective=1)
    facts = RunFacts("controller", nodes=nodes, targets=TARGETS, faults=(kill,))
    assert [facts.cluster.directs(node) for node in ("namesrv-1", "controller-1", "eu-1-0", "client-3")] == [
        True,
        True,
        False,
        False,
    ]
    assert not facts.cluster.is_nameserver("controller-1")
    assert facts.role_hit(kill) == "controller"


def test_each_node_is_of_its_own_release() -> None:
    facts = RunFacts("multi-master-multi-slave-async", nodes=NODES, targets=TARGETS)
    assert [facts.cluster.release_of(node) for node in ("eu-1-0", "eu-1-1", "eu-1-2", "namesrv-1")] == [
        "4.9.7",
        "5.3.3",
        "5.3.3",
        "4.9.7",
    ]
    assert facts.traits("eu-1-0").slave_delay_is_in_file
    assert not facts.traits("eu-1-2").slave_delay_is_in_file


def test_a_promoted_slave_is_master_from_the_act_to_the_heal() -> None:
    cluster = Cluster.of(NODES, TARGETS, [promoted(10, 20)])
    assert [cluster.master_at("eu-1", ns) for ns in (9, 10, 19, 20)] == ["eu-1-0", "eu-1-1", "eu-1-1", "eu-1-0"]
    assert cluster.masters("eu-1", 12, 13) == {"eu-1-0", "eu-1-1"}
    assert cluster.masters("eu-1", 30, 31) == {"eu-1-0"}
    assert cluster.tenures("eu-1")["eu-1-1"] == [(10, 20)]
    kill = FaultFact("g", "kill", ("eu-1-1",), begin_ns=12, inject_ns=12, heal_ns=15, effective=1)
    assert cluster.hits(kill, "eu-1"), "whoever serves the name is its master"
    later = FaultFact("g", "kill", ("eu-1-1",), begin_ns=30, inject_ns=30, heal_ns=35, effective=1)
    assert not cluster.hits(later, "eu-1")


@pytest.mark.parametrize(
    ("electing", "second"),
    [("enableDLegerCommitLog", "eu-1-1"), ("enableControllerMode", "eu-1-1"), ("enableSlaveActingMaster", "eu-1-0")],
)
def test_whom_nameservers_name_is_master_where_nodes_say_that_they_elect(electing: str, second: str) -> None:
    build = Build()
    build.event(5, "note", "serves", "eu-1-0", "", 1)
    build.event(9, "note", "serves", "eu-1-1", "", 1)
    nodes = {node: {**properties, electing: "true"} for node, properties in NODES.items()}
    cluster = Cluster.of(nodes, TARGETS, (), build.history().events)
    assert [cluster.master_at("eu-1", ms * MS) for ms in (6, 10)] == ["eu-1-0", second]


def test_who_is_elected_is_master_until_the_next_one() -> None:
    build = Build()
    build.event(5, "role", "became_master", "eu-1-1", "", 1)
    build.event(9, "role", "became_master", "eu-1-2", "", 1)
    cluster = Cluster.of(NODES, TARGETS, (), build.history().events)
    assert [cluster.master_at("eu-1", ms * MS) for ms in (4, 5, 8, 9, 99)] == [
        "eu-1-1",  # whoever was master before it was elected so, too
        "eu-1-1",
        "eu-1-1",
        "eu-1-2",
        "eu-1-2",
    ]


def test_settings_change_from_the_act_to_the_heal() -> None:
    build = Build()
    detail = {"do": "reconfigure", "left": ["blue"], "with": {"set": "flushDiskType=SYNC_FLUSH, a=1"}}
    effects = [{"does": "changes-properties", "value": detail["with"]["set"], "at": "act"}]
    for at, step in ((10, "resolve"), (11, "inject"), (12, "probe"), (20, "heal")):
        build.event(at, "fault", step, "blue", "f1", 1, **(detail | {"effects": effects} if step == "resolve" else {}))
    facts = RunFacts("multi-master", faults=RunFacts.from_run({"mode": "multi-master"}, build.history()).faults)
    cluster = Cluster.of(NODES, TARGETS, facts.faults)
    assert cluster.properties("blue", 15 * MS)["flushDiskType"] == "SYNC_FLUSH"
    assert "flushDiskType" not in cluster.properties("blue", 25 * MS)
