"""What can clients that mean no good make a node keep, and what does a good client beside them wait?

The reference's own nodes as processes of this machine, plain loopback, one fresh node a question. Memory is the growth
of the process (``VmRSS``); a wait is the slowest answer to a good client that asks over and over.

    unfinished   40 connections with a frame of 16 MB each that lacks its last byte
    parked       100,000 pulls of one connection at the end of a queue
    deaf         26 connections that ask for 1,000 pulls of 256 kB each and read nothing
    closed       a NameServer whose connection with N brokers of 50 topics each ends, for N and 4 N
    groups       a heartbeat with the first new group and with the 600th

The yardsticks are what came in: bytes sent, and for the two that grow, the smaller one of the same minute.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter_ns, sleep

import msgspec

from benchmarks.figure import Figure
from harness.targets.reference import import_path
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command, FrameDecoder, encode_frame

HOST = "127.0.0.1"
TIMEOUT_S = 60.0
MB = 1e6


class Peer:
    """One connection that asks one thing after the other, or only sends."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), TIMEOUT_S)
        self._decoder = FrameDecoder()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def send_some(self, data: bytes) -> int:
        """What the node takes before it stops reading."""
        self._socket.settimeout(0.5)
        sent = 0
        try:
            while sent < len(data):
                sent += self._socket.send(data[sent:])
        except TimeoutError:
            pass  # it reads no more of us: that is the point
        return sent

    def ask(self, command: Command) -> Command:
        self.send(encode_frame(command))
        while True:
            for answer in self._decoder.feed(self._socket.recv(1 << 20)):
                if answer.is_answer and answer.opaque == command.opaque:
                    return answer

    def wait_ms(self, command: Command) -> float:
        begin_ns = perf_counter_ns()
        self.ask(command)
        return (perf_counter_ns() - begin_ns) / 1e6

    def close(self) -> None:
        self._socket.close()


