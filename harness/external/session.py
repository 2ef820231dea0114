"""One life of one client process: commands out, lines in, and who waits for which answer.

Question: the process said something; whose business is it?

Model. A plain object without any input or output of its own: bytes come in by ``feed``, bytes leave through *write*.
``command`` numbers a command and remembers who wants to hear of its end. The client's clock is asked when it has said
hello and whenever ``ask_clock`` is called; every line's stamp can then be put on our clock (``stamps``).

Limits. When the process ends, nobody who waits is called: what was under way is unknown for ever, and ``ended`` says
that it is. A client that speaks another version of the protocol is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from harness.errors import ClusterError
from harness.external.protocol import (
    LINE_MAX_BYTES,
    PROTOCOL,
    Assigned,
    Checking,
    ClockLine,
    Delivering,
    Done,
    Hello,
    Tried,
    Trouble,
    Trying,
    decode,
    encode,
)
from harness.external.stamps import Stamps


class Listener(Protocol):
    """Who uses the client."""

    def on_hello(self, session: Session, line: Hello) -> None: ...

    def on_trying(self, session: Session, line: Trying) -> None: ...

    def on_tried(self, session: Session, line: Tried) -> None: ...

    def on_delivering(self, session: Session, line: Delivering) -> None: ...

    def on_checking(self, session: Session, line: Checking) -> None: ...

    def on_assigned(self, session: Session, line: Assigned) -> None: ...

    def on_trouble(self, session: Session, line: Trouble) -> None: ...


class Session:
    """*client* is its name in the run; *now* gives nanoseconds of our clock."""

    def __init__(self, client: str, write: Callable[[bytes], None], now: Callable[[], int], listener: Listener) -> None:
        self.client, self._write, self._now, self._listener = client, write, now, listener
        self.hello: Hello | None = None
        self.stamps = Stamps()
        self.ended = False
        self._rest = b""
        self._line_count = self._command_count = 0
        self._waiting: dict[int, Callable[[Done], None]] = {}
        self._asked_clock: dict[int, int] = {}

    @property
    def open_commands(self) -> int:
        """How many commands have not ended."""
        return len(self._waiting)

    def feed(self, data: bytes) -> None:
        """Bytes from its standard output, split anywhere."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_MAX_BYTES:
            raise ClusterError(f"{self.client} said a line without an end", place=f"line {self._line_count + 1}")
        for line in whole:
            self._line_count += 1
            if line.strip():
                self._take(line)

    def command(self, do: str, then: Callable[[Done], None], /, **fields: Any) -> int:
        """Send a command; ``then(done)`` when it has ended, never if the process ends before. Returns its number."""
        number = self._numbered()
        self._waiting[number] = then
        self._say({"do": do, "id": number, **fields})
        return number

    def answer(self, do: str, question: int, **fields: Any) -> None:
        """Let the client go on from its *question*."""
        self._say({"do": do, "question": question, **fields})

    def ask_clock(self) -> None:
        """One more exchange of stamps."""
        number = self._numbered()
        self._asked_clock[number] = self._now()
        self._say({"do": "clock", "id": number})

    def end(self) -> None:
        """Ask the process for its orderly end."""
        self._say({"do": "end"})

    def died(self) -> None:
        """The process has ended: nothing comes any more."""
        self.ended = True
        self._waiting.clear()

    def ours(self, at: int) -> tuple[int, int]:
        """The bounds of a stamp of theirs on our clock; from 0 to now before the first exchange."""
        return self.stamps.ours(at) if self.stamps.exchanges else (0, self._now())

    def _numbered(self) -> int:
        self._command_count += 1
        return self._command_count

    def _say(self, command: dict[str, Any]) -> None:
        if not self.ended:
            self._write(encode(command))

    def _take(self, data: bytes) -> None:
        line = decode(data, self.client, self._line_count)
        if isinstance(line, Hello):
            self._greeted(line)
        elif self.hello is None:
            raise ClusterError(f"{self.client} did not begin with hello", hint="docs/clients.md")
        elif isinstance(line, ClockLine):
            self._told_clock(line)
        elif isinstance(line, Done):
            self._done(line)
        else:
            self._hand_over(line)

    def _greeted(self, line: Hello) -> None:
        if line.protocol != PROTOCOL:
            raise ClusterError(f"{self.client} speaks protocol {line.protocol}, we speak {PROTOCOL}")
        self.hello = line
        self.ask_clock()
        self._listener.on_hello(self, line)

    def _told_clock(self, line: ClockLine) -> None:
        asked_ns = self._asked_clock.pop(line.id, None)
        if asked_ns is None:
            raise ClusterError(f"{self.client} told its clock (id {line.id}) although nobody had asked")
        self.stamps.exchanged(asked_ns, line.at, self._now())

    def _done(self, line: Done) -> None:
        then = self._waiting.pop(line.id, None)
        if then is None:
            raise ClusterError(f"{self.client} ended command {line.id}, which is not under way")
        then(line)

    def _hand_over(self, line: Trying | Tried | Delivering | Checking | Assigned | Trouble) -> None:
        match line:
            case Trying():
                self._listener.on_trying(self, line)
            case Tried():
                self._listener.on_tried(self, line)
            case Delivering():
                self._listener.on_delivering(self, line)
            case Checking():
                self._listener.on_checking(self, line)
            case Assigned():
                self._listener.on_assigned(self, line)
            case Trouble():
                self._listener.on_trouble(self, line)
