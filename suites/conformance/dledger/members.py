"""Members of a DLedger group as nodes of a backend, and a client role that appends to it and reads from it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from harness.backends.backend import Backend, NodeSpec
from reference_impl.dledger.client import DLedgerClient
from reference_impl.dledger.codes import Code
from reference_impl.dledger.messages import AppendResponse, GetResponse, MetadataRequest, MetadataResponse
from reference_impl.environment import SECOND, Environment, Link
from reference_impl.wire.remoting import Remoting
from suites.conformance.dledger.dumped import Dumped, dumped

GROUP = "g"
PORT = 40911
SMALL = {"mappedFileSizeForEntryData": "65536", "mappedFileSizeForEntryIndex": "32768"}


class ClientRole:
    """Owns a ``DLedgerClient``."""

    def __init__(self, peers: dict[str, str]) -> None:
        self.remoting = Remoting()
        self.client = DLedgerClient(GROUP, peers, self.remoting)

    def on_start(self, env: Environment) -> None: ...

    def on_connected(self, env: Environment, link: Link) -> None:
        self.remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self.remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self.remoting.on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        if not self.client.on_timer(env, key):
            self.remoting.on_timer(env, key)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None:
        env.exit()


class Members:
    """*size* members on *backend*, started, with a leader."""

    def __init__(self, backend: Backend, size: int = 3, defects: tuple[str, ...] = (), **properties: str) -> None:
        self.backend = backend
        self.names = [f"n{number}" for number in range(size)]
        self.peers = {name: f"{backend.host(name)}:{PORT}" for name in self.names}
        self.events: list[tuple[str, str, dict[str, Any]]] = []
        backend.on_event = lambda node, event, fields: self.events.append((node, event, fields))
        listed = ";".join(f"{name}-{address}" for name, address in self.peers.items())
        for name in self.names:
            own = {"dLegerGroup": GROUP, "dLegerPeers": listed, "dLegerSelfId": name}
            backend.add_node(NodeSpec(name, "dledger", {**own, **SMALL, **properties}, defects))
        self.role = ClientRole(self.peers)
        backend.add_client("client-1", self.role)
        for name in self.names:
            backend.levers.start(name)
        self.wait_for_leader()

    def append(self, body: bytes) -> AppendResponse:
        """The answer to one append."""
        return self._ask(lambda env, then: self.role.client.append(env, body, then))

    def get(self, index: int) -> GetResponse:
        return self._ask(lambda env, then: self.role.client.get(env, index, then))

    def metadata(self, name: str) -> MetadataResponse:
        return self._ask(lambda env, then: self.role.client.ask(env, name, MetadataRequest(), then))

    def _ask(self, ask: Any) -> Any:
        answers: list[Any] = []
        self.backend.step("client-1", lambda env: ask(env, lambda env, answer: answers.append(answer)))
        assert self.backend.run_until(lambda: bool(answers), self.backend.now() + 20 * SECOND)
        return answers[0]

    def wait_for_leader(self, *among: str, seconds: int = 40) -> str:
        """The one that a majority of *among* (all) believes in, itself included."""
        names, end_ns = among or tuple(self.names), self.backend.now() + seconds * SECOND
        while self.backend.now() < end_ns:
            known = [self.metadata(name) for name in names]
            leaders = [str(one.leader_id) for one in known if one.code == Code.SUCCESS and one.leader_id]
            for leader in leaders:
                if leader in names and leaders.count(leader) > len(self.names) // 2:
                    return leader
            self.sleep(SECOND // 5)
        raise AssertionError("no leader")

    def append_until_stored(self, body: bytes) -> AppendResponse:
        """Again while the answer says that it certainly was not stored."""
        for _ in range(200):
            answer = self.append(body)
            if answer.code not in (Code.NOT_LEADER, Code.METADATA_ERROR):
                return answer
            self.sleep(SECOND // 10)
        raise AssertionError("never stored")

    def dumped(self) -> dict[str, Dumped]:
        """What lies on the disks of all; in the simulator only."""
        return {name: self._dumped(name) for name in self.names}

    def _dumped(self, name: str) -> Dumped:
        disk, folder = self.backend.node(name).disk, f"dledger/dledger-{name}/"  # type: ignore[attr-defined]
        files = [file.removeprefix(folder) for file in disk.files(folder)]
        return dumped(files, lambda file: disk.read(folder + file, 0, disk.size(folder + file)))

    def sleep(self, duration_ns: int) -> None:
        self.backend.run_until(lambda: False, self.backend.now() + duration_ns)
