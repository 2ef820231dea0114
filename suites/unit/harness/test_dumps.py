"""What nodes left on their disks: a commit log and the log of a DLedger member are read alike."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from zlib import crc32

import pytest

from checkers.history.dumps import NodeDump
from harness.dumps import read_dumps
from harness.payload import Body, encode
from reference_impl.dledger.entry import HEAD_SIZE, encode_blank, entry_of
from reference_impl.dledger.entry import encode_record as encode_entry
from reference_impl.wire.message import Message, encode_record

RUN = {"scenario": "s", "seed": "0x1", "nodes": {"broker-a-0": {"brokerName": "broker-a"}}}
RUN_ID = crc32(b"s/1")
FILE_BYTES = 4096


def record(message: int, queue_offset: int) -> bytes:
    body = encode(Body(RUN_ID, message, 0, message), 64)
    return encode_record(Message(topic="t", queue_id=0, body=body, queue_offset=queue_offset))


SIZE = len(record(0, 0))


def files(root: Path, log: str, parts: dict[str, bytes], positions: list[int]) -> Path:
    """A run folder with one store: the files of its log, and one queue that leads to *positions*."""
    store = root / "nodes/broker-a-0/dump/store"
    (store / log).mkdir(parents=True)
    for name, data in parts.items():
        (store / log / name).write_bytes(data)
    queue = store / "consumequeue/t/0"
    queue.mkdir(parents=True)
    units = b"".join(pack(">qiq", position, SIZE, 0) for position in positions)
    (queue / f"{0:020d}").write_bytes(units.ljust(FILE_BYTES, b"\0"))
    return root


def classic(root: Path) -> NodeDump:
    data = record(10, 0) + record(11, 1)
    data += bytes(8) + record(12, 2)  # behind the end
    files(root, "commitlog", {f"{0:020d}": data.ljust(FILE_BYTES, b"\0")}, [0, SIZE])
    (dump,) = read_dumps(root, RUN)
    return dump


def member(root: Path) -> NodeDump:
    step = HEAD_SIZE + SIZE
    entries = [
        encode_entry(entry_of(record(10 + at, at), index=at, term=1, pos=at * step if at < 2 else FILE_BYTES))
        for at in range(3)
    ]
    first = entries[0] + entries[1]
    first += encode_blank(FILE_BYTES - len(first))
    second = entries[2] + bytes(8) + entries[0]
    parts = {f"{0:020d}": first.ljust(FILE_BYTES, b"\0"), f"{FILE_BYTES:020d}": second.ljust(FILE_BYTES, b"\0")}
    files(root, "dledger-n0/data", parts, [HEAD_SIZE, HEAD_SIZE + step])
    (root / "nodes/broker-a-0/dump/store/commitlog").mkdir()
    (dump,) = read_dumps(root, RUN)
    return dump


def test_a_commit_log(tmp_path: Path) -> None:
    dump = classic(tmp_path)
    assert (dump.node, dump.broker, dump.is_first_master) == ("broker-a-0", "broker-a", True)
    assert (dump.log, dump.log_end, set(dump.behind)) == ({10: 0, 11: SIZE}, 2 * SIZE, {12})
    assert dump.queued == {("t", 0): {0: 0, 1: SIZE}}


def test_positions_in_the_log_of_a_member_are_those_of_the_messages_in_its_entries(tmp_path: Path) -> None:
    dump, step = member(tmp_path), HEAD_SIZE + SIZE
    assert dump.log == {10: HEAD_SIZE, 11: HEAD_SIZE + step, 12: FILE_BYTES + HEAD_SIZE}
    assert (dump.log_end, dump.behind) == (FILE_BYTES + step, {}), "message 10 is in the log, and so not behind its end"
    assert dump.queued == {("t", 0): {0: HEAD_SIZE, 1: HEAD_SIZE + step}}


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, b"\xff" * 100], ids=["empty", "zeros", "ones"])
@pytest.mark.parametrize("log", ["commitlog", "dledger-n0/data"])
def test_a_file_that_is_no_log_has_no_messages(tmp_path: Path, log: str, damage: bytes) -> None:
    (dump,) = read_dumps(files(tmp_path, log, {f"{0:020d}": damage}, []), RUN)
    assert (dump.log, dump.behind) == ({}, {})


def test_nodes_without_a_store_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "nodes/namesrv-1/dump").mkdir(parents=True)
    assert read_dumps(tmp_path, RUN) == ()
