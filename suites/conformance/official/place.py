"""A small cluster, and an official client in front of it that does what a case says.

Question: what does this client get for an answer from this broker, step by step?

Model. One NameServer and one broker (the reference, or Apache's) as processes; a client is an adapter process
(``docs/clients.md``). A case calls ``client.do("send", …)`` and gets the line ``done``; what listeners are given
gathers in ``client.given``, and how they answer is the case's (``client.judge``). Waiting is bounded and by condition.

Limits. One broker: what takes several is for the chaos runs.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.external.adapters import client_command, java_folder
from harness.external.protocol import Assigned, Checking, Delivering, Done, Hello, Tried, Trouble, Trying
from harness.external.session import Session
from harness.java import find_java
from harness.worlds import open_target
from reference_impl.environment import MS, SECOND
from suites.conformance.broker.backend_peer import BackendPeer
from suites.conformance.broker.peer import create_topic
from suites.conformance.interchange.nodes import release_of

MQADMIN = "org.apache.rocketmq.tools.command.MQAdminStartup"
PATIENCE_NS = 40 * SECOND
BROKER = {"enablePropertyFilter": "true", "transactionCheckInterval": "2000", "transactionTimeOut": "1000"}
"""What the cases need; short times for transactions that nobody ends."""


class OfficialClient:
    """One adapter process; ``ClientPeer`` and ``Listener``."""

    def __init__(self, place: Place, name: str, kind: str) -> None:
        self._place, self.name = place, name
        self.session: Session | None = None
        self.given: list[Delivering] = []
        self.checked: list[Checking] = []
        self.assigned: list[Assigned] = []
        self.judge: Callable[[Delivering], Mapping[str, Any]] = lambda line: {"result": "ok"}
        self.state: Callable[[Checking], str] = lambda line: "unknown"
        command = client_command(kind)
        place.backend.add_client_process(name, command.argv, command.environment, self)
        place.wait(lambda: self.session is not None and self.session.hello is not None)

    # What a case says ------------------------------------------------------------------------------------------------

    def do(self, what: str, /, patience_ns: int = PATIENCE_NS, **fields: Any) -> Done:
        """Carry out a command and wait for its end."""
        ended: list[Done] = []
        self.begin(what, ended.append, **fields)
        assert self._place.wait(lambda: bool(ended), patience_ns), f"{what} {fields} did not end"
        return ended[0]

    def begin(self, what: str, then: Callable[[Done], None], /, **fields: Any) -> int:
        """Send a command; *then* is called at its end. Handles are the numbers of ``open``."""
        assert self.session is not None
        return self.session.command(what, then, **fields)

    def open(self, role: str, **fields: Any) -> int:
        """Open something; its handle."""
        ended: list[Done] = []
        common = {"role": role, "nameservers": self._place.namesrv, "instance": self._place.unique("i")}
        handle = self.begin("open", ended.append, **common, **fields)
        assert self._place.wait(lambda: bool(ended)), f"open {role} did not end"
        assert ended[0].status == "OK", ended[0].error
        return handle

    def bodies(self) -> list[str]:
        """Of what listeners were given, in order."""
        return [line.body.decode() for line in self.given]

    def wait_given(self, count: int, patience_ns: int = PATIENCE_NS) -> bool:
        """Until listeners were given so many messages."""
        return self._place.wait(lambda: len(self.given) >= count, patience_ns)

    # ClientPeer and Listener -----------------------------------------------------------------------------------------

    def on_started(self, write: Callable[[bytes], None]) -> None:
        self.session = Session(self.name, write, self._place.backend.now, self)

    def on_output(self, data: bytes) -> None:
        assert self.session is not None
        self.session.feed(data)

    def on_ended(self) -> None:
        if self.session is not None:
            self.session.died()

    def on_hello(self, session: Session, line: Hello) -> None: ...

    def on_trying(self, session: Session, line: Trying) -> None:
        session.answer("go", line.question)

    def on_tried(self, session: Session, line: Tried) -> None: ...

    def on_delivering(self, session: Session, line: Delivering) -> None:
        self.given.append(line)
        session.answer("consumed", line.question, **self.judge(line))

    def on_checking(self, session: Session, line: Checking) -> None:
        self.checked.append(line)
        session.answer("checked", line.question, result=self.state(line))

    def on_assigned(self, session: Session, line: Assigned) -> None:
        self.assigned.append(line)

    def on_trouble(self, session: Session, line: Trouble) -> None:
        raise AssertionError(line.text)


class Place:
    """The cluster; ``client(kind)`` is a client process, made at its first use."""

    def __init__(self, backend: ProcessBackend, peer: BackendPeer) -> None:
        self.backend, self.peer = backend, peer
        self.namesrv, self.broker = peer.namesrv, peer.broker
        self._clients: dict[tuple[str, int], OfficialClient] = {}
        self._names = 0

    def client(self, kind: str, number: int = 0) -> OfficialClient:
        """The process of that kind (``java:4.9.8``) and number, for the next case: nothing given yet."""
        client = self._clients.get((kind, number))
        if client is None:
            name = f"client-{len(self._clients) + 10}"
            client = self._clients[kind, number] = OfficialClient(self, name, kind)
        client.given, client.checked, client.assigned = [], [], []
        client.judge = lambda line: {"result": "ok"}
        client.state = lambda line: "unknown"
        return client

    def unique(self, stem: str) -> str:
        """A name that nobody has had here."""
        self._names += 1
        return f"{stem}{self._names}"

    def topic(self, queues: int = 4) -> str:
        """A fresh topic."""
        name = self.unique("Official")
        create_topic(self.peer, name, queues)
        return name

    def wait(self, done: Callable[[], bool], patience_ns: int = PATIENCE_NS) -> bool:
        """Whether it held in time."""
        return self.backend.run_until(done, self.backend.now() + patience_ns)

    def pass_time(self, duration_ns: int) -> None:
        """For what must *not* happen."""
        self.wait(lambda: False, duration_ns)

    def mqadmin(self, version: str, *words: str) -> tuple[int, str]:
        """The official tools' command line: exit code, and output with what it complains of."""
        folder = java_folder(version)
        java = (str(find_java().executable), "-Xmx128m", "-XX:TieredStopAtLevel=1", f"-Drocketmq.home.dir={folder}")
        argv = [*java, "-cp", f"{folder / 'classes'}:{folder / 'lib'}/*", MQADMIN]
        argv += [*words, "-n", self.namesrv]

        def run() -> tuple[int, str]:
            done = subprocess.run(
                self.backend.beside("client-1", argv), capture_output=True, text=True, timeout=60, check=False
            )
            assert done.stdout or done.stderr, f"{words[0]} said nothing at all"
            return done.returncode, done.stdout + complaint(done.stderr)

        return self.backend.perform(run)


def complaint(trace: str) -> str:
    """The answer of a server in an exception that a tool prints, else the exception's own words, as a line."""
    found = re.search(r"CODE: \d+ +DESC: [^\n]*", trace) or re.search(r"\w+Exception: [^\n]*", trace)
    return f"\ncomplaint: {found[0]}" if found else ""


@contextmanager
def place(target: str, folder: Path, properties: Mapping[str, str] | None = None) -> Iterator[Place]:
    """A running cluster of *target*, in namespaces of its own where that can be had."""
    the_target = open_target(target)
    the_target.prepare()
    journal = HealJournal.open("official", folder / "heal")
    backend = ProcessBackend("official", folder / "nodes", the_target, journal)
    try:
        release = release_of(target)
        yield Place(backend, BackendPeer(backend, release=release, properties={**BROKER, **dict(properties or {})}))
    finally:
        backend.close()
        journal.close()


__all__ = ["MS", "SECOND", "OfficialClient", "Place", "place"]
