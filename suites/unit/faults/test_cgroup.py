"""Control groups of both versions: where they are found, what is written into them, how they are read.

The kernel of one machine has one version; here a folder stands for the tree of the other.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.errors import InjectionFailed
from faults.mechanisms import cgroup
from faults.mechanisms.cgroup import Tree


def mounts(folder: Path, *rows: str) -> Path:
    file = folder / "mounts"
    file.write_text("".join(f"{row}\n" for row in rows))
    return file


@pytest.mark.parametrize(
    ("kind", "options", "controllers", "version"),
    [
        ("cgroup", "rw,relatime,cpu,cpuacct", "", 1),
        ("cgroup", "rw,relatime,memory", "", None),
        ("cgroup2", "rw,nsdelegate", "cpuset cpu memory", 2),
        ("cgroup2", "rw", "memory pids", None),
        ("tmpfs", "rw,cpu", "cpu", None),
    ],
)
def test_the_tree_of_a_controller_is_where_it_is_mounted(
    tmp_path: Path, kind: str, options: str, controllers: str, version: int | None
) -> None:
    (tmp_path / "cgroup.subtree_control").write_text(controllers)
    found = cgroup.tree("cpu", mounts(tmp_path, "proc /proc proc rw 0 0", f"x {tmp_path} {kind} {options} 0 0"))
    assert found == (None if version is None else Tree(tmp_path, "cpu", version))


def test_a_machine_without_groups_says_so(tmp_path: Path) -> None:
    assert "no control groups for cpu" in cgroup.lack("cpu", mounts(tmp_path, "proc /proc proc rw 0 0"))
    assert "no control groups for cpu" in cgroup.lack("cpu", tmp_path / "no-such-system")


@pytest.mark.parametrize(
    ("version", "files"),
    [
        (1, {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "1000", "memory.limit_in_bytes": "1024"}),
        (2, {"cpu.max": "1000 20000", "memory.max": "1024"}),
    ],
)
def test_limits_are_written_and_read_as_the_version_has_them(
    tmp_path: Path, version: int, files: dict[str, str]
) -> None:
    cgroup.limit_cpu(tmp_path, Tree(tmp_path, "cpu", version), 5)
    cgroup.limit_memory(tmp_path, Tree(tmp_path, "memory", version), 1024)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == files
    assert cgroup.cpu_limit(tmp_path, Tree(tmp_path, "cpu", version)) == 5


@pytest.mark.parametrize("version", [1, 2])
def test_every_share_is_read_as_it_was_written(tmp_path: Path, version: int) -> None:
    where = Tree(tmp_path, "cpu", version)
    for percent in range(1, 101):
        cgroup.limit_cpu(tmp_path, where, percent)
        assert cgroup.cpu_limit(tmp_path, where) == percent


@pytest.mark.parametrize(
    ("version", "file", "text"),
    [
        (1, "cpu.cfs_quota_us", "-1\n"),
        (2, "cpu.max", "max 100000\n"),
        (1, "nothing", ""),
        (2, "nothing", ""),
    ],
)
def test_who_is_not_limited_has_all(tmp_path: Path, version: int, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    assert cgroup.cpu_limit(tmp_path, Tree(tmp_path, "cpu", version)) == 100


@pytest.mark.parametrize(
    ("version", "file", "text"),
    [
        (1, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
        (2, "memory.events", "low 0\nhigh 0\nmax 31\noom 1\noom_kill 2\noom_group_kill 0\n"),
    ],
)
def test_kills_are_counted(tmp_path: Path, version: int, file: str, text: str) -> None:
    assert cgroup.times_out_of_memory(tmp_path, Tree(tmp_path, "memory", version)) == 0
    (tmp_path / file).write_text(text)
    assert cgroup.times_out_of_memory(tmp_path, Tree(tmp_path, "memory", version)) == 2


def test_throttled_periods_are_counted(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("nr_periods 15\nnr_throttled 7\nthrottled_time 1304120730\n")
    assert cgroup.times_throttled(tmp_path) == 7


def test_what_the_kernel_does_not_take_is_told_with_its_word(tmp_path: Path) -> None:
    with pytest.raises(InjectionFailed, match=r"does not take '5'.*No such file or directory"):
        cgroup.put(tmp_path / "gone" / "cgroup.procs", "5")
