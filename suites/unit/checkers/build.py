"""Histories by hand: a few words an operation, times in milliseconds, event numbers by themselves.

    run = Build()
    run.send(0, 10, message=0, offset=0)          # invoked at 0 ms, SEND_OK at 10 ms, queue 0
    run.drain(90, 91, at=0, got=[0])
    run.drained(92, at=1)
    run.fault("cut_power", "broker-a-0", 50, 52, heal=60)
    history, facts = run.history(), run.facts(flush="async")

Queues 0 and 1 belong to broker-a, 2 and 3 to broker-b. Calls come before returns where times are equal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from checkers.contract import classify
from checkers.history.effects import OF_OLD_VERBS
from checkers.history.facts import RunFacts
from checkers.history.history import History
from faults.catalogue import VERBS

MS = 1_000_000
_OP = {
    "process": 0,
    "queue": -1,
    "message": -1,
    "offset": -1,
    "count": -1,
    "position": -1,
    "node": "",
    "group": "",
    "detail": "",
}


class Build:
    """Collects rows; ``history()`` numbers the events and validates."""

    def __init__(self, brokers: Sequence[str] = ("broker-a", "broker-a", "broker-b", "broker-b")) -> None:
        self.brokers = brokers
        self.ops: list[dict[str, Any]] = []
        self.reads: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.messages: list[dict[str, Any]] = []
        self.topics: dict[int, str] = {}
        """Of queues that are not of topic ``t``."""

    def op(self, f: str, invoke: int, complete: int | None, status: str, **cells: Any) -> int:
        """Any operation; *complete* ``None``: never. Returns its number."""
        number = len(self.ops)
        outcome = cells.pop("outcome", classify(f, status))
        times = {"invoke_ns": invoke * MS, "complete_ns": -1 if complete is None else complete * MS}
        known = {**_OP, "process": number, **cells, **times}
        self.ops.append({"op": number, "f": f, "status": status, "outcome": outcome, **known})
        return number

    def send(
        self,
        invoke: int,
        complete: int | None,
        message: int,
        offset: int = -1,
        status: str = "SEND_OK",
        queue: int = 0,
        position: int | None = None,
        **cells: Any,
    ) -> int:
        """One send; the position is 1000 bytes a message unless given, if it was stored."""
        stored = offset >= 0
        where = position if position is not None else 1000 * message if stored else -1
        return self.op(
            "send",
            invoke,
            complete,
            status if complete is not None else "TIMEOUT",
            queue=queue,
            message=message,
            offset=offset,
            position=where,
            node=self.brokers[queue],
            **cells,
        )

    def pull(
        self,
        invoke: int,
        complete: int,
        at: int,
        got: Sequence[int],
        queue: int = 0,
        f: str = "pull",
        first: int | None = None,
        **cells: Any,
    ) -> int:
        """A pull from offset *at* that read messages *got*, from *first* on (*at* unless given), or found nothing."""
        status = "FOUND" if got else "PULL_NOT_FOUND"
        number = self.op(
            f,
            invoke,
            complete,
            status,
            queue=queue,
            offset=at,
            count=len(got),
            node=cells.pop("node", f"{self.brokers[queue]}-0"),
            **cells,
        )
        self.reads += [
            {
                "op": number,
                "position": index,
                "offset": (at if first is None else first) + index,
                "message": message,
                "detail": "" if message >= 0 else "x",
            }
            for index, message in enumerate(got)
        ]
        return number

    def drain(
        self, invoke: int, complete: int, at: int, got: Sequence[int], queue: int = 0, first: int | None = None
    ) -> int:
        return self.pull(invoke, complete, at, got, queue, f="drain", first=first)

    def drained(self, ms: int, at: int, queue: int = 0) -> int:
        """The drain has reached the end of a queue: nothing at *at*."""
        return self.pull(ms, ms + 1, at, [], queue, f="drain")

    def query_max(self, invoke: int, complete: int, end: int, queue: int = 0) -> int:
        return self.op("query_max", invoke, complete, "OK", queue=queue, offset=end, node=f"{self.brokers[queue]}-0")

    def query_min(self, invoke: int, complete: int, start: int, queue: int = 0) -> int:
        return self.op("query_min", invoke, complete, "OK", queue=queue, offset=start, node=f"{self.brokers[queue]}-0")

    def trimmed(self, invoke: int, complete: int, at: int, queue: int = 0) -> int:
        """A pull from offset *at*, which is not there any more."""
        status, node = "PULL_OFFSET_MOVED", f"{self.brokers[queue]}-0"
        return self.op("pull", invoke, complete, status, queue=queue, offset=at, node=node, detail=f"next {at + 1}")

    def event(
        self, ms: int, kind: str, step: str, node: str = "", fault: str = "", effective: int = -1, **detail: Any
    ) -> None:
        row = {"ns": ms * MS, "kind": kind, "node": node, "fault": fault, "step": step, "effective": effective}
        self.events.append({**row, "detail": json.dumps(detail) if detail else ""})

    def fault(
        self,
        do: str,
        node: str,
        begin: int,
        inject: int,
        heal: int | None = None,
        bit: int = 1,
        right: Sequence[str] = (),
        fault: str = "f1",
        gone: int = 1,
        **seen: Any,
    ) -> None:
        """One fault with all its steps; *heal* ``None``: never healed. *seen*: by its probe, beside the answer."""
        effects = {} if do in OF_OLD_VERBS else _effects(do)
        self.event(begin, "fault", "resolve", node, fault, 1, do=do, left=[node], right=list(right), **effects)
        self.event(inject, "fault", "inject", node, fault)
        self.event(inject, "fault", "probe", node, fault, bit, **seen)
        if heal is not None:
            self.event(heal, "fault", "heal", node, fault)
            self.event(heal, "fault", "heal_probe", node, fault, gone)

    def history(self) -> History:
        """Numbers: by time, calls first, then events, then returns; equal ones in the order written."""
        moments: list[tuple[int, int, int, dict[str, Any], str]] = []
        for op in self.ops:
            moments.append((op["invoke_ns"], 0, op["op"], op, "invoke_event"))
            if op["complete_ns"] >= 0:
                moments.append((op["complete_ns"], 2, op["op"], op, "complete_event"))
            op["complete_event"] = -1
        moments += [(event["ns"], 1, index, event, "event") for index, event in enumerate(self.events)]
        for number, (*_, row, name) in enumerate(sorted(moments, key=lambda moment: moment[:3])):
            row[name] = number
        queues = [
            {"queue": number, "topic": self.topics.get(number, "t"), "broker": broker, "queue_id": number}
            for number, broker in enumerate(self.brokers)
        ]
        tables = {"ops": self.ops, "reads": self.reads, "queues": queues, "events": self.events}
        tables |= {"messages": self.messages} if self.messages else {}
        return History.from_rows(tables)

    def facts(self, mode: str = "single-master", flush: str = "async", **more: Any) -> RunFacts:
        nodes = {"broker-a-0": {}, "broker-b-0": {}}
        return RunFacts.from_run(
            {"mode": mode, "flush": flush, "backend": "sim", "nodes": nodes, **more}, self.history()
        )


def _effects(do: str) -> dict[str, Any]:
    """As the injector writes them, of a verb with its defaults; nothing of one that is none."""
    if do not in VERBS:
        return {}
    return {"effects": [effect.to_json(VERBS[do].filled({})) for effect in VERBS[do].effects]}
