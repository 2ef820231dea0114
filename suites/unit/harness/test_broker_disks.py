"""What is read of a broker's disk: right files of a broker, and each thing that can be wrong in them."""

from __future__ import annotations

from collections.abc import Callable
from struct import pack, pack_into
from typing import Any

import pytest

from harness.broker_disks import broker_disk, index_hash, java_hash
from reference_impl.wire.message import Message, encode_record, java_string_hash
from suites.unit.harness.test_member_logs import Disk

FILE, SLOTS = 4096, 50
OURS = {"mappedFileSizeCommitLog": str(FILE), "maxHashSlotNum": str(SLOTS)}
QUEUE = f"store/consumequeue/t/0/{0:020d}"
INDEX = "store/index/20261130120000000"
ENTRIES_AT = 40 + 4 * SLOTS
COUNT = 20
STORED_MS = 1_700_000_000_000


def log(start: int) -> str:
    return f"store/commitlog/{start:020d}"


def record(number: int, place: int) -> bytes:
    message = Message(
        topic="t",
        queue_id=0,
        body=b"x" * 300,
        queue_offset=number,
        physical_offset=place,
        store_timestamp=STORED_MS + 700 * number,
        properties=f"KEYS\x01k{number} all\x02TAGS\x01tag{number % 3}\x02UNIQ_KEY\x01u{number}\x02",
    )
    return encode_record(message)


def disk() -> Disk:
    """A log of several files, one queue, one index file."""
    made, end = Disk(), 0
    entries: list[tuple[int, int, int]] = []
    for number in range(COUNT):
        size = len(record(number, end))
        if end % FILE + size + 8 > FILE:
            made.put(log(end // FILE * FILE), end % FILE, pack(">iI", FILE - end % FILE, 0xCBD43194), FILE)
            end += FILE - end % FILE
        made.put(log(end // FILE * FILE), end % FILE, record(number, end), FILE)
        made.put(QUEUE, number * 20, pack(">qiq", end, size, java_hash(f"tag{number % 3}")), 20 * 100)
        entries += [(index_hash("t", key), end, 700 * number // 1000) for key in (f"u{number}", f"k{number}", "all")]
        end += size
    head = pack(">qqqqii", STORED_MS, STORED_MS + 700 * (COUNT - 1), entries[0][1], entries[-1][1], 1, len(entries) + 1)
    made.put(INDEX, 0, head, ENTRIES_AT + 20 * 100)
    newest: dict[int, int] = {}
    for number, (hash_, place, seconds) in enumerate(entries, 1):
        made.put(INDEX, ENTRIES_AT + 20 * number, pack(">iqii", hash_, place, seconds, newest.get(hash_ % SLOTS, 0)))
        newest[hash_ % SLOTS] = number
        made.put(INDEX, 40 + 4 * (hash_ % SLOTS), pack(">i", number))
    return made


def told(made: Disk) -> dict[str, Any]:
    found = broker_disk(made, OURS)
    assert found is not None
    return found


def test_a_right_disk_is_read_whole() -> None:
    assert told(disk()) == {"records": COUNT, "units": COUNT, "entries": 3 * COUNT, "wrong": []}


def test_no_log_is_nothing_to_tell_of() -> None:
    assert broker_disk(Disk(), OURS) is None


@pytest.mark.parametrize("text", ["", "a", "TopicTest#key", "größer", "№1", "😀", "x" * 400])
def test_the_hash_is_javas(text: str) -> None:
    assert java_hash(text) == java_string_hash(text)


def test_the_least_hash_has_no_absolute_value() -> None:
    assert java_hash("polygenelubricants") == -(1 << 31)
    assert index_hash("polygenelubrica", "x") >= 0


def _unit(number: int, place: int = 0, size: int = 4, code: int = 8) -> Callable[[Disk], None]:
    """Another place, size or code, by what stands at its bytes."""

    def change(made: Disk) -> None:
        at = number * 20 + (0 if place else 8 if size != 4 else 12)
        value = pack(">q", place) if place else pack(">i", size) if size != 4 else pack(">q", code)
        made.put(QUEUE, at, value)

    return change


def _entry(number: int, at: int, value: bytes) -> Callable[[Disk], None]:
    return lambda made: made.put(INDEX, ENTRIES_AT + 20 * number + at, value)


def _without_entry(made: Disk) -> None:
    """The third key of the third message is entered as that of the fourth."""
    hash_, place = pack(">i", index_hash("t", "k3")), made.read(INDEX, ENTRIES_AT + 20 * 11 + 4, 8)
    made.put(INDEX, ENTRIES_AT + 20 * 8, hash_ + place)


def _damaged_body(made: Disk) -> None:
    made.content[log(0)][-1200] ^= 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_unit(3, place=1), "unit"),
        (_unit(3, size=77), "unit"),
        (_unit(3, code=77), "unit"),
        (_unit(3, code=java_hash("tag1")), "unit"),
        (_unit(4, place=0, size=0x7FFFFFFF), "undispatched"),
        (_entry(5, 0, pack(">i", 4711)), "index"),
        (_entry(5, 4, pack(">q", 1)), "index"),
        (_entry(20, 12, pack(">i", 0)), "index"),
        (_entry(60, 16, pack(">i", 1)), "index"),
        (lambda made: made.put(INDEX, 16, pack(">q", 4)), "index"),
        (lambda made: made.put(INDEX, 40 + 4 * (index_hash("t", "all") % SLOTS), pack(">i", 1)), "index"),
        (_without_entry, "unindexed"),
        (_damaged_body, "log"),
    ],
)
def test_what_is_wrong_is_told(change: Callable[[Disk], None], what: str) -> None:
    made = disk()
    change(made)
    assert what in [one for one, _ in told(made)["wrong"]]


def test_a_message_behind_the_last_unit_may_be_on_its_way() -> None:
    made = disk()
    made.put(QUEUE, 15 * 20, bytes(20 * 5))
    assert told(made)["wrong"] == []
    assert told(made)["units"] == 15


def test_bytes_that_are_no_record_of_their_place_end_the_log() -> None:
    made = disk()
    last = max(name for name in made.content if "commitlog" in name)
    pack_into(">q", made.content[last], 28, 7)
    assert told(made)["records"] < COUNT


def test_a_delayed_message_has_its_time_beside_its_place() -> None:
    made = Disk()
    for number, level in enumerate((1, 3, 99)):
        message = Message(
            topic="SCHEDULE_TOPIC_XXXX",
            queue_id=0,
            body=b"x",
            queue_offset=number,
            physical_offset=number * 500,
            store_timestamp=STORED_MS,
            properties=f"DELAY\x01{level}\x02PAD\x01".ljust(500 - 91 - 1 - len("SCHEDULE_TOPIC_XXXX"), "p"),
        )
        data = encode_record(message)
        assert len(data) == 500
        made.put(log(0), number * 500, data, FILE)
        due = STORED_MS + {1: 1_000, 3: 10_000, 99: 7_200_000}[level]
        made.put(QUEUE.replace("/t/", "/SCHEDULE_TOPIC_XXXX/"), number * 20, pack(">qiq", number * 500, 500, due), 2000)
    assert told(made)["wrong"] == []
    made.put(QUEUE.replace("/t/", "/SCHEDULE_TOPIC_XXXX/"), 32, pack(">q", STORED_MS + 5_000))
    assert [what for what, _ in told(made)["wrong"]] == ["unit"]
