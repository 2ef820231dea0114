"""Every mode in containers, broken in five ways in one run: kill, partition, power cut, full disk, slow link.

Question: does a cluster of containers keep what its mode guarantees, and do the faults of the process backend take
effect and heal there just as well? Each fault is proved by its probes (``faults`` among the checks), so a run passes
only if all of them took effect and are gone.

    pytest suites/chaos/test_containers.py --target rocketmq:5.3.3      the same with Apache's brokers

Recorded, with times, for several targets: ``container_grid.py``.

Limits. One run a mode, not of those whose masters are elected (``container_grid.py`` has them); needs an engine
(``scripts/setup --docker``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.verdict import Outcome
from faults.mechanisms import engine
from faults.mechanisms.run_tags import held_tags, is_tag_of
from harness.modes import MODES
from harness.scenario_file import load
from suites.chaos.container_grid import SEED, five_ways

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.slow,
    pytest.mark.on("docker"),
    pytest.mark.requires("docker:power", "docker:links"),
]


@pytest.mark.parametrize("mode", [name for name, mode in MODES.items() if not mode.roles_move])
def test_a_mode_in_containers_keeps_its_promise_under_five_faults(chaos_run, tmp_path: Path, mode: str) -> None:
    """The last synchronous flush may leave a power cut nothing to take: then nobody can tell it from a kill."""
    path = tmp_path / "five-ways.yaml"
    path.write_text(five_ways(mode))
    result = chaos_run(load(path), seed=SEED, expect=("PASS", "UNKNOWN"))
    untold = [reason for verdict in result.verdicts for reason in verdict.reasons]
    assert all("cut_power" in reason for reason in untold), untold
    assert max(verdict.outcome for verdict in result.verdicts if verdict.check != "faults") is Outcome.PASS
    client = engine.connect()
    assert [
        tag for tag, _ in engine.things_of_ours(client) if is_tag_of(tag, result.folder.name) and tag not in held_tags()
    ] == []
    client.close()


ENOUGH = 20
"""Of some 500 messages: a JVM that has just started on a busy machine is slow."""

APACHES = """\
name: apaches-in-containers
mode: single-master
topology: {nameservers: 1, flush: sync}
workload: {producers: 2, consumers: 1, queues: 2, rate: 60/s, for: 9s}
faults:
  - {at: 1s, do: reset_links, on: "clients | master(broker-a)"}
  - {at: 2s, do: partition, on: "clients | master(broker-a)", for: 1s, with: {one_way: in}}
  - {at: 6s, do: kill, on: master(broker-a), for: 500ms}
expect: {lost: none}
"""


@pytest.mark.requires("java")
def test_apaches_brokers_in_containers_are_broken_and_judged_as_the_references_are(chaos_run, tmp_path: Path) -> None:
    """A slice of what ``--target`` runs whole: it loses its connections, is cut off one way, and is killed."""
    path = tmp_path / "apaches-in-containers.yaml"
    path.write_text(APACHES)
    result = chaos_run(load(path), seed=1, target="rocketmq:5.3.3")
    sent = next(verdict.measures["ok"] for verdict in result.verdicts if verdict.check == "accounting")
    assert sent >= ENOUGH
