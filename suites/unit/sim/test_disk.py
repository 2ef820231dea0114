"""The simulated disk: what a process sees, what a kill keeps, what a power cut keeps."""

from __future__ import annotations

import tracemalloc
from errno import EIO, ENOSPC
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.backends.sim.disk import SimDisk
from harness.backends.sim.disk_faults import DiskFaults, ProcessDied
from harness.backends.sim.inode import PAGE, SECTOR
from harness.backends.sim.models import Budgets, DiskModel
from harness.backends.sim.power_cut import CutReport
from harness.backends.sim.scheduler import Scheduler
from harness.backends.sim.sparse import CHUNK, Sparse
from reference_impl.environment import SECOND

NEVER = DiskModel(writeback_age_ns=None, journal_age_ns=None)


def only(mode: str, **changes: Any) -> DiskModel:
    """A model in which every power cut has the mode and write-back never happens."""
    return DiskModel(power_cut_weights=((mode, 1),), **{"writeback_age_ns": None, "journal_age_ns": None, **changes})


class Bench:
    """A disk, its time, and what its syncs answered."""

    def __init__(self, model: DiskModel = NEVER, seed: int = 1) -> None:
        self.scheduler = Scheduler(Budgets())
        self.disk = SimDisk(self.scheduler, Random(seed), model)
        self.answers: list[tuple[str, Any, str]] = []

    def sync(self, file: str = "f", token: Any = 0) -> None:
        self.disk.sync(file, token, lambda file, result: self.answers.append((file, *result)))

    def sync_dir(self, token: Any = "dir") -> None:
        self.disk.sync_dir(token, lambda file, result: self.answers.append((file, *result)))

    def run(self, for_ns: int = SECOND) -> None:
        self.scheduler.run_until(lambda: False, self.scheduler.now + for_ns)

    def durable(self, file: str = "f") -> bytes | None:
        """Content after a power cut, ``None`` if the file is gone."""
        self.disk.cut_power()
        return self.content(file)

    def content(self, file: str = "f") -> bytes | None:
        size = self.disk.size(file)
        return None if size < 0 else self.disk.read(file, 0, size)


# -- what a process sees ------------------------------------------------------------------------------------------

_operations = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.integers(0, 3 * CHUNK), st.binary(min_size=1, max_size=CHUNK + 100)),
        st.tuples(st.just("resize"), st.integers(0, 4 * CHUNK), st.just(b"")),
    ),
    max_size=12,
)


@given(_operations)
def test_sparse_content_is_a_byte_array(operations: list[tuple[str, int, bytes]]) -> None:
    sparse, plain = Sparse(), bytearray()
    for what, at, data in operations:
        if what == "write":
            plain.extend(bytes(max(0, at + len(data) - len(plain))))
            plain[at : at + len(data)] = data
            sparse.write(at, data)
        else:
            plain = plain[:at] + bytes(max(0, at - len(plain)))
            sparse.resize(at)
    assert sparse.read(0, 10 * CHUNK) == bytes(plain)
    assert sparse.read(CHUNK - 3, 7) == bytes(plain[CHUNK - 3 : CHUNK + 4])
    rebuilt = bytearray(sparse.size)
    for offset, data in sparse.extents():
        rebuilt[offset : offset + len(data)] = data
    assert rebuilt == plain
    assert sparse.copy().read(0, 10 * CHUNK) == bytes(plain)


def test_a_gigabyte_that_was_only_created_takes_no_memory() -> None:
    bench = Bench()
    tracemalloc.start()
    for number in range(20):
        bench.disk.create(f"commitlog/{number}", 1024**3)
        bench.disk.write(f"commitlog/{number}", number * 50_000_000, b"here")
    allocated = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert allocated < 3_000_000
    assert bench.disk.read("commitlog/7", 7 * 50_000_000 - 1, 6) == b"\0here\0"
    assert bench.disk.usage()[0] == 20 * CHUNK


def test_names() -> None:
    disk = Bench().disk
    disk.write("b/2", 0, b"two")
    disk.write("b/1", 3, b"one")
    disk.create("c", 5)
    assert disk.files("b/") == ["b/1", "b/2"]
    assert disk.read("b/1", 0, 99) == b"\0\0\0one"
    disk.rename("b/1", "c")
    assert disk.files("") == ["b/2", "c"]
    assert (disk.size("b/1"), disk.size("c")) == (-1, 6)
    disk.delete("c")
    disk.delete("c")
    assert disk.files("") == ["b/2"]


