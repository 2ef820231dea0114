"""The simulated disk: what a process sees, and what sync makes durable."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.backends.sim.models import DiskModel
from harness.backends.sim.sparse import CHUNK, Sparse
from reference_impl.environment import SECOND
from suites.unit.sim.bench import Bench, only

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


def test_what_is_not_forced_is_told_with_its_instant() -> None:
    bench = Bench()
    bench.disk.write("f", 0, b"before")
    bench.sync()
    bench.run(SECOND)
    bench.disk.write("f", 6, b"after")
    assert bench.disk.unforced("f") == [(bench.scheduler.now, 6, 5)]
    bench.sync()
    bench.run(SECOND)
    assert bench.disk.unforced("f") == []


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
