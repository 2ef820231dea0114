"""What only our proxy can: jam, frames, single sources; over real sockets, before a server that speaks in frames."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.mechanisms.toxiproxy import Toxiproxy
from suites.unit.faults.test_toxiproxy import PATIENCE_S, receive, running, silent


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toxiproxy]:
    with running("ours", tmp_path_factory.mktemp("ours")) as client:
        assert client.is_ours
        yield client


def frame(code: int, opaque: int, flag: int = 0, body: bytes = b"") -> bytes:
    header = json.dumps({"code": code, "opaque": opaque, "flag": flag}).encode()
    return struct.pack(">II", 4 + len(header) + len(body), len(header)) + header + body


def read(connection: socket.socket) -> tuple[int, bytes]:
    """(opaque, body) of the next answer."""
    length, header_length = struct.unpack(">II", receive(connection, 8))
    rest = receive(connection, length - 4)
    return json.loads(rest[:header_length])["opaque"], rest[header_length:]


class Broker:
    """Answers every frame with its opaque and a count of the frames it has seen; remembers whom it has accepted."""

    def __init__(self) -> None:
        self.opaques: list[int] = []
        self.hosts: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                connection, (host, _) = self._listener.accept()
            except OSError:
                return
            self.hosts.append(host)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection:
            while head := receive(connection, 8):
                length, header_length = struct.unpack(">II", head)
                opaque = json.loads(receive(connection, length - 4)[:header_length])["opaque"]
                self.opaques.append(opaque)
                connection.sendall(frame(0, opaque, flag=1, body=str(len(self.opaques)).encode()))


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.close()


@pytest.fixture
def link(client: Toxiproxy, broker: Broker) -> Iterator[int]:
    """The port of a proxy before the broker."""
    yield int(client.create("link", upstream=broker.address).listen.rpartition(":")[2])
    client.destroy("link")


def connect(port: int, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE_S, source_address=(source, 0))


def test_the_answer_to_the_second_send_is_lost(client: Toxiproxy, broker: Broker, link: int) -> None:
    """The broker has stored both; the producer hears of one."""
    rule = {"action": "drop", "kind": "response", "code": 10, "skip": 1, "count": 1}
    client.add("link", "frames", "downstream", rule)
    client.add("link", "frames", "upstream", {"action": "drop", "code": 99_999})
    with connect(link) as producer:
        for opaque in (1, 2, 3):
            producer.sendall(frame(10, opaque))
        assert [read(producer)[0] for _ in range(2)] == [1, 3]
    assert broker.opaques == [1, 2, 3]
    assert {name: client.toxics("link")["frames_downstream"].attributes[name] for name in ("seen", "done")} == {
        "seen": 3,
        "done": 1,
    }


def test_a_request_arrives_twice(client: Toxiproxy, broker: Broker, link: int) -> None:
    client.add("link", "frames", "upstream", {"action": "duplicate", "code": 10, "count": 1})
    with connect(link) as producer:
        producer.sendall(frame(10, 1) + frame(10, 2))
        assert [read(producer)[0] for _ in range(3)] == [1, 1, 2]


def test_a_rule_that_comes_in_the_middle_of_a_frame_begins_with_the_next(
    client: Toxiproxy, broker: Broker, link: int
) -> None:
    first, second = frame(10, 1, body=b"x" * 50), frame(10, 2)
    with connect(link) as producer:
        producer.sendall(frame(10, 0) + first[:30])
        assert read(producer)[0] == 0  # the proxy has read what was sent so far
        client.add("link", "frames", "upstream", {"action": "drop"})
        producer.sendall(first[30:] + second)
        assert read(producer)[0] == 1
        assert silent(producer)
        client.remove("link", "frames_upstream")
        producer.sendall(frame(10, 3))
        assert read(producer)[0] == 3


def test_jam_holds_and_delivers_in_order(client: Toxiproxy, broker: Broker, link: int) -> None:
    with connect(link) as producer:
        producer.sendall(frame(10, 1))
        assert read(producer)[0] == 1
        client.add("link", "jam", "upstream", {})
        producer.sendall(frame(10, 2) + frame(10, 3))
        assert silent(producer)
        assert broker.opaques == [1]
        client.remove("link", "jam_upstream")
        assert [read(producer)[0] for _ in range(2)] == [2, 3]


def test_one_way_jam_of_answers(client: Toxiproxy, broker: Broker, link: int) -> None:
    client_side = connect(link)
    with client_side as producer:
        producer.sendall(frame(10, 1))
        assert read(producer)[0] == 1
        client.add("link", "jam", "downstream", {})
        producer.sendall(frame(10, 2))
        assert silent(producer)
        assert broker.opaques == [1, 2]
        client.remove("link", "jam_downstream")
        assert read(producer)[0] == 2


def test_behind_a_jam_the_server_is_not_even_called(client: Toxiproxy, broker: Broker, link: int) -> None:
    client.add("link", "jam", "upstream", {})
    with connect(link) as producer:
        producer.sendall(frame(10, 1))
        assert silent(producer)
        assert broker.hosts == []
        client.remove("link", "jam_upstream")
        assert read(producer)[0] == 1


def test_jam_for_one_source_only(client: Toxiproxy, broker: Broker, link: int) -> None:
    with connect(link, "127.0.0.2") as slave, connect(link, "127.0.0.3") as producer:
        for peer, opaque in ((slave, 1), (producer, 2)):
            peer.sendall(frame(10, opaque))
            assert read(peer)[0] == opaque
        client.add("link", "jam", "upstream", {"sources": "127.0.0.2,127.0.0.9"})
        slave.sendall(frame(10, 3))
        producer.sendall(frame(10, 4))
        assert read(producer)[0] == 4
        assert silent(slave)
        client.remove("link", "jam_upstream")
        assert read(slave)[0] == 3
    assert sorted(broker.hosts) == ["127.0.0.2", "127.0.0.3"]


def test_another_protocol_is_left_alone(client: Toxiproxy, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = client.create("ha", upstream=f"127.0.0.1:{listener.getsockname()[1]}")
        client.add("ha", "frames", "upstream", {"action": "drop"})
        data = b"\xff" * 8 + os.urandom(1000)
        with connect(int(proxy.listen.rpartition(":")[2])) as slave:
            slave.sendall(data)
            master, _ = listener.accept()
            with master:
                assert receive(master, len(data)) == data
    client.destroy("ha")
