"""The heal journal survives its writer, and heals the dead without touching the living."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from faults.errors import FaultTrouble, UndoFailed
from faults.journal import HealJournal, heal, open_journals, process_started, state_folder
from faults.levers import HealStep

OWNER = """
import sys
from pathlib import Path
from faults.journal import HealJournal
from faults.levers import HealStep

journal = HealJournal.open("run-1", Path(sys.argv[1]))
journal.record("pause broker-a-0", [HealStep("continue_process", {"pid": 7, "start_ticks": 9})])
gone = journal.record("isolate broker-b-0", [HealStep("delete_nft_table", {"namespace": "n", "table": "t"})])
journal.record("namespace of broker-a-0", [HealStep("unmount", {}), HealStep("delete_namespace", {})])
journal.undone(gone)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def owner(heal_folder: Path):
    """A run of its own process, in the middle of its faults."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(heal_folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


def kill_and_wait(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait(60)


def test_after_kill_minus_nine_the_undo_is_done_newest_first_in_order(owner, heal_folder: Path) -> None:
    kill_and_wait(owner)
    (leftover,) = open_journals(heal_folder)
    assert (leftover.run, leftover.pid, leftover.is_owned) == ("run-1", owner.pid, False)
    done: list[str] = []
    assert heal(leftover, lambda step: done.append(step.action)) == ["namespace of broker-a-0", "pause broker-a-0"]
    assert done == ["unmount", "delete_namespace", "continue_process"]
    assert open_journals(heal_folder) == []


def test_a_living_run_is_left_alone(owner, heal_folder: Path) -> None:
    (leftover,) = open_journals(heal_folder)
    assert leftover.is_owned
    assert len(leftover.outstanding) == 2
    with pytest.raises(FaultTrouble, match=f"the run run-1 is alive \\(pid {owner.pid}\\)"):
        heal(leftover, pytest.fail)


def test_an_undo_that_fails_keeps_the_journal_and_does_not_stop_the_others(owner, heal_folder: Path) -> None:
    kill_and_wait(owner)

    def undo(step: HealStep) -> None:
        if step.action == "unmount":
            raise OSError("target is busy")

    with pytest.raises(UndoFailed, match="namespace of broker-a-0: target is busy") as caught:
        heal(open_journals(heal_folder)[0], undo)
    assert "mqchaos heal" in caught.value.hint
    (leftover,) = open_journals(heal_folder)
    assert [entry.what for entry in leftover.outstanding] == ["namespace of broker-a-0"]
    assert heal(leftover, lambda step: None) == ["namespace of broker-a-0"]


def test_a_torn_last_line_is_an_entry_whose_act_never_began(owner, heal_folder: Path) -> None:
    kill_and_wait(owner)
    path = heal_folder / "run-1.jsonl"
    with path.open("ab") as file:
        file.write(b'{"t": "undo", "entry": 4, "wh')
    assert len(open_journals(heal_folder)[0].outstanding) == 2


def test_a_journal_of_an_older_version_is_read(owner, heal_folder: Path) -> None:
    """There an entry was called a promise."""
    kill_and_wait(owner)
    path = heal_folder / "run-1.jsonl"
    before = open_journals(heal_folder)
    path.write_bytes(path.read_bytes().replace(b'{"t": "undo"', b'{"t": "promise"'))
    assert open_journals(heal_folder) == before


def test_every_prefix_of_a_journal_can_be_read(owner, heal_folder: Path) -> None:
    kill_and_wait(owner)
    path = heal_folder / "run-1.jsonl"
    whole = path.read_bytes().rstrip(b"\0")  # behind it is space that was reserved
    counts = []
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        counts.append(len(open_journals(heal_folder)[0].outstanding))
    assert set(counts) == {0, 1, 2, 3}
    assert counts[-1] == 2


@pytest.mark.parametrize("line", [b"rubbish", b"{}", b"7", b'{"t": "undo", "entry": 1}', b'{"t": "head"}'])
def test_rubbish_in_the_middle_is_told_with_its_line_and_hides_no_other_journal(heal_folder: Path, line: bytes) -> None:
    HealJournal.open("run-8", heal_folder)
    path = heal_folder / "run-9.jsonl"
    path.write_bytes(b'{"t": "head", "run": "run-9", "pid": 1, "started": 1}\n' + line + b"\n{}\n")
    whole, damaged = open_journals(heal_folder)
    assert (whole.run, whole.damage) == ("run-8", "")
    assert (damaged.outstanding, damaged.damage) == ((), f"{path}:2: not a line of a heal journal")
    with pytest.raises(FaultTrouble, match=r"run-9.jsonl:2: not a line"):
        heal(damaged, pytest.fail)


def test_an_undo_is_forced_to_the_disk_before_the_act_may_begin(heal_folder: Path, monkeypatch) -> None:
    journal = HealJournal.open("run-2", heal_folder)
    forced: list[bytes] = []
    force = os.fsync

    def fsync(descriptor: int) -> None:
        assert os.path.samestat(os.fstat(descriptor), journal.path.stat())
        forced.append(journal.path.read_bytes().rstrip(b"\0").splitlines()[-1])
        force(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    entry = journal.record("pause", [HealStep("continue_process", {"pid": 1})])
    assert [json.loads(line)["t"] for line in forced] == ["undo"]
    journal.undone(entry)
    assert [json.loads(line)["t"] for line in forced] == ["undo", "undone"]


def test_a_journal_that_ends_while_the_folder_is_read_is_none(heal_folder: Path, monkeypatch) -> None:
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: [folder / "ended.jsonl"])
    assert open_journals(heal_folder) == []


def test_nobody_sees_a_journal_without_its_lock(heal_folder: Path, monkeypatch) -> None:
    seen: list[list[str]] = []
    lock = fcntl.flock

    def flock(file, operation: int) -> None:
        seen.append([path.name for path in heal_folder.glob("*.jsonl")])
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    journal = HealJournal.open("run-2", heal_folder)
    assert seen == [[]]
    assert open_journals(heal_folder)[0].is_owned
    journal.close()


def test_a_run_that_undid_everything_leaves_nothing(heal_folder: Path) -> None:
    journal = HealJournal.open("run-2", heal_folder)
    journal.undone(journal.record("pause", [HealStep("continue_process", {"pid": 1})]))
    journal.close()
    journal.close()
    assert list(heal_folder.iterdir()) == []


def test_a_run_that_did_not_leaves_its_journal(heal_folder: Path) -> None:
    journal = HealJournal.open("run-2", heal_folder)
    journal.record("pause", [HealStep("continue_process", {"pid": 1})])
    journal.close()
    (leftover,) = open_journals(heal_folder)
    assert [entry.steps for entry in leftover.outstanding] == [(HealStep("continue_process", {"pid": 1}),)]


def test_a_run_has_one_journal(heal_folder: Path) -> None:
    HealJournal.open("run-2", heal_folder)
    with pytest.raises(FileExistsError):
        HealJournal.open("run-2", heal_folder)


def test_the_head_names_its_owner(heal_folder: Path) -> None:
    journal = HealJournal.open("run-2", heal_folder)
    head = json.loads(journal.path.read_text().splitlines()[0])
    assert head == {"t": "head", "run": "run-2", "pid": os.getpid(), "started": process_started(os.getpid())}
    assert process_started(2**22 + 1) == -1


def test_the_folder_is_the_users_state_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "mqchaos" / "heal"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_folder() == tmp_path / ".local" / "state" / "mqchaos" / "heal"


# -- a disk that is full -----------------------------------------------------------------------------------------------


def steps(number: int) -> list[HealStep]:
    return [HealStep("unmount", {"folder": f"{number:04d}" + "x" * 2000})]


def test_an_undo_that_finds_no_space_is_not_written_and_those_before_it_can_all_be_read(
    heal_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = HealJournal.open("run-1", heal_folder)
    given = [journal.record(f"p{number}", steps(number)) for number in range(10)]
    monkeypatch.setattr("os.posix_fallocate", full)

    def give_more() -> None:
        for number in range(10, 100):
            given.append(journal.record(f"p{number}", steps(number)))

    with pytest.raises(FaultTrouble, match="no space for the heal journal"):
        give_more()
    assert 10 < len(given) < 40, "what was reserved before is used up first"
    (leftover,) = open_journals(heal_folder)
    assert [kept.what for kept in reversed(leftover.outstanding)] == [f"p{number}" for number in range(len(given))]
    for entry in given:
        journal.undone(entry)
    assert open_journals(heal_folder)[0].outstanding == (), "that entries were carried out has its space, too"
    journal.close()
    assert open_journals(heal_folder) == []


def full(*_arguments: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_where_there_is_no_space_at_all_no_run_begins_and_nothing_is_left(heal_folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(FaultTrouble, match="no space") as caught:
        HealJournal.open("run-1", heal_folder)
    assert "XDG_STATE_HOME" in caught.value.hint
    assert list(heal_folder.iterdir()) == []


def test_what_is_written_by_halves_is_written_whole(heal_folder: Path, monkeypatch) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr("os.pwrite", lambda file, data, at: pwrite(file, data[: max(1, len(data) // 2)], at))
    journal = HealJournal.open("run-1", heal_folder)
    for number in range(61):
        journal.record(f"p{number}", steps(number))
    (leftover,) = open_journals(heal_folder)
    assert (len(leftover.outstanding), leftover.damage) == (61, "")
    journal.close()


def test_to_heal_needs_no_disk(owner, heal_folder: Path, monkeypatch) -> None:
    kill_and_wait(owner)
    (leftover,) = open_journals(heal_folder)
    monkeypatch.setattr("os.fsync", full)
    assert len(heal(leftover, lambda step: None)) == 2
    assert open_journals(heal_folder) == []
