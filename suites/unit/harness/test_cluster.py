"""The cluster of a scenario: RocketMQ's names and values, what a scenario may change, and what it may not."""

from __future__ import annotations

import pytest

from harness.cluster import build
from harness.scenario import Flush, Scenario, Topology, Workload


def host(node: str) -> str:
    return f"10.0.0.{['namesrv-1', 'namesrv-2', 'broker-a-0', 'broker-b-0'].index(node) + 1}"


def scenario(**changes: object) -> Scenario:
    values: dict[str, object] = {"name": "s", "mode": "multi-master", "topology": Topology(nameservers=2, brokers=2)}
    return Scenario(**(values | changes))  # type: ignore[arg-type]


def test_a_cluster_has_its_nameservers_first_and_every_broker_knows_them_all() -> None:
    cluster = build(scenario(), host)
    assert [spec.name for spec in cluster.nodes] == ["namesrv-1", "namesrv-2", "broker-a-0", "broker-b-0"]
    assert cluster.namesrv_addresses == ("10.0.0.1:9876", "10.0.0.2:9876")
    assert cluster.broker_addresses == {"broker-a-0": "10.0.0.3:10911", "broker-b-0": "10.0.0.4:10911"}
    for spec in cluster.nodes[2:]:
        assert spec.properties["namesrvAddr"] == "10.0.0.1:9876;10.0.0.2:9876"


def test_a_broker_is_described_in_rocketmqs_words() -> None:
    properties = build(scenario(), host).nodes[3].properties
    expected = {
        "brokerClusterName": "mqchaos",
        "brokerName": "broker-b",
        "brokerId": "0",
        "brokerRole": "ASYNC_MASTER",
        "brokerIP1": "10.0.0.4",
        "brokerIP2": "10.0.0.4",
        "listenPort": "10911",
        "haListenPort": "10912",
        "flushDiskType": "ASYNC_FLUSH",
        "mappedFileSizeCommitLog": "1048576",
        "diskMaxUsedSpaceRatio": "95",
    }
    assert expected.items() <= properties.items()
    assert all(isinstance(value, str) for value in properties.values())
    assert int(properties["mappedFileSizeConsumeQueue"]) % 20 == 0


@pytest.mark.parametrize(("flush", "written"), [("async", "ASYNC_FLUSH"), ("sync", "SYNC_FLUSH")])
def test_the_flush_type_is_the_topologys(flush: Flush, written: str) -> None:
    cluster = build(scenario(topology=Topology(brokers=2, flush=flush)), host)
    assert {spec.properties["flushDiskType"] for spec in cluster.nodes[1:]} == {written}
    assert cluster.flush == flush


def test_intervals_that_guarantees_depend_on_are_rocketmqs_defaults_unless_the_scenario_says_otherwise() -> None:
    plain = build(scenario(), host).nodes[2].properties
    assert not [name for name in plain if "Interval" in name or "flushCommitLog" in name]
    own = {"broker": {"flushIntervalCommitLog": "50"}, "namesrv": {"scanNotActiveBrokerInterval": "1000"}}
    cluster = build(scenario(properties=own), host)
    assert cluster.nodes[2].properties["flushIntervalCommitLog"] == "50"
    assert cluster.nodes[0].properties["scanNotActiveBrokerInterval"] == "1000"


@pytest.mark.parametrize("size", [128, 300_000, 4 * 1024 * 1024])
def test_a_commit_log_file_holds_some_messages_of_any_allowed_size(size: int) -> None:
    cluster = build(scenario(workload=Workload(size_bytes=size)), host)
    assert int(cluster.nodes[2].properties["mappedFileSizeCommitLog"]) >= 4 * size


def test_defects_are_given_to_every_node() -> None:
    assert {spec.defects for spec in build(scenario(), host, ["reuse-offset"]).nodes} == {("reuse-offset",)}


def test_controllers_in_nameservers_know_each_other_and_brokers_know_them() -> None:
    two = scenario(mode="controller", topology=Topology(nameservers=2, brokers=1, slaves=0))
    first, second, broker = (spec.properties for spec in build(two, host).nodes)
    assert first["controllerDLegerPeers"] == "n1-10.0.0.1:9877;n2-10.0.0.2:9877" == second["controllerDLegerPeers"]
    assert (first["controllerDLegerSelfId"], second["controllerDLegerSelfId"]) == ("n1", "n2")
    assert (broker["controllerAddr"], broker["enableControllerMode"]) == ("10.0.0.1:9877;10.0.0.2:9877", "true")
    assert "brokerRole" not in broker


def test_controllers_apart_are_nodes_of_their_own_and_nameservers_then_are_none() -> None:
    places = {"namesrv-1": "10.0.0.1", "controller-1": "10.0.0.8", "controller-2": "10.0.0.9", "broker-a-0": "10.0.0.3"}
    apart = scenario(
        mode="controller",
        topology=Topology(controllers=2, brokers=1, slaves=0),
        properties={"controller": {"scanNotActiveBrokerInterval": "1000"}},
    )
    nodes = {spec.name: spec for spec in build(apart, places.__getitem__).nodes}
    assert [(name, spec.kind) for name, spec in nodes.items()] == [
        ("namesrv-1", "namesrv"),
        ("controller-1", "controller"),
        ("controller-2", "controller"),
        ("broker-a-0", "broker"),
    ]
    assert nodes["namesrv-1"].properties == {"bindAddress": "10.0.0.1", "listenPort": "9876"}
    assert nodes["controller-2"].properties == {
        "controllerDLegerGroup": "controllers",
        "controllerDLegerPeers": "n1-10.0.0.8:9877;n2-10.0.0.9:9877",
        "controllerDLegerSelfId": "n2",
        "scanNotActiveBrokerInterval": "1000",
    }
    assert nodes["broker-a-0"].properties["controllerAddr"] == "10.0.0.8:9877;10.0.0.9:9877"
