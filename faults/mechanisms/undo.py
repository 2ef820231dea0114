"""Every undo by name, so that a process that knows nothing of the run can carry it out.

Question: the harness was killed in mid-fault; who wakes the paused broker, unmounts the disks, deletes the namespaces?
Everything that outlives us is written into the heal journal as a :class:`HealStep` *before* it is made; any later
process reads the steps and calls :func:`carry_out` on them, latest first.

Each action is idempotent: what is gone already is fine. Each checks that what it is about to touch
is ours, by name, by start time or by a marker that only our processes carry, and refuses otherwise.

    continue_process   pid, start_ticks   SIGCONT
    kill_process       pid, start_ticks   SIGKILL, and wait until it is dead
    end_processes      marker             kill every process started with MQCHAOS_NODE = marker
    delete_nft_table   namespace, table
    delete_namespace   namespace          with its interfaces
    unmount            folder
    detach_loop        image              after its file system was unmounted
    remove_link        link               a symbolic link that leads into such a folder
    remove_folder      folder             its name begins with ``mqc-``, nothing is mounted in it
    dissolve_group     group, back        a control group whose name begins with ``mqc-``; its members go to *back*
    restore_limits     pid, start_ticks, soft, hard   how many files it may open
    remove_container   engine, name, run  with everything that runs in it; its label names the run
    remove_network     engine, name, run  of the engine; its label names the run
"""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from faults.errors import UndoFailed
from faults.levers import HealStep
from faults.mechanisms import cgroup, descriptors, loopfs, netns, nft, pidfd

MARKER = "MQCHAOS_NODE"
"""Environment variable of every node process; its value is unique to one start of one node."""

FOLDER_PREFIX = "mqc-"
DEATH_TIMEOUT_S = 10.0

Arguments = Mapping[str, str | int]


def carry_out(step: HealStep) -> None:
    """Do it; silent where nothing is left to do. ``UndoFailed`` or a tool's error if it could not be done."""
    action = ACTIONS.get(step.action)
    if action is None:
        raise UndoFailed(f"unknown undo action {step.action!r}", "written by a newer version?")
    action(step.arguments)


# -- steps, as the acts write them -------------------------------------------------------------------------------------


def continue_process(process: pidfd.ProcessId) -> HealStep:
    return HealStep("continue_process", {"pid": process.pid, "start_ticks": process.start_ticks})


def kill_process(process: pidfd.ProcessId) -> HealStep:
    return HealStep("kill_process", {"pid": process.pid, "start_ticks": process.start_ticks})


def end_processes(marker: str) -> HealStep:
    return HealStep("end_processes", {"marker": marker})


def delete_nft_table(namespace: str, table: str) -> HealStep:
    return HealStep("delete_nft_table", {"namespace": namespace, "table": table})


def delete_namespace(namespace: str) -> HealStep:
    return HealStep("delete_namespace", {"namespace": namespace})


def unmount(folder: Path) -> HealStep:
    return HealStep("unmount", {"folder": str(folder)})


def detach_loop(image: Path) -> HealStep:
    return HealStep("detach_loop", {"image": str(image)})


def remove_link(link: Path) -> HealStep:
    return HealStep("remove_link", {"link": str(link)})


def remove_folder(folder: Path) -> HealStep:
    return HealStep("remove_folder", {"folder": str(folder)})


def dissolve_group(group: Path, back: Path) -> HealStep:
    return HealStep("dissolve_group", {"group": str(group), "back": str(back)})


def restore_limits(process: pidfd.ProcessId, limits: descriptors.Limits) -> HealStep:
    soft, hard = limits
    arguments = {"pid": process.pid, "start_ticks": process.start_ticks, "soft": soft, "hard": hard}
    return HealStep("restore_limits", {**arguments})


def remove_container(engine: str, name: str, run: str) -> HealStep:
    return HealStep("remove_container", {"engine": engine, "name": name, "run": run})


def remove_network(engine: str, name: str, run: str) -> HealStep:
    return HealStep("remove_network", {"engine": engine, "name": name, "run": run})


# -- actions -----------------------------------------------------------------------------------------------------------


