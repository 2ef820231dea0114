"""What is read of a member's disk: a right log, and one with each thing that can be wrong in it."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack

import pytest

from checkers.runs.member_logs import BLOCK
from harness.member_logs import last_index, member_log
from reference_impl.dledger.entry import HEAD_SIZE, Entry, encode_blank, encode_record, encode_unit, entry_of, place
from reference_impl.wire.message import Message
from reference_impl.wire.message import encode_record as encode_message

FILE = 4096
FOLDER = "store/dledger-n0"
OURS = {"dLegerSelfId": "n0", "mappedFileSizeCommitLog": str(FILE)}
QUEUE = "store/consumequeue/t/0/00000000000000000000"
STAMP_AT = 28


class Disk:
    """Files by name, and what of them is not forced."""

    def __init__(self) -> None:
        self.content: dict[str, bytearray] = {}
        self.pending: dict[str, list[tuple[int, int, int]]] = {}

    def put(self, name: str, at: int, data: bytes, size: int = 0) -> None:
        file = self.content.setdefault(name, bytearray(size))
        file.extend(bytes(max(0, at + len(data) - len(file))))
        file[at : at + len(data)] = data

    def files(self, prefix: str) -> list[str]:
        return sorted(name for name in self.content if name.startswith(prefix))

    def size(self, file: str) -> int:
        return len(self.content[file]) if file in self.content else -1

    def read(self, file: str, offset: int, size: int) -> bytes:
        if file not in self.content:
            raise FileNotFoundError(file)
        return bytes(self.content[file][offset : offset + size])

    def unforced(self, file: str) -> list[tuple[int, int, int]] | None:
        return self.pending.get(file, [])


def data(start: int) -> str:
    return f"{FOLDER}/data/{start:020d}"


INDEX = f"{FOLDER}/index/{0:020d}"


def body(number: int, pos: int) -> bytes:
    record = encode_message(Message(topic="t", queue_id=0, body=b"x" * 100, queue_offset=number))
    return record[:STAMP_AT] + (pos + HEAD_SIZE).to_bytes(8, "big") + record[STAMP_AT + 8 :]


def entries(count: int) -> list[Entry]:
    found, end = [], 0
    for index in range(count):
        pos = place(end, HEAD_SIZE + len(body(0, 0)), FILE)
        found.append(entry_of(body(index, pos), index=index, term=1 + index // 50, pos=pos))
        end = found[-1].pos + found[-1].size
    return found


def disk(count: int = 100) -> Disk:
    """A member with so many messages of one queue."""
    made, end = Disk(), 0
    for entry in entries(count):
        if entry.pos != end:
            made.put(data(end // FILE * FILE), end % FILE, encode_blank(entry.pos - end))
        made.put(data(entry.pos // FILE * FILE), entry.pos % FILE, encode_record(entry), FILE)
        made.put(INDEX, entry.index * 32, encode_unit(entry), 32 * 1000)
        made.put(QUEUE, entry.index * 20, pack(">qiq", entry.pos + HEAD_SIZE, len(entry.body), 0), 20 * 1000)
        end = entry.pos + entry.size
    made.put(f"{FOLDER}/currterm", 0, b"voteLeader=n0\ncurrTerm=3\n")
    made.put(f"{FOLDER}/checkpoint", 0, f"committedIndex={count - 1}\nendIndex={count - 1}\n".encode())
    return made


def test_what_is_told_of_a_member() -> None:
    said = member_log(disk(), OURS)
    assert said is not None
    assert (said["begin"], said["end"], said["terms"], said["term"]) == (0, 99, [[1, 0], [2, 50]], 3)
    assert (said["checkpoint"], said["block"], len(said["blocks"]), len(said["rest"])) == ([99, 99], 0, 1, 100 - BLOCK)
    assert (said["wrong"], said["unforced"], last_index(disk(), OURS)) == ([], [], 99)
    assert member_log(Disk(), OURS) is None


def test_a_disk_may_have_the_log_of_another_member_beside_it() -> None:
    """An operator copied it."""
    member = disk()
    said = member_log(member, OURS)
    member.put("store/dledger-m7/data/00000000000000000000", 0, b"not ours")
    assert member_log(member, OURS) == said
    assert member_log(member, {**OURS, "dLegerSelfId": "n1"}) is None


def test_who_has_written_down_no_term_is_in_the_first() -> None:
    member = disk()
    del member.content[f"{FOLDER}/currterm"]
    said = member_log(member, OURS)
    assert said is not None
    assert said["term"] == 0


def test_only_what_the_checkpoint_knows_is_told() -> None:
    """Behind it may lie what was cut off."""
    member = disk()
    member.put(f"{FOLDER}/checkpoint", 0, b"committedIndex=69\nendIndex=69\n")
    said = member_log(member, OURS)
    assert said is not None
    assert (said["end"], said["wrong"]) == (69, [])


THIRD = entries(3)[2]
DAMAGES: dict[str, tuple[str, Callable[[Disk], object]]] = {
    "a record that says another place": ("end", lambda it: it.put(data(0), THIRD.pos + 24, b"\xff")),
    "a smaller term": ("end", lambda it: it.put(data(0), THIRD.pos + 16, bytes(8))),
    "a gap between two entries": ("end", lambda it: it.put(data(0), THIRD.pos + 8, pack(">q", 3))),
    "a unit of the index": ("index", lambda it: it.put(INDEX, 2 * 32 + 4, b"\xff")),
    "no unit of the index": ("index", lambda it: it.put(INDEX, 99 * 32, bytes(32))),
    "the place within a message": ("stamp", lambda it: it.put(data(0), THIRD.pos + HEAD_SIZE + STAMP_AT, bytes(8))),
    "a file of another size": ("file", lambda it: it.content[data(FILE)].extend(b"\0")),
    "a blank that tells another rest": ("blank", lambda it: it.put(data(0), blank_of(it) + 4, pack(">i", 9))),
    "a unit of the queue": ("unit", lambda it: it.put(QUEUE, 40, pack(">q", THIRD.pos))),
    "no unit of the queue": ("undispatched", lambda it: it.put(QUEUE, 99 * 20, bytes(20))),
}


def blank_of(member: Disk) -> int:
    return bytes(member.content[data(0)]).rindex(b"\xff\xff\xff\xff")


@pytest.mark.parametrize(("what", "damage"), DAMAGES.values(), ids=DAMAGES)
def test_what_is_wrong_is_named(what: str, damage: Callable[[Disk], object]) -> None:
    member = disk()
    damage(member)
    said = member_log(member, OURS)
    assert said is not None
    assert said["wrong"][0][0] == what


def test_an_entry_that_had_room_in_the_file_before() -> None:
    member = Disk()
    for entry in (entry_of(body(0, 0), index=0, term=1, pos=0), entry_of(body(1, FILE), index=1, term=1, pos=FILE)):
        member.put(data(entry.pos), 0, encode_record(entry), FILE)
        member.put(INDEX, entry.index * 32, encode_unit(entry), 320)
    size = HEAD_SIZE + len(body(0, 0))
    member.put(data(0), size, encode_blank(FILE - size))
    member.put(f"{FOLDER}/checkpoint", 0, b"committedIndex=1\nendIndex=1\n")
    said = member_log(member, OURS)
    assert said is not None
    assert [what for what, _ in said["wrong"]] == ["border"]


def test_what_is_not_forced_counts_within_the_log_only() -> None:
    member = disk(3)
    end = THIRD.pos + THIRD.size
    member.pending[data(0)] = [(7, THIRD.pos, 10), (8, end, 100)]
    member.pending[INDEX] = [(9, 64, 32), (9, 96, 32)]
    said = member_log(member, OURS)
    assert said is not None
    assert said["unforced"] == [[7, 10], [9, 32]]
