"""Apache's own Java client finds nothing to complain about: sends of every kind, push, ordered consumption, look-ups.

With JSON headers and with RocketMQ's binary ones, 4.9.7 and 5.3.3. ``--target rocketmq:…`` puts the same client before
Apache's broker, which must give the same answers.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.errors import BackendUnavailable
from harness.java import find_java
from harness.targets.jars import fetch_jars
from harness.worlds import open_target
from suites.conformance.broker.backend_peer import BackendPeer
from suites.conformance.broker.peer import answer, create_topic
from suites.minutes import needs_minutes

pytestmark = [pytest.mark.requires("java"), pytest.mark.slow]

SOURCE = Path(__file__).with_name("OfficialClient.java")
TIMEOUT_S = 400


@cache
def compiles() -> bool:
    """Whether this Java can run a source file (a runtime without compiler cannot)."""
    modules = subprocess.run([find_java().executable, "--list-modules"], capture_output=True, text=True, check=True)
    return "jdk.compiler" in modules.stdout


@pytest.fixture
def peer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BackendPeer]:
    target = open_target(request.config.getoption("--target"))
    target.prepare()
    journal = HealJournal.open("official", tmp_path / "heal")
    backend = ProcessBackend("official", tmp_path / "nodes", target, journal, isolation="loopback")
    try:
        yield BackendPeer(backend)
    finally:
        backend.close()
        journal.close()


@pytest.mark.parametrize(
    ("version", "header"),
    [("4.9.7", "JSON"), ("5.3.3", "ROCKETMQ"), needs_minutes("4.9.7", "ROCKETMQ"), needs_minutes("5.3.3", "JSON")],
)
def test_the_java_client_works(version: str, header: str, peer: BackendPeer, tmp_path: Path) -> None:
    if not compiles():
        pytest.skip("this Java has no compiler; with a JDK the test runs")
    create_topic(peer, "Java")
    create_topic(peer, "JavaOrdered")
    said = run_client(peer, version, header, tmp_path)
    sends = ("plain", "fails", "large", "delayed", "unwanted", "async", "auto")
    assert {name: said[name] for name in sends} == dict.fromkeys(sends, "SEND_OK")
    assert (said["batch"], said["queues"], said["byKey"]) == ("3", "4", "1")
    assert said["seen"] == "async,batch0,batch1,batch2,delayed,fails,large,oneway,plain"
    assert said["retried"] == "fails@Java"
    for queue in ("0", "1"):
        heard = [word for word in said["ordered"].split(",") if word.startswith(queue)]
        assert heard == [f"{queue}:{number}" for number in range(6)]
    assert said["offsetMsgId"].startswith(answer_host(peer))


def answer_host(peer: BackendPeer) -> str:
    """The broker's address as a message id begins with it."""
    ip, _, port = peer.broker.rpartition(":")
    return "".join(f"{int(part):02X}" for part in ip.split(".")) + f"{int(port):08X}"


def run_client(peer: BackendPeer, version: str, header: str, folder: Path) -> dict[str, str]:
    """What the client said, while the world (ours is one loop) goes on."""
    try:
        jars = fetch_jars(version)
    except BackendUnavailable as missing:
        if os.environ.get("MQCHAOS_REQUIRE_ALL") == "1":
            raise
        pytest.skip(str(missing))
    argv = [str(find_java().executable), "-Xmx256m", f"-Duser.home={folder}", f"-Drocketmq.serialize.type={header}"]
    argv += ["-Drocketmq.client.logUseSlf4j=false", "-cp", f"{jars}/*", str(SOURCE), peer.namesrv]
    done = peer.backend.perform(
        lambda: subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return dict(line.partition("=")[::2] for line in done.stdout.splitlines() if "=" in line)


def test_the_probe_words_are_understood_here_too(peer: BackendPeer) -> None:
    """A canary: if this fails, the cluster is at fault and not the client."""
    assert answer(peer, 28).code == 0
