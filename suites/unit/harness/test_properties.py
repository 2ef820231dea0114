"""A misspelt property stops a run before it begins: by place in a file, by node and release elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from faults.plan import bind_fault
from harness.backends.backend import NodeSpec
from harness.errors import ScenarioError, UsageError
from harness.preflight import check_properties
from harness.run import run_scenario
from harness.scenario import Scenario, Topology, server_names
from harness.scenario_file import parse
from harness.targets.properties import of_reference, of_rocketmq
from harness.targets.rocketmq import properties
from harness.worlds import open_target

PAIR = Scenario("pair", "multi-master-multi-slave-async", Topology(brokers=1, slaves=1), source="pair.yaml")
HEAD = "name: x\nmode: multi-master-multi-slave-async\n"


@pytest.mark.parametrize(
    ("line", "what", "place"),
    [
        (
            "properties: {broker: {flushIntervalComitLog: 100}}",
            "unknown property flushIntervalComitLog, did you mean flushIntervalCommitLog?",
            "x.yaml:3:23",
        ),
        (
            "properties: {namesrv: {orderMessagesEnable: true}}",
            "unknown property orderMessagesEnable, did you mean orderMessageEnable?",
            "x.yaml:3:24",
        ),
        (
            'faults: [{at: 1s, do: reconfigure, on: masters, with: {set: "lisenPort=1"}}]',
            "unknown property lisenPort, did you mean listenPort?",
            "x.yaml:3:55",
        ),
    ],
)
def test_in_a_file_it_is_told_with_its_place_and_what_was_meant(line: str, what: str, place: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(HEAD + line, "x.yaml")
    assert (caught.value.what, caught.value.place) == (what, place)


def with_property(kind: str, name: str) -> Scenario:
    return replace(PAIR, properties={kind: {name: "1"}})


@pytest.mark.parametrize(
    ("target", "kind", "name", "sentence"),
    [
        ("reference", "broker", "flushIntervalComitLog", r"broker-a-0 \(reference\): unknown property"),
        ("reference", "slave", "flushIntervalComitLog", r"broker-a-1 \(reference\): unknown property"),
        ("reference", "broker", "x-anything", r"broker-a-0 \(reference\): unknown property x-anything"),
        ("rocketmq:4.9.7", "broker", "inSyncReplica", r"rocketmq:4.9.7\): unknown property"),
        ("rocketmq:4.9.7", "broker", "strictFlush", r"broker-a-0 \(rocketmq:4.9.7\): unknown property strictFlush"),
        ("reference,slaves=rocketmq:5.3.3", "broker", "strictFlush", r"broker-a-1 \(rocketmq:5.3.3\)"),
    ],
)
def test_elsewhere_it_is_told_with_the_node_and_what_runs_there(target, kind, name, sentence) -> None:
    servers = server_names(PAIR)
    with pytest.raises(UsageError, match=sentence) as caught:
        check_properties(with_property(kind, name), open_target(target, servers), servers)
    assert caught.value.place == "pair.yaml"


@pytest.mark.parametrize(
    ("target", "kind", "name"),
    [
        ("reference", "broker", "sendMessageThreadPoolNums"),  # RocketMQ's, without effect there
        ("reference,slaves=rocketmq:5.3.3", "slave", "slaveReadEnable"),
        ("rocketmq:4.9.7", "broker", "x-whateverItIsCalled"),
        ("rocketmq:5.4.0", "broker", "inSyncReplicas"),
    ],
)
def test_what_a_node_knows_or_is_marked_as_unchecked_passes(target: str, kind: str, name: str) -> None:
    servers = server_names(PAIR)
    check_properties(with_property(kind, name), open_target(target, servers), servers)


def test_an_unchecked_name_is_told_without_its_mark(tmp_path: Path) -> None:
    told = properties(NodeSpec("broker-a-0", "broker", {"x-new": "1", "brokerIP1": "10.0.0.1"}), tmp_path)
    assert (told["new"], "x-new" in told) == ("1", False)


def test_reconfiguring_with_a_name_that_nobody_knows_begins_no_run(tmp_path: Path) -> None:
    fault = bind_fault(1, at="1s", do="reconfigure", on="masters", options={"set": "flushIntervalComitLog=1"})
    with pytest.raises(UsageError, match="did you mean flushIntervalCommitLog"):
        run_scenario(replace(PAIR, faults=(fault,)), seed=1, out=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_names_are_those_of_a_release_and_nothing_but_names() -> None:
    old, new = of_rocketmq("broker", "4.9.7"), of_rocketmq("broker", "5.3.3")
    assert "inSyncReplicas" in new
    assert "inSyncReplicas" not in old
    assert set(old) | set(new) <= set(of_reference("broker"))
    assert all(name[0].islower() and not name.islower() for name in (*old, *new)), "no words of a log among them"
    assert of_rocketmq("broker", "4.6.0") == of_rocketmq("broker", "4.9.8") == old
