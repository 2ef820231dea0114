"""The line protocol between the harness and a client of any make: what may be said, by whom.

Question: how does a program in any language become a client of a run? It reads commands from its standard input and
writes lines to its standard output, one JSON object each. The page for writers of adapters is ``docs/clients.md``.

    harness → client   clock, open, close, send, send_batch, request, poll …, end   commands, each with its own ``id``
                       go, consumed, checked                                        answers to a ``question``
    client → harness   hello, clock, done, tried, assigned, trouble                 statements
                       trying, delivering, checking                                 questions: the client waits

Model. Every line of a client carries ``at``: nanoseconds of its own monotonic clock. ``done`` ends the command with
that ``id``. A question makes the order of events certain without any clock: what the client does after the answer
happened after the harness had written the question down.

Limits. A line that cannot be read is an error of the client and ends the run: it is never skipped. Unknown fields are
ignored, so that an adapter may say more than is asked.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from harness.errors import ClusterError

PROTOCOL: Final = 1
LINE_MAX_BYTES: Final = 32 * 1024 * 1024
"""Longer than any message with its body in base64."""


class Line(msgspec.Struct, tag_field="is", gc=False):
    """What a client says; ``at`` is its own monotonic clock in nanoseconds."""

    at: int


class Hello(Line, tag="hello"):
    """The first line. ``tells_attempts``: each attempt of a send is told before it leaves."""

    protocol: int
    client: str
    tells_attempts: bool = False


class ClockLine(Line, tag="clock"):
    id: int


class Shown(msgspec.Struct, gc=False, kw_only=True):
    """A message as a consumer of theirs sees it; ``body`` is base64 on the line."""

    topic: str
    body: bytes
    broker: str = ""
    queue: int = -1
    offset: int = -1
    message_id: str = ""
    times: int = 0
    """How often it had been given back before."""
    born_ms: int = -1
    stored_ms: int = -1
    properties: dict[str, str] = msgspec.field(default_factory=dict)


class Done(Line, tag="done", kw_only=True):
    """The command *id* has ended. What it was told is here; what does not apply is left out."""

    id: int
    status: str
    broker: str = ""
    queue: int = -1
    offset: int = -1
    message_id: str = ""
    unique_key: str = ""
    transaction_id: str = ""
    error: str = ""
    code: int = -1
    body: bytes = b""
    messages: list[Shown] = msgspec.field(default_factory=list)
    queues: list[tuple[str, int]] = msgspec.field(default_factory=list)


class Trying(Line, tag="trying", kw_only=True):
    """An attempt of the send *id* is about to leave for this queue."""

    question: int
    id: int
    broker: str
    queue: int
    address: str = ""


class Tried(Line, tag="tried", kw_only=True):
    """The last attempt of the send *id* has ended."""

    id: int
    status: str
    offset: int = -1
    message_id: str = ""
    error: str = ""


class Delivering(Line, tag="delivering", kw_only=True):
    """The application gets this message now, and waits for what became of it. ``topic`` and ``queue`` are where it was
    read, ``origin`` the topic that it was sent to (another one, if it had been given back)."""

    question: int
    consumer: int
    topic: str
    body: bytes
    origin: str = ""
    broker: str = ""
    queue: int = -1
    offset: int = -1
    message_id: str = ""
    times: int = 0
    born_ms: int = -1
    stored_ms: int = -1
    properties: dict[str, str] = msgspec.field(default_factory=dict)


class Checking(Line, tag="checking", kw_only=True):
    """A broker asks what became of the transaction that this message belongs to."""

    question: int
    topic: str
    body: bytes
    transaction_id: str = ""
    properties: dict[str, str] = msgspec.field(default_factory=dict)


class Assigned(Line, tag="assigned", kw_only=True):
    """A rebalance gave this consumer exactly these queues of the topic: (broker, queue id)."""

    consumer: int
    topic: str
    queues: list[tuple[str, int]]


class Trouble(Line, tag="trouble", kw_only=True):
    """Something that is no answer to anything: it is written down."""

    text: str


AnyLine = Hello | ClockLine | Done | Trying | Tried | Delivering | Checking | Assigned | Trouble

_decoder: Final[msgspec.json.Decoder[AnyLine]] = msgspec.json.Decoder(AnyLine)
_encoder: Final = msgspec.json.Encoder()


def decode(data: bytes, client: str, number: int) -> AnyLine:
    """One line without its end; ``ClusterError`` with its place if it is none."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = data[:120].decode(errors="replace")
        raise ClusterError(
            f"{client} said what is no line of the protocol: {error}",
            place=f"{client}, line {number}: {text}",
            hint="standard output is for the protocol only: docs/clients.md",
        ) from None


def encode(command: dict[str, Any]) -> bytes:
    """A command or an answer with the end of its line; bytes become base64."""
    return _encoder.encode(command) + b"\n"