@pytest.mark.parametrize("call", ["read", "truncate", "rename", "modified_ns"])
def test_absent_files_are_told(call: str) -> None:
    disk = Bench().disk
    arguments = {"read": ("x", 0, 1), "truncate": ("x", 1), "rename": ("x", "y"), "modified_ns": ("x",)}[call]
    with pytest.raises(FileNotFoundError, match="x"):
        getattr(disk, call)(*arguments)


def test_create_keeps_what_is_long_enough() -> None:
    disk = Bench().disk
    disk.write("f", 0, b"content")
    disk.create("f", 3)
    assert disk.size("f") == 7
    disk.create("f", 9)
    assert disk.read("f", 0, 99) == b"content\0\0"


# -- sync ---------------------------------------------------------------------------------------------------------


def test_sync_covers_what_was_written_before_it_and_nothing_later() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"before")
    bench.sync()
    bench.disk.write("f", 6, b"after")
    bench.run()
    assert bench.answers == [("f", 0, "")]
    assert bench.content() == b"beforeafter"
    assert bench.durable() == b"before"


def test_sync_takes_time_and_until_then_promises_nothing() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"data")
    bench.sync()
    assert bench.answers == []
    bench.run(DiskModel().sync_min_ns)
    assert bench.answers == []
    assert bench.durable() is None
    bench.run()
    assert bench.answers == [], "a sync does not outlive the power"


def test_syncs_of_one_disk_end_one_after_the_other_in_order() -> None:
    bench = Bench()
    for number in range(20):
        bench.disk.write(f"f{number % 3}", number, b"x")
        bench.sync(f"f{number % 3}", number)
    ends: list[int] = []
    while len(bench.answers) < 20:
        count = len(bench.answers)
        assert bench.scheduler.run_until(lambda count=count: len(bench.answers) > count, SECOND)  # type: ignore[misc]
        ends.append(bench.scheduler.now)
    assert [token for _, token, _ in bench.answers] == list(range(20))
    assert all(later - sooner >= DiskModel().sync_min_ns for sooner, later in pairwise(ends))


def test_sync_of_an_absent_file_is_an_error() -> None:
    bench = Bench()
    bench.sync("nowhere")
    bench.run()
    assert bench.answers == [("nowhere", 0, "ENOENT")]


# -- names and the power ------------------------------------------------------------------------------------------


def test_sync_of_a_new_file_makes_its_name_durable() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"data")
    bench.sync()
    bench.run()
    assert bench.durable() == b"data"


def test_sync_of_a_new_file_brings_earlier_names_along_but_no_later_ones() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.create("earlier", 10)
    bench.disk.write("f", 0, b"data")
    bench.disk.create("later", 10)
    bench.sync()
    bench.run()
    bench.disk.cut_power()
    assert bench.disk.files("") == ["earlier", "f"]


@pytest.mark.parametrize(("syncs_names", "name"), [(False, "f.tmp"), (True, "f")])
def test_a_rename_is_durable_after_sync_dir_only(syncs_names: bool, name: str) -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f.tmp", 0, b"new")
    bench.sync("f.tmp")
    bench.disk.rename("f.tmp", "f")
    if syncs_names:
        bench.sync_dir()
    bench.run()
    bench.disk.cut_power()
    assert bench.disk.files("") == [name]
    assert bench.content(name) == b"new"


def test_a_file_replaced_by_rename_comes_back_without_sync_dir() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"old")
    bench.disk.write("f.tmp", 0, b"new")
    bench.sync("f"), bench.sync("f.tmp")
    bench.run()
    bench.disk.rename("f.tmp", "f")
    assert bench.content() == b"new"
    assert bench.durable() == b"old"


def test_sync_dir_does_not_make_content_durable() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"data")
    bench.sync_dir()
    bench.run()
    assert bench.durable() == b""


def test_a_deleted_file_comes_back_without_sync_dir() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"data")
    bench.sync()
    bench.run()
    bench.disk.delete("f")
    assert bench.durable() == b"data"


