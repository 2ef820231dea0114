"""Logs of anyone's history: appends and whole or partial reads, into the columns of :mod:`checkers.logs.linear`.

Question: which claims about a log does this history make?

Forms, by key:

    append v → {"offset": n} | nothing         read → all values
    poll at → [[offset v] …], or the values from there on; [] for none
    end → x
    txn [["append" k v]] or [["r" k values]]    Elle's list-append, where a transaction is one operation
    send k → [["send" k [offset v]]]            Jepsen's Kafka; poll → [["poll" {k [[offset v] …]}]]; offsets may have
    gaps, several sends of one call are sends of their own, and consumers are judged by :mod:`checkers.external.kafka`

A read of everything says what stands where and where the end was. Where an acknowledged append without an offset stands
is found out by :mod:`checkers.external.placement`.

Where it is not linearizable, the sentence says which weaker grades hold (:mod:`checkers.logs.sequential`,
:mod:`checkers.logs.sessions`).

Limits. Transactions of several operations do not fit. Values are distinct where offsets are not told; in Kafka's form
acknowledged appends without offsets count as unknown. Kafka's empty polls say nothing (a consumer may not be assigned).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from checkers.external.calls import Call, DoesNotFit, malformed, proof
from checkers.external.kafka import ASSIGNS, SAYS_NOTHING, consumer_anomalies, is_kafka
from checkers.external.placement import Job, places
from checkers.external.values import frozen, shown
from checkers.history.columns import NEVER
from checkers.logs.columns import OFFSETS_MAX
from checkers.logs.linear import ACKED, FAILED, UNKNOWN, Appends, Claims, LogInput, LogViolation, Polls, check_log
from checkers.logs.sequential import check_sequential
from checkers.logs.sessions import check_sessions, claims_of
from checkers.objects.kinds import clause
from checkers.verdict import Anomaly, Outcome, Verdict

NOTHING = "no operation of any log was answered: nothing happened"


@dataclass
class _Log:
    """What a history says, before it becomes columns; rows hold values as numbers."""

    keys: dict[Any, int] = field(default_factory=dict)
    values: dict[Any, int] = field(default_factory=dict)
    appends: list[tuple[int, int, int, int, int, int, int]] = field(default_factory=list)
    """(key, value, offset, call, ret, outcome, line)"""
    polls: list[tuple[int, int, int, int, list[tuple[int, int]], int]] = field(default_factory=list)
    """(key, call, ret, line, [(offset, value)], offset asked for, −1: nobody told)"""
    holds_pairs: bool = False
    """Whether a message of the log is itself a pair, as an offset and a message are."""
    empties: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    ends: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """(key, at, call, ret, line)"""
    gaps: bool = False
    doubts: list[str] = field(default_factory=list)
    guessed: bool = False
    """Whether acknowledged appends may have had other offsets than those that were found for them."""

    def key(self, key: Any) -> int:
        return self.keys.setdefault(frozen(key), len(self.keys))

    def value(self, value: Any) -> int:
        return self.values.setdefault(frozen(value), len(self.values))

    def append(self, call: Call, key: Any, value: Any, offset: int | None) -> None:
        outcome = {"ok": ACKED, "info": UNKNOWN, "fail": FAILED}[call.type]
        if self.gaps and offset is None and outcome == ACKED:
            outcome = UNKNOWN
        ret = int(NEVER) if call.ret is None or outcome == UNKNOWN else call.ret
        place = -1 if offset is None or outcome != ACKED else offset
        self.appends.append((self.key(key), self.value(value), place, call.call, ret, outcome, call.line))

    def poll(self, call: Call, key: Any, pairs: list[tuple[int, Any]], at: int = -1) -> None:
        assert call.ret is not None
        if pairs:
            known = [(offset, self.value(value)) for offset, value in pairs]
            self.polls.append((self.key(key), call.call, call.ret, call.line, known, at))
        elif not self.gaps:
            self.empties.append((self.key(key), max(at, 0), call.call, call.ret, call.line))

    def end(self, call: Call, key: Any, at: int) -> None:
        assert call.ret is not None
        self.ends.append((self.key(key), at, call.call, call.ret, call.line))


def judge_log(calls: Sequence[Call], place: str, refusals: bool) -> Verdict:
    """Logs by key."""
    holds_pairs = any(call.f == "append" and _is_pair(call.asked) for call in calls)
    log = _Log(gaps=any(is_kafka(call) for call in calls), holds_pairs=holds_pairs)
    for call in calls:
        _READERS.get(call.f, _unknown_f)(log, call, place)
    if not log.keys:
        return Verdict("log", Outcome.UNKNOWN, measures={"operations": len(calls)}, reasons=(NOTHING,))
    columns = log_input(log)
    result = check_log(columns, gaps=log.gaps)
    measures = {"operations": len(calls), "objects": len(log.keys), "messages": int(columns.polls.count.sum())}
    names = _Names(list(log.keys), list(log.values))
    grades = _grades(columns, calls, log.guessed) if result.violations and not log.gaps else ""
    anomalies = [_anomaly(calls, violation, names, grades) for violation in result.violations]
    anomalies += consumer_anomalies(calls) if log.gaps else []
    reasons = (*result.unknown, *log.doubts)
    outcome = Outcome.FAIL if anomalies else Outcome.UNKNOWN if reasons else Outcome.PASS
    return Verdict("log", outcome, tuple(anomalies), measures, reasons)


def _grades(columns: LogInput, calls: Sequence[Call], guessed: bool) -> str:
    """Which weaker grades hold, in words. *guessed*: other offsets may do better."""
    process_of = _processes(calls)
    consistent = check_sequential(columns, process_of).holds
    words = {True: "is", False: "may be" if guessed else "is not either", None: "may be"}[consistent]
    if guessed:
        return f" Sequentially consistent it {words}."
    broken = sorted(violation.kind for violation in check_sessions(claims_of(columns, process_of)).violations)
    sessions = f"{', '.join(broken)} broken" if broken else "no session guarantee is broken"
    return f" Sequentially consistent it {words}; {sessions}."


def _processes(calls: Sequence[Call]) -> Any:
    """By line a number for its process; one that got no answer goes on under a new one."""
    numbers: dict[Any, int] = {}
    process_of = np.zeros(1 + max(call.line for call in calls), dtype=np.int64)
    for fresh, call in enumerate(calls):
        process_of[call.line] = numbers.setdefault(call.process, fresh)
        if call.type == "info":
            del numbers[call.process]
    return process_of


def _unknown_f(log: _Log, call: Call, place: str) -> None:
    raise malformed(place, call, "a log knows append, read, poll, end, txn and send")


def _append(log: _Log, call: Call, place: str) -> None:
    answered = call.answered
    offset = answered.get("offset") if isinstance(answered, dict) else None
    log.append(call, call.key, call.asked, None if offset is None else _offset(offset, call, place))


def _offset(value: Any, call: Call, place: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < OFFSETS_MAX:
        raise malformed(place, call, "an offset is a number from 0 on, below 2^44 - 1")
    return value


def _read(log: _Log, call: Call, place: str) -> None:
    if call.type == "ok":
        _whole(log, call, call.key, call.answered, place)


def _whole(log: _Log, call: Call, key: Any, values: Any, place: str) -> None:
    if not isinstance(values, list) and values is not None:
        raise malformed(place, call, "a read of everything answers a list")
    values = values or []
    log.poll(call, key, list(enumerate(values)))
    log.end(call, key, len(values))


def _poll(log: _Log, call: Call, place: str) -> None:
    if is_kafka(call):
        _txn(log, call, place)
        return
    if call.type != "ok":
        return
    if not isinstance(call.asked, int) or not isinstance(call.answered, list):
        raise malformed(place, call, "a poll asks for an offset and answers a list")
    at = _offset(call.asked, call, place)
    log.poll(call, call.key, _with_offsets(log, call, at, place), at)


def _with_offsets(log: _Log, call: Call, at: int, place: str) -> list[tuple[int, Any]]:
    """What a poll answers is [offset message] each, or messages from where it asked on."""
    answered = call.answered
    pairs = [_is_pair(item) for item in answered]
    if not any(pairs) or log.holds_pairs:
        return [(at + index, value) for index, value in enumerate(answered)]
    if not all(pairs):
        raise malformed(place, call, "a poll answers messages, or a pair [offset message] for each")
    return [(_offset(offset, call, place), value) for offset, value in answered]


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and type(value[0]) is int


def _no_claim(log: _Log, call: Call, place: str) -> None:
    """Nothing about any log."""


def _end(log: _Log, call: Call, place: str) -> None:
    if call.type == "ok":
        log.end(call, call.key, _offset(call.answered, call, place))


def _txn(log: _Log, call: Call, place: str) -> None:
    """One operation written as a transaction."""
    steps = call.answered if call.type == "ok" and call.answered is not None else call.asked
    for given in (call.asked, steps):
        if not isinstance(given, list) or not all(isinstance(step, list) and step for step in given):
            raise malformed(place, call, "a transaction is a list of operations")
    if not all(isinstance(step[0], str) for step in steps):
        raise malformed(place, call, "an operation of a transaction begins with its name")
    if len(steps) > 1 and not _is_of_one_kind(steps):
        raise DoesNotFit(f"transactions of several operations are no operations of a log ({call.words()})")
    if len(steps) > 1 and call.type == "info" and steps[0][0] == "send":
        log.doubts.append(
            f"whether several sends without an answer stand or fall together is not known ({call.words()})"
        )
    for step in steps:
        _step(log, call, step, place)


def _is_of_one_kind(steps: list[list[Any]]) -> bool:
    """Several sends, or several polls, are so many operations of one client at once."""
    return {step[0] for step in steps} in ({"send"}, {"poll"})


def _step(log: _Log, call: Call, step: list[Any], place: str) -> None:
    kind = step[0]
    if kind == "append" and len(step) == 3:
        log.append(call, step[1], step[2], None)
    elif kind == "r" and len(step) == 3:
        if call.type == "ok":
            _whole(log, call, step[1], step[2], place)
    elif kind == "send" and len(step) == 3:
        offset, value = step[2] if isinstance(step[2], list) and len(step[2]) == 2 else (None, step[2])
        log.append(call, step[1], value, None if offset is None else _offset(offset, call, place))
    elif kind == "poll":
        if call.type == "ok":
            _polled(log, call, step[1] if len(step) > 1 else {}, place)
    else:
        raise malformed(place, call, f"unknown step {shown(kind)}")


def _polled(log: _Log, call: Call, logs: Any, place: str) -> None:
    if not isinstance(logs, dict) or not all(isinstance(pairs, list) for pairs in logs.values()):
        raise malformed(place, call, "a poll answers a list of [offset value] by key")
    for key, pairs in logs.items():
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise malformed(place, call, "a poll answers a list of [offset value] by key")
        log.poll(call, key, [(_offset(offset, call, place), value) for offset, value in pairs])


_READERS = {"append": _append, "read": _read, "poll": _poll, "end": _end, "txn": _txn, "send": _txn}
_READERS |= dict.fromkeys((*ASSIGNS, *SAYS_NOTHING), _no_claim)


def log_input(log: _Log) -> LogInput:
    """Columns; acknowledged appends without offsets get one with which everything agrees, if there is one."""
    untold = _untold(log)
    if not untold:
        return _columns(log, log.appends)
    _require_told_apart(log, untold)
    rows = [
        (*row[:4], int(NEVER), UNKNOWN, row[6]) if index in untold else row for index, row in enumerate(log.appends)
    ]
    jobs = [Job(index, log.appends[index][0], log.appends[index][3], log.appends[index][4]) for index in sorted(untold)]
    placing = places(_columns(log, rows), jobs)
    log.guessed = placing.had_choice
    return _columns(
        log, [(*row[:2], placing.offset.get(index, row[2]), *row[3:]) for index, row in enumerate(log.appends)]
    )


def _columns(log: _Log, appends: Sequence[tuple[int, ...]]) -> LogInput:
    columns = [np.array(column, dtype=np.int64) for column in zip(*appends, strict=True)]
    reads = [pair for row in log.polls for pair in row[4]]
    return LogInput(
        len(log.keys),
        appends=Appends(*columns) if columns else Appends(),
        polls=Polls(
            queue=_ints([row[0] for row in log.polls]),
            count=_ints([len(row[4]) for row in log.polls]),
            invoke=_ints([row[1] for row in log.polls]),
            ret=_ints([row[2] for row in log.polls]),
            op=_ints([row[3] for row in log.polls]),
            asked=_ints([row[5] for row in log.polls]),
            offset=_ints([offset for offset, _ in reads]),
            value=_ints([value for _, value in reads]),
        ),
        empties=_claims(log.empties),
        ends=_claims(log.ends),
    )


def _untold(log: _Log) -> set[int]:
    """Acknowledged appends whose offset nobody told."""
    return {index for index, row in enumerate(log.appends) if row[5] == ACKED and row[2] < 0}


def _require_told_apart(log: _Log, untold: set[int]) -> None:
    """A value that was appended twice stands where it is read, but nobody knows by which of the two."""
    tries: dict[tuple[int, int], int] = {}
    for row in log.appends:
        tries[row[:2]] = tries.get(row[:2], 0) + (row[5] != FAILED)
    if any(tries[log.appends[index][:2]] > 1 for index in untold):
        raise DoesNotFit("a value was appended twice, and its offset was not told")


def _ints(cells: list[int]) -> Any:
    return np.array(cells, dtype=np.int64)


def _claims(rows: list[tuple[int, int, int, int, int]]) -> Claims:
    return Claims(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))) if rows else Claims()


@dataclass(frozen=True)
class _Names:
    keys: list[Any]
    values: list[Any]

    def of_value(self, value: int) -> str:
        """A message as it was written; numbers of sends that a hole needs are none."""
        return shown(self.values[value]) if 0 <= value < len(self.values) else str(value)


def _anomaly(calls: Sequence[Call], violation: LogViolation, names: _Names, grades: str) -> Anomaly:
    key = names.keys[violation.queue]
    where = f"log {shown(key)}" if key is not None else "the log"
    meaning = clause("log", violation, names.of_value, where)
    sentence = f"{violation.kind}: {meaning}. Proof: {proof(calls, violation.ops)}.{grades}"
    details = {"low": violation.low, "high": violation.high, "count": violation.count}
    return Anomaly(violation.kind, sentence, violation.ops, details)
