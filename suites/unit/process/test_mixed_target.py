"""A mix of targets: how it is written, who gets what, what is refused, and what of it can be found in a run folder."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from harness.backends.backend import NodeSpec, Target
from harness.errors import BackendUnavailable, UsageError
from harness.run import run_scenario
from harness.targets.mixed import MixedTarget, is_mix, parse
from harness.worlds import open_target
from suites.unit.process.tiny_node import TinyTarget
from suites.unit.process.tiny_world import TinyWorld

SERVERS = ("namesrv-1", "broker-a-0", "broker-a-1", "broker-b-0", "broker-b-1")


def who_is_what(text: str) -> list[str]:
    target = open_target(text, SERVERS)
    return [target.at(node).name.removeprefix("rocketmq:") for node in SERVERS]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reference", ["reference"] * 5),
        ("rocketmq:4.9.7", ["4.9.7"] * 5),
        ("reference,slaves=rocketmq:4.9.7", ["reference", "reference", "4.9.7", "reference", "4.9.7"]),
        ("rocketmq:4.9.7,slaves=reference", ["4.9.7", "4.9.7", "reference", "4.9.7", "reference"]),
        (
            "rocketmq:4.9.7, slave(broker-a)=reference, nameservers = rocketmq:5.3.3",
            ["5.3.3", "4.9.7", "reference", "4.9.7", "4.9.7"],
        ),
        ("reference,broker-a-1=rocketmq:4.9.7", ["reference", "reference", "4.9.7", "reference", "reference"]),
        ("masters=rocketmq:4.9.7,reference", ["reference", "4.9.7", "reference", "4.9.7", "reference"]),
        ("reference,broker(broker-b)=rocketmq:5.3.3", ["reference", "reference", "reference", "5.3.3", "5.3.3"]),
    ],
)
def test_who_is_what(text: str, expected: list[str]) -> None:
    assert who_is_what(text) == expected


@pytest.mark.parametrize(
    ("text", "complaint", "hint"),
    [
        ("slaves=rocketmq:4.9.7", "no target is for the other nodes", "one target without a selector"),
        (
            "reference,rocketmq:4.9.7",
            "reference and rocketmq:4.9.7 are both for the other nodes",
            "as reference,slaves=",
        ),
        ("reference,", "has an empty part", "as reference,slaves="),
        ("reference,slave=rocketmq:4.9.7", "'slave=rocketmq:4.9.7': slave of what?", "slaves of all"),
        ("reference,=rocketmq:4.9.7", "expected a selector, found the end", "as reference,slaves="),
        ("reference,slaves=kafka", "unknown target 'kafka'", "known: reference, rocketmq:VERSION"),
        ("rocketmq:../x", "unknown target 'rocketmq:../x'", "known: reference, rocketmq:VERSION"),
        ("rocketmq:", "unknown target 'rocketmq:'", "known: reference, rocketmq:VERSION"),
        ("reference,one of slaves=rocketmq:4.9.7", "one(slaves) would be drawn", "name the nodes"),
        ("reference,clients=rocketmq:4.9.7", "clients are the harness's own", "targets are for servers"),
        ("reference,operator=rocketmq:4.9.7", "clients are the harness's own", "targets are for servers"),
        ("reference,slave(broker-z)=rocketmq:4.9.7", "slave(broker-z) fits no node", "there are namesrv-1, broker-a-0"),
        ("reference,slaves=rocketmq:4.9.7,broker-a-1=reference", "broker-a-1 has two targets", "name it once"),
        ("reference,all=rocketmq:4.9.7", "reference is for nobody", "leave one selector out"),
    ],
)
def test_nonsense_is_one_clear_error(text: str, complaint: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        open_target(text, SERVERS)
    assert complaint in caught.value.what
    assert hint in caught.value.hint


def test_its_name_is_what_was_written_and_can_be_read_again() -> None:
    name = open_target("reference , slaves= rocketmq:4.9.7,nameservers=rocketmq:5.3.3", SERVERS).name
    assert name == "reference,slaves=rocketmq:4.9.7,nameservers=rocketmq:5.3.3"
    assert str(parse(name)) == name
    assert not is_mix("rocketmq:4.9.7")


def test_a_planted_bug_goes_to_the_nodes_that_can_have_it(tmp_path: Path) -> None:
    for folder in ("config", "log", "data"):
        (tmp_path / folder).mkdir()
    target = open_target("reference,slaves=rocketmq:4.9.7", SERVERS)
    slave = NodeSpec("broker-a-1", "broker", {}, defects=("skip-last-record",))
    master = NodeSpec("broker-a-0", "broker", {}, defects=("skip-last-record",))
    assert "--defect" in target.command(master, tmp_path)[0]
    assert "--defect" not in target.command(slave, tmp_path)[0]
    all_apache = open_target("rocketmq:4.9.7,nameservers=reference", SERVERS)
    with pytest.raises(BackendUnavailable, match="no planted bugs"):
        all_apache.command(slave, tmp_path)


def test_the_simulator_refuses_what_is_not_python() -> None:
    target = open_target("reference,slaves=rocketmq:4.9.7", SERVERS)
    assert target.role(NodeSpec("namesrv-1", "namesrv", {}))
    with pytest.raises(BackendUnavailable, match=r"rocketmq:4\.9\.7 is a Java program"):
        target.role(NodeSpec("broker-a-1", "broker", {}))


def test_the_run_folder_says_who_was_what(tmp_path: Path) -> None:
    target = "reference,master(broker-a)=reference"
    scenario = tmp_path / "short.yaml"
    scenario.write_text("{name: short, mode: single-master, workload: {rate: 50/s, for: 1s}}")
    result = run_scenario(scenario, seed=1, target=target, out=tmp_path)
    assert result.folder is not None
    run = json.loads((result.folder / "run.json").read_text())
    assert run["target"] == result.target == target
    assert run["targets"] == {"namesrv-1": "reference", "broker-a-0": "reference"}


@pytest.mark.parametrize("greedy", ["broker-a-0", "broker-b-0"])
def test_on_one_network_one_node_that_listens_everywhere_leaves_room_for_no_other_of_its_kind(
    greedy: str, tmp_path: Path
) -> None:
    target = MixedTarget("a mix", {name: TinyTarget() for name in ("namesrv-1", "broker-a-0", "broker-b-0")})
    everywhere: Target = target.at(greedy)
    everywhere.listens_everywhere = True  # type: ignore[attr-defined]
    with closing(TinyWorld(tmp_path, "loopback", target=target)) as world:  # type: ignore[arg-type]
        world.backend.add_node(NodeSpec("namesrv-1", "namesrv", {}))
        with pytest.raises(BackendUnavailable, match="broker-b-0 finds no room beside broker-a-0"):
            world.backend.add_node(NodeSpec("broker-b-0", "broker", {}))
