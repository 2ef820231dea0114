"""A producer of another implementation: a timetable of sends, and what its application and its attempts came to.

Question: what does the history say of a send whose retries happen inside somebody else's client?

Model. The send as the application sees it is an op ``produce``. Each attempt is an op ``send`` with the queue and the
broker that the client chose, begun when the client says ``trying`` (it waits until that is written down) and ended by
``tried``; where a client cannot tell the end of an attempt, the next one or the end of the send shows that it is over,
and its outcome is unknown unless it is the last. So the log of every queue is judged as with our own producers.

With keys (``keys`` > 0) each message has a sharding key, and the next message of a key is sent when the one before it
was answered: what is "in order" is then a fact of the history.

Limits. A client that does not tell attempts gives no ``send`` at all: its log cannot be judged. At most
:data:`IN_FLIGHT_MAX` sends are under way; what comes due beyond them is *withheld* and counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from harness.external.client import ExternalClient, status_word
from harness.external.protocol import Done, Tried, Trying
from harness.external.session import Session
from harness.payload import Body, encode
from harness.workloads.measuring import Process, position_of
from harness.workloads.workload import Stage
from reference_impl.environment import SECOND

IN_FLIGHT_MAX: Final = 32
GROUP: Final = "mqchaos"
STORED: Final = ("ok", "weak")


class _Send:
    """One send under way."""

    __slots__ = ("attempt_op", "attempt_process", "is_unknown", "key", "message", "op", "process")

    def __init__(self, process: Process, op: int, message: int, key: str) -> None:
        self.process, self.op, self.message, self.key = process, op, message, key
        self.attempt_op = -1
        self.attempt_process: Process | None = None
        self.is_unknown = False
        """Whether an attempt of it may have been stored without our knowing."""


class ExternalProducer(ExternalClient):
    """Producer *number* of ``load.producers``; *keys* sharding keys are its own."""

    def __init__(self, stage: Stage, name: str, number: int, counts: Counter[str], keys: int = 0) -> None:
        super().__init__(stage, name)
        load = stage.load
        self._counts, self._number = counts, number
        self._quota = load.rate_per_s * load.duration_ns // SECOND // load.producers
        self._every_ns = load.producers * SECOND // load.rate_per_s
        self._due_ns = -1
        self._given = 0
        self._keys = [f"{name}/{key}" for key in range(keys)]
        self._busy_keys: set[str] = set()
        self._sends: dict[int, _Send] = {}
        self.acknowledged: set[int] = set()
        """Messages that its client said are stored."""

    @property
    def done(self) -> bool:
        """The timetable is at its end."""
        return self._given >= self._quota

    @property
    def in_flight(self) -> int:
        return len(self._sends)

    def opening(self) -> dict[str, Any]:
        return {"role": "producer", "group": GROUP, "tell_attempts": True}

    def opened(self) -> None:
        if self._due_ns < 0:
            self._due_ns = self.stage.backend.now() + self._every_ns * self._number // self.stage.load.producers
            self._tick()

    def on_ended(self) -> None:
        super().on_ended()
        self._sends.clear()  # never completed: unknown
        self._busy_keys.clear()

    def _tick(self) -> None:
        now_ns = self.stage.backend.now()
        while self._due_ns <= now_ns and not self.done and not self.stopped:
            self._send_next()
            self._given += 1
            self._due_ns += self._every_ns
        if self.done:
            self._counts["finished"] += 1
        elif not self.stopped:
            self.stage.backend.after(self._due_ns - now_ns, self._tick)

    def _send_next(self) -> None:
        key = self._next_key()
        if self.session is None or self.handle < 0 or self.in_flight >= IN_FLIGHT_MAX or key is None:
            self._counts["withheld"] += 1
            return
        send, body = self._begin(key)
        message = {"topic": self.stage.topic, "body": body}
        fields: dict[str, Any] = {"message": message, "from": self.handle} | ({"shard": key} if key else {})
        self._counts["sent"] += 1
        number = self.session.command("send", lambda done: self._done(number, done), **fields)
        self._sends[number] = send
        if key:
            self._busy_keys.add(key)

    def _next_key(self) -> str | None:
        """Whose turn it is; empty without keys, ``None`` while the message before it is under way."""
        if not self._keys:
            return ""
        key = self._keys[self._given % len(self._keys)]
        return None if key in self._busy_keys else key

    def _begin(self, key: str) -> tuple[_Send, bytes]:
        size = self.stage.load.draw_size(self.stage.rng)
        process = self.take_process()
        message = self.recorder.message(
            process.number, process.sequence, size, sharding_key=key, kind="ordered" if key else "plain"
        )
        body = encode(Body(self.recorder.run, message, process.number, process.sequence), size)
        process.sequence += 1
        return _Send(process, self.recorder.invoke(process.number, "produce", message=message), message, key), body

    def on_trying(self, session: Session, line: Trying) -> None:
        send = self._sends[line.id]
        self._end_attempt(send, "NOT_TOLD")
        send.attempt_process = self.take_process()
        send.attempt_op = self.recorder.invoke(
            send.attempt_process.number,
            "send",
            queue=self.recorder.queue(self.stage.topic, line.broker, line.queue),
            message=send.message,
            node=line.broker,
        )
        session.answer("go", line.question)

    def on_tried(self, session: Session, line: Tried) -> None:
        if (send := self._sends.get(line.id)) is not None:
            self._end_attempt(send, status_word(line.status), line.offset, line.message_id, line.error)

    def _end_attempt(self, send: _Send, status: str, offset: int = -1, message_id: str = "", error: str = "") -> None:
        if send.attempt_op < 0 or send.attempt_process is None:
            return
        outcome = self.stage.classify("send", status)
        is_stored = outcome in STORED
        self.recorder.complete(
            send.attempt_op,
            outcome,
            status,
            offset=offset if is_stored else -1,
            position=position_of(message_id) if is_stored else -1,
            detail="" if is_stored else error,
        )
        self.give_back(send.attempt_process, outcome)
        send.attempt_op, send.attempt_process = -1, None
        send.is_unknown |= outcome == "info"

    def _done(self, number: int, done: Done) -> None:
        send = self._sends.pop(number)
        self._busy_keys.discard(send.key)
        status = status_word(done.status)
        self._end_attempt(send, status, done.offset, done.message_id, done.error)
        outcome = self.stage.classify("send", status)
        if outcome == "fail" and (send.is_unknown or not self._tells_attempts):
            outcome = "info"  # an attempt before the last one may be stored
        if outcome == "ok":
            self.acknowledged.add(send.message)
        self._counts[outcome] += 1
        detail = {"broker": done.broker, "error": done.error}
        self.recorder.complete(send.op, outcome, status, detail={key: value for key, value in detail.items() if value})
        self.give_back(send.process, outcome)

    @property
    def _tells_attempts(self) -> bool:
        return self.session is not None and self.session.hello is not None and self.session.hello.tells_attempts
