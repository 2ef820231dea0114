"""The example client of docs/clients.md against nodes that end a connection anywhere: what does it say of the send?

Model: one NameServer and one broker of plain sockets, each told what to do with the next connection. A send that may
have been stored must never be called `CONNECT_FAILED` or `NO_ROUTE`, and no answer may end the client.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CLIENT = Path(__file__).parents[3] / "clients/python/adapter.py"


def frame(fields: dict[str, str], body: bytes = b"", code: int = 0) -> bytes:
    header = json.dumps({"code": code, "extFields": fields}).encode()
    return struct.pack(">ii", 4 + len(header) + len(body), len(header)) + header + body


STORED = frame({"queueOffset": "7", "msgId": "ID"})


@contextmanager
def node(answer: bytes | None) -> Iterator[str]:
    """The address of a node that reads one request a connection, says `answer` and ends it; None refuses them all."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    if answer is None:
        listener.close()
        yield address
        return

    def serve() -> None:
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            with link:
                link.recv(65536)
                link.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield address
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def routed(broker: str) -> bytes:
    queues = [{"brokerName": "broker-a", "writeQueueNums": 1}]
    brokers = [{"brokerName": "broker-a", "brokerAddrs": {"0": broker}}]
    return frame({}, json.dumps({"queueDatas": queues, "brokerDatas": brokers}).encode())


def sent(nameserver: str, *, tries: bool = True) -> list[dict[str, Any]]:
    """What the client says of one send (which `tries` a broker or not), and of the clock it is asked for after it."""
    commands: list[dict[str, Any]] = [
        {"do": "open", "id": 1, "role": "producer", "group": "g", "nameservers": nameserver},
        {"do": "send", "id": 2, "message": {"topic": "t", "body": ""}},
        *([{"do": "go", "question": 2}] if tries else []),
        {"do": "clock", "id": 3},
        {"do": "end"},
    ]
    script = "".join(json.dumps(each) + "\n" for each in commands)
    client = subprocess.run(
        [sys.executable, str(CLIENT)], input=script, capture_output=True, text=True, timeout=30, check=False
    )
    assert client.returncode == 0, client.stderr
    return [json.loads(line) for line in client.stdout.splitlines()]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        pytest.param(STORED, "SEND_OK", id="whole"),
        pytest.param(frame({}, code=2), "CODE_2", id="refused"),
        pytest.param(b"", "CONNECTION_CLOSED", id="nothing"),
        pytest.param(STORED[:5], "CONNECTION_CLOSED", id="within the lengths"),
        pytest.param(STORED[:20], "CONNECTION_CLOSED", id="within the header"),
        pytest.param(frame({}, b"body")[:-1], "CONNECTION_CLOSED", id="within the body"),
        pytest.param(None, "CONNECT_FAILED", id="nobody listens"),
    ],
)
def test_a_broker_ends_the_connection(answer: bytes | None, status: str) -> None:
    with node(answer) as broker, node(routed(broker)) as nameserver:
        said = sent(nameserver)
    assert next(line for line in said if line["is"] == "done" and line["id"] == 2)["status"] == status
    assert said[-1]["is"] == "clock"


@pytest.mark.parametrize("answer", [b"", b"\0\0\0", frame({}, code=17), None])
def test_a_nameserver_that_does_not_answer_gives_no_route(answer: bytes | None) -> None:
    with node(answer) as nameserver:
        said = sent(nameserver, tries=False)
    assert [line["status"] for line in said if line["is"] == "done" and line["id"] == 2] == ["NO_ROUTE"]
    assert said[-1]["is"] == "clock"