def test_a_new_file_of_a_reused_name_is_another_file() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"first, long")
    bench.sync()
    bench.run()
    bench.disk.delete("f")
    bench.disk.write("f", 0, b"second")
    bench.sync()
    bench.run()
    assert bench.durable() == b"second"


# -- what a power cut leaves of the rest --------------------------------------------------------------------------


def appended(mode: str, seed: int, records: int = 40, size: int = 300) -> tuple[list[bytes], bytes, CutReport]:
    """(records, durable content, report) of a file appended to and cut off; the first ten records were synced."""
    bench = Bench(only(mode), seed)
    written = [bytes([1 + number]) * size for number in range(records)]
    for number, record in enumerate(written):
        bench.disk.write("f", number * size, record)
        if number == 9:
            bench.sync()
            bench.run()
    report = bench.disk.cut_power()
    content = bench.content()
    assert content is not None
    return written, content, report


@pytest.mark.parametrize("mode", ["drop-all", "prefix", "subset", "torn"])
@pytest.mark.parametrize("seed", range(20))
def test_what_was_synced_survives_and_every_byte_is_old_or_new(mode: str, seed: int) -> None:
    written, content, report = appended(mode, seed)
    whole = b"".join(written)
    assert content[:3000] == whole[:3000]
    assert all(byte in (0, whole[at]) for at, byte in enumerate(content))
    assert (report.mode, report.pending_bytes) == (mode, 9000)
    assert report.lost_bytes == 9000 - sum(1 for byte in content[3000:] if byte)


def test_drop_all_leaves_nothing_pending() -> None:
    assert all(len(appended("drop-all", seed)[1]) == 3000 for seed in range(10))


def test_prefix_leaves_whole_writes_up_to_a_point_that_differs_by_seed() -> None:
    lengths = []
    for seed in range(60):
        written, content, _ = appended("prefix", seed)
        assert content == b"".join(written)[: len(content)]
        assert len(content) % 300 == 0
        lengths.append(len(content))
    assert min(lengths) == 3000
    assert max(lengths) == 12_000
    assert len(set(lengths)) > 15


def test_subset_leaves_pages_with_holes_before_them() -> None:
    holes = 0
    for seed in range(120):
        _, content, _ = appended("subset", seed, records=80)
        pages = [content[at : at + PAGE] for at in range(0, len(content), PAGE)]
        empty = [number for number, page in enumerate(pages) if not any(page)]
        holes += bool(empty) and empty[0] < len(pages) - 1
    assert holes > 5


def test_torn_cuts_one_write_at_a_sector_and_keeps_its_head_or_its_tail() -> None:
    torn = heads = 0
    for seed in range(60):
        written, content, _ = appended("torn", seed, records=20, size=3 * SECTOR)
        for number, record in enumerate(written):
            have = content[number * 1536 : number * 1536 + 1536].ljust(1536, b"\0")
            sectors = [have[at : at + SECTOR] == record[:SECTOR] for at in (0, SECTOR, 2 * SECTOR)]
            assert all(part in (record[:SECTOR], bytes(SECTOR)) for part in (have[:SECTOR], have[-SECTOR:]))
            inside_one_page = number * 1536 // PAGE == (number * 1536 + 1535) // PAGE
            is_torn = inside_one_page and len(set(sectors)) == 2
            torn += is_torn
            heads += is_torn and sectors[0]
    assert torn > 10
    assert 0.2 < heads / torn < 0.8


def test_prefix_is_one_order_for_all_files_and_names() -> None:
    seen: dict[tuple[str, ...], None] = {}
    for seed in range(80):
        bench = Bench(only("prefix"), seed)
        for name in ("a", "b", "c"):
            bench.disk.write(name, 0, name.encode())
        bench.disk.cut_power()
        files = bench.disk.files("")
        contents = [bench.content(name) for name in files]
        assert files == ["a", "b", "c"][: len(files)]
        assert all(content == name.encode() for name, content in zip(files[:-1], contents[:-1], strict=True))
        seen[tuple(files)] = None
    assert len(seen) == 4


