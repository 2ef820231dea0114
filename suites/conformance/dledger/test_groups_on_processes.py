"""A group of three brokers of one make, on real processes: who leads, what is acknowledged, what is left afterwards.

The reference, or with ``--target rocketmq:5.3.3`` Apache's own. What disturbs nobody is asked of one group; kills, lost
disks and power cuts have a group each. Those are asked of the reference where results are recorded: the simulator has
answered them, and so have :mod:`.test_mixed_groups`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.targets.releases import row_of
from harness.worlds import open_target
from reference_impl.dledger.entry import UNIT_SIZE, encode_record, encode_unit
from reference_impl.dledger.log import FileLog
from reference_impl.dledger.recovery import recover
from reference_impl.dledger.small_files import (
    CHECKPOINT_FILE,
    TERM_FILE,
    checkpoint_text,
    read_checkpoint,
    read_term,
    term_text,
)
from reference_impl.environment import SECOND
from reference_impl.store.forcing import Forcing
from suites.conformance.broker.peer import create_topic, drained, max_offset, messages, pull, send
from suites.conformance.dledger.brokers import GroupOfBrokers, bodies, log_in_files, member_files
from suites.fake_environment import FakeEnvironment

pytestmark = [pytest.mark.slow, pytest.mark.requires("process:network"), pytest.mark.xdist_group("group-on-processes")]

PATIENCE_NS = 150 * SECOND
"""A slave asks its master for topics once a minute, and Apache's brokers take half a minute to start here."""
STANDS_STILL_NS = 20 * SECOND


@contextmanager
def group_of(name: str, folder: Path, **properties: str) -> Iterator[GroupOfBrokers]:
    target = open_target(name)
    target.prepare()
    journal = HealJournal.open("group", folder / "heal")
    backend = ProcessBackend("group", folder / "run", target, journal, isolation="auto")
    try:
        yield GroupOfBrokers(backend, release=release_of(name), slaveReadEnable="true", **properties)
    finally:
        backend.close()
        journal.close()


def release_of(name: str) -> str:
    return name.partition(":")[2] or "4.9.7"


@pytest.fixture(scope="class")
def quiet_group(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupOfBrokers]:
    """It is gone before others start: three idle members of Apache's take a good part of a core."""
    name = request.config.getoption("--target")
    with group_of(name, tmp_path_factory.mktemp("group")) as brokers:
        brokers.make_topic("T")
        yield brokers


@pytest.fixture
def group(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GroupOfBrokers]:
    """One for a single test."""
    name = request.config.getoption("--target")
    if name == "reference" and os.environ.get("MQCHAOS_RECORD_CONFORMANCE") != "1":
        pytest.skip("takes long; the simulator has answered it")
    with group_of(name, tmp_path) as brokers:
        brokers.make_topic("T")
        yield brokers


def at_rest(brokers: GroupOfBrokers) -> None:
    """All members have the same last entry."""
    brokers.until(lambda: len({brokers.end_index(node) for node in brokers.nodes}) == 1, PATIENCE_NS)


def acknowledged(brokers: GroupOfBrokers, *texts: bytes) -> None:
    """Each is sent again until it is, as a producer does."""
    for body in texts:
        brokers.until(lambda body=body: send(brokers.leader, "T", body).code == 0, PATIENCE_NS)  # type: ignore[misc]


def logs_at_the_end(brokers: GroupOfBrokers, into: Path) -> list[list[Any]]:
    """Of all members, which are stopped for that."""
    for node in brokers.nodes:
        brokers.stop(node)
    return [log_in_files(brokers, node, into) for node in brokers.nodes]


class TestUndisturbed:
    """A group that nothing befalls."""

    @pytest.mark.conformance("D07", lane="target")
    def test_the_leader_is_master_and_the_others_are_slaves_with_their_own_ids(
        self, quiet_group: GroupOfBrokers
    ) -> None:
        quiet_group.until(lambda: len(quiet_group.route()) == 3, PATIENCE_NS)
        route = quiet_group.route()
        others = {int(node[1:]) + 1: node for node in quiet_group.nodes if node != route[0]}
        assert {number: node for number, node in route.items() if number} == others

    @pytest.mark.conformance("D08", lane="target")
    def test_what_is_acknowledged_can_be_read_on_every_member(self, quiet_group: GroupOfBrokers) -> None:
        texts = [b"m%d" % number for number in range(20)]
        assert [quiet_group.sent("T", body) for body in texts] == list(range(20))
        for node in quiet_group.nodes:
            view = quiet_group.views[node]
            quiet_group.until(lambda view=view: pull(view, "T", 0).code == 0, PATIENCE_NS)  # type: ignore[misc]
            assert [message.body for message in drained(view, "T", 20)] == texts

    @pytest.mark.conformance("D09", lane="target")
    def test_a_follower_refuses_a_send(self, quiet_group: GroupOfBrokers) -> None:
        follower = quiet_group.views[quiet_group.followers()[0]]
        assert send(follower, "T").code == (14 if row_of(quiet_group.release).is_4 else 2)


