"""One folder, two brokers: the reference goes on where Apache was killed, and Apache where the reference was.

Question: does each understand everything that the other has left? One folder goes back and forth; before each start it
is read by the formats alone (``content.on_disk``), then the broker that was started on it is asked for all of it, and
goes on writing. Ends are kills with sends under way, or orderly stops.

    Apache ── load, end ──► reference ── load, end ──► Apache
"""

from __future__ import annotations

from pathlib import Path

import pytest

from reference_impl.environment import SECOND
from suites.conformance.broker.backend_peer import BackendPeer
from suites.conformance.broker.peer import eventually
from suites.conformance.interchange.content import (
    Content,
    as_served,
    assert_same,
    log_of,
    on_disk,
    queue_units,
    scan_start,
)
from suites.conformance.interchange.load import (
    FILE_SIZE,
    GROUPS,
    QUICK_TABLES,
    TOPICS,
    Stored,
    give,
    make_tables,
    send_without_waiting,
)
from suites.conformance.interchange.nodes import (
    APACHE,
    APACHE_5,
    Implementations,
    real_nodes,
    release_of,
    store_of,
)
from suites.minutes import needs_minutes

pytestmark = [pytest.mark.slow, pytest.mark.requires("java")]

NODE = "broker-a-0"
TABLES = ("consumerOffset.json", "delayOffset.json")


class Folder:
    """A broker's store that changes hands."""

    def __init__(self, folder: Path, implementations: Implementations, peer: BackendPeer) -> None:
        self.store, self._implementations, self._peer = store_of(folder, NODE), implementations, peer
        self.given: list[Stored] = []
        self._indexed_from = 0
        make_tables(peer)

    def write(self, act: str) -> None:
        """Load; on return the tables that are saved now and then are saved."""
        saved = {name: self._saved(name) for name in TABLES}
        self.given += give(self._peer, act)
        eventually(self._peer, lambda: all(self._saved(name) != saved[name] for name in TABLES) or None)
        self._peer.sleep(SECOND)

    def hand_over(self, target: str, how: str) -> None:
        """End the broker, read what it left, start *target* on it and ask for all of it."""
        if how == "kill":
            send_without_waiting(self._peer, f"before {target}")
        self._peer.end(how)
        if how == "kill":
            self._indexed_from = scan_start(self.store)
        log, content = log_of(self.store), self._content()
        self._implementations[NODE] = target
        self._peer.begin()
        served = eventually(self._peer, lambda: self._served(content))
        assert_same(served, content)
        assert content.count >= len(self.given)
        assert (set(content.topics), set(content.groups)) == (set(TOPICS), set(GROUPS))
        self._find_what_was_given(content)
        assert log_of(self.store)[: len(log)] == log, "not a byte of it was changed"
        self._same_units(content)

    def _served(self, content: Content) -> Content | None:
        """Once everything is dispatched."""
        served = as_served(self._peer, content)
        return served if served.count >= content.count else None

    def _find_what_was_given(self, content: Content) -> None:
        """Where the acknowledgements said."""
        for one in self.given:
            message = content.message(one.topic, one.queue, one.offset)
            assert (message.body, message.physical_offset) == (one.body, one.position)

    def _same_units(self, content: Content) -> None:
        for topic, queue in content.records:
            assert queue_units(self.store, topic, queue) == content.units(topic, queue), (topic, queue)

    def _content(self) -> Content:
        return on_disk(self.store, FILE_SIZE, list(TOPICS), GROUPS, self._indexed_from)

    def _saved(self, name: str) -> bytes:
        path = self.store / "config" / name
        return path.read_bytes() if path.exists() else b""


@pytest.mark.parametrize(
    ("apache", "how"),
    [(APACHE, "kill"), needs_minutes(APACHE, "stop"), needs_minutes(APACHE_5, "kill"), needs_minutes(APACHE_5, "stop")],
)
def test_a_folder_goes_from_hand_to_hand(apache: str, how: str, tmp_path: Path) -> None:
    nodes = Implementations({"namesrv-1": "reference", NODE: apache})
    properties = {"mappedFileSizeCommitLog": str(FILE_SIZE), "waitTimeMillsInSendQueue": "20000", **QUICK_TABLES}
    properties |= {"maxHashSlotNum": "500", "maxIndexNum": "20000", "release": release_of(apache)}
    with real_nodes(nodes, tmp_path) as backend:
        folder = Folder(tmp_path, nodes, BackendPeer(backend, release=release_of(apache), properties=properties))
        folder.write("first")
        folder.hand_over("reference", how)
        folder.write("second")
        folder.hand_over(apache, how)