def _process(arguments: Arguments) -> pidfd.ProcessId:
    return pidfd.ProcessId(int(arguments["pid"]), int(arguments["start_ticks"]))


def _continue_process(arguments: Arguments) -> bool:
    return pidfd.send_signal(_process(arguments), signal.SIGCONT)


def _kill_process(arguments: Arguments) -> bool:
    return _kill(_process(arguments))


def _end_processes(arguments: Arguments) -> bool:
    found = pidfd.holders_of_marker(MARKER, str(arguments["marker"]))
    return sum(_kill(process) for process in found) > 0


def _kill(process: pidfd.ProcessId) -> bool:
    if not pidfd.send_signal(process, signal.SIGKILL):
        return False
    if not pidfd.wait_dead(process, DEATH_TIMEOUT_S):
        raise UndoFailed(f"process {process.pid} is still there {DEATH_TIMEOUT_S:g} s after SIGKILL")
    return True


def _delete_nft_table(arguments: Arguments) -> bool:
    namespace = str(arguments["namespace"])
    return namespace in netns.list_namespaces() and nft.remove_table(namespace, str(arguments["table"]))


def _delete_namespace(arguments: Arguments) -> bool:
    return netns.delete_namespace(str(arguments["namespace"]))


def _unmount(arguments: Arguments) -> bool:
    return loopfs.unmount(Path(str(arguments["folder"])))


def _detach_loop(arguments: Arguments) -> bool:
    image = Path(str(arguments["image"]))
    return image.exists() and loopfs.detach(image)


def _remove_link(arguments: Arguments) -> bool:
    link = Path(str(arguments["link"]))
    if not link.is_symlink():
        return False
    if not any(part.startswith(FOLDER_PREFIX) for part in link.readlink().parts):
        raise UndoFailed(f"{link} is not a link of ours: it leads to {link.readlink()}")
    link.unlink()
    return True


def _remove_folder(arguments: Arguments) -> bool:
    folder = Path(str(arguments["folder"]))
    if not folder.name.startswith(FOLDER_PREFIX):
        raise UndoFailed(f"{folder} is not a folder of ours: its name does not begin with {FOLDER_PREFIX!r}")
    if not folder.exists():
        return False
    inside = f"{folder.resolve()}/"
    if mounted := [point for point in loopfs.mount_points() if f"{point}/".startswith(inside)]:
        raise UndoFailed(f"{folder} still has something mounted in it: {', '.join(mounted)}")
    shutil.rmtree(folder)
    return True


def _dissolve_group(arguments: Arguments) -> bool:
    group = Path(str(arguments["group"]))
    if not group.name.startswith(FOLDER_PREFIX):
        raise UndoFailed(f"{group} is not a group of ours: its name does not begin with {FOLDER_PREFIX!r}")
    return cgroup.dissolve(group, Path(str(arguments["back"])))


def _restore_limits(arguments: Arguments) -> bool:
    return descriptors.set_limits(_process(arguments), (int(arguments["soft"]), int(arguments["hard"])))


def _remove_container(arguments: Arguments) -> bool:
    from faults.mechanisms import engine  # the docker SDK takes a while to load

    return engine.remove_container(str(arguments["engine"]), str(arguments["name"]), str(arguments["run"]))


def _remove_network(arguments: Arguments) -> bool:
    from faults.mechanisms import engine

    return engine.remove_network(str(arguments["engine"]), str(arguments["name"]), str(arguments["run"]))


ACTIONS: Mapping[str, Callable[[Arguments], bool]] = {
    "continue_process": _continue_process,
    "kill_process": _kill_process,
    "end_processes": _end_processes,
    "delete_nft_table": _delete_nft_table,
    "delete_namespace": _delete_namespace,
    "unmount": _unmount,
    "detach_loop": _detach_loop,
    "remove_link": _remove_link,
    "remove_folder": _remove_folder,
    "dissolve_group": _dissolve_group,
    "restore_limits": _restore_limits,
    "remove_container": _remove_container,
    "remove_network": _remove_network,
}
"""Name → action; each returns whether there was something to do."""
