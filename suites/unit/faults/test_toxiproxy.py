"""toxiproxy and our drop-in, side by side: the same calls, the same toxics, the same observations.

Each test runs against our server, and against the real one where there is one (or Go to build it). What only ours can
is in ``test_frameproxy.py``. Times are only bounded from below, where a toxic must have taken them.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import requests

from faults.errors import FaultTrouble
from faults.mechanisms import pidfd, toxiproxy
from faults.mechanisms.toxiproxy import Toxiproxy, ToxiproxyError
from harness.cache import cache_folder

PATIENCE_S = 20.0
SERVERS = ("ours", "toxiproxy")


def argv_of(server: str) -> list[str]:
    if server == "ours":
        return toxiproxy.own_argv()
    try:
        return [str(toxiproxy.fetch_server(cache_folder()))]
    except FaultTrouble as error:
        if os.environ.get("MQCHAOS_REQUIRE_ALL") == "1":
            raise
        pytest.skip(str(error))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(server: str, folder: Path) -> Iterator[Toxiproxy]:
    argv, port, log = argv_of(server), free_port(), folder / f"{server}.log"
    process = toxiproxy.start(argv, "127.0.0.1", port, log, {"PYTHONPATH": os.getcwd()})
    client = Toxiproxy(port=port)
    try:
        toxiproxy.wait_ready(client, process, log)
        yield client
    finally:
        pidfd.send_signal(process, signal.SIGTERM)
        pidfd.wait_dead(process, PATIENCE_S)


@pytest.fixture(scope="module", params=SERVERS)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toxiproxy]:
    with running(request.param, tmp_path_factory.mktemp(request.param)) as client:
        yield client


@pytest.fixture(scope="module")
def echo() -> Iterator[str]:
    """A server that sends back what it gets and closes when its client does; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk(connection: socket.socket) -> None:
            with connection:
                try:
                    while data := connection.recv(65_536):
                        connection.sendall(data)
                except OSError:
                    return

        def listen() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=talk, args=(connection,), daemon=True).start()

        threading.Thread(target=listen, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


class Line:
    """A proxy to the echo server, and a connection through it."""

    def __init__(self, client: Toxiproxy, name: str, port: int) -> None:
        self.client, self.name, self.port = client, name, port
        self.socket = self.connect()

    def connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def add(self, kind: str, stream: str = "downstream", **attributes: int) -> None:
        self.client.add(self.name, kind, stream, attributes)

    def exchange(self, data: bytes = b"ping") -> bytes:
        self.socket.sendall(data)
        return receive(self.socket, len(data))


@pytest.fixture
def line(client: Toxiproxy, echo: str, request: pytest.FixtureRequest) -> Iterator[Line]:
    proxy = client.create("link", upstream=echo)
    line = Line(client, "link", int(proxy.listen.rpartition(":")[2]))
    yield line
    line.socket.close()
    client.destroy("link")


def receive(connection: socket.socket, size: int) -> bytes:
    """So many bytes, or what came before the end."""
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


def ending(connection: socket.socket) -> str:
    """``closed`` or ``reset``: how the connection ends."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        return "reset"
    return "closed"


def silent(connection: socket.socket, seconds: float = 0.2) -> bool:
    """Whether nothing comes for a moment."""
    connection.settimeout(seconds)
    try:
        connection.recv(1)
    except TimeoutError:
        return True
    finally:
        connection.settimeout(PATIENCE_S)
    return False


def test_idle_proxy_passes_everything(line: Line) -> None:
    data = os.urandom(300_000)
    threading.Thread(target=line.socket.sendall, args=(data,), daemon=True).start()
    assert receive(line.socket, len(data)) == data
    line.socket.shutdown(socket.SHUT_WR)
    assert ending(line.socket) == "closed"


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_latency_acts_on_a_connection_that_is_there_and_goes(line: Line, stream: str) -> None:
    assert line.exchange() == b"ping"
    line.add("latency", stream, latency=150)
    began = monotonic()
    assert line.exchange() == b"ping"
    assert monotonic() - began >= 0.149
    line.client.remove(line.name, f"latency_{stream}")
    assert line.exchange() == b"ping"


def test_removing_a_long_latency_lets_go_what_it_holds(line: Line) -> None:
    line.add("latency", latency=600_000)
    line.socket.sendall(b"ping")
    assert silent(line.socket)
    line.client.remove(line.name, "latency_downstream")
    assert receive(line.socket, 4) == b"ping"


def test_bandwidth(line: Line) -> None:
    line.add("bandwidth", "upstream", rate=100)
    data, began = os.urandom(40_000), monotonic()
    assert line.exchange(data) == data
    assert monotonic() - began >= 0.35


def test_slicer_keeps_every_byte(line: Line) -> None:
    line.add("slicer", average_size=7, size_variation=3, delay=50)
    data = os.urandom(2_000)
    assert line.exchange(data) == data


def test_limit_data_closes_after_so_many_bytes(line: Line) -> None:
    line.add("limit_data", bytes=10)
    assert line.exchange(b"0123456") == b"0123456"
    line.socket.sendall(b"789abc")
    assert receive(line.socket, 6) == b"789"


def test_timeout_drops_and_closes(line: Line) -> None:
    line.add("timeout", timeout=120)
    line.socket.sendall(b"lost")
    began = monotonic()
    assert (receive(line.socket, 4), ending(line.socket)) == (b"", "closed")
    assert monotonic() - began >= 0.1


def test_timeout_of_0_holds_its_tongue_until_it_is_removed(line: Line) -> None:
    line.add("timeout", timeout=0)
    line.socket.sendall(b"lost")
    assert silent(line.socket)
    line.client.remove(line.name, "timeout_downstream")
    assert (receive(line.socket, 4), ending(line.socket)) == (b"", "closed")


def test_reset_peer_resets_new_connections(line: Line) -> None:
    line.add("reset_peer", timeout=0)
    with line.connect() as connection:
        connection.sendall(b"ping")
        assert ending(connection) == "reset"


def test_slow_close(line: Line) -> None:
    line.add("slow_close", delay=200)
    with line.connect() as connection:
        connection.sendall(b"ping")
        assert receive(connection, 4) == b"ping"
        began = monotonic()
        connection.shutdown(socket.SHUT_WR)
        assert ending(connection) == "closed"
        assert monotonic() - began >= 0.19


def test_toxicity_0_hits_nobody(line: Line) -> None:
    line.client.add(line.name, "latency", "downstream", {"latency": 600_000}, toxicity=0.0)
    assert line.exchange() == b"ping"


def test_disabled_proxy_refuses_and_keeps_its_port(line: Line) -> None:
    line.exchange()
    line.client.enable(line.name, False)
    assert ending(line.socket) in ("closed", "reset")
    with pytest.raises(ConnectionRefusedError):
        line.connect()
    line.client.enable(line.name, True)
    with line.connect() as connection:
        connection.sendall(b"ping")
        assert receive(connection, 4) == b"ping"


def test_reset_removes_every_toxic(line: Line) -> None:
    line.add("timeout", timeout=0)
    line.client.enable(line.name, False)
    line.client.reset()
    assert line.client.toxics(line.name) == {}
    assert line.client.proxies()[line.name].enabled
    with line.connect() as connection:
        connection.sendall(b"ping")
        assert receive(connection, 4) == b"ping"


def test_update_changes_a_toxic_in_force(line: Line) -> None:
    line.add("latency", latency=600_000)
    line.socket.sendall(b"ping")
    assert silent(line.socket)
    updated = line.client.update(line.name, "latency_downstream", {"latency": 1})
    assert (updated.attributes, receive(line.socket, 4)) == ({"latency": 1, "jitter": 0}, b"ping")


def test_what_a_server_made_of_a_toxic_is_told(line: Line) -> None:
    toxic = line.client.add(line.name, "slicer", "upstream", {"average_size": 5}, name="mine", toxicity=0.5)
    assert (toxic.name, toxic.type, toxic.stream, toxic.toxicity) == ("mine", "slicer", "upstream", 0.5)
    assert toxic.attributes == {"average_size": 5, "size_variation": 0, "delay": 0}


REFUSALS: list[tuple[str, str, str, dict[str, Any] | None, int]] = [
    ("proxy without a name", "POST", "/proxies", {"upstream": "127.0.0.1:1"}, 400),
    ("proxy without an upstream", "POST", "/proxies", {"name": "x"}, 400),
    ("proxy that is there", "POST", "/proxies", {"name": "link", "upstream": "127.0.0.1:1"}, 409),
    (
        "address of another machine",
        "POST",
        "/proxies",
        {"name": "x", "upstream": "a:1", "listen": "203.0.113.1:1"},
        500,
    ),
    ("no such proxy", "GET", "/proxies/none", None, 404),
    ("no such proxy to remove", "DELETE", "/proxies/none", None, 404),
    ("no such proxy for a toxic", "POST", "/proxies/none/toxics", {"type": "latency"}, 404),
    ("no such type", "POST", "/proxies/link/toxics", {"type": "plague"}, 400),
    ("no such direction", "POST", "/proxies/link/toxics", {"type": "latency", "stream": "sideways"}, 400),
    ("no number", "POST", "/proxies/link/toxics", {"type": "latency", "attributes": {"latency": "long"}}, 400),
    ("no such toxic", "GET", "/proxies/link/toxics/none", None, 404),
    ("no such toxic to remove", "DELETE", "/proxies/link/toxics/none", None, 404),
]


@pytest.mark.parametrize(("what", "method", "path", "body", "status"), REFUSALS, ids=[row[0] for row in REFUSALS])
def test_refusal(line: Line, what: str, method: str, path: str, body: dict[str, Any] | None, status: int) -> None:
    response = requests.request(method, f"http://{line.client.address}{path}", json=body, timeout=PATIENCE_S)
    assert (response.status_code, response.json()["status"]) == (status, status)
    assert response.json()["error"]


def test_second_toxic_of_a_name_is_refused_with_the_servers_sentence(line: Line) -> None:
    line.add("latency", latency=1)
    with pytest.raises(ToxiproxyError, match=r"409 .*toxic already exists") as refused:
        line.add("latency", latency=2)
    assert refused.value.status == 409


def test_removing_what_is_gone_is_no_error(line: Line) -> None:
    line.client.remove(line.name, "none")
    line.client.destroy("none")


def test_documents_have_the_same_shape(client: Toxiproxy, echo: str, line: Line) -> None:
    line.add("latency", latency=3)
    document = requests.get(f"http://{client.address}/proxies/link", timeout=PATIENCE_S).json()
    (toxic,) = document.pop("toxics")
    known = {name: document[name] for name in ("name", "upstream", "enabled")}
    assert known == {"name": "link", "upstream": echo, "enabled": True}
    assert toxic == {
        "attributes": {"latency": 3, "jitter": 0},
        "name": "latency_downstream",
        "type": "latency",
        "stream": "downstream",
        "toxicity": 1,
    }


def test_two_clients_have_two_servers(tmp_path: Path, client: Toxiproxy) -> None:
    """In toxiproxy-python the second object moves the first one, too."""
    with running("ours", tmp_path) as other:
        other.create("only-there", upstream="127.0.0.1:1")
        assert "only-there" not in client.proxies()
        assert "only-there" in other.proxies()


def test_server_that_says_nothing_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toxiproxy, "CALL_TIMEOUT_S", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        with pytest.raises(ToxiproxyError, match="does not answer") as error:
            Toxiproxy(port=deaf.getsockname()[1]).proxies()
        assert error.value.status == -1


def test_server_that_cannot_listen_says_why(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port, log = taken.getsockname()[1], tmp_path / "log"
        process = toxiproxy.start(toxiproxy.own_argv(), "127.0.0.1", port, log, {"PYTHONPATH": os.getcwd()})
        pidfd.wait_dead(process, PATIENCE_S)
    with pytest.raises(ToxiproxyError, match=r"did not start: .*address already in use"):
        toxiproxy.wait_ready(Toxiproxy(port=port), process, log)


def test_linger_of_a_reset_is_seen(echo: str) -> None:
    """The observation itself: a reset by hand reads as one."""
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, socket.create_connection(listener.getsockname()) as connection:
        peer, _ = listener.accept()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        assert ending(connection) == "reset"