@pytest.mark.conformance("D10", lane="target")
def test_a_failover_keeps_what_was_acknowledged_and_goes_on_counting(group: GroupOfBrokers, tmp_path: Path) -> None:
    texts = [b"a%d" % number for number in range(10)]
    assert [group.sent("T", body) for body in texts] == list(range(10))
    old = group.master_node()
    group.kill(old)
    new = group.wait_for_master(other_than=old)
    create_topic(group.views[new], "T")  # the new master may not have copied it
    assert group.sent("T", b"b0") == 10
    group.start(old)
    group.until(lambda: group.is_up(old), PATIENCE_NS)
    at_rest(group)
    assert [message.body for message in drained(group.views[new], "T", 11)] == [*texts, b"b0"]
    assert group.master_node() == new
    first, *others = logs_at_the_end(group, tmp_path / "logs")
    assert all(log == first for log in others)
    assert bodies(first, "T") == [*texts, b"b0"]


@pytest.mark.conformance("D11", lane="target")
def test_without_a_quorum_a_send_is_not_acknowledged_and_may_be_stored_later(group: GroupOfBrokers) -> None:
    group.sent("T", b"first")
    master, others = group.master_node(), group.followers()
    for node in others:
        group.backend.perform(lambda node=node: group.backend.levers.pause(node))  # type: ignore[misc]
    begin = group.backend.now()
    answer = send(group.views[master], "T", b"perhaps", timeout_ns=30 * SECOND)
    spent_s = (group.backend.now() - begin) / SECOND
    is_4 = row_of(group.release).is_4
    remark = "[PC_SYNCHRONIZED]broker busy, start flow control for a while" if is_4 else "in-sync replicas not enough"
    assert (answer.code, answer.remark) == (1, remark)
    assert 2.5 <= spent_s <= 4
    assert max_offset(group.views[master], "T") == 1, "what is not committed is in no queue"
    for node in others:
        group.backend.perform(lambda node=node: group.backend.levers.resume(node))  # type: ignore[misc]
    group.until(lambda: group.master_node() != "", PATIENCE_NS)
    at_rest(group)
    assert [message.body for message in messages(pull(group.leader, "T", 0))] in ([b"first", b"perhaps"], [b"first"])


@pytest.mark.conformance("D12", lane="target")
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_all_end_and_start_again(group: GroupOfBrokers, how: str) -> None:
    texts = [bytes([number]) * 5000 for number in range(30)]
    assert [group.sent("T", body) for body in texts] == list(range(30))
    at_rest(group)
    for node in group.nodes:
        (group.kill if how == "killed" else group.stop)(node)
    for node in group.nodes:
        group.start(node)
    group.until(lambda: all(group.is_up(node) for node in group.nodes), PATIENCE_NS)
    group.wait_for_master()
    create_topic(group.leader, "T")  # another leader than before may not have copied it
    group.until(lambda: max_offset(group.leader, "T") >= 30, PATIENCE_NS)
    found = [body for at in range(0, 30, 10) for body in read(group, at)][:30]
    assert found == texts
    assert group.sent("T", b"next") == 30


def read(brokers: GroupOfBrokers, offset: int) -> list[bytes]:
    """Ten messages of the leader's queue."""
    found = pull(brokers.leader, "T", offset, count=10)
    return [message.body for message in messages(found)] if found.code == 0 else []


@pytest.mark.conformance("D13", lane="target")
def test_a_member_that_lost_its_disk_gets_the_log(group: GroupOfBrokers, request: pytest.FixtureRequest) -> None:
    for number in range(10):
        group.sent("T", b"m%d" % number)
    at_rest(group)
    end, wiped = group.end_index(group.master_node()), group.followers()[0]
    group.kill(wiped)
    group.backend.perform(lambda: group.backend.levers.wipe(wiped))
    group.start(wiped)
    group.until(lambda: group.end_index(wiped) >= -1, PATIENCE_NS)
    if request.config.getoption("--target") != "reference":
        group.sleep(STANDS_STILL_NS)
        assert group.end_index(wiped) == -1, "DLedger 0.3 gives nothing to whom nobody writes"
        group.sent("T", b"more")
        end += 1
    group.until(lambda: group.end_index(wiped) == end, PATIENCE_NS)


