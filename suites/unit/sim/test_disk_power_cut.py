"""The simulated disk: what a power cut leaves of what was not synced."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.backends.sim.inode import PAGE, SECTOR
from harness.backends.sim.models import DiskModel
from harness.backends.sim.power_cut import CutReport
from reference_impl.environment import SECOND
from suites.unit.sim.bench import Bench, only


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
