"""A real process, and one in a container, that lacks processor time, files or memory; what is left when we die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from faults.errors import InjectionFailed
from faults.journal import heal, open_journals
from faults.mechanisms import cgroup, descriptors, pidfd, undo
from harness.targets.reference import import_path
from reference_impl.environment import MS
from suites.unit.process.tiny_world import TinyWorld

NODE = "broker-a-0"
IN_CONTAINERS = pytest.param("containers", marks=pytest.mark.requires("docker:power"))
by_groups = pytest.mark.requires("process:cpu")


@pytest.fixture(params=["loopback", IN_CONTAINERS])
def world(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[TinyWorld]:
    with closing(TinyWorld(tmp_path, request.param)) as made:
        made.start(NODE)
        yield made


def groups_of_ours(world: TinyWorld) -> list[str]:
    trees = [found for name in ("cpu", "memory") if (found := cgroup.tree(name)) is not None]
    return [group.name for tree in trees for group in tree.top.glob(f"{undo.FOLDER_PREFIX}{world.backend._tag}*")]


@by_groups
def test_a_process_that_gets_little_of_a_processor_is_held_up_and_answers(world: TinyWorld) -> None:
    levers = world.levers
    assert levers.cpu_share(NODE) == 100
    world.do(levers.starve_cpu, NODE, 1)
    assert world.ask("echo late") == b"late"
    while not levers.cpu_held_up(NODE):  # each line costs it some of the millisecond that it has in a tenth of a second
        world.ask("echo more")
    assert levers.cpu_share(NODE) == 1
    world.do(levers.feed_cpu, NODE)
    assert (levers.cpu_share(NODE), groups_of_ours(world)) == (100, [])
    world.do(levers.feed_cpu, NODE)
    assert world.ask("echo soon") == b"soon"


@by_groups
def test_it_ends_with_the_process(world: TinyWorld) -> None:
    world.do(world.levers.starve_cpu, NODE, 5)
    world.do(world.levers.exhaust_files, NODE, 0)
    world.do(world.levers.kill, NODE)
    world.start(NODE)
    assert world.levers.cpu_share(NODE) == 100
    assert world.levers.files_left(NODE) > 100
    for undo_it in (world.levers.feed_cpu, world.levers.free_files):
        world.do(undo_it, NODE)
    assert groups_of_ours(world) == []


def test_without_files_no_new_connection_is_taken_and_the_old_ones_go_on(world: TinyWorld) -> None:
    levers = world.levers
    assert world.ask("echo before") == b"before"
    world.do(levers.exhaust_files, NODE, 0)
    assert levers.files_left(NODE) == 0
    assert world.ask("echo still") == b"still"
    world.say("echo new", client="client-2")
    assert not world.says(lambda: bool(world.clients["client-2"].answers), 500 * MS)
    world.do(levers.free_files, NODE)
    world.until(lambda: world.clients["client-2"].answers == [b"new"])


def test_some_may_be_left(world: TinyWorld) -> None:
    world.do(world.levers.exhaust_files, NODE, 3)
    assert world.levers.files_left(NODE) == 3
    world.do(world.levers.exhaust_files, NODE, 1)
    assert world.levers.files_left(NODE) == 1
    world.do(world.levers.free_files, NODE)
    assert world.levers.files_left(NODE) > 100, "the limit of before both"


@pytest.mark.requires("process:memory")
def test_the_kernel_kills_it_for_memory_and_the_page_cache_survives(world: TinyWorld) -> None:
    world.ask("drop unforced")
    world.do(world.levers.run_out_of_memory, NODE)
    assert world.levers.state(NODE) == "dead"
    assert world.levers.memory_kills(NODE) > 0
    assert groups_of_ours(world) == []
    world.start(NODE)
    assert world.ask("read") == b"unforced "
    assert world.count(NODE, "crashed") == 0, "it was our doing"


@by_groups
@pytest.mark.parametrize("lever", ["starve_cpu", "exhaust_files", "run_out_of_memory"])
def test_the_dead_lack_nothing(world: TinyWorld, lever: str) -> None:
    world.do(world.levers.kill, NODE)
    with pytest.raises(InjectionFailed, match="is dead"):
        world.do(getattr(world.levers, lever), NODE, *([] if lever == "run_out_of_memory" else [5]))


@by_groups
def test_the_end_of_a_run_leaves_no_group(tmp_path: Path) -> None:
    with closing(TinyWorld(tmp_path, "loopback")) as world:
        world.start(NODE)
        world.do(world.levers.starve_cpu, NODE, 5)
        assert groups_of_ours(world) != []
    assert groups_of_ours(world) == []


HARNESS = """
import sys
from pathlib import Path
from suites.unit.process.tiny_world import TinyWorld

world = TinyWorld(Path(sys.argv[1]), "loopback")
world.start("broker-a-0")
for state, lever, much in (("starved", "starve_cpu", 5), ("exhausted", "exhaust_files", 0)):
    world.journal.record(state, world.levers.heal_steps(state, "broker-a-0"))
    world.do(getattr(world.levers, lever), "broker-a-0", much)
process = world.backend._nodes["broker-a-0"].process
print(process.pid, process.start_ticks, world.backend._tag, flush=True)
sys.stdin.read()
"""


@by_groups
def test_whoever_heals_after_our_death_gives_it_back(tmp_path: Path) -> None:
    """Step by step, newest first: files, processor, then the process itself."""
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": import_path()},
    )
    assert harness.stdout is not None
    pid, ticks, tag = harness.stdout.readline().split()
    harness.send_signal(signal.SIGKILL)
    harness.wait()
    node = pidfd.ProcessId(int(pid), int(ticks))
    assert descriptors.left(node) == 0
    (leftover,) = open_journals(tmp_path / "heal")
    steps = {step.action: step for entry in leftover.outstanding for step in entry.steps}
    exhausted, starved = steps["restore_limits"], steps["dissolve_group"]
    undo.carry_out(exhausted)
    assert descriptors.left(node) > 100
    undo.carry_out(starved)
    undo.carry_out(starved)  # nothing is left to do
    assert not list(cgroup.tree("cpu").top.glob(f"{undo.FOLDER_PREFIX}{tag}*"))  # type: ignore[union-attr]
    assert pidfd.state(node) == "running"
    heal(leftover, undo.carry_out)
    assert pidfd.state(node) == "dead"


def test_a_group_that_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is not a group of ours"):
        undo.carry_out(undo.dissolve_group(tmp_path / "system.slice", tmp_path))
