"""The simulated disk when it is dead, full, lying, hanging, or its sectors go bad."""

from __future__ import annotations

from errno import EIO, ENOSPC
from typing import Any

import pytest

from harness.backends.sim.disk_faults import DiskFaults, ProcessDied
from harness.backends.sim.inode import PAGE
from harness.backends.sim.models import DiskModel
from harness.backends.sim.sparse import CHUNK
from reference_impl.environment import SECOND
from suites.unit.sim.bench import NEVER, Bench, only


def broken(model: DiskModel = NEVER, **defects: Any) -> Bench:
    bench = Bench(model)
    bench.disk.write("f", 0, b"old")
    bench.sync()
    bench.run()
    bench.answers.clear()
    bench.disk.faults = DiskFaults()
    for name, value in defects.items():
        setattr(bench.disk.faults, name, value)
    return bench


def test_a_dead_disk_refuses_changes_and_syncs_but_reads() -> None:
    bench = broken(dead=True)
    for change in (
        lambda: bench.disk.write("f", 0, b"x"),
        lambda: bench.disk.create("g", 1),
        lambda: bench.disk.rename("f", "g"),
        lambda: bench.disk.delete("f"),
        lambda: bench.disk.truncate("f", 0),
    ):
        with pytest.raises(OSError, match=r"f|g") as raised:
            change()
        assert raised.value.errno == EIO
    bench.sync()
    bench.run()
    assert bench.answers == [("f", 0, "EIO")]
    assert bench.content() == b"old"


def test_a_failed_sync_loses_what_it_covered_though_the_next_one_succeeds() -> None:
    bench = broken(only("drop-all"), sync_failures=[1])
    bench.disk.write("f", 0, b"new")
    bench.sync("f", 1)
    bench.run()
    bench.disk.write("f", 2 * PAGE, b"elsewhere")
    bench.sync("f", 2)
    bench.run()
    assert bench.answers == [("f", 1, "EIO"), ("f", 2, "")]
    content = bench.content()
    assert content is not None
    assert content.startswith(b"new")
    durable = bench.durable()
    assert durable is not None
    assert durable.startswith(b"old")
    assert durable.endswith(b"elsewhere")


def test_a_later_write_to_the_same_page_carries_the_forgotten_along() -> None:
    bench = broken(only("drop-all"), sync_failures=[1])
    bench.disk.write("f", 0, b"new" + b"x" * PAGE)
    bench.sync()
    bench.run()
    bench.disk.write("f", 100, b"y")
    bench.sync()
    bench.run()
    durable = bench.durable()
    assert durable == b"new" + b"x" * 97 + b"y" + b"x" * (PAGE - 101)


def test_the_nth_call_fails_and_no_other() -> None:
    bench = broken(sync_failures=[2, 2])
    for token in range(5):
        bench.sync("f", token)
    bench.run()
    assert [error for _, _, error in bench.answers] == ["", "EIO", "", "EIO", ""]
    assert bench.disk.faults is not None
    assert bench.disk.faults.healthy()


def test_a_lying_disk_says_yes_and_loses() -> None:
    bench = broken(only("drop-all"), lying=True)
    bench.disk.write("f", 0, b"new")
    bench.sync()
    bench.run()
    assert bench.answers == [("f", 0, "")]
    assert bench.durable() == b"old"


def test_a_hanging_disk_answers_after_its_release() -> None:
    bench = broken(hanging=True)
    bench.sync("f", 1)
    bench.sync("f", 2)
    bench.run(60 * SECOND)
    assert bench.answers == []
    assert bench.disk.faults is not None
    bench.disk.faults.hanging = False
    for end, sync in bench.disk.faults.held:
        end(sync, None)
    assert [token for _, token, _ in bench.answers] == [1, 2]


def test_the_fuse_kills_inside_the_nth_change_which_does_not_happen() -> None:
    bench = broken(fuse=2)
    bench.disk.write("f", 0, b"1")
    with pytest.raises(ProcessDied):
        bench.disk.write("f", 0, b"2")
    assert bench.content() == b"1ld"


def test_a_full_disk_refuses_new_space_and_not_what_it_already_has() -> None:
    bench = Bench(DiskModel(capacity_bytes=4 * CHUNK))
    bench.disk.write("f", 0, b"x")
    bench.disk.set_ballast(3 * CHUNK)
    with pytest.raises(OSError, match="f") as raised:
        bench.disk.write("f", CHUNK, b"x")
    assert raised.value.errno == ENOSPC
    bench.disk.write("f", CHUNK - 1, b"x")
    with pytest.raises(OSError, match="g"):
        bench.disk.write("g", 0, b"x")
    bench.disk.set_ballast(0)
    bench.disk.write("g", 0, b"x")
    assert bench.disk.usage() == (2 * CHUNK, 4 * CHUNK)
    bench.disk.delete("f")
    assert bench.disk.usage() == (CHUNK, 4 * CHUNK)


def test_flipped_bits_are_in_both_places() -> None:
    bench = Bench()
    bench.disk.write("f", 0, b"\x00\x01\x02")
    bench.sync()
    bench.run()
    bench.disk.flip_bit("f", 1, 3)
    assert bench.content() == b"\x00\x09\x02"
    assert bench.durable() == b"\x00\x09\x02"


@pytest.mark.parametrize("is_cut", [False, True])
def test_decay_of_a_file_survives_whatever_was_pending_and_a_power_cut(is_cut: bool) -> None:
    bench = Bench()
    bench.disk.write("f", 0, b"never forced")
    bench.disk.overwrite("f", 6, b"FORCED")
    if is_cut:
        bench.disk.cut("f", 9)
    bench.disk.cut_power()
    assert bench.content() == (b"never FOR" if is_cut else b"never FORCED")


def test_a_file_that_decay_took_does_not_come_back_with_a_power_cut() -> None:
    bench = Bench()
    bench.disk.write("f", 0, b"forced")
    bench.sync()
    bench.run()
    free = bench.disk.free_bytes
    bench.disk.cut("f", -1)
    assert bench.disk.free_bytes == free + CHUNK
    bench.disk.cut_power()
    assert bench.disk.files("") == []


def test_what_was_kept_of_a_disk_is_all_there_is_once_it_is_put_back() -> None:
    bench = Bench()
    bench.disk.write("f", 0, b"older")
    kept = bench.disk.kept()
    bench.disk.write("f", 0, b"newer, and longer")
    bench.disk.write("g", 0, b"later")
    bench.disk.become(kept)
    bench.disk.cut_power()
    assert bench.disk.files("") == ["f"]
    assert bench.content() == b"older"


@pytest.mark.parametrize(("fault", "error"), [("dead", "EIO"), ("read_only", "EROFS")])
def test_a_disk_that_is_mended_has_what_was_forced_when_it_took_no_more(fault: str, error: str) -> None:
    bench = Bench()
    bench.disk.write("f", 0, b"forced")
    bench.sync()
    bench.run()
    bench.disk.write("f", 0, b"in the cache")
    assert bench.disk.write_error() == ""
    bench.disk.faults = DiskFaults()
    setattr(bench.disk.faults, fault, True)
    assert bench.disk.write_error() == error
    assert bench.content() == b"in the cache"
    setattr(bench.disk.faults, fault, False)
    bench.disk.lose_cache()
    assert (bench.content(), bench.disk.write_error()) == (b"forced", "")
