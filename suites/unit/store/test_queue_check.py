"""``queueSelfCheck``: damaged queues are believed by default, as by RocketMQ, and built anew where they are
compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from suites.unit.store.world import World

COUNT = 250
"""Messages in two queues: three files of 1,000 bytes each."""
UNIT = 20

Damage = Callable[[World], None]


def queue_file(queue: int, number: int) -> str:
    return f"consumequeue/T/{queue}/{number * 1000:020d}"


def flip(queue: int, offset: int, byte: int, bits: int) -> Damage:
    """Change *bits* of a byte of the unit at *offset*."""

    def damage(w: World) -> None:
        file, at = queue_file(queue, offset * UNIT // 1000), offset * UNIT % 1000 + byte
        w.patch(file, at, bytes([w.content(file)[at] ^ bits]))

    return damage


def delete(queue: int, number: int) -> Damage:
    return lambda w: w.disk.delete(f"store/{queue_file(queue, number)}")


def swap(one: str, other: str) -> Damage:
    def damage(w: World) -> None:
        contents = w.content(one), w.content(other)
        w.patch(one, 0, contents[1])
        w.patch(other, 0, contents[0])

    return damage


def whole_folder(queue: int) -> Damage:
    def damage(w: World) -> None:
        for file in w.disk.files(f"store/consumequeue/T/{queue}/"):
            w.disk.delete(file)

    return damage


DAMAGES = {
    "size of a unit": flip(0, 5, 8, 0x40),
    "sign of a size": flip(0, 105, 8, 0x80),
    "size of the last unit": flip(1, COUNT // 2 - 1, 8, 0x40),
    "place of a unit": flip(1, 7, 0, 0x40),
    "place of a unit, nearly": flip(0, 70, 6, 0x02),
    "tag of a unit": flip(0, 33, 19, 0x01),
    "first file": delete(0, 0),
    "file in the middle": delete(1, 1),
    "last file": delete(0, 2),
    "all files": whole_folder(1),
    "files of one queue swapped": swap(queue_file(0, 0), queue_file(0, 1)),
    "files of two queues swapped": swap(queue_file(0, 1), queue_file(1, 1)),
}


def damaged(name: str, how: str, **properties: str) -> World:
    w = World({"mappedFileSizeConsumeQueue": "1000", **properties}).start()
    for number in range(COUNT):
        w.send_ok(f"m{number}", queue_id=number % 2)
    w.run(2)
    (w.kill if how == "kill" else w.stop)()
    DAMAGES[name](w)
    return w.start().run(1)


@pytest.mark.parametrize("how", ["stop", "kill"])
@pytest.mark.parametrize("name", DAMAGES)
def test_a_queue_that_is_compared_with_the_log_has_every_message_again(name: str, how: str) -> None:
    w = damaged(name, how, queueSelfCheck="true")
    for queue in (0, 1):
        assert w.bodies(queue_id=queue) == [f"m{number}" for number in range(queue, COUNT, 2)]
    assert w.send("next", queue_id=0).queue_offset == COUNT // 2


def test_only_the_queue_that_differs_is_built_anew_and_only_once() -> None:
    w = damaged("file in the middle", "stop", queueSelfCheck="true")
    assert w.noted("queues_rebuilt") == [{"queues": ["T/1"]}]
    w.stop().start()
    assert len(w.noted("queues_rebuilt")) == 1


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_by_default_a_damaged_size_hides_one_file_of_units_as_with_rocketmq(how: str) -> None:
    """The pull at that unit is told that its message is being removed, and sent on to the next log file."""
    w = damaged("size of a unit", how)
    assert w.store.max_offset("T", 0) == COUNT // 2


def test_after_retention_a_queue_is_built_from_what_the_log_still_has() -> None:
    w = World({"mappedFileSizeConsumeQueue": "1000", "queueSelfCheck": "true"}).start()
    for number in range(COUNT):
        w.send_ok(f"m{number}".ljust(300, "."))
    w.run(2)
    w.store.log.files.drop_first(w.env)
    w.stop()
    w.disk.delete("store/consumequeue/T/0/00000000000000001000")
    w.start().run(1)
    first = w.store.min_offset("T", 0)
    assert 0 < first < COUNT
    assert [body.rstrip(".") for body in w.bodies()] == [f"m{number}" for number in range(first, COUNT)]


def test_a_stray_file_between_those_of_the_log_is_left_alone() -> None:
    """RocketMQ 4.9.7 does not come up with it; taken for a part of the log, it would end there."""
    w = World().start()
    for number in range(COUNT):
        w.send_ok(f"m{number}".ljust(300, "."))
    w.run(2).stop()
    size = w.config.mapped_file_size_commit_log
    w.disk.create("store/commitlog/00000000000000000001", size)
    files = w.disk.files("store/commitlog/")
    w.start().run(1)
    assert len(w.bodies()) == COUNT
    assert [file for file in files if w.disk.size(file) < 0] == []
    assert w.noted("file_ignored") == [{"file": "store/commitlog/00000000000000000001"}]


def test_log_files_behind_a_damaged_record_are_set_aside_and_not_deleted() -> None:
    """RocketMQ deletes them. An orderly start scans the last three files."""
    w = World().start()
    for number in range(COUNT):
        w.send_ok(f"m{number}".ljust(300, "."))
    w.run(2)
    *_, damaged_file, one, other = [file.name for file in w.store.log.files.files if file.wrote]
    w.stop()
    held = [w.disk.read(name, 0, w.disk.size(name)) for name in (one, other)]
    w.patch(damaged_file.removeprefix("store/"), 4, b"\0\0\0\0")
    w.start().run(1)
    assert w.store.log_end == int(damaged_file[-20:])
    kept = [f"store/set-aside/{name[-20:]}" for name in (one, other)]
    assert [w.disk.read(name, 0, w.disk.size(name)) for name in kept] == held
    assert [fields["to"] for fields in w.noted("log_file_set_aside")] == kept
    assert w.send("goes on").status.is_stored
