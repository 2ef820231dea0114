"""Members of both implementations in one group, on real processes: they elect each other, replicate to each other, and
have the same log in the end.

Each group of three is led by each of its members in turn, as far as elections allow: the master is killed −9, the
others go on, it comes back. Then the master is separated from its followers, and takes messages that nobody else gets;
it is killed, the followers go on without it, and when it is back its tail has to go.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from faults.journal import HealJournal
from faults.levers import LinkSet
from harness.backends.backend import NodeSpec, Target
from harness.backends.process import ProcessBackend
from harness.worlds import open_target
from reference_impl.environment import SECOND
from suites.conformance.broker.peer import create_topic, send
from suites.conformance.dledger.brokers import GroupOfBrokers, bodies, log_in_files
from suites.minutes import needs_minutes

PATIENCE_NS = 150 * SECOND


class ByNode:
    """``Target``: node → what runs there; the others are the reference's."""

    has_roles = has_defects = False

    def __init__(self, apache: str, nodes: tuple[str, ...]) -> None:
        self._apache, self._reference, self._nodes = open_target(apache), open_target("reference"), nodes
        self.name = f"reference,{','.join(nodes)}={apache}"

    def prepare(self) -> None:
        self._apache.prepare()

    def at(self, node: str) -> Target:
        return self._apache if node in self._nodes else self._reference

    def role(self, spec: NodeSpec):  # type: ignore[no-untyped-def]
        raise AssertionError("not simulated")

    def command(self, spec: NodeSpec, folder: Path) -> tuple[list[str], Mapping[str, str]]:
        return self.at(spec.name).command(spec, folder)


class Story:
    """What happens to one group, and what was acknowledged."""

    def __init__(self, brokers: GroupOfBrokers) -> None:
        self.brokers = brokers
        self.acknowledged: list[bytes] = []
        self.led: list[str] = []
        self.number = 0

    def send(self, count: int) -> None:
        """*count* messages that are acknowledged; what is not is sent again under another number."""
        for _ in range(count * 20):
            if count == 0:
                return
            self.number += 1
            body = b"m%d" % self.number
            answer = send(self.brokers.leader, "T", body)
            if answer.code == 0:
                self.acknowledged.append(body)
                count -= 1
            else:
                self.brokers.sleep(SECOND // 2)
        raise AssertionError("not acknowledged")

    def everybody_has_it(self) -> None:
        """By the logs: a broker of 5.3.3 that was killed does not dispatch all of its log again."""
        brokers = self.brokers
        brokers.until(lambda: len({brokers.end_index(node) for node in brokers.nodes}) == 1, PATIENCE_NS)
        assert brokers.end_index(brokers.nodes[0]) >= len(self.acknowledged) - 1

    def fail_over(self) -> None:
        brokers = self.brokers
        old = brokers.master_node()
        self.led.append(old)
        brokers.kill(old)
        new = brokers.wait_for_master(other_than=old)
        create_topic(brokers.views[new], "T")
        self.send(3)
        brokers.start(old)
        brokers.until(lambda: brokers.is_up(old), PATIENCE_NS)
        self.everybody_has_it()

    def leave_a_tail_behind(self) -> str:
        """The node that has it."""
        brokers = self.brokers
        master, others = brokers.master_node(), brokers.followers()
        sides = LinkSet("tail", (master,), tuple(others))
        brokers.backend.perform(lambda: brokers.backend.levers.partition(sides))
        for number in range(3):
            brokers.tell(master, "T", b"tail%d" % number)  # one who steps down may never answer
        brokers.sleep(SECOND)
        brokers.kill(master)
        new = brokers.wait_for_master(other_than=master)
        create_topic(brokers.views[new], "T")
        self.send(5)  # more than the tail has, so that the ends differ until it is gone
        brokers.backend.perform(
            lambda: brokers.backend.levers.heal_partition(sides.name)
        )  # what was on its way is of an old term
        brokers.start(master)
        brokers.until(lambda: brokers.is_up(master), PATIENCE_NS)
        self.everybody_has_it()
        return master


@pytest.mark.slow
@pytest.mark.requires("java", "process:network")
@pytest.mark.parametrize(
    ("apache", "apache_nodes"),
    [
        pytest.param("rocketmq:4.9.7", ("n1", "n2"), id="4.9.7-one-with-two"),
        pytest.param("rocketmq:5.3.3", ("n2",), id="5.3.3-two-with-one"),
        needs_minutes("rocketmq:4.9.7", ("n2",), name="4.9.7-two-with-one"),
        needs_minutes("rocketmq:5.3.3", ("n1", "n2"), name="5.3.3-one-with-two"),
    ],
)
def test_both_implementations_keep_one_log(apache: str, apache_nodes: tuple[str, ...], tmp_path: Path) -> None:
    target = ByNode(apache, apache_nodes)
    target.prepare()
    backend = ProcessBackend("mixed", tmp_path / "run", target, HealJournal.open("mixed", tmp_path / "heal"))
    try:
        brokers = GroupOfBrokers(backend, release=apache.partition(":")[2], slaveReadEnable="true")
        create_topic(brokers.leader, "T")
        story = Story(brokers)
        story.send(5)
        story.everybody_has_it()
        for _ in range(3):
            story.fail_over()
        story.leave_a_tail_behind()
        for node in brokers.nodes:
            brokers.stop(node)
        logs = {node: log_in_files(brokers, node, tmp_path / "logs") for node in brokers.nodes}
    finally:
        backend.close()
    lengths = {node: len(log) for node, log in logs.items()}
    assert all(log == logs["n0"] for log in logs.values()), lengths
    kept = bodies(logs["n0"], "T")
    assert not any(body.startswith(b"tail") for body in kept), "its tail is gone"
    assert [body for body in kept if body in story.acknowledged] == story.acknowledged
