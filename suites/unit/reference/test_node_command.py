"""``python -m reference_impl``: a real process that listens, answers, and leaves in order; errors are one line each."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reference_impl.__main__ import main
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame

TIMEOUT_S = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_a_name_server_process_answers_and_stops(tmp_path: Path) -> None:
    port = free_port()
    config = tmp_path / "namesrv.conf"
    config.write_text(f"bindAddress=127.0.0.1\nlistenPort={port}\nserverWorkerThreads=8\n")
    argv = [
        sys.executable,
        "-m",
        "reference_impl",
        "namesrv",
        "-c",
        str(config),
        "--home",
        str(tmp_path),
        "--notes",
        "-",
    ]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert any('"listening"' in line for line in process.stdout)
            assert ask(port, Command(105, {"topic": "T"}, opaque=3)).code == 17
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_S) == 0
            assert "serverWorkerThreads has no effect here" in process.stderr.read()
        finally:
            process.kill()


def ask(port: int, request: Command) -> Command:
    decoder = FrameDecoder()
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as connection:
        connection.sendall(encode_frame(request))
        while data := connection.recv(65536):
            for command in decoder.feed(data):
                return command
    raise AssertionError("closed without an answer")


@pytest.mark.parametrize(
    ("argv", "text", "message"),
    [
        (["namesrv"], "listenPort=many", ":1: listenPort=many: expected a whole number"),
        (["namesrv"], "# a\n\nrelease=3.0", ":3: release=3.0: expected 4.9.7 or 5.3.3"),
        (["broker"], "brokerId=zero", ":1: brokerId=zero: expected a whole number"),
        (["namesrv", "-p", "99999"], "", "listenPort=99999: expected 65535 or less"),
        (["broker"], "listenProt=1", ":1: unknown property listenProt, did you mean listenPort?"),
        (["broker"], "\naclEnable=true", ":2: aclEnable=true: access control is not implemented"),
        (["broker"], "brokerIP1=localhost", ":1: brokerIP1=localhost: expected an IPv4 address"),
        (["broker"], "brokerIP1=::1", ":1: brokerIP1=::1: expected an IPv4 address"),
        (
            ["broker"],
            "storePathRootDir=a\nstorePathConsumeQueue=${storePathRootDir}/queue",
            ":2: storePathConsumeQueue=${storePathRootDir}/queue: RocketMQ does not read it, and uses a/consumequeue",
        ),
    ],
)
def test_a_bad_configuration_is_one_line_and_exit_64(
    argv: list[str], text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "node.conf"
    config.write_text(text)
    assert main([*argv, "-c", str(config)]) == 64
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1


def test_a_missing_file_is_one_line_and_exit_64(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["namesrv", "-c", str(tmp_path / "none.conf")]) == 64
    assert "none.conf" in capsys.readouterr().err


def test_a_defect_of_the_other_kind_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["namesrv", "--defect", "ack-before-fsync"]) == 64
    assert capsys.readouterr().err == "namesrv: defect 'ack-before-fsync' is one of a broker, not of a namesrv\n"


# --- files as operators have them, and folders as they find them ------------------------------------------------------


def ended(*words: str, within_s: int = TIMEOUT_S) -> subprocess.CompletedProcess[str]:
    """A node that is expected to end by itself."""
    argv = [sys.executable, "-m", "reference_impl", *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=within_s, check=False)


def runs(*words: str, port: int) -> None:
    """A node comes up and answers."""
    argv = [sys.executable, "-m", "reference_impl", *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(TIMEOUT_S * 10):
                assert process.poll() is None, process.communicate()[1]
                try:
                    assert ask(port, Command(105, {"topic": "T"}, opaque=3)).code in (3, 17)
                    break
                except ConnectionRefusedError:
                    select.select([], [], [], 0.1)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_S) == 0


INSTALL_GUIDE = """\
brokerClusterName=DefaultCluster
brokerName=broker-a
brokerId=0
deleteWhen=04
fileReservedTime=48
brokerRole=ASYNC_MASTER
flushDiskType=ASYNC_FLUSH
autoCreateTopicEnable=true
sendMessageThreadPoolNums=128
pullMessageThreadPoolNums=128
storePathRootDir={store}
storePathCommitLog={store}/commitlog
storePathConsumeQueue={store}/consumequeue
storePathIndex={store}/index
storeCheckpoint={store}/checkpoint
abortFile={store}/abort
mappedFileSizeCommitLog=65536
"""


def test_the_file_of_the_install_guide_runs_with_its_absolute_paths(tmp_path: Path) -> None:
    port, store = free_port(), tmp_path / "data" / "store"
    config = tmp_path / "broker.conf"
    config.write_text(INSTALL_GUIDE.format(store=store) + f"listenPort={port}\n")
    runs("broker", "-c", str(config), "--home", str(tmp_path / "home"), port=port)
    assert (store / "config" / "topics.json").is_file()
    assert not (store / "abort").exists()


def test_a_comment_in_any_encoding_does_no_harm(tmp_path: Path) -> None:
    port = free_port()
    config = tmp_path / "namesrv.conf"
    config.write_bytes("# 监听端口\\\n".encode("gbk") + f"listenPort={port}\n".encode())
    runs("namesrv", "-c", str(config), "--home", str(tmp_path), port=port)


@pytest.mark.parametrize("node", ["namesrv", "broker"])
def test_a_taken_port_is_one_line_and_touches_nothing(node: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = ended(node, "-p", str(port), "--home", str(tmp_path / "home"))
    assert done.returncode == 255
    assert done.stderr.count("\n") == 1
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in done.stderr
    assert [path.name for path in (tmp_path / "home").rglob("*") if path.is_file()] in ([], ["lock"])


def test_an_address_that_is_not_of_this_machine_names_the_property_that_helps(tmp_path: Path) -> None:
    config = tmp_path / "broker.conf"
    config.write_text("brokerIP1=203.0.113.9\n")
    done = ended("broker", "-c", str(config), "--home", str(tmp_path / "home"))
    assert done.returncode == 64
    assert done.stderr.count("\n") == 1
    assert "set bindAddress" in done.stderr


def a_folder(path: Path) -> None:
    path.mkdir()


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def no_utf8(path: Path) -> None:
    Path(os.fsdecode(bytes(path.parent) + b"/\xff\xfe")).write_bytes(b"x")


def nonsense(path: Path) -> None:
    path.write_bytes(b"[" * 50_000)


def five_bytes(path: Path) -> None:
    path.write_bytes(b"12345")


@pytest.mark.parametrize(
    ("place", "what", "code"),
    [
        ("store", five_bytes, 255),
        ("store/lock", a_folder, 255),
        ("store/config/topics.json", a_folder, None),
        ("store/config/topics.json", a_loop, None),
        ("store/config/topics.json", nonsense, None),
        ("store/config/topics.json.bak", a_folder, 253),
        ("store/config/consumerOffset.json.bak", nonsense, 253),
        ("store/checkpoint", a_folder, 253),
        ("store/checkpoint", five_bytes, None),
        ("store/commitlog/00000000000000000000", five_bytes, 253),
        ("store/commitlog/00000000000000000000", a_loop, 253),
        ("store/commitlog/x", no_utf8, None),
        ("store/commitlog", five_bytes, None),
        ("store/consumequeue/T/0/.DS_Store", five_bytes, 253),
        ("store/consumequeue/T/0/00000000000000000000", a_loop, 253),
        ("store/index/20260101000000000", five_bytes, None),
        ("store/index/20260101000000000", a_loop, 253),
        ("store/abort", a_folder, 253),
    ],
)
def test_whatever_lies_in_its_folder_a_broker_runs_or_says_in_one_line_why_not(
    place: str, what: Callable[[Path], None], code: int | None, tmp_path: Path
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    what(path)
    port = free_port()
    words = ["broker", "-p", str(port), "--home", str(tmp_path)]
    if code is None:
        runs(*words, port=port)
        return
    done = ended(*words)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
    assert "Traceback" not in done.stderr
