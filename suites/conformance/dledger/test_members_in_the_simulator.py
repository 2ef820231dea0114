"""Members of a group as nodes of the simulator: real frames, real files, kills and power cuts."""

from __future__ import annotations

import pytest

from harness.backends.sim.world import SimBackend
from harness.targets.reference import ReferenceTarget
from reference_impl.dledger.codes import Code
from reference_impl.dledger.entry import Entry, decode_record, record_head
from reference_impl.environment import MS, SECOND
from suites.conformance.dledger.members import Members

STRICT = {"dLegerStrictPersistence": "true"}


def group(seed: int, size: int = 3, **properties: str) -> Members:
    return Members(SimBackend(ReferenceTarget(), seed), size, **properties)


def stored(members: Members, name: str) -> list[Entry]:
    """The entries in the data files of a member."""
    disk = members.backend.node(name).disk  # type: ignore[attr-defined]
    entries = []
    for file in disk.files(f"dledger/dledger-{name}/data/"):
        data, at = disk.read(file, 0, disk.size(file)), 0
        while (entry := decode_record(data, at)) is not None:
            entries.append(entry)
            at += entry.size
        assert record_head(data, at)[0] in (0, -1)
    return entries


def all_the_same(members: Members) -> list[Entry]:
    """What all have, once they are at rest."""
    members.sleep(8 * SECOND)
    logs = [stored(members, name) for name in members.names]
    assert all(log == logs[0] for log in logs)
    return logs[0]


def crashes(members: Members) -> list[object]:
    return [event for event in members.events if event[1] in ("crashed", "handler_failed", "bad_frame")]


def test_what_was_appended_is_read_and_lies_in_the_files_of_all() -> None:
    members = group(1)
    answers = [members.append(b"e%d" % number) for number in range(40)]
    assert [(answer.code, answer.index) for answer in answers] == [(200, index) for index in range(40)]
    assert members.get(7).entries[0].body == b"e7"
    assert members.get(40).code == Code.INDEX_OUT_OF_RANGE
    assert [entry.body for entry in all_the_same(members)] == [b"e%d" % number for number in range(40)]
    assert crashes(members) == []


@pytest.mark.conformance("D14")
def test_files_roll_at_the_same_places_everywhere() -> None:
    members = group(2)
    for _ in range(20):
        assert members.append(bytes(9000)).code == 200
    entries = all_the_same(members)
    assert {entry.pos // 65536 for entry in entries} == {0, 1, 2}


@pytest.mark.conformance("D10")
@pytest.mark.parametrize("size", [3, 5])
def test_the_log_goes_on_under_another_leader(size: int) -> None:
    members, acknowledged = group(3, size), dict[int, bytes]()
    for turn in range(3):
        leader = members.wait_for_leader()
        for number in range(5):
            body = b"%d.%d" % (turn, number)
            answer = members.append_until_stored(body)
            assert answer.code in (Code.SUCCESS, Code.NETWORK_ERROR), "a client learns of a kill by its connection"
            if answer.code == Code.SUCCESS:
                acknowledged[answer.index] = body
        members.backend.levers.kill(leader)
        rest = [name for name in members.names if name != leader]
        members.wait_for_leader(*rest)
        members.backend.levers.start(leader)
    entries = all_the_same(members)
    assert {index: entries[index].body for index in acknowledged} == acknowledged
    assert len(acknowledged) >= 12
    assert crashes(members) == []


@pytest.mark.conformance("D15")
@pytest.mark.parametrize("seed", range(6))
def test_a_power_cut_of_all_takes_acknowledged_entries_only_without_strict_persistence(seed: int) -> None:
    lost = []
    for properties in (STRICT, {}):
        members = group(seed, **properties)
        for number in range(6):
            assert members.append(b"e%d" % number).code == 200
        for name in members.names:
            members.backend.levers.cut_power(name)
        for name in members.names:
            members.backend.levers.start(name)
        members.wait_for_leader()
        assert members.append_until_stored(b"after").code == 200, "a leader without entries compares nothing"
        kept = {entry.body for entry in all_the_same(members)}
        lost.append(6 - len(kept & {b"e%d" % number for number in range(6)}))
        assert crashes(members) == []
    assert lost[0] == 0
    assert lost[1] > 0, "an acknowledgement from the page cache"


@pytest.mark.conformance("D13")
def test_a_member_that_lost_its_disk_gets_the_log_without_any_append() -> None:
    members = group(5)
    for number in range(10):
        members.append(b"e%d" % number)
    follower = next(name for name in members.names if name != members.wait_for_leader())
    members.backend.levers.kill(follower)
    members.backend.levers.wipe(follower)
    members.backend.levers.start(follower)
    assert len(all_the_same(members)) >= 10


def test_a_leader_whose_disk_is_full_makes_room_for_another() -> None:
    members = group(6)
    assert members.append(b"before").code == 200
    leader = members.wait_for_leader()
    members.backend.levers.fill_disk(leader, 0)
    members.append(bytes(60000))
    members.append(bytes(60000))
    members.sleep(20 * SECOND)
    others = [name for name in members.names if name != leader]
    assert members.wait_for_leader(*others) in others
    answers = [members.append_until_stored(b"after") for _ in range(2)]
    assert answers[-1].code == 200
    members.backend.levers.empty_disk(leader)
    members.sleep(10 * SECOND)
    assert b"after" in [entry.body for entry in all_the_same(members)]
    assert crashes(members) == []


@pytest.mark.conformance("D15")
def test_a_failed_force_ends_a_strict_member() -> None:
    members = group(7, **STRICT)
    leader = members.wait_for_leader()
    members.backend.levers.fail_forces(leader)
    members.append(b"e")
    members.sleep(100 * MS)
    assert [node for node, event, _ in members.events if event == "crashed"] == [leader]


@pytest.mark.conformance("D12")
def test_an_orderly_stop_and_start_keeps_everything() -> None:
    members = group(8)
    members.append(b"e0")
    for name in members.names:
        members.backend.levers.stop(name, 10 * SECOND)
    for name in members.names:
        members.backend.levers.start(name)
    members.wait_for_leader()
    assert members.append_until_stored(b"e1").code == 200
    assert [entry.body for entry in all_the_same(members)][::2] in ([b"e0", b"e1"], [b"e0"])
