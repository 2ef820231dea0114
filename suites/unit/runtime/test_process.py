"""A role as a process: exit codes, signals, notes, the lock of its folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reference_impl.runtime import EXIT_CRASH, EXIT_LOCKED

NODE = """
import sys
from pathlib import Path
from reference_impl.runtime import run_role
from suites.unit.runtime.script_role import ScriptRole

def start(env):
    env.note("started", number=1)
    print("ready", flush=True)

def stop(env):
    env.write("state", 0, b"orderly")
    env.sync("state", "last")

def fail(env):
    env.write("state", 0, b"half")
    env.note("failing")
    env.exit(0)
    raise RuntimeError("planted")

kind, home = sys.argv[1], Path(sys.argv[2])
roles = {
    "orderly": ScriptRole(start=start, stop=stop, synced=lambda env, file, token: env.exit(5)),
    "crash": ScriptRole(start=fail),
    "deaf": ScriptRole(start=start),
}
sys.exit(run_role(roles[kind], home, notes=home / "notes.jsonl", lock="store/lock"))
"""


def start_node(kind: str, home: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parents[3]), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.Popen(
        [sys.executable, "-c", NODE, kind, str(home)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def notes_of(home: Path) -> list[str]:
    return [json.loads(line)["event"] for line in (home / "notes.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("wanted", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_for_the_orderly_end(tmp_path: Path, wanted: signal.Signals) -> None:
    node = start_node("orderly", tmp_path)
    assert node.stdout is not None
    assert node.stdout.readline() == "ready\n"
    node.send_signal(wanted)
    assert node.wait(timeout=120) == 5
    assert (tmp_path / "state").read_bytes() == b"orderly"
    assert notes_of(tmp_path) == ["started"]


def test_a_crash_shows_its_traceback_and_ends_at_once(tmp_path: Path) -> None:
    node = start_node("crash", tmp_path)
    _, errors = node.communicate(timeout=120)
    assert node.returncode == EXIT_CRASH
    assert 'raise RuntimeError("planted")' in errors or "RuntimeError: planted" in errors
    assert notes_of(tmp_path) == ["failing"], "what was noted before the crash is kept"


def test_a_folder_belongs_to_one_process_and_a_kill_frees_it(tmp_path: Path) -> None:
    first = start_node("deaf", tmp_path)
    assert first.stdout is not None
    first.stdout.readline()
    second = start_node("deaf", tmp_path)
    _, errors = second.communicate(timeout=120)
    assert second.returncode == EXIT_LOCKED
    assert "Lock failed" in errors
    first.kill()
    first.wait(timeout=120)
    third = start_node("orderly", tmp_path)
    assert third.stdout is not None
    assert third.stdout.readline() == "ready\n"
    third.terminate()
    assert third.wait(timeout=120) == 5