def test_a_file_whose_name_is_lost_counts_with_all_its_unsynced_bytes() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"12345")
    assert bench.disk.cut_power()._replace(mode="") == CutReport("", 5, 5, 1)
    assert bench.disk.cut_power()._replace(mode="") == CutReport("", 0, 0, 0)


def test_a_deleted_file_is_no_loss() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.write("f", 0, b"12345")
    bench.disk.delete("f")
    assert bench.disk.cut_power().lost_bytes == 0


def test_preallocated_size_survives_as_the_journal_does() -> None:
    bench = Bench(only("drop-all"))
    bench.disk.create("f", 1000)
    bench.sync()
    bench.run()
    bench.disk.write("f", 0, b"x")
    assert bench.durable() == bytes(1000)


def test_truncation_is_undone_unless_synced() -> None:
    for synced, expected in [(False, b"0123456789"), (True, b"012")]:
        bench = Bench(only("drop-all"))
        bench.disk.write("f", 0, b"0123456789")
        bench.sync()
        bench.run()
        bench.disk.truncate("f", 3)
        if synced:
            bench.sync()
            bench.run()
        assert bench.durable() == expected


def test_the_kernel_writes_back_by_itself_what_is_old_enough() -> None:
    model = only("drop-all", writeback_age_ns=30 * SECOND, journal_age_ns=5 * SECOND)
    bench = Bench(model)
    bench.disk.write("f", 0, b"old")
    bench.run(36 * SECOND)
    bench.disk.write("f", 3, b"young")
    bench.run(11 * SECOND)
    assert bench.durable() == b"old"


def test_names_are_older_sooner_than_data() -> None:
    bench = Bench(only("drop-all", writeback_age_ns=30 * SECOND, journal_age_ns=5 * SECOND))
    bench.disk.write("f", 0, b"data")
    bench.run(11 * SECOND)
    assert bench.durable() == b""


def test_settling_frees_files_that_nothing_names() -> None:
    bench = Bench(DiskModel())
    for _ in range(2000):
        bench.disk.write("config.tmp", 0, b"x" * 100)
        bench.disk.rename("config.tmp", "config")
        bench.run(SECOND // 2)
    assert len(bench.disk.dirty) < 300
    assert len(bench.disk.journal) < 600


class _Oracle:
    """For every file and byte the values that may be on the platter: the synced one and every later one."""

    def __init__(self) -> None:
        self.now: dict[str, bytearray] = {}
        self.may: dict[str, list[list[int]]] = {}

    def write(self, file: str, at: int, data: bytes) -> None:
        content, may = self.now.setdefault(file, bytearray()), self.may.setdefault(file, [])
        missing = at + len(data) - len(content)
        if missing > 0:
            content.extend(bytes(missing))
            may.extend([0] for _ in range(missing))
        content[at : at + len(data)] = data
        for index, byte in enumerate(data, at):
            may[index].append(byte)

    def synced(self, file: str) -> None:
        if file in self.now:
            self.may[file] = [[byte] for byte in self.now[file]]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from("ab"), st.integers(0, 9000), st.binary(min_size=1, max_size=900)),
            st.sampled_from("ab").map(lambda file: (file, -1, b"")),
        ),
        max_size=25,
    ),
    st.integers(0, 2**32),
)
def test_whatever_is_written_a_power_cut_keeps_the_synced_and_invents_nothing(
    operations: list[tuple[str, int, bytes]], seed: int
) -> None:
    bench, oracle = Bench(DiskModel(), seed), _Oracle()
    synced_sizes = {"a": -1, "b": -1}
    for file, at, data in operations:
        if at >= 0:
            bench.disk.write(file, at, data)
            oracle.write(file, at, data)
        elif file in oracle.now:
            bench.sync(file)
            bench.run()
            oracle.synced(file)
            synced_sizes[file] = len(oracle.now[file])
    assert {file: bench.content(file) for file in oracle.now} == oracle.now
    report = bench.disk.cut_power()
    assert 0 <= report.lost_bytes <= report.pending_bytes
    for file, size in synced_sizes.items():
        content = bench.content(file)
        assert size == -1 or (content is not None and len(content) >= size)
        for at, byte in enumerate(content or b""):
            assert byte in oracle.may[file][at] or (byte == 0 and at >= size)


# -- defects ------------------------------------------------------------------------------------------------------


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
