"""The leader's side of replication: bring one follower's log to be ours, entry by entry.

Question: what is sent to a follower next, and what does its answer tell?

Model (DLedger: DLedgerEntryPusher.EntryDispatcher), for each follower:

    COMPARE   one request at a time: is your entry *at* ours? An answer leads to the first match of COMPARED below
    TRUNCATE  entry *at* becomes the follower's last one
    APPEND    up to 1000 pushes in flight. What is first without an answer is sent again after a second; when nothing
              else was sent for a second, a COMMIT tells the committed index

Every answer that is not expected leads to COMPARE after a pause of 0.5 s, but for pushes without an answer, which are
sent again. A leader without entries compares nothing.

Deviations. ``matched`` is what the last comparison found, also if that is less than before; and a follower whose COMMIT
answer shows a shorter log than it had is compared again (in DLedger 0.3 it stays without entries until the next push).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from reference_impl.dledger.codes import Code, PushType, Role
from reference_impl.dledger.committing import advance
from reference_impl.dledger.entry import Entry
from reference_impl.dledger.messages import PushRequest, PushResponse, push
from reference_impl.dledger.state import Progress
from reference_impl.dledger.turn import Turn
from reference_impl.environment import MS, SECOND


def on_push_timer(turn: Turn, peer: str) -> None:
    """Something may be due for *peer*."""
    progress = turn.member.progress.get(peer)
    if progress is None:
        return
    progress.is_pausing = False
    drive(turn, peer, progress)
    if progress.mode == "APPEND":
        turn.set_timer_at(f"push:{peer}", _next_due_ns(turn, progress))


def drive_all(turn: Turn) -> None:
    """The log has grown."""
    for peer, progress in turn.member.progress.items():
        drive(turn, peer, progress)


def drive(turn: Turn, peer: str, progress: Progress) -> None:
    """Send what can be sent now."""
    if turn.member.role != Role.LEADER or progress.is_pausing or turn.tail.end < 0:
        return
    if progress.mode == "APPEND":
        _append(turn, peer, progress)
    elif not progress.is_asking:
        _ask(turn, peer, progress)


def on_push_answer(turn: Turn, peer: str, request: PushRequest, answer: PushResponse | None, number: int) -> None:
    """*peer* has answered, or not; answers to an earlier leadership are not looked at."""
    member = turn.member
    progress = member.progress.get(peer)
    if member.role != Role.LEADER or request.term != member.term or progress is None:
        return
    if request.type == PushType.APPEND:
        _appended(turn, peer, progress, request, answer)
    elif request.type == PushType.COMMIT:
        _committed(turn, peer, progress, answer, number)
    elif progress.is_asking and progress.number == number:
        progress.is_asking = False
        if answer is None:
            _pause(turn, peer, progress)
        else:
            (_compared if request.type == PushType.COMPARE else _truncated)(turn, peer, progress, answer)


# COMPARE and TRUNCATE ------------------------------------------------------------------------------------------------


def _ask(turn: Turn, peer: str, progress: Progress) -> None:
    tail = turn.tail
    if not tail.begin <= progress.at <= tail.end:
        progress.mode, progress.at = "COMPARE", tail.end
    entry = tail.entry(progress.at)
    if entry is None:
        _pause(turn, peer, progress)
        return
    progress.number += 1
    progress.is_asking = True
    _send(turn, peer, PushType(progress.mode), [entry], number=progress.number)


def _compared(turn: Turn, peer: str, progress: Progress, answer: PushResponse) -> None:
    if answer.code not in (Code.SUCCESS, Code.INCONSISTENT_STATE):
        _pause(turn, peer, progress)
        return
    if answer.code == Code.SUCCESS:
        if progress.at == answer.end_index:
            _go_on_behind(turn, peer, progress)
            return
        progress.mode = "TRUNCATE"
    else:
        progress.at = next(then(progress, answer) for holds, then in COMPARED if holds(turn, progress, answer))
        if progress.at < turn.tail.begin:
            progress.mode, progress.at = "TRUNCATE", turn.tail.begin
    drive(turn, peer, progress)


_TO_BEGIN: Final = -1
COMPARED: Final[
    tuple[tuple[Callable[[Turn, Progress, PushResponse], bool], Callable[[Progress, PushResponse], int]], ...]
] = (
    (
        lambda turn, it, answer: answer.end_index < turn.tail.begin or answer.begin_index > turn.tail.end,
        lambda it, answer: _TO_BEGIN,
    ),
    (lambda turn, it, answer: it.at < answer.begin_index, lambda it, answer: _TO_BEGIN),
    (lambda turn, it, answer: it.at > answer.end_index, lambda it, answer: answer.end_index),
    (lambda turn, it, answer: True, lambda it, answer: it.at - 1),
)
"""The entry was not the same: which is looked at next? One before our first: the follower gets our first as its only
one."""


def _truncated(turn: Turn, peer: str, progress: Progress, answer: PushResponse) -> None:
    if answer.code == Code.SUCCESS:
        _go_on_behind(turn, peer, progress)
    else:
        _compare_anew(progress)
        _pause(turn, peer, progress)


def _go_on_behind(turn: Turn, peer: str, progress: Progress) -> None:
    """The follower has our entries up to ``at``, and no others."""
    progress.mode, progress.matched, progress.next = "APPEND", progress.at, progress.at + 1
    progress.in_flight.clear()
    progress.sent_ns = turn.now_ns
    advance(turn)
    drive(turn, peer, progress)
    turn.set_timer(f"push:{peer}", turn.settings.push_timeout_ms)


def _compare_anew(progress: Progress) -> None:
    progress.mode, progress.at, progress.is_asking = "COMPARE", -1, False
    progress.number += 1
    progress.in_flight.clear()


def _pause(turn: Turn, peer: str, progress: Progress) -> None:
    progress.is_pausing = True
    turn.set_timer(f"push:{peer}", turn.settings.compare_pause_ms)


# APPEND and COMMIT ---------------------------------------------------------------------------------------------------


def _append(turn: Turn, peer: str, progress: Progress) -> None:
    settings, tail = turn.settings, turn.tail
    if min(progress.next, progress.matched + 1) < tail.begin:  # also what is in flight has to be sent again
        _compare_anew(progress)
        drive(turn, peer, progress)
        return
    while progress.next <= tail.end and len(progress.in_flight) < settings.in_flight_max:
        entries = _next_entries(turn, progress)
        if not _has_quota(turn, progress, entries):
            break
        _send_entries(turn, peer, progress, entries)
        progress.next = entries[-1].index + 1
    overdue = progress.in_flight.get(progress.matched + 1)
    if overdue is not None and turn.now_ns - overdue[0] >= settings.push_timeout_ms * MS:
        _send_entries(turn, peer, progress, _entries(turn, progress.matched + 1, overdue[1]))
    if turn.now_ns - progress.sent_ns >= settings.push_timeout_ms * MS:
        progress.sent_ns = turn.now_ns
        _send(turn, peer, PushType.COMMIT, [], number=progress.matched)


def _next_entries(turn: Turn, progress: Progress) -> list[Entry]:
    """One, or in a batch those that reach 4 KiB."""
    entries = _entries(turn, progress.next, 1)
    if not turn.settings.has_batch_push:
        return entries
    size = entries[0].size
    while size < turn.settings.batch_push_bytes and entries[-1].index < turn.tail.end:
        entries += _entries(turn, entries[-1].index + 1, 1)
        size += entries[-1].size
    return entries


def _entries(turn: Turn, first: int, count: int) -> list[Entry]:
    entries = [turn.tail.entry(index) for index in range(first, first + count)]
    assert None not in entries, f"entries {first} to {first + count - 1} are not in the log"
    return [entry for entry in entries if entry is not None]


def _has_quota(turn: Turn, progress: Progress, entries: list[Entry]) -> bool:
    """A follower that is far behind gets at most so many bytes a second."""
    settings, tail = turn.settings, turn.tail
    second = turn.now_ns // SECOND
    if progress.quota_second != second:
        progress.quota_second, progress.quota_bytes = second, 0
    is_far = tail.end - progress.next > settings.throttle_entries
    is_far = is_far and tail.position - entries[0].pos > settings.throttle_bytes
    if is_far and progress.quota_bytes >= settings.push_quota_bytes:
        return False
    progress.quota_bytes += sum(entry.size for entry in entries)
    return True


def _send_entries(turn: Turn, peer: str, progress: Progress, entries: list[Entry]) -> None:
    progress.in_flight[entries[0].index] = (turn.now_ns, len(entries))
    progress.sent_ns = turn.now_ns
    _send(turn, peer, PushType.APPEND, entries)


def _send(turn: Turn, peer: str, kind: PushType, entries: list[Entry], number: int = 0) -> None:
    is_batch = kind == PushType.APPEND and turn.settings.has_batch_push
    request = push(kind, entries, is_batch=is_batch, commit_index=turn.member.committed, **turn.base(peer))
    turn.send(peer, request, number)


def _appended(turn: Turn, peer: str, progress: Progress, request: PushRequest, answer: PushResponse | None) -> None:
    if answer is None or progress.mode != "APPEND":
        return
    if answer.code == Code.SUCCESS:
        progress.in_flight.pop(request.first_index, None)
        last = request.entries[-1].index
        if last > progress.matched:
            progress.matched = last
            advance(turn)
        _append(turn, peer, progress)
    elif answer.code == Code.INCONSISTENT_STATE:
        _compare_anew(progress)
        drive(turn, peer, progress)


def _committed(turn: Turn, peer: str, progress: Progress, answer: PushResponse | None, number: int) -> None:
    """*number* is what the follower had when it was asked."""
    is_shorter = answer is not None and answer.code == Code.SUCCESS and answer.end_index < number
    if is_shorter and progress.mode == "APPEND":
        _compare_anew(progress)
        drive(turn, peer, progress)


def _next_due_ns(turn: Turn, progress: Progress) -> int:
    """When something must be sent again, or a COMMIT is due; a throttled follower goes on with the next second."""
    timeout_ns = turn.settings.push_timeout_ms * MS
    due_ns = progress.sent_ns + timeout_ns
    first = progress.in_flight.get(progress.matched + 1)
    if first is not None:
        due_ns = min(due_ns, first[0] + timeout_ns)
    if progress.next <= turn.tail.end and len(progress.in_flight) < turn.settings.in_flight_max:
        due_ns = min(due_ns, (turn.now_ns // SECOND + 1) * SECOND)
    return due_ns
