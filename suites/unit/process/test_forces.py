"""Forces that fail on a real process, and what is left of the tracer when something dies; a sector of a real file."""

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
from faults.levers import LeverRefused
from faults.mechanisms import decay, pidfd, strace, undo
from harness.backends.process import forces
from harness.backends.process.capabilities import Machine
from harness.targets.reference import import_path
from reference_impl.environment import MS, SECOND
from suites.unit.process.tiny_world import TinyWorld

NODE = "broker-a-0"
traced = pytest.mark.requires("process:forces")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[TinyWorld]:
    with closing(TinyWorld(tmp_path, "loopback")) as made:
        made.start(NODE)
        yield made


def is_kept(world: TinyWorld, text: str, within_ns: int = 300 * MS) -> bool:
    """Whether the node says that it has forced *text*; an error of its disk leaves the question without an answer."""
    before = len(world.clients["client-1"].answers)
    world.say(f"keep {text}")
    return world.says(lambda: len(world.clients["client-1"].answers) > before, within_ns)


@traced
def test_forces_fail_are_counted_and_succeed_again(world: TinyWorld) -> None:
    assert world.ask("keep before") == b"before"
    world.do(world.levers.fail_forces, NODE)
    assert world.levers.forces_hit(NODE)
    assert world.levers.count_forces_hit(NODE) == 0
    assert not is_kept(world, "lost")
    assert world.do(world.levers.count_forces_hit, NODE, 60 * SECOND) >= 1
    assert world.ask("read") == b"before lost ", "everybody can read what is not on the disk"
    world.do(world.levers.mend_forces, NODE)
    assert not world.levers.forces_hit(NODE)
    assert world.ask("keep after") == b"after"
    assert world.levers.count_forces_hit(NODE) >= 1, "the witness outlives the fault"
    assert world.levers.state(NODE) == "running"


@traced
def test_twice_is_refused_and_mending_what_is_well_is_no_error(world: TinyWorld) -> None:
    world.do(world.levers.mend_forces, NODE)
    world.do(world.levers.fail_forces, NODE)
    with pytest.raises(InjectionFailed, match="fail already"):
        world.do(world.levers.fail_forces, NODE)


@traced
def test_they_end_with_the_process(world: TinyWorld) -> None:
    world.do(world.levers.fail_forces, NODE)
    world.do(world.levers.kill, NODE)
    world.until(lambda: not world.levers.forces_hit(NODE))
    world.start(NODE)
    assert world.ask("keep again") == b"again"
    world.do(world.levers.mend_forces, NODE)


@traced
def test_a_traced_process_stands_still_when_it_is_stopped(world: TinyWorld) -> None:
    """A power cut needs that: what runs on after the disk's end would acknowledge from memory."""
    world.do(world.levers.fail_forces, NODE)
    world.do(world.levers.pause, NODE)
    assert world.levers.state(NODE) == "paused"
    world.do(world.levers.resume, NODE)
    assert world.ask("echo back") == b"back"


@traced
def test_the_dead_cannot_be_hit(world: TinyWorld) -> None:
    world.do(world.levers.kill, NODE)
    with pytest.raises(InjectionFailed, match="is dead"):
        world.do(world.levers.fail_forces, NODE)


def test_without_a_tracer_it_is_refused_with_what_to_install(world: TinyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forces, "scan", lambda: Machine("", "", "needs strace: apt-get install strace"))
    with pytest.raises(LeverRefused, match="apt-get install strace"):
        world.do(world.levers.fail_forces, NODE)


@traced
def test_a_tracer_that_cannot_attach_says_why(tmp_path: Path) -> None:
    with pytest.raises(InjectionFailed, match="strace did not attach: "):
        strace.trace_forces(pidfd.ProcessId(2**22 + 1, 7), tmp_path / "witness", {})


@traced
def test_a_tracer_that_is_ended_while_it_begins_leaves_no_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """strace begins with children that it stops, to try the kernel; which one it is at depends on the moment."""
    monkeypatch.setattr(strace, "is_traced", lambda pid, by: False)
    monkeypatch.setattr(strace, "DETACH_TIMEOUT_S", 10.0)
    monkeypatch.setattr(strace, "_POLL_S", 1e-4)
    marker = f"begins-{tmp_path}"
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        for moment in range(200):
            monkeypatch.setattr(strace, "ATTACH_TIMEOUT_S", moment * 2e-5)
            with pytest.raises(InjectionFailed, match="it took too long"):
                strace.trace_forces(pidfd.identify(sleeper.pid), tmp_path / "witness", {undo.MARKER: marker})
    finally:
        sleeper.kill()
        sleeper.wait()
    assert not pidfd.holders_of_marker(undo.MARKER, marker)


@traced
def test_a_tracer_that_takes_too_long_is_ended_and_no_fault(world: TinyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strace, "ATTACH_TIMEOUT_S", 0.0)
    monkeypatch.setattr(strace, "is_traced", lambda pid, by: False)
    with pytest.raises(InjectionFailed, match="it took too long"):
        world.do(world.levers.fail_forces, NODE)
    assert not world.levers.forces_hit(NODE)
    assert world.ask("keep all the same") == b"all the same"


