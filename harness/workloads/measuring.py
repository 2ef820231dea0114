"""The measuring client: asks once, never retries, records everything it is told.

Question: what did a broker answer to exactly this request, begun at exactly this event and ended at exactly that one?

Model. A role with one remoting endpoint. Each request is an op of one process: recorded before it is sent, completed
with the broker's own word (``SEND_OK``, ``FOUND``, ``TOPIC_NOT_EXIST`` …) or with what became of the call
(``CONNECT_FAILED``: certainly not sent; ``TIMEOUT`` and ``CONNECTION_CLOSED``: nobody knows). A call that times out
closes its connection, as Java's synchronous calls do, so that a client does not sit on a dead one. What a process got
``info`` for may still happen: the process goes on under a new number.

Sends ask for a template topic that does not exist, so that no send creates a topic by itself: a topic that a broker
has lost stays lost until an operator acts, and is seen to be lost.

Limits. Time-outs are longer than RocketMQ's own waits (5 s for a flush, 5 s for a slave), else a client would see
``TIMEOUT`` where the broker was about to say what happened.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

import msgspec

from checkers.history import strays
from harness.payload import Body, Unrecognised, decode, encode
from harness.recorder import Detail
from harness.workloads.workload import QueueAddress, Stage
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.wire.codes import RequestCode, ResponseCode, response_name
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.message import (
    COMPRESSED,
    BatchEntry,
    Message,
    UniqueKeys,
    decode_records,
    encode_batch,
    properties_text,
)
from reference_impl.wire.remoting import Answer, CallFailed, Remoting

SEND_TIMEOUT_NS: Final = 8 * SECOND
SUSPEND_MS: Final = 1_000
PULL_TIMEOUT_NS: Final = 3 * SECOND
SUSPENDED_TIMEOUT_NS: Final = 7 * SECOND
"""RocketMQ sweeps parked pulls every 5 s, so an answer may come 5 s after the suspension that was asked for."""

QUERY_TIMEOUT_NS: Final = 3 * SECOND
PAUSE_NS: Final = 200 * MS
"""After an answer on which it is no use to ask again at once."""

BATCH_MAX: Final = 32
GROUP: Final = "mqchaos"

_FAILED: Final = {"connect": "CONNECT_FAILED", "timeout": "TIMEOUT", "closed": "CONNECTION_CLOSED"}
_SUSPEND, _SUBSCRIPTION = 2, 4


MALFORMED: Final = "MALFORMED_BODY"
"""An answer whose body holds no whole records."""


class Process:
    """One logical client: its number now, and how many messages it has sent under it."""

    __slots__ = ("number", "sequence")

    def __init__(self, number: int) -> None:
        self.number, self.sequence = number, 0


class Pulled(msgspec.Struct, gc=False):
    """How a pull ended. ``next_offset`` and the ``suggested`` broker id are −1 where the broker said none; ``remark``
    is what it said of a refusal."""

    status: str
    next_offset: int
    count: int
    suggested: int = -1
    remark: str = ""


class MeasuringClient:
    """A client node (``Role``). Subclasses decide what to ask, in ``on_start`` and ``on_timer``."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage, self.recorder, self.name = stage, stage.recorder, name
        self.remoting = Remoting()
        self.in_flight = 0
        self.last_offset = -1
        """Queue offset in the last answer to a send."""
        self.stopped = False
        """Set by the workload: begin nothing any more."""
        self._keys: UniqueKeys | None = None

    # The role --------------------------------------------------------------------------------------------------------

    def on_start(self, env: Environment) -> None:
        """Nothing to recover."""

    def on_connected(self, env: Environment, link: Link) -> None:
        self.remoting.on_connected(env, link)

    def on_closed(self, env: Environment, link: Link) -> None:
        self.remoting.on_closed(env, link)

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None:
        self.remoting.on_bytes(env, link, data)

    def on_timer(self, env: Environment, key: Hashable) -> None:
        self.remoting.on_timer(env, key)

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None:
        """Clients have no files."""

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None:
        """Clients have no files."""

    def on_stop(self, env: Environment) -> None:
        self.remoting.close_all(env)
        env.exit()

    # Operations ------------------------------------------------------------------------------------------------------

    def send(
        self,
        env: Environment,
        process: Process,
        queue: QueueAddress,
        then: Callable[[Environment, str], None],
        *,
        f: str = "send",
    ) -> None:
        """One message to one queue; ``then(env, outcome)``. Under another name it is a send to exactly *queue.node*."""
        recorder, stage = self.recorder, self.stage
        size = stage.load.draw_size(stage.rng)
        message = recorder.message(process.number, process.sequence, size)
        body = encode(Body(recorder.run, message, process.number, process.sequence), size)
        process.sequence += 1
        node = queue.broker if f == "send" else queue.node
        op = recorder.invoke(process.number, f, queue=queue.queue, message=message, node=node)

        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            then(env, self._sent(op, process, answer, by=queue.node if queue.is_moved else ""))

        self.in_flight += 1
        request = Command(RequestCode.SEND_MESSAGE_V2, self._send_fields(env, queue), body)
        self.remoting.call(env, queue.address, request, SEND_TIMEOUT_NS, answered, close_on_timeout=True)

    def send_batch(
        self,
        env: Environment,
        processes: Sequence[Process],
        queue: QueueAddress,
        then: Callable[[Process, Environment, str], None],
    ) -> None:
        """One message of each of *processes* in one request; ``then(process, env, outcome)`` for each."""
        recorder, stage = self.recorder, self.stage
        ops, entries = [], []
        for process in processes:
            size = stage.load.draw_size(stage.rng)
            message = recorder.message(process.number, process.sequence, size)
            body = encode(Body(recorder.run, message, process.number, process.sequence), size)
            process.sequence += 1
            ops.append(recorder.invoke(process.number, "send", queue=queue.queue, message=message, node=queue.broker))
            entries.append(BatchEntry(body, properties_text({"UNIQ_KEY": self._unique_key(env)})))

        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            for index, (op, process) in enumerate(zip(ops, processes, strict=True)):
                then(process, env, self._sent(op, process, answer, index, by=queue.node if queue.is_moved else ""))

        self.in_flight += 1
        fields = self._send_fields(env, queue) | {"i": properties_text({"WAIT": "true"}), "m": "true"}
        request = Command(RequestCode.SEND_BATCH_MESSAGE, fields, encode_batch(entries))
        self.remoting.call(env, queue.address, request, SEND_TIMEOUT_NS, answered, close_on_timeout=True)

    def pull(
        self,
        env: Environment,
        process: Process,
        queue: QueueAddress,
        offset: int,
        then: Callable[[Environment, Pulled], None],
        *,
        f: str = "pull",
        suspend: bool = False,
        at_most: int = BATCH_MAX,
    ) -> None:
        """Messages from *offset* on, *at_most* so many; with *suspend* the broker waits a second if there is none."""
        op = self.recorder.invoke(process.number, f, queue=queue.queue, offset=offset, node=queue.node, group=GROUP)

        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            then(env, self._pulled(op, f, process, queue, answer))

        self.in_flight += 1
        request = Command(RequestCode.PULL_MESSAGE, self._pull_fields(queue, offset, suspend, at_most))
        timeout_ns = SUSPENDED_TIMEOUT_NS if suspend else PULL_TIMEOUT_NS
        self.remoting.call(env, queue.address, request, timeout_ns, answered, close_on_timeout=True)

    def query(
        self,
        env: Environment,
        process: Process,
        queue: QueueAddress,
        f: str,
        then: Callable[[Environment, int], None],
    ) -> None:
        """``query_max``, ``query_min`` and their like; ``then(env, offset)``, −1 where nothing was told."""
        op = self.recorder.invoke(process.number, f, queue=queue.queue, node=queue.node)
        code = RequestCode.GET_MAX_OFFSET if f.endswith("_max") else RequestCode.GET_MIN_OFFSET

        def answered(env: Environment, answer: Answer) -> None:
            self.in_flight -= 1
            status = status_of(answer, "OK")
            offset = int(answer.fields["offset"]) if isinstance(answer, Command) and status == "OK" else -1
            self.complete(op, f, status, process, offset=offset)
            then(env, offset)

        self.in_flight += 1
        request = Command(code, {"topic": self.stage.topic, "queueId": str(queue.queue_id)})
        self.remoting.call(env, queue.address, request, QUERY_TIMEOUT_NS, answered, close_on_timeout=True)

    # Inside ----------------------------------------------------------------------------------------------------------

    def complete(
        self, op: int, f: str, status: str, process: Process, *, offset: int = -1, count: int = -1, detail: Detail = ""
    ) -> str:
        outcome = self.stage.classify(f, status)
        self.recorder.complete(op, outcome, status, offset=offset, count=count, detail=detail)
        self._renew(process, outcome)
        return outcome

    def _renew(self, process: Process, outcome: str) -> None:
        if outcome == "info":
            process.number, process.sequence = self.recorder.process(), 0

    def _send_fields(self, env: Environment, queue: QueueAddress) -> dict[str, str]:
        """RocketMQ: SendMessageRequestHeaderV2. ``c``, the template topic, is one that no broker has."""
        return {
            "a": GROUP,
            "b": self.stage.topic,
            "c": self.stage.topic,
            "d": "4",
            "e": str(queue.queue_id),
            "f": "0",
            "g": str(env.wall()),
            "h": "0",
            "i": properties_text({"UNIQ_KEY": self._unique_key(env), "WAIT": "true"}),
            "j": "0",
            "k": "false",
            "m": "false",
            "n": queue.broker,
        }

    def _unique_key(self, env: Environment) -> str:
        if self._keys is None:
            self._keys = UniqueKeys(self.stage.backend.host(self.name), env.rng)
        return self._keys.make(env.wall())

    def _pull_fields(self, queue: QueueAddress, offset: int, suspend: bool, at_most: int) -> dict[str, str]:
        """RocketMQ: PullMessageRequestHeader, with the subscription in the request (no heartbeat is needed then)."""
        return {
            "consumerGroup": GROUP,
            "topic": self.stage.topic,
            "queueId": str(queue.queue_id),
            "queueOffset": str(offset),
            "maxMsgNums": str(at_most),
            "sysFlag": str(_SUBSCRIPTION | _SUSPEND if suspend else _SUBSCRIPTION),
            "commitOffset": "0",
            "suspendTimeoutMillis": str(SUSPEND_MS if suspend else 0),
            "subscription": "*",
            "subVersion": "0",
            "expressionType": "TAG",
            "bname": queue.broker,
        }

    def _sent(self, op: int, process: Process, answer: Answer, index: int = 0, by: str = "") -> str:
        """Complete the send of the message that was the *index*-th of its request. *by*: who was asked, if not the node
        that served the queue at the start."""
        status = status_of(answer, "SEND_OK")
        outcome = self.stage.classify("send", status)
        offset = position = -1
        detail: Detail = ""
        if isinstance(answer, Command):
            first = int(answer.fields.get("queueOffset", -1))
            offset = first + index if first >= 0 else -1
            ids = answer.fields.get("msgId", "").split(",")
            position = position_of(ids[index]) if index < len(ids) else -1
            detail = (answer.remark or "") if outcome not in ("ok", "weak") else {"by": by} if by else ""
        self.recorder.complete(op, outcome, status, offset=offset, position=position, detail=detail)
        self.last_offset = offset
        self._renew(process, outcome)
        return outcome

    def _pulled(self, op: int, f: str, process: Process, queue: QueueAddress, answer: Answer) -> Pulled:
        status = status_of(answer, "FOUND")
        if not isinstance(answer, Command):
            self.complete(op, f, status, process)
            return Pulled(status, -1, 0)
        pulled = Pulled(
            status,
            int(answer.fields.get("nextBeginOffset", -1)),
            0,
            int(answer.fields.get("suggestWhichBrokerId", -1)),
            answer.remark or "",
        )
        if status != "FOUND":
            self._complete_empty(op, f, process, pulled, answer.remark or "")
            return pulled
        try:
            records = decode_records(answer.body)
        except RemoteWireError as error:
            self.complete(op, f, MALFORMED, process, detail=str(error))
            return Pulled(MALFORMED, pulled.next_offset, 0)
        pulled.count = len(records)
        self._read(op, f, queue, records, pulled)
        return pulled

    def _complete_empty(self, op: int, f: str, process: Process, pulled: Pulled, remark: str) -> None:
        detail = {"PULL_OFFSET_MOVED": f"next {pulled.next_offset}", "PULL_NOT_FOUND": ""}.get(pulled.status, remark)
        outcome = self.stage.classify(f, pulled.status)
        self.recorder.complete(
            op,
            outcome,
            pulled.status,
            count=0,
            detail=detail,
            next_offset=pulled.next_offset,
            suggested=pulled.suggested,
        )
        self._renew(process, outcome)

    def _read(self, op: int, f: str, queue: QueueAddress, records: list[Message], pulled: Pulled) -> None:
        bodies = [(record.topic, record.queue_id, inflated(record)) for record in records]
        messages, unrecognised = recognised(bodies, self.recorder.run, self.stage.topic, queue.queue_id)
        self.recorder.complete(
            op,
            self.stage.classify(f, "FOUND"),
            "FOUND",
            count=len(records),
            offsets=[record.queue_offset for record in records],
            messages=messages,
            unrecognised=unrecognised,
            next_offset=pulled.next_offset,
            suggested=pulled.suggested,
        )