@pytest.mark.conformance("D14", lane="target")
def test_files_roll_at_the_same_places_everywhere(group: GroupOfBrokers, tmp_path: Path) -> None:
    for _ in range(20):
        group.sent("T", bytes(9000))
    at_rest(group)
    logs = logs_at_the_end(group, tmp_path / "logs")
    assert all(log == logs[0] for log in logs)
    assert {entry.pos // 65536 for entry in logs[0]} == {0, 1, 2}
    for node in group.nodes:
        files = member_files(group, node, tmp_path / "files")
        assert {f"data/{number * 65536:020}" for number in range(3)} <= files.keys()


@pytest.mark.conformance("D02", "D03", "D04", "D05", lane="target")
def test_the_files_of_members_are_read_and_written_the_same(group: GroupOfBrokers, tmp_path: Path) -> None:
    for number in range(20):
        group.sent("T", bytes(500 * number + 1))  # 5.5.0 answers an empty body with an exception
    at_rest(group)
    end_index = group.end_index(group.master_node())
    for node in group.nodes:
        group.stop(node)
    for node in group.nodes:
        files = member_files(group, node, tmp_path / "files")
        small_files_are_written_the_same(files)
        log = opened(files)
        assert log.end_index == end_index
        for index in range(end_index + 1):
            entry = log.entry(index)
            assert entry is not None
            assert encode_record(entry) == bytes_at(files, "data", entry.pos, entry.size)
            assert encode_unit(entry) == bytes_at(files, "index", index * UNIT_SIZE, UNIT_SIZE)
        entries_make_the_same_files(log, files)


def entries_make_the_same_files(log: FileLog, files: Mapping[str, bytes]) -> None:
    """Those of *log*, appended to a new one; what a member has made in advance has nothing in it."""
    env, new = FakeEnvironment(), empty_log(files)
    recover(env, new)
    for index in range(log.end_index + 1):
        entry = log.entry(index)
        assert entry is not None
        assert new.place(entry.size) == entry.pos
        new.append(entry)
    made = {name.removeprefix("d/"): bytes(data) for name, data in env.disk.items()}
    assert made == {name: files[name] for name in made}
    assert not any(any(data) for name, data in files.items() if "/" in name and name not in made)


def small_files_are_written_the_same(files: Mapping[str, bytes]) -> None:
    assert term_text(*read_term(files[TERM_FILE].decode())).encode() == files[TERM_FILE]
    checkpoint = files[CHECKPOINT_FILE].decode()
    end = int(checkpoint.split("endIndex=")[1])
    assert checkpoint_text(end, read_checkpoint(checkpoint)) == checkpoint


def opened(files: Mapping[str, bytes]) -> FileLog:
    """By the reference, whoever wrote them."""
    env = FakeEnvironment()
    env.disk = {f"d/{name}": bytearray(data) for name, data in files.items()}
    log = empty_log(files)
    recover(env, log)
    return log


def empty_log(files: Mapping[str, bytes]) -> FileLog:
    """With files of the sizes of *files*."""
    return FileLog("d", Forcing(), data_file_size=size_of(files, "data"), index_file_size=size_of(files, "index"))


def size_of(files: Mapping[str, bytes], kind: str) -> int:
    return len(next(data for name, data in files.items() if name.startswith(f"{kind}/")))


def bytes_at(files: Mapping[str, bytes], kind: str, position: int, size: int) -> bytes:
    """Of the files of that kind as one."""
    begin = position - position % size_of(files, kind)
    return files[f"{kind}/{begin:020}"][position - begin :][:size]


@pytest.mark.requires("process:power")
@pytest.mark.conformance("D15", lane="target")
def test_what_a_power_cut_of_all_leaves_is_the_beginning_of_the_log(group: GroupOfBrokers, tmp_path: Path) -> None:
    """It may take acknowledged entries: they were in page caches. It makes no hole, and no two logs."""
    texts = [b"m%d" % number for number in range(20)]
    for body in texts:
        group.sent("T", body)
    for node in group.nodes:
        group.cut_power(node)
    for node in group.nodes:
        group.start(node)
    group.until(lambda: all(group.is_up(node) for node in group.nodes), PATIENCE_NS)
    group.wait_for_master()
    create_topic(group.leader, "T")  # its file may be gone, too
    acknowledged(group, b"after")
    at_rest(group)
    first, *others = logs_at_the_end(group, tmp_path / "logs")
    assert all(log == first for log in others)
    kept = bodies(first, "T")
    left = [body for body in kept if body != b"after"]
    assert left == texts[: len(left)]
    assert kept[-1] == b"after"
