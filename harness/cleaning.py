"""What dead runs have left on this machine, found by its marks, and how it is removed: ``mqchaos doctor --clean``.

Question: a run was killed, and its heal journal is not to be found: it lay in a temporary folder of a test, or on a
disk that is full. What on this machine is certainly ours, of no run that lives, and nobody else's?

Model. Everything that a run makes carries its tag (``faults/mechanisms/run_tags.py``), and a run that lives holds its
tag. What carries one that nobody holds is a *stray*. Strays are removed by the steps of a heal journal
(``faults/mechanisms/undo.py``), each of which looks once more whether it is ours, in this order:

    processes     MQCHAOS_NODE=TAG/… in their environment
    groups        control groups mqc-TAG-…; who is still in one goes to the top
    containers    the label says TAG; then networks of the engine
    mounts        in the folder mqc-TAG; then loop devices of images in it
    namespaces    mqc-TAG-…, with the nftables in them
    folders       mqc-TAG in the temporary folder

Limits. What has no tag of ours in its name is never touched, whatever it looks like. Runs in another network namespace
hold their tags there, where nobody sees them from here: clean when nobody else works on the machine. Folders of runs
that were started with another TMPDIR are not seen.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from faults.levers import HealStep
from faults.mechanisms import cgroup, loopfs, netns, pidfd, run_tags, undo

TAG: Final = r"(?P<tag>[A-Za-z0-9-]+-[0-9a-f]{6})"
"""What ``run_tags.make_tag`` makes."""
OF_A_RUN: Final = re.compile(rf"{undo.FOLDER_PREFIX}{TAG}(-.+)?")


@dataclass(frozen=True)
class Stray:
    """One thing of a dead run: what it is, for a person, and the step that removes it."""

    tag: str
    what: str
    step: HealStep


def strays(of: str = "") -> list[Stray]:
    """Everything that carries the tag of a run that does not live (of that one run, if it is named), in the order in
    which it can be removed."""
    living = set(run_tags.held_tags())
    found = [stray for look in LOOKS for stray in look()]
    living |= set(run_tags.held_tags())  # one that has begun since we looked
    return [stray for stray in found if of in ("", stray.tag) and not _is_of(stray.tag, living)]


def _is_of(tag: str, living: set[str]) -> bool:
    """Whether *tag*, read from a name, is one of *living*, or begins as one: where a tag ends in a name is a guess."""
    return any(tag == one or tag.startswith(f"{one}-") for one in living)


def remove(found: Sequence[Stray]) -> Iterator[tuple[Stray, str]]:
    """Remove them one after the other: each, with why it is still there (empty: it is gone)."""
    from faults.errors import FaultTrouble

    for stray in found:
        try:
            undo.carry_out(stray.step)
        except FaultTrouble as error:
            yield stray, error.what
        else:
            yield stray, ""


def _processes() -> Iterator[Stray]:
    for marker in sorted(pidfd.markers(undo.MARKER)):
        if match := re.fullmatch(rf"{TAG}/.+", marker):
            yield Stray(match["tag"], f"processes of {marker}", undo.end_processes(marker))


def _groups() -> Iterator[Stray]:
    trees = [found for controller in cgroup.CONTROLLERS if (found := cgroup.tree(controller)) is not None]
    for top in sorted({tree.top for tree in trees}):
        for group in sorted(top.glob(f"{undo.FOLDER_PREFIX}*")):
            if match := OF_A_RUN.fullmatch(group.name):
                yield Stray(match["tag"], f"the control group {group}", undo.dissolve_group(group, top))


def _of_engine() -> Iterator[Stray]:
    try:
        from faults.mechanisms import engine
    except ImportError:
        return  # without the SDK there were no containers of ours
    try:
        client = engine.connect(timeout_s=engine.LOOK_TIMEOUT_S)
    except engine.EngineUnavailable:
        return
    containers, networks, url = engine.containers_of_ours(client), engine.networks_of_ours(client), engine.address()
    client.close()
    yield from (Stray(tag, f"the container {name}", undo.remove_container(url, name, tag)) for tag, name in containers)
    yield from (Stray(tag, f"the network {name}", undo.remove_network(url, name, tag)) for tag, name in networks)


def _mounts() -> Iterator[Stray]:
    for point in sorted(loopfs.mount_points(), reverse=True):
        if tag := _tag_within(point):
            yield Stray(tag, f"what is mounted on {point}", undo.unmount(Path(point)))


def _loops() -> Iterator[Stray]:
    for image in sorted(set(loopfs.images())):
        if tag := _tag_within(image):
            yield Stray(tag, f"the loop device of {image}", undo.detach_loop(Path(image)))


def _namespaces() -> Iterator[Stray]:
    for name in netns.list_namespaces():
        if match := OF_A_RUN.fullmatch(name):
            yield Stray(match["tag"], f"the namespace {name}", undo.delete_namespace(name))


def _folders() -> Iterator[Stray]:
    for folder in sorted(_temporary().glob(f"{undo.FOLDER_PREFIX}*")):
        if folder.is_dir() and (tag := _tag_within(str(folder))):
            yield Stray(tag, f"the folder {folder}", undo.remove_folder(folder))


def _tag_within(path: str) -> str:
    """The tag of the folder of a run, directly in the temporary folder, that *path* is or lies in; else empty."""
    here = _temporary()
    if not Path(path).is_relative_to(here) or Path(path) == here:
        return ""
    match = re.fullmatch(f"{undo.FOLDER_PREFIX}{TAG}", Path(path).relative_to(here).parts[0])
    return match["tag"] if match else ""


def _temporary() -> Path:
    return Path(tempfile.gettempdir()).resolve()


LOOKS: Final[tuple[Callable[[], Iterator[Stray]], ...]] = (
    _processes,
    _groups,
    _of_engine,
    _mounts,
    _loops,
    _namespaces,
    _folders,
)
"""In the order of removal."""