class Node:
    """A running node."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self._process, self.port = process, port

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1024 / MB

    @contextmanager
    def peers(self, count: int) -> Iterator[list[Peer]]:
        with ExitStack() as stack:
            peers = [Peer(self.port) for _ in range(count)]
            for peer in peers:
                stack.callback(peer.close)
            yield peers


@contextmanager
def node(kind: str) -> Iterator[Node]:
    """Started, and ended by a kill."""
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        properties = {"listenPort": port, "bindAddress": HOST}
        if kind == "broker":
            properties |= {"brokerIP1": HOST, "haListenPort": _free_port(), "mappedFileSizeCommitLog": 1 << 24}
        (Path(folder) / "node.conf").write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        words = [sys.executable, "-m", "reference_impl", kind, "-c", "node.conf", "--home", "data"]
        process = subprocess.Popen(words, cwd=folder, env={"PYTHONPATH": import_path()}, stdout=subprocess.DEVNULL)
        try:
            _wait_for(process, port)
            yield Node(process, port)
        finally:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"the node ended with {process.returncode}")
        try:
            Peer(port).close()
        except ConnectionRefusedError:
            sleep(0.1)
        else:
            return
    raise RuntimeError("the node did not come up in 30 s")


TOPIC = "Memory"


def create_topic() -> Command:
    fields = {"topic": TOPIC, "defaultTopic": "TBW102", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6"}
    fields |= {"topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}
    return Command(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)


def send(body: bytes) -> Command:
    fields = {"a": "PG", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0", "i": "", "j": "0"}
    return Command(RequestCode.SEND_MESSAGE_V2, fields, body)


def pull(offset: int, *, is_patient: bool, opaque: int = 0) -> Command:
    fields = {"consumerGroup": "CG", "topic": TOPIC, "queueId": "0", "queueOffset": str(offset), "maxMsgNums": "1"}
    fields |= {"sysFlag": "6" if is_patient else "4", "commitOffset": "0", "suspendTimeoutMillis": "60000"}
    fields |= {"subVersion": "0", "subscription": "*", "expressionType": "TAG"}
    return Command(RequestCode.PULL_MESSAGE, fields, opaque=opaque)


def heartbeat(group: str) -> Command:
    body = {"clientID": "c", "producerDataSet": [], "consumerDataSet": [_consumer(group)]}
    return Command(RequestCode.HEART_BEAT, body=msgspec.json.encode(body))


def _consumer(group: str) -> dict[str, object]:
    consumer = {"groupName": group, "consumeType": "CONSUME_PASSIVELY", "messageModel": "CLUSTERING"}
    return {**consumer, "consumeFromWhere": 0, "unitMode": False, "subscriptionDataSet": []}


def register(broker: str, topics: int) -> Command:
    fields = {"brokerName": broker, "brokerAddr": f"10.0.0.1:{len(broker)}", "clusterName": "C", "haServerAddr": ""}
    fields |= {"brokerId": "0", "compressed": "false", "bodyCrc32": "0"}
    table = {f"{broker}-{number}": _topic(f"{broker}-{number}") for number in range(topics)}
    version = {"counter": 0, "timestamp": 1, "stateVersion": 0}
    body = {"topicConfigSerializeWrapper": {"topicConfigTable": table, "dataVersion": version}, "filterServerList": []}
    return Command(RequestCode.REGISTER_BROKER, fields, msgspec.json.encode(body))


def _topic(name: str) -> dict[str, object]:
    numbers = {"perm": 6, "readQueueNums": 4, "writeQueueNums": 4, "topicSysFlag": 0}
    return {"topicName": name, "order": False, "topicFilterType": "SINGLE_TAG", **numbers}


def measure(quick: bool) -> Iterator[Figure]:
    yield from unfinished(4 if quick else 40)
    yield from parked(1_000 if quick else 100_000)
    yield from deaf(2 if quick else 26)
    yield from closed(10 if quick else 400)
    yield from groups(20 if quick else 600)


def unfinished(count: int) -> Iterator[Figure]:
    frame = encode_frame(send(bytes((16 << 20) - 1000)))
    with node("broker") as broker, broker.peers(1) as (good,), broker.peers(count) as greedy:
        good.ask(create_topic())
        before = broker.memory_mb()
        for peer in greedy:
            try:
                peer.send(frame[:-1])
            except (BrokenPipeError, ConnectionResetError):
                continue  # given up by the broker
        good.ask(send(b"x"))
        yield _growth(f"{count} unfinished frames of 16 MB", broker.memory_mb() - before, count * len(frame), 330)


def parked(count: int) -> Iterator[Figure]:
    with node("broker") as broker, broker.peers(2) as (good, greedy):
        good.ask(create_topic())
        before = broker.memory_mb()
        frames = [encode_frame(pull(0, is_patient=True, opaque=number)) for number in range(count)]
        for first in range(0, count, 1_000):
            greedy.send_some(b"".join(frames[first : first + 1_000]))
        good.ask(send(b"x"))
        yield _growth(f"{count:,} parked pulls on one link", broker.memory_mb() - before, sum(map(len, frames)), 120)


def deaf(count: int) -> Iterator[Figure]:
    with node("broker") as broker, broker.peers(1) as (good,), broker.peers(count) as greedy:
        good.ask(create_topic())
        good.ask(send(bytes(256_000)))
        before = broker.memory_mb()
        asked = encode_frame(pull(0, is_patient=False)) * 1_000
        sent = sum(peer.send_some(asked) for peer in greedy)
        waited = max(good.wait_ms(pull(0, is_patient=False, opaque=number)) for number in range(20))
        yield _growth(f"{count} clients that read nothing", broker.memory_mb() - before, sent, 330)
        yield Figure("the same: a good client's slowest pull of 20", waited, "ms", at_most=2_000)


def closed(brokers: int) -> Iterator[Figure]:
    silent = {}
    for count in (brokers, 4 * brokers):
        with node("namesrv") as server, server.peers(2) as (good, greedy):
            for number in range(count):
                greedy.ask(register(f"broker-{number}", 50))
            greedy.close()
            silent[count] = max(good.wait_ms(Command(RequestCode.GET_BROKER_CLUSTER_INFO)) for _ in range(5))
    few, many = silent.values()
    yield Figure(f"a connection with {brokers:,} brokers ends: silence", few, "ms")
    beside = f"that of {brokers:,}"
    yield Figure(
        f"a connection with {4 * brokers:,} brokers ends: silence", many, "ms", many / few, beside, at_most=1_000
    )


def groups(count: int) -> Iterator[Figure]:
    with node("broker") as broker, broker.peers(1) as (peer,):
        waits = [peer.wait_ms(heartbeat(f"group-{number}")) for number in range(count)]
    first, last = (min(part) for part in (waits[:10], waits[-10:]))
    yield Figure(f"a heartbeat with the {count}th new group", last, "ms", last / first, "the first ones")


def _growth(label: str, grown_mb: float, sent_bytes: int, at_most_mb: float) -> Figure:
    return Figure(
        f"{label}: memory", grown_mb, "MB more", grown_mb * MB / sent_bytes, "what was sent", at_most=at_most_mb
    )