HARNESS = """
import sys
from pathlib import Path
from suites.unit.process.tiny_world import TinyWorld

world = TinyWorld(Path(sys.argv[1]), "loopback")
world.start("broker-a-0")
world.journal.record("fail_sync broker-a-0", world.levers.heal_steps("failing", "broker-a-0"))
world.do(world.levers.fail_forces, "broker-a-0")
print(world.backend._tag, flush=True)
sys.stdin.read()
"""


@traced
def test_another_process_ends_the_tracer_of_a_harness_that_was_killed(tmp_path: Path) -> None:
    harness = subprocess.Popen(
        [sys.executable, "-c", HARNESS, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": import_path()},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert harness.stdout is not None
    tag = harness.stdout.readline().strip()
    harness.send_signal(signal.SIGKILL)
    harness.wait(timeout=60)
    assert len(pidfd.holders_of_marker(undo.MARKER, f"{tag}/{NODE}/forces")) == 1
    (left,) = open_journals(tmp_path / "heal")
    assert "fail_sync broker-a-0" in heal(left, undo.carry_out)
    assert pidfd.holders_of_marker(undo.MARKER, f"{tag}/{NODE}/forces") == []


# -- a sector ------------------------------------------------------------------------------------------------------


def log(folder: Path, *written: int, size: int = 1 << 20) -> Path:
    """Files of *size*, of which so many bytes are written."""
    for number, length in enumerate(written):
        with (folder / f"{number * size:020}").open("wb") as file:
            file.truncate(size)
            file.write(b"\x5a" * length)
    return folder


@pytest.mark.parametrize(
    ("written", "back", "position"),
    [
        ((100_000,), 32_768, 67_232 - 67_232 % 512),
        ((1 << 20, 5_000), 2_048, (1 << 20) + 2_560),
        ((1 << 20, 0), 512, (1 << 20) - 512),
        ((1 << 20, 5_000), 8_192, -1),
        ((1_000,), 4_096, -1),
        ((0,), 512, -1),
        ((), 512, -1),
    ],
)
def test_the_sector_lies_so_far_before_the_end(
    tmp_path: Path, written: tuple[int, ...], back: int, position: int
) -> None:
    folder = log(tmp_path, *written)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert decay.log_end(folder) == max((n * (1 << 20) + w for n, w in enumerate(written) if w), default=0)
    assert decay.flip_log(folder, back) == position
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    changed = [
        int(name) + at for name in sorted(before) for at in range(1 << 20) if before[name][at] != after[name][at]
    ]
    assert changed == (list(range(position, position + 512)) if position >= 0 else [])


@pytest.mark.parametrize(
    ("file", "is_of_log"),
    [
        ("store/commitlog/00000000000000000000", True),
        ("store/dledger-n0/data/00000000000001048576", True),
        ("store/dledger-n0/index/00000000000000000000", False),
        ("store/dledger-n0/currterm", False),
        ("store/consumequeue/T/0/00000000000000000000", False),
        ("store/checkpoint", False),
    ],
)
def test_messages_lie_in_a_commit_log_or_in_the_data_files_of_a_group(
    tmp_path: Path, file: str, is_of_log: bool
) -> None:
    assert decay.is_of_log(file) == is_of_log
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.touch()
    assert (decay.log_folder(tmp_path) == path.parent) == is_of_log


def test_there_is_no_log(tmp_path: Path) -> None:
    assert decay.flip_log(tmp_path / "none", 512) == -1


@traced
def test_forces_are_late_each_for_itself_and_let_go_at_once(world: TinyWorld) -> None:
    world.do(world.levers.delay_forces, NODE, 600)
    assert world.levers.forces_hit(NODE)
    assert not is_kept(world, "late", within_ns=400 * MS)
    assert world.do(world.levers.count_forces_hit, NODE) >= 1
    world.until(lambda: b"late" in world.clients["client-1"].answers)
    world.do(world.levers.mend_forces, NODE)
    assert is_kept(world, "soon", within_ns=5 * SECOND)


@traced
def test_forces_that_are_held_go_on_when_they_are_mended(world: TinyWorld) -> None:
    world.do(world.levers.delay_forces, NODE, 0)
    assert not is_kept(world, "held", within_ns=SECOND)
    assert world.do(world.levers.count_forces_hit, NODE, SECOND) >= 1
    world.do(world.levers.mend_forces, NODE)
    world.until(lambda: b"held" in world.clients["client-1"].answers)
    assert world.levers.state(NODE) == "running"


@traced
def test_a_node_whose_forces_are_held_can_be_killed(world: TinyWorld) -> None:
    world.do(world.levers.delay_forces, NODE, 0)
    world.say("keep never")
    assert world.do(world.levers.count_forces_hit, NODE, 5 * SECOND) >= 1
    world.do(world.levers.kill, NODE)
    world.until(lambda: not world.levers.forces_hit(NODE))
