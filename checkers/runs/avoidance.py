"""The check ``avoidance``: do producers leave a broker alone that was slow or failed, and do they come back to it?

Question: ``sendLatencyFaultEnable`` promises that sends go to brokers that answer. Which broker did each attempt go to,
and was it resting?

Model (RocketMQ: MQFaultStrategy, LatencyFaultToleranceImpl). Each producer writes notes: ``try`` when an attempt
leaves, ``tried`` when it has ended, with the milliseconds that it took and whether it was stored. The last end at a
broker says until when it rests, by the producer's release (``checkers/releases.yaml``). The routes that the producer
knows say which brokers have a master.

    used-while-resting   an attempt at a broker that rested, while another was there that did not
    worse-than-others    4.9: all rest, and the attempt was not at one of the better half (latency, then end of rest)
    not-used-again       a broker that had rested was passed over in :data:`TRIES` attempts, though it rested no more

5.x's retries prefer a broker other than that of the attempt before to one that does not rest, and look among brokers
that answered well before they take any: there only first attempts are judged.

Limits. Ends of rests within a millisecond of an attempt say nothing: a client counts whole ones.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from checkers.history.cluster import MASTER_ID
from checkers.history.facts import RunFacts
from checkers.history.history import History
from checkers.history.releases import ProducerRests, traits_of
from checkers.verdict import Anomaly, Outcome, Verdict

TRY, TRIED, ROUTES = "try", "tried", "routes"
MS: Final = 1_000_000
TRIES: Final = 48
"""More than twice the queues that a scenario gives its producers to choose from."""


def has_avoidance(history: History, facts: RunFacts) -> bool:
    """Whether producers told of their attempts."""
    return bool(_notes(history, TRY).any())


def check_avoidance(history: History, facts: RunFacts) -> Verdict:
    """FAIL for every producer's first attempt of each kind that it should not have made; UNKNOWN if nobody ever had a
    reason to avoid anybody."""
    producers: dict[str, _Producer] = defaultdict(_Producer)
    events = history.events
    rows = (_notes(history, TRY) | _notes(history, TRIED) | _notes(history, ROUTES)).nonzero()[0].tolist()
    for row in rows:
        detail = json.loads(events.detail[row])
        producers[events.node[row]].takes(events.step[row], int(events.ns[row]), detail)
    anomalies = [one for name, producer in sorted(producers.items()) for one in _anomalies(facts, name, producer)]
    rests = sum(producer.rests for producer in producers.values())
    reasons = () if rests else ("no attempt was so slow, and none failed, that a broker had to rest",)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    measures = {
        "attempts": sum(producer.attempts for producer in producers.values()),
        "rests": rests,
        "returns": sum(producer.returns for producer in producers.values()),
    }
    return Verdict("avoidance", outcome, tuple(anomalies), measures, reasons)


def _notes(history: History, step: str) -> Any:
    return history.events.kind.mask("note") & history.events.step.mask(step)


@dataclass
class _Broker:
    """What a producer has measured; ``passed_over``: attempts elsewhere since it rests no more."""

    latency_ms: int = 0
    until_ns: int = 0
    passed_over: int = -1


@dataclass(frozen=True)
class _Wrong:
    kind: str
    ns: int
    op: int
    words: str


@dataclass
class _Producer:
    """One client, note by note."""

    brokers: tuple[str, ...] = ()
    measured: dict[str, _Broker] = field(default_factory=dict)
    wrong: dict[str, _Wrong] = field(default_factory=dict)
    attempts: int = 0
    rests: int = 0
    returns: int = 0

    def takes(self, step: str, ns: int, detail: dict[str, Any]) -> None:
        """The next note."""
        if step == ROUTES:
            self.brokers = tuple(name for name, ids in detail["brokers"].items() if MASTER_ID in ids)
        elif step == TRIED:
            self._measures(ns, detail, _rests(detail))
        elif detail["number"] == 1 or _rests(detail).are_alike:
            self._judges(ns, detail["op"], detail["broker"], _rests(detail))

    def _measures(self, ns: int, detail: dict[str, Any], table: ProducerRests) -> None:
        took_ms = detail["ms"]
        rest_ms = table.rest_ms(took_ms, detail["stored"])
        self.rests += rest_ms > 0
        is_back = self.measured.get(detail["broker"], _Broker()).passed_over >= 0
        self.returns += is_back and not rest_ms
        self.measured[detail["broker"]] = _Broker(took_ms, ns + rest_ms * MS, 0 if rest_ms else -1)

    def _judges(self, ns: int, op: int, broker: str, table: ProducerRests) -> None:
        self.attempts += 1
        chosen = self.measured.get(broker, _Broker())
        known = {name: self.measured.get(name, _Broker()) for name in self.brokers}
        others = [name for name, one in known.items() if name != broker and ns > one.until_ns + MS]
        if ns < chosen.until_ns - MS:
            left_s, took = (chosen.until_ns - ns) / 1e9, f"its last attempt took {chosen.latency_ms} ms"
            about = f"{broker}, which had to rest {left_s:.3f} s more ({took})"
            if others:
                self._is_wrong("used-while-resting", ns, op, f"tried {about}, though {others[0]} was there")
            elif table.are_alike and self._is_worse(ns, broker):
                self._is_wrong("worse-than-others", ns, op, f"tried {about}, though more than half of all were better")
        for name, one in known.items():
            self._passes_over(ns, op, name, one, name == broker)

    def _is_worse(self, ns: int, broker: str) -> bool:
        """All that were measured, the best first; the better half may be used, a single one always."""
        ranked = sorted(_badness(one, ns) for one in self.measured.values())
        return len(ranked) > 1 and _badness(self.measured[broker], ns) > ranked[len(ranked) // 2 - 1]

    def _passes_over(self, ns: int, op: int, name: str, one: _Broker, is_chosen: bool) -> None:
        if one.passed_over < 0 or ns < one.until_ns + MS:
            return
        one.passed_over = 0 if is_chosen else one.passed_over + 1
        if one.passed_over > TRIES:
            words = f"made {one.passed_over} attempts elsewhere since {name} had to rest no more"
            self._is_wrong("not-used-again", ns, op, words)

    def _is_wrong(self, kind: str, ns: int, op: int, words: str) -> None:
        self.wrong.setdefault(kind, _Wrong(kind, ns, op, words))


def _badness(one: _Broker, ns: int) -> tuple[bool, int, int]:
    return ns < one.until_ns, one.latency_ms, one.until_ns


def _anomalies(facts: RunFacts, name: str, producer: _Producer) -> Iterator[Anomaly]:
    for wrong in producer.wrong.values():
        sentence = f"{name} {wrong.words}, at {facts.clock(wrong.ns)}."
        yield Anomaly(wrong.kind, sentence, (wrong.op,), {"client": name})


def _rests(detail: Mapping[str, Any]) -> ProducerRests:
    return traits_of(detail["release"]).producer_rests
