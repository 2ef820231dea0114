"""``mqchaos doctor --clean``: what dead runs left goes; what lives, and what is a stranger's, stays as it was."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from faults.mechanisms import cgroup, loopfs, netns, pidfd
from faults.mechanisms.command import ToolFailed, call
from faults.mechanisms.run_tags import hold, make_tag
from faults.mechanisms.undo import MARKER
from harness import cleaning, cli

IMAGE_MIB = 16


@pytest.fixture
def dead() -> str:
    """The tag of a run that nobody holds."""
    return make_tag("r-dead")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def processes() -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Sleeping processes, each with a marker; whatever is left of them ends with the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(marker: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"], env={**os.environ, MARKER: marker}))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def clean(tag: str) -> dict[str, str]:
    """What was removed of the run *tag*, with why it was not."""
    return {stray.what: why for stray, why in cleaning.remove(cleaning.strays(tag))}


def test_a_folder_of_a_dead_run_goes_and_all_others_stay(folder: Path, dead: str) -> None:
    living = make_tag("r-alive")
    kept = [folder / name for name in (f"mqc-{living}", "mqc-nobody", f"other-{dead}", "somebody", f"mqc-{dead}-x")]
    for path in (folder / f"mqc-{dead}", *kept):
        (path / "data").mkdir(parents=True)
    with hold(living):
        assert cleaning.strays(living) == []
        assert clean(dead) == {f"the folder {folder}/mqc-{dead}": ""}
    assert sorted(folder.iterdir()) == sorted(kept)


def test_a_node_whose_name_looks_like_the_end_of_a_tag_is_still_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    living = make_tag("r-alive")
    monkeypatch.setattr(netns, "list_namespaces", lambda: [f"mqc-{living}-broker-facade-0", f"mqc-{living}"])
    monkeypatch.setattr(cleaning, "LOOKS", (cleaning._namespaces,))
    assert len(cleaning.strays()) == 2
    with hold(living):
        assert cleaning.strays() == []


def test_processes_of_a_dead_run_end_and_those_of_others_go_on(folder: Path, dead: str, processes) -> None:
    living = make_tag("r-alive")
    ours, alive = processes(f"{dead}/broker-a-0/1"), processes(f"{living}/broker-a-0/1")
    strangers = [processes("somebody"), processes(f"x{dead}/broker-a-0/1")]
    with hold(living):
        assert clean(dead) == {f"processes of {dead}/broker-a-0/1": ""}
        assert ours.wait(timeout=10) == -9
        assert [process.poll() for process in (alive, *strangers)] == [None, None, None]


@pytest.mark.requires("process:power")
@pytest.mark.requires("process:network")
def test_mounts_loops_and_namespaces_of_a_dead_run_go_and_a_strangers_beside_them_stay(folder: Path, dead: str) -> None:
    stranger, other = f"stranger-{dead[-6:]}", folder / "somebody"
    scratch = folder / f"mqc-{dead}"
    with Disk(scratch), Disk(other):
        for name in (f"mqc-{dead}-hub", f"mqc-{dead}-broker-a-0", stranger):
            call(["ip", "netns", "add", name])
        try:
            call(["ip", "netns", "exec", stranger, "nft", "add", "table", "ip", "mqc_f1"])
            removed = clean(dead)
            assert set(removed.values()) == {""}
            assert len(removed) == 5, removed
            assert not scratch.exists()
            assert netns.list_namespaces(dead) == []
            assert loopfs.is_mounted(other / "disk")
            assert loopfs.loop_devices(other / "image")
            assert (other / "disk" / "file").read_text() == "kept"
            assert "mqc_f1" in call(["ip", "netns", "exec", stranger, "nft", "list", "tables"])
            assert clean(dead) == {}
        finally:
            for name in (f"mqc-{dead}-hub", f"mqc-{dead}-broker-a-0", stranger):
                with suppress(ToolFailed):
                    call(["ip", "netns", "delete", name])


class Disk:
    """A mounted image in *folder*, unmounted in the end if it is still there."""

    def __init__(self, folder: Path) -> None:
        self.image, self.mount = folder / "image", folder / "disk"

    def __enter__(self) -> None:
        self.mount.mkdir(parents=True)
        loopfs.make_image(self.image, IMAGE_MIB)
        loopfs.mount_device(loopfs.attach(self.image), self.mount)
        (self.mount / "file").write_text("kept")

    def __exit__(self, *error: object) -> None:
        loopfs.unmount(self.mount)
        if self.image.exists():
            loopfs.detach(self.image)


@pytest.mark.requires("process:cpu")
def test_a_control_group_of_a_dead_run_goes_with_nobody_in_it_and_a_strangers_stays(
    folder: Path, dead: str, processes
) -> None:
    where = cgroup.tree("cpu")
    assert where is not None
    ours, strange = where.top / f"mqc-{dead}-broker-a-0-cpu", where.top / f"other-{dead}"
    sleeper = processes("somebody/else")
    for group in (ours, strange):
        group.mkdir()
    try:
        cgroup.take(ours, pidfd.identify(sleeper.pid))
        assert clean(dead) == {f"the control group {ours}": ""}
        assert not ours.exists()
        assert strange.exists()
        assert sleeper.poll() is None
    finally:
        strange.rmdir()


@pytest.mark.requires("docker:process")
def test_containers_and_networks_of_a_dead_run_go_and_a_strangers_stay(folder: Path, dead: str) -> None:
    from faults.mechanisms import engine
    from harness.backends.docker.images import image

    client = engine.connect()
    living, names = make_tag("r-alive"), [f"mqc-{dead}", f"stranger-{dead}"]
    base = image(client, "reference")
    made = [
        client.containers.create(base, ["sleep", "600"], name=f"{name}-c", labels=labels, network_mode="none")
        for name, labels in (
            (names[0], engine.labels(dead)),
            (names[1], {"org.somebody.run": dead}),
            (f"mqc-{living}", engine.labels(living)),
        )
    ]
    networks = [client.networks.create(names[0], internal=True, labels=engine.labels(dead))]
    try:
        with hold(living):
            assert clean(dead) == {f"the container {names[0]}-c": "", f"the network {names[0]}": ""}
            assert engine.containers_of_ours(client).count((living, f"mqc-{living}-c")) == 1
            assert client.containers.get(f"{names[1]}-c").status == "created"
    finally:
        for thing in (*made[1:], *made[:1], *networks):
            with suppress(Exception):
                thing.remove()
        client.close()


def test_the_command_says_what_it_removes_and_dry_what_it_would(
    folder: Path, dead: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    of_this_run = cleaning.strays
    monkeypatch.setattr(cleaning, "strays", lambda: of_this_run(dead))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    (Path(tempfile.gettempdir()) / f"mqc-{dead}").mkdir()
    said = [_typed(capsys, "doctor", "--clean", *more) for more in (["--dry-run"], [], [])]
    thing = f"the folder {folder}/mqc-{dead}"
    assert said[0].endswith(f"{dead}: would remove {thing}\n")
    assert said[1].endswith(f"{dead}: removed {thing}\n")
    assert "nothing to clean" in said[2]


def _typed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(list(words)) == 0
    return capsys.readouterr().out
