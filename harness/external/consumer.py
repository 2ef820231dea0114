"""A consumer of another implementation: what its application is given, and what it says became of it.

Question: which message was given to which member of the group, when, and for which time?

Model. Each message that the listener gets is an op ``deliver`` of the client that was given it: begun when the client
says ``delivering`` (it waits), ended when it is told that it may go on. So the op lies within the time that the
listener really had the message: two ops that overlap were two listeners at work at once. The stamp of the client, put
on our clock, is in ``detail`` as bounds (``at_ns``), with how often the message had been given back (``times``).

*hold_ns* is how long a listener works on a message.

Limits. One message at a time is shown to a listener. What a client fetched and did not show is not seen.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from checkers.history.listeners import CONSUMED
from harness.external.client import ExternalClient
from harness.external.protocol import Delivering
from harness.external.session import Session
from harness.payload import Body, decode
from harness.recorder import Detail
from harness.workloads.workload import Stage

GROUP: Final = "readers"


class ExternalConsumer(ExternalClient):
    """One member of the group; with *in_order* its listener is an orderly one."""

    def __init__(
        self, stage: Stage, name: str, counts: Counter[str], *, in_order: bool = False, hold_ns: int = 0
    ) -> None:
        super().__init__(stage, name)
        self._counts, self._in_order, self._hold_ns = counts, in_order, hold_ns
        self.delivered: set[int] = set()
        self.last_ns = 0
        """When something was given to it last."""

    def opening(self) -> dict[str, Any]:
        return {
            "role": "consumer",
            "group": GROUP,
            "topic": self.stage.topic,
            "from_where": "first",
            "order": self._in_order,
        }

    def on_delivering(self, session: Session, line: Delivering) -> None:
        process = self.take_process()
        queue = self.recorder.queue(line.topic, line.broker, line.queue)
        op = self.recorder.invoke(
            process.number, "deliver", queue=queue, offset=line.offset, node=self.name, group=GROUP
        )
        self.last_ns = self.stage.backend.now()

        def over() -> None:
            message, unrecognised = self._recognised(line)
            at = list(session.ours(line.at))
            detail: Detail = {"at_ns": at, "times": line.times}
            self.recorder.complete(
                op,
                "ok",
                CONSUMED,
                count=1,
                detail=detail,
                offsets=[line.offset],
                messages=[message],
                unrecognised=[(0, unrecognised)] if unrecognised else (),
            )
            self.give_back(process, "ok")
            self._counts["read"] += 1
            self.delivered.add(message)
            session.answer("consumed", line.question, result="ok")

        if self._hold_ns:
            self.stage.backend.after(self._hold_ns, lambda: None if session.ended else over())
        else:
            over()

    def _recognised(self, line: Delivering) -> tuple[int, str]:
        body = decode(line.body, self.recorder.run)
        return (body.message, "") if isinstance(body, Body) else (-1, f"{body.reason}: {body.digest}")
