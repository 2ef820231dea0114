"""An ordinary user's own networks: partitions without root, and a sign of life that the machine sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest

from faults.mechanisms import run_tags
from faults.mechanisms.command import ToolFailed, call
from harness import doctor, entering
from harness.backends.process import capabilities, own_users
from harness.terminal import Terminal

PLAN = """
name: partition-without-root
mode: multi-master
topology: {nameservers: 1, brokers: 2, flush: async}
workload: {kind: log, producers: 2, consumers: 1, queues: 2, rate: 20/s, for: 8s}
faults:
  - {at: 2s, do: partition, on: master(broker-a) | clients, for: 2s}
  - {at: 5s, do: drop_frames, on: clients | master(broker-b), for: 2s, with: {ports: broker}}
"""


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A giver that ends when this is closed."""
    monkeypatch.setenv(run_tags.GIVER, "")
    end = own_users.leave_a_giver()
    yield end
    with_it = Path(os.environ[run_tags.GIVER]).parent
    os.close(end)
    until = monotonic() + 10
    while with_it.exists() and monotonic() < until:
        sleep(0.02)
    assert not with_it.exists(), "it ends, and leaves nothing"


def test_a_tag_that_was_given_is_held_once_and_let_go(pipe: int) -> None:
    tag = run_tags.make_tag("given")
    with run_tags.hold(tag):
        assert tag in run_tags.held_tags()
        with pytest.raises(OSError, match="somebody holds it"):
            run_tags.hold(tag)
    assert tag not in run_tags.held_tags()


def test_root_has_no_need_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not own_users.is_to_be_had()


def test_without_the_tools_it_is_not_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(own_users, "find_tool", lambda tool: None)
    assert not own_users.is_to_be_had()


def test_doctor_says_what_commands_get_and_what_they_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_users, "is_to_be_had", lambda: True)
    lacking = capabilities.Machine(namespaces="needs root", power_cut="needs root")
    monkeypatch.setattr(capabilities, "scan", lambda: lacking)
    lines = [(one.name, one.state, one.found) for one in doctor._capabilities()]
    assert (
        "backend process",
        "ok",
        "connections, links, network: commands begin anew as root of a user namespace",
    ) in lines
    assert {name for name, state, _ in lines if state == "missing" and name.startswith("process")} == {
        "process: power",
        "process: space",
    }


def test_what_a_target_needs_is_fetched_before_the_command_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(own_users, "is_to_be_had", lambda: True)
    monkeypatch.setattr(own_users, "enter", lambda: done.append("anew"))
    monkeypatch.setattr(entering, "make_ready", lambda target, terminal: done.append(target))
    entering.enter("process", "rocketmq:5.3.3", Terminal())
    entering.enter("sim", "reference", Terminal())
    assert done == ["rocketmq:5.3.3", "anew"]


@pytest.fixture
def namespaces() -> None:
    try:
        call(own_users.inside("true"))
    except ToolFailed as error:
        pytest.skip(f"this kernel gives no user namespace: {error.why}")


@pytest.mark.usefixtures("namespaces")
def test_inside_there_is_a_network_but_no_disk_that_loses_its_power() -> None:
    program = (
        "from harness.backends.process.capabilities import scan; has = scan(); print([has.namespaces, has.power_cut])"
    )
    told = call(own_users.inside(sys.executable, "-c", program))
    assert told.strip() == "['', 'needs root of the machine, not only of a user namespace: run it with sudo']"
    assert not capabilities.is_in_user_namespace(), "and nothing of it outside"


@pytest.mark.slow
@pytest.mark.requires("root")
@pytest.mark.usefixtures("namespaces")
def test_a_partition_and_late_frames_take_effect_and_are_healed(tmp_path: Path, pipe: int) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    command = ["-m", "harness.cli", "run", str(plan), "--backend", "process", "--out", str(tmp_path), "--seed", "1"]
    done = subprocess.run(own_users.inside(sys.executable, *command), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    (folder,) = [path for path in tmp_path.iterdir() if path.name.startswith("r-") and not path.is_symlink()]
    events = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    seen = [e for e in events if e.get("step") in ("probe", "heal_probe")]
    assert len(seen) == 4
    assert all(event["effective"] == 1 for event in seen)
