"""Releases as data: which row holds, what is said of one that nobody knows, and what is never fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import BackendUnavailable
from harness.targets import jars
from harness.targets.releases import incomplete, known, row_of, rows, warning_of
from harness.targets.rocketmq import jvm_options


@pytest.mark.parametrize(
    ("version", "since"),
    [
        ("3.9.9", "4.0"),
        ("4.9.7", "4.0"),
        ("5.0.0", "5.0"),
        ("5.3.3", "5.0"),
        ("5.4.0", "5.4"),
        ("5.5.0", "5.5"),
        ("5.10.1", "5.5"),
        ("6.0.0-alpha", "5.5"),
    ],
)
def test_a_row_holds_from_its_release_on(version: str, since: str) -> None:
    assert row_of(version).since == since


def test_a_release_that_nobody_knows_runs_with_a_warning() -> None:
    assert [warning_of(version) for version in known()] == [""] * len(known())
    assert warning_of("5.1.4") == f"release 5.1.4 is not known: run as those from 5.0 on (known: {', '.join(known())})"


def test_the_virtual_machine_opens_what_the_row_says() -> None:
    assert "--add-opens=java.base/java.lang=ALL-UNNAMED" not in jvm_options("4.9.7")
    for version in known():
        opened = {option.partition("=")[2] for option in jvm_options(version) if option.startswith("--add-opens")}
        assert opened == {f"{package}=ALL-UNNAMED" for package in row_of(version).opens}


def test_rows_are_in_order_and_what_is_incomplete_is_not_known() -> None:
    assert [row.generation for row in rows()] == sorted(row.generation for row in rows())
    assert not set(incomplete()) & set(known())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a Maven that is a shell script."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars.shutil, "which", lambda name: str(tmp_path / "mvn"))
    return tmp_path


def maven(cache: Path, body: str) -> None:
    """``$out`` is the folder that the jars are copied to."""
    script = cache / "mvn"
    script.write_text(f'#!/bin/sh\nfor word; do case "$word" in -Dout*) out=${{word#*=}};; esac; done\n{body}\n')
    script.chmod(0o755)


FETCHED = """
echo '[INFO] Downloading from central: https://x/a.pom'
echo '[INFO] Downloaded from central: https://x/a.pom (1.5 kB at 1 kB/s)'
echo 'Downloaded from central: https://x/a.jar (2.5 MB at 1 MB/s)'
echo 'Downloaded from central: https://x/b.jar (500 B at 1 kB/s)'
mkdir "$out"; echo 12345 > "$out/a.jar"
echo '[INFO] Copying a.jar to x'
"""


def test_a_fetch_says_how_far_it_is_and_the_next_one_finds_the_jars(cache: Path) -> None:
    maven(cache, FETCHED)
    said: list[str] = []
    progress: list[str] = []
    folder = jars.fetch_jars("5.1.4", said.append, progress.append)
    assert [path.name for path in folder.iterdir()] == ["a.jar"]
    assert said == ["rocketmq 5.1.4: fetching its jars with Maven, once"]
    assert progress[0] == "rocketmq 5.1.4: 0 files, 0.0 MB; 0 jars copied"
    assert progress[-1] == "rocketmq 5.1.4: 3 files, 2.5 MB; 1 jars copied"
    maven(cache, "exit 1")
    assert jars.fetch_jars("5.1.4", said.append) == folder
    assert jars.fetched() == ["5.1.4"]
    assert len(said) == 1


def test_a_maven_that_takes_too_long_is_ended(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "MAVEN_TIMEOUT_S", 0.1)
    maven(cache, "exec sleep 600")
    with pytest.raises(BackendUnavailable, match=r"did not fetch RocketMQ 5\.1\.4 within 0\.1 s"):
        jars.fetch_jars("5.1.4")
    assert jars.fetched() == []


@pytest.mark.parametrize("version", sorted(incomplete()))
def test_jars_of_an_incomplete_release_are_not_asked_for(cache: Path, version: str) -> None:
    maven(cache, FETCHED)
    with pytest.raises(BackendUnavailable, match="is not published as a whole"):
        jars.fetch_jars(version)


def test_the_command(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    maven(cache, FETCHED)
    assert main(["fetch", "5.1.4", "rocketmq:5.2.0"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out == [f"rocketmq {v}: 1 jars, 0 MB in {jars.jar_folder(v)}" for v in ("5.1.4", "5.2.0")]
    assert main(["fetch", "latest"]) == 64
    maven(cache, "echo '[ERROR] no network'; exit 1")
    assert main(["fetch", "5.0.0"]) == 3
    assert "could not fetch RocketMQ 5.0.0: no network" in capsys.readouterr().err


def test_without_a_version_every_known_release_is_fetched(cache: Path) -> None:
    maven(cache, FETCHED)
    assert main(["fetch"]) == 0
    assert jars.fetched() == sorted(known())
