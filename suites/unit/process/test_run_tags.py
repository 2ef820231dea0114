"""A living run is known to everybody on the machine, a dead one to nobody."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from faults.mechanisms import run_tags
from suites.unit.process.tiny_world import TinyWorld

HOLDS = """
import sys
from faults.mechanisms import run_tags
holder = run_tags.hold(sys.argv[1])
print("holds", flush=True)
sys.stdin.read()
"""
ROOT = Path(__file__).resolve().parents[3]


def test_a_tag_is_of_its_run_and_of_no_other() -> None:
    run = "r-20260101-120000-1/ä b"
    tag = run_tags.make_tag(run)
    assert tag.isascii()
    assert tag.replace("-", "").isalnum()
    assert run_tags.is_tag_of(tag, run)
    assert not run_tags.is_tag_of(tag, "r-20260101-120000-2")
    assert run_tags.make_tag(run) != tag


def test_a_tag_is_held_once_and_let_go() -> None:
    tag = run_tags.make_tag("held")
    with run_tags.hold(tag):
        assert tag in run_tags.held_tags()
        with pytest.raises(OSError, match="in use"):
            run_tags.hold(tag)
    assert tag not in run_tags.held_tags()


def test_it_goes_with_its_process_however_that_ends() -> None:
    tag = run_tags.make_tag("killed")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, tag], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holds\n"
    assert tag in run_tags.held_tags()
    holder.kill()
    holder.wait()
    deadline = monotonic() + 60
    while tag in run_tags.held_tags():
        assert monotonic() < deadline


def test_what_belongs_to_a_tag() -> None:
    tags = ["r-1-abc123"]
    assert run_tags.is_part_of("mqc-r-1-abc123", "mqc-", tags)
    assert run_tags.is_part_of("mqc-r-1-abc123-broker-a-0", "mqc-", tags)
    assert not run_tags.is_part_of("mqc-r-1-abc1234", "mqc-", tags)
    assert not run_tags.is_part_of("r-1-abc123-hub", "mqc-", tags)
    assert not run_tags.is_part_of("mqc-r-1-abc123", "mqc-", [])


def test_a_world_of_processes_holds_its_tag_and_its_nodes_do_not(tmp_path: Path) -> None:
    with closing(TinyWorld(tmp_path, "loopback")) as world:
        world.start("broker-a-0")
        tag = world.backend._tag
        assert tag in run_tags.held_tags()
        world.backend._sign_of_life.close()
        assert tag not in run_tags.held_tags(), "a node that outlives its harness holds nothing"
    with closing(TinyWorld(tmp_path / "again", "loopback")) as world:
        tag = world.backend._tag
    assert tag not in run_tags.held_tags()
