"""From a specification to a command: configuration files, arguments, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.backends.backend import NodeSpec
from harness.errors import BackendUnavailable
from harness.java import Java
from harness.targets import jars, rocketmq
from harness.targets.jars import fetch_jars, jar_folder
from harness.targets.reference import ReferenceTarget
from harness.targets.rocketmq import RocketmqTarget

BROKER = NodeSpec(
    "broker-a-0",
    "broker",
    {"brokerName": "broker-a", "brokerIP1": "127.9.9.1", "listenPort": "10911", "mappedFileSizeCommitLog": "65536"},
)
NAMESRV = NodeSpec("namesrv-1", "namesrv", {"listenPort": "9876"})


@pytest.fixture(autouse=True)
def _some_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rocketmq, "find_java", lambda: Java(Path("/jre/bin/java"), 17, "PATH"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("config", "log", "data"):
        (tmp_path / name).mkdir()
    return tmp_path


def config_of(folder: Path, kind: str) -> dict[str, str]:
    lines = (folder / "config" / f"{kind}.conf").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def test_the_reference_is_told_its_properties_folder_notes_and_its_own_defects(folder: Path) -> None:
    spec = NodeSpec(BROKER.name, "broker", BROKER.properties, ("namesrv-never-expires", "reuse-offset"))
    argv, environment = ReferenceTarget().command(spec, folder)
    assert config_of(folder, "broker") == BROKER.properties
    assert argv[1:] == [
        *("-m", "reference_impl", "broker", "-c", f"{folder}/config/broker.conf"),
        *("--home", f"{folder}/data", "--notes", f"{folder}/log/notes.jsonl", "--defect", "reuse-offset"),
    ]
    assert (Path(environment["PYTHONPATH"].split(":")[0]) / "reference_impl").is_dir()


def test_apaches_broker_gets_small_files_and_the_specification_wins(folder: Path) -> None:
    RocketmqTarget("4.9.7").command(BROKER, folder)
    config = config_of(folder, "broker")
    assert config["mappedFileSizeCommitLog"] == "65536"
    assert config["mappedFileSizeConsumeQueue"] == rocketmq.BROKER_DEFAULTS["mappedFileSizeConsumeQueue"]
    assert config["storePathCommitLog"] == f"{folder}/data/store/commitlog"
    assert config["brokerIP2"] == "127.9.9.1", "the HA address is taken from it"


def test_apaches_logback_files_lie_where_4_9_7_insists_on_them(folder: Path) -> None:
    _, environment = RocketmqTarget("4.9.7").command(NAMESRV, folder)
    conf = Path(environment["ROCKETMQ_HOME"]) / "conf"
    assert {"logback_broker.xml", "logback_namesrv.xml"} <= {path.name for path in conf.iterdir()}


def test_apache_has_no_planted_bugs_and_no_role(folder: Path) -> None:
    spec = NodeSpec("broker-a-0", "broker", {}, ("reuse-offset",))
    with pytest.raises(BackendUnavailable, match="no planted bugs"):
        RocketmqTarget("4.9.7").command(spec, folder)
    with pytest.raises(BackendUnavailable, match="the simulator cannot run it"):
        RocketmqTarget("4.9.7").role(spec)


def test_without_jars_and_maven_the_error_says_how_to_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(jars.shutil, "which", lambda name: None)
    with pytest.raises(BackendUnavailable) as caught:
        fetch_jars("9.9.9")
    assert "Maven is not installed" in caught.value.what
    assert "apt-get install maven" in caught.value.hint


def test_mavens_complaint_is_passed_on_and_nothing_half_fetched_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    maven = tmp_path / "mvn"
    maven.write_text("#!/bin/sh\necho '[INFO] x'\necho '[ERROR] no such version'\nmkdir lib.unfinished\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setattr(jars.shutil, "which", lambda name: str(maven))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BackendUnavailable, match=r"could not fetch RocketMQ 9\.9\.9: no such version"):
        fetch_jars("9.9.9")
    assert not jar_folder("9.9.9").exists()
