"""Undo actions: known by name, repeatable, and never at what is not ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.errors import FaultTrouble, UndoFailed
from faults.levers import HealStep
from faults.mechanisms import undo
from faults.mechanisms.pidfd import ProcessId

NOBODY = ProcessId(2**22 + 1, 7)

GONE = [
    undo.continue_process(NOBODY),
    undo.kill_process(NOBODY),
    undo.end_processes("nobody/ever/1"),
    undo.delete_nft_table("mqc-none-broker-a-0", "mqc_cut"),
    undo.delete_namespace("mqc-none-broker-a-0"),
    undo.unmount(Path("/nowhere/at/all")),
    undo.detach_loop(Path("/nowhere/at/all.ext4")),
    undo.remove_link(Path("/nowhere/at/all")),
    undo.remove_folder(Path("/nowhere/mqc-none")),
    undo.dissolve_group(Path("/nowhere/mqc-none"), Path("/nowhere")),
    undo.restore_limits(NOBODY, (64, 128)),
]
GONE_FROM_AN_ENGINE = [
    undo.remove_container("", "mqc-none-broker-a-0", "none"),
    undo.remove_network("", "mqc-none", "none"),
]


@pytest.mark.parametrize("step", GONE, ids=lambda step: step.action)
def test_what_is_gone_is_no_error(step: HealStep) -> None:
    undo.carry_out(step)


@pytest.mark.requires("docker")
@pytest.mark.parametrize("step", GONE_FROM_AN_ENGINE, ids=lambda step: step.action)
def test_what_is_gone_from_the_engine_is_no_error(step: HealStep) -> None:
    undo.carry_out(step)


@pytest.mark.parametrize("step", GONE_FROM_AN_ENGINE, ids=lambda step: step.action)
def test_an_engine_that_does_not_answer_has_undone_nothing(step: HealStep) -> None:
    with pytest.raises(FaultTrouble, match="no Docker engine answers at unix:///nowhere"):
        undo.carry_out(HealStep(step.action, {**step.arguments, "engine": "unix:///nowhere"}))


def test_every_action_has_a_step_that_names_it() -> None:
    assert sorted(step.action for step in [*GONE, *GONE_FROM_AN_ENGINE]) == sorted(undo.ACTIONS)


UNKNOWN_VALUE = [
    (HealStep("remove_folder", {"folder": "/home"}), UndoFailed, "not a folder of ours"),
    (HealStep("delete_namespace", {"namespace": "production"}), ValueError, "not a namespace of ours"),
    (HealStep("dissolve_group", {"group": "/sys/fs/cgroup", "back": "/"}), UndoFailed, "not a group of ours"),
    (HealStep("melt", {}), UndoFailed, "unknown undo action 'melt'"),
]


@pytest.mark.parametrize(("step", "error", "says"), UNKNOWN_VALUE, ids=lambda value: getattr(value, "action", ""))
def test_what_is_not_ours_is_refused(step: HealStep, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        undo.carry_out(step)


def test_a_link_is_removed_only_if_it_leads_into_a_folder_of_ours(tmp_path: Path) -> None:
    ours, foreign = tmp_path / "ours", tmp_path / "foreign"
    ours.symlink_to("/nowhere/mqc-run/broker-a-0")
    foreign.symlink_to("/nowhere/data")
    undo.carry_out(undo.remove_link(ours))
    assert not ours.is_symlink()
    with pytest.raises(UndoFailed, match="not a link of ours"):
        undo.carry_out(undo.remove_link(foreign))
    assert foreign.is_symlink()


def test_a_folder_of_ours_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "mqc-run"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    undo.carry_out(undo.remove_folder(folder))
    assert not folder.exists()
