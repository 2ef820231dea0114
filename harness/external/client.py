"""A client process in the run: its lives, its session, and what every such client does alike.

Question: what is the same for a producer and a consumer of another implementation?

Model. ``start`` makes the process; each life gets a new :class:`Session`, opens what it is (``opening``), and its clock
is asked every second. What the client says without being asked for is a note of its node. The address of the
NameServers and the instance name are the same in every life, so that a member of a group that comes back is the same
member.

Limits. What was under way when a life ended is never completed in the history: nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from harness.backends.backend import HostsProcesses
from harness.errors import BackendUnavailable, ClusterError
from harness.external.adapters import Command
from harness.external.protocol import Assigned, Checking, Delivering, Done, Hello, Tried, Trouble, Trying
from harness.external.session import Session
from harness.workloads.measuring import Process
from harness.workloads.workload import Stage
from reference_impl.digits import is_number
from reference_impl.environment import SECOND
from reference_impl.wire.codes import response_name

CLOCK_EVERY_NS: Final = SECOND
_CODE: Final = "CODE_"


class ExternalClient:
    """``ClientPeer`` and ``Listener`` of one client process."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage, self.recorder, self.name = stage, stage.recorder, name
        self.session: Session | None = None
        self.handle = -1
        """Of what was opened in this life; −1 while nothing is."""
        self.stopped = False
        self._free: list[Process] = []

    def start(self, command: Command) -> None:
        """Make the process."""
        backend = self.stage.backend
        if not isinstance(backend, HostsProcesses):
            raise BackendUnavailable(
                f"{self.name} is a process of another implementation: the backend {backend.name} has none",
                hint="--backend process",
            )
        backend.add_client_process(self.name, command.argv, command.environment, self)

    def opening(self) -> dict[str, Any]:
        """What it opens: fields of the command ``open``."""
        raise NotImplementedError

    def opened(self) -> None:
        """It is open now."""

    # ClientPeer ------------------------------------------------------------------------------------------------------

    def on_started(self, write: Callable[[bytes], None]) -> None:
        self.handle = -1
        self.session = Session(self.name, write, self.stage.backend.now, self)

    def on_output(self, data: bytes) -> None:
        if self.session is not None:
            self.session.feed(data)

    def on_ended(self) -> None:
        if self.session is not None:
            self.session.died()
        self.handle = -1

    # Listener --------------------------------------------------------------------------------------------------------

    def on_hello(self, session: Session, line: Hello) -> None:
        self._note("hello", {"client": line.client, "tells_attempts": line.tells_attempts})
        fields = {
            "nameservers": ";".join(self.stage.nameservers.values()),
            "instance": self.name,
            **self.opening(),
        }
        self.handle = -1
        number = session.command("open", lambda done: self._opened(number, done), **fields)
        self._ask_clock(session)

    def on_trying(self, session: Session, line: Trying) -> None:
        session.answer("go", line.question)

    def on_tried(self, session: Session, line: Tried) -> None:
        """Not ours."""

    def on_delivering(self, session: Session, line: Delivering) -> None:
        session.answer("consumed", line.question, result="later")

    def on_checking(self, session: Session, line: Checking) -> None:
        session.answer("checked", line.question, result="unknown")

    def on_assigned(self, session: Session, line: Assigned) -> None:
        queues = [self.recorder.queue(line.topic, broker, queue) for broker, queue in line.queues]
        at = list(session.ours(line.at))
        self._note("assigned", {"topic": line.topic, "queues": queues, "at_ns": at})

    def on_trouble(self, session: Session, line: Trouble) -> None:
        self._note("trouble", {"text": line.text})

    # For subclasses --------------------------------------------------------------------------------------------------

    def take_process(self) -> Process:
        """One that has nothing under way."""
        return self._free.pop() if self._free else Process(self.recorder.process())

    def give_back(self, process: Process, outcome: str) -> None:
        """It has ended what it did; after ``info`` it goes on under another number."""
        if outcome == "info":
            process.number, process.sequence = self.recorder.process(), 0
        self._free.append(process)

    def _note(self, step: str, detail: dict[str, Any]) -> None:
        self.recorder.event("note", node=self.name, step=step, detail=detail)

    def _opened(self, number: int, done: Done) -> None:
        if done.status != "OK":
            raise ClusterError(f"{self.name} could not open what it is: {done.status}: {done.error}")
        self.handle = number
        self.opened()

    def _ask_clock(self, session: Session) -> None:
        if not session.ended and not self.stopped:
            session.ask_clock()
            self.stage.backend.after(CLOCK_EVERY_NS, lambda: self._ask_clock(session))


def status_word(status: str) -> str:
    """RocketMQ's name of a response code that an adapter gives as a number."""
    number = status.removeprefix(_CODE)
    return response_name(int(number)) if status.startswith(_CODE) and is_number(number) else status
