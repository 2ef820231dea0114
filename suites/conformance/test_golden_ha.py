"""The HA connection of Apache's pair, byte for byte: our slave fed by their master, our master asked by their slave.

``golden/store/<version>/pair/ha.jsonl`` has what went over the wire, with times; ``master/`` and ``slave/`` what was on
the disks afterwards. The capture has two connections: a new slave joins, is killed, and comes back.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

from reference_impl.environment import MS
from reference_impl.replication.frames import FrameReader
from suites.conformance.golden_store import FILE_SIZE, GOLDEN, PROPERTIES, unpack
from suites.unit.broker.broker_by_hand import HOST, BrokerByHand
from suites.unit.replication.ends_by_hand import MASTER_HA, FakeSlave, SlaveByHand

VERSIONS = ("4.9.7", "5.3.3")
Event = tuple[int, int, str, bytes]


@cache
def capture(version: str) -> list[Event]:
    """(milliseconds, connection, what, bytes)."""
    lines = (GOLDEN / version / "pair" / "ha.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [(event["t_ms"], event["conn"], event["dir"], bytes.fromhex(event.get("hex", ""))) for event in events]


def log(snapshot: str) -> tuple[int, bytes]:
    """(offset of its first byte, all bytes) of a captured commit log."""
    files = sorted((path, data) for path, data in unpack(snapshot).items() if path.startswith("commitlog/"))
    return int(files[0][0].rpartition("/")[2]), b"".join(data for _, data in files)


def frames(data: bytes) -> list[tuple[int, bytes]]:
    reader, found = FrameReader(), []
    reader.feed(data)
    while (header := reader.header()) is not None:
        body = reader.body(header.size)
        assert body is not None
        found.append((header.offset, body))
    return found


def sent(version: str, connection: int, direction: str) -> bytes:
    return b"".join(data for _, conn, what, data in capture(version) if (conn, what) == (connection, direction))


# --- our slave --------------------------------------------------------------------------------------------------------


def replayed(version: str, connections: int = 2) -> SlaveByHand:
    """A slave of ours to which the captured master speaks."""
    made = SlaveByHand(**PROPERTIES, release="4.9.7", flushDiskType="ASYNC_FLUSH")
    for connection in range(connections):
        if connection:
            made.env.hang_up(made.links[-1])
        made.accept()
        for _, conn, what, data in capture(version):
            if (conn, what) == (connection, "m2s"):
                made.env.deliver(made.links[-1], data)
                made.env.advance(2 * MS)
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_our_slave_has_the_log_that_apaches_has(version: str) -> None:
    made = replayed(version)
    start, theirs = log(f"{version}/pair/slave")
    name = f"store/commitlog/{start:020d}"
    assert made.broker.role.state.store.log_start == start == FILE_SIZE
    assert bytes(made.env.disk[name]) == theirs
    _, masters = log(f"{version}/pair/master")
    assert made.log == masters[start:][: len(made.log)]


@pytest.mark.parametrize("version", VERSIONS)
def test_our_slave_dispatches_what_apaches_has_dispatched(version: str) -> None:
    made = replayed(version)
    store = made.broker.role.state.store
    theirs = unpack(f"{version}/pair/slave")
    units = b"".join(data for path, data in sorted(theirs.items()) if path.startswith("consumequeue/T0/0/"))
    ours = b"".join(
        bytes(data) for path, data in sorted(made.env.disk.items()) if path.startswith("store/consumequeue/T0/0/")
    )
    assert ours == units[: len(ours)]
    assert store.max_offset("T0", 0) * 20 == len(units.rstrip(b"\0")) + (-len(units.rstrip(b"\0"))) % 20


@pytest.mark.parametrize("version", VERSIONS)
def test_our_slave_reports_what_apaches_has_reported(version: str) -> None:
    """After each frame where it then stands; repetitions depend on time and are left out."""
    theirs = [int.from_bytes(data, "big") for data in _reports(version, 0)]
    made = SlaveByHand(**PROPERTIES)
    made.accept()
    for _, conn, what, data in capture(version):
        if (conn, what) == (0, "m2s"):
            made.env.deliver(made.links[-1], data)
    assert made.reports() == [offset for offset in dict.fromkeys(theirs) if offset]


def _reports(version: str, connection: int) -> list[bytes]:
    data = sent(version, connection, "s2m")
    return [data[at : at + 8] for at in range(0, len(data), 8)]


# --- our master -------------------------------------------------------------------------------------------------------


class RunningMaster:
    """A master of ours on the captured master's files, whose log grows as it did while the capture ran."""

    def __init__(self, version: str) -> None:
        _, self._log = log(f"{version}/pair/master")
        first = frames(sent(version, 0, "m2s"))
        self.log_end = max(offset + len(body) for offset, body in first if offset % FILE_SIZE == 0)
        files = {f"store/{path}": bytearray(data) for path, data in unpack(f"{version}/pair/master").items()}
        for path in files:
            if "/commitlog/" in path:
                keep = min(FILE_SIZE, max(0, self.log_end - int(path.rpartition("/")[2])))
                files[path][keep:] = bytes(len(files[path]) - keep)
        kept = {path: data for path, data in files.items() if "/config/" not in path and "/index/" not in path}
        kept = {path: data for path, data in kept.items() if "/consumequeue/" not in path and "lock" not in path}
        kept.pop("store/checkpoint", None)
        kept["store/abort"] = bytearray()
        self.made = BrokerByHand(disk=kept, brokerRole="SYNC_MASTER", release=version, inSyncReplicas="2", **PROPERTIES)
        assert self.made.role.state.store.log_end == self.log_end

    def grow(self, end: int) -> None:
        """As if the records up to *end* had just been put, by one that waits."""
        store, env = self.made.role.state.store, self.made.env
        if end > self.log_end:
            assert store.append_raw(env, self.log_end, self._log[self.log_end : end])
            self.log_end = end
            self.made.role.replication.master.wake(env)


