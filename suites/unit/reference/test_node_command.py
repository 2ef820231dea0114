"""``python -m reference_impl``: a real process that listens, answers, and leaves in order; errors are one line each."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
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
    config.write_text(f"bindAddress=127.0.0.1\nlistenPort={port}\nfancyOption=1\n")
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
            assert "unknown property fancyOption" in process.stderr.read()
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