def recognised(
    bodies: Iterable[tuple[str, int, bytes]], run: int, topic: str, queue_id: int
) -> tuple[list[int], list[tuple[int, str]]]:
    """Message numbers of (topic, queue id, body) as they were read, −1 for what is not ours; of those (index, why)."""
    messages: list[int] = []
    unrecognised: list[tuple[int, str]] = []
    for index, (its_topic, its_queue, data) in enumerate(bodies):
        body = decode(data, run)
        if isinstance(body, Body) and its_queue == queue_id and its_topic == topic:
            messages.append(body.message)
            continue
        messages.append(-1)
        if isinstance(body, Unrecognised):
            unrecognised.append((index, f"{body.reason}: {body.digest}"))
        else:
            unrecognised.append((index, strays.in_words(body.message, its_topic, its_queue)))
    return messages, unrecognised


def status_of(answer: Answer, success: str) -> str:
    """The word for the history; *success* is the one for code 0."""
    if isinstance(answer, CallFailed):
        return _FAILED[answer.kind]
    return success if answer.code == ResponseCode.SUCCESS else response_name(answer.code)


def inflated(record: Message) -> bytes:
    """The body as it was sent: RocketMQ's producers compress above 4 KiB. What cannot be inflated stays as it is."""
    if not record.sys_flag & COMPRESSED:
        return record.body
    try:
        return zlib.decompress(record.body)
    except zlib.error:
        return record.body


def position_of(message_id: str) -> int:
    """The commit log offset in an offset message id; −1 if there is none."""
    return int(message_id[-16:], 16) if len(message_id) in (32, 56) else -1