@pytest.mark.parametrize("version", VERSIONS)
def test_our_master_says_what_apaches_has_said(version: str) -> None:
    """The captured slave reports at its times; every frame of the two connections comes out the same, in order."""
    master = RunningMaster(version)
    env = master.made.env
    base_ms, slave = env.now_ns // MS, None
    for connection in (0, 1):
        slave, heard = None, b""
        captured = [event for event in capture(version) if event[1] == connection]
        for at_ms, _, what, data in captured:
            due = base_ms + at_ms
            env.advance(max(0, due - env.now_ns // MS) * MS)
            if what == "open":
                slave = FakeSlave(master.made)
                continue
            assert slave is not None
            if what == "s2m":
                slave.write(data)
            elif what == "m2s":
                growing = [offset + len(body) for offset, body in _whole(data) if body]
                master.grow(max(growing, default=0))
                heard += env.take(slave.link)
            elif what == "close-s2m":
                heard += env.take(slave.link)
                env.hang_up(slave.link)
                break
        assert _said(heard) == _said(sent(version, connection, "m2s"))


def _whole(data: bytes) -> list[tuple[int, bytes]]:
    """Frames of a captured read; the head alone tells how far its body will reach."""
    found, at = [], 0
    while at + 12 <= len(data):
        offset, size = int.from_bytes(data[at : at + 8], "big"), int.from_bytes(data[at + 8 : at + 12], "big")
        if offset > 1 << 32:  # the second part of a frame that was read in two
            break
        found.append((offset, bytes(size)))
        at += 12 + size
    return found


def _said(data: bytes) -> list[tuple[int, bytes]]:
    """Data frames as they are, of equal heartbeats in a row one: how many there are depends on time."""
    said: list[tuple[int, bytes]] = []
    for frame in frames(data):
        if frame[1] or not said or said[-1] != frame:
            said.append(frame)
    return said


def test_the_fake_ends_agree_on_addresses() -> None:
    assert MASTER_HA.rpartition(":")[0] != HOST
