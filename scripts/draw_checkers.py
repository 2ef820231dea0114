"""The drawings of ``docs/checkers``: one example each of pass, fail and unknown, judged before it is drawn.

    python scripts/draw_checkers.py [--check]

Every example is a history of a few operations with the outcome that the page claims; one that is judged otherwise is
an error. ``--check`` writes nothing and fails if a committed drawing is not what its example makes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  (the path comes first)

from checkers.external.calls import Call  # noqa: E402
from checkers.external.check import check_calls  # noqa: E402
from checkers.external.register import register_part  # noqa: E402
from checkers.history.facts import RunFacts  # noqa: E402
from checkers.history.history import History  # noqa: E402
from checkers.logs.sequential import check_sequential  # noqa: E402
from checkers.objects.models import register  # noqa: E402
from checkers.objects.search import search  # noqa: E402
from checkers.runs.accounting import check_accounting  # noqa: E402
from checkers.runs.availability import check_availability  # noqa: E402
from checkers.runs.group_offsets import check_offsets  # noqa: E402
from checkers.show.drawing import Bar, draw  # noqa: E402
from checkers.show.explain import timeline  # noqa: E402
from checkers.verdict import Outcome, Verdict  # noqa: E402
from suites.unit.checkers.brute import INFINITE  # noqa: E402
from suites.unit.checkers.build import Build  # noqa: E402
from suites.unit.checkers.draw_log import Drawn, log_input  # noqa: E402

FOLDER = ROOT / "docs" / "checkers" / "drawings"

Step = tuple[str, Any, Any, int, int | None]
"""(function, asked, answered, invoked, returned or None); one process each."""


@dataclass(frozen=True)
class Example:
    """A drawing: its file name, what it shows, what it must be judged as, and how."""

    name: str
    title: str
    outcome: Outcome
    judge: Callable[[], Outcome]
    picture: Callable[[str], str]


def calls_of(steps: Sequence[Step]) -> list[Call]:
    return [
        Call(
            number + 1,
            number,
            f,
            None,
            call,
            ret,
            "info" if ret is None else "ok",
            asked,
            answered if ret is not None else None,
        )
        for number, (f, asked, answered, call, ret) in enumerate(steps)
    ]


def of_calls(name: str, title: str, outcome: Outcome, model: str, steps: Sequence[Step]) -> Example:
    """An example in the form of somebody's history."""
    calls = calls_of(steps)
    return Example(
        name, title, outcome, lambda: check_calls(calls, model).outcome, lambda text: draw(bars(calls), text)
    )


def bars(calls: Sequence[Call]) -> list[Bar]:
    return [Bar(_label(call), call.call, call.ret, "info" if call.ret is None else "ok") for call in calls]


def _label(call: Call) -> str:
    asked = "" if call.asked is None else f" {call.asked}"
    if call.ret is None:
        return f"{call.f}{asked}: no answer"
    answered = call.answered.get("offset") if isinstance(call.answered, dict) else call.answered
    return f"{call.f}{asked}" if answered == call.asked else f"{call.f}{asked} → {answered}"


def of_run(
    name: str,
    title: str,
    outcome: Outcome,
    check: Callable[[History, RunFacts], Verdict],
    build: Build,
) -> Example:
    """An example in the form of a run of ours; every operation is drawn."""
    history, facts, ops = build.history(), build.facts(), range(len(build.ops))
    return Example(
        name, title, outcome, lambda: check(history, facts).outcome, lambda text: timeline(history, facts, ops, text)
    )


def at(offset: int) -> dict[str, int]:
    return {"offset": offset}


def logs() -> list[Example]:
    acked = [("append", "a", at(0), 0, 10), ("append", "b", at(1), 5, 20)]
    several = [["append", "k", "a"], ["r", "k", None]]
    return [
        of_calls(
            "log-pass",
            "PASS: the poll overlaps the append, so it may see the log before it",
            Outcome.PASS,
            "log",
            [*acked, ("poll", 1, [], 12, 30), ("poll", 0, ["a", "b"], 22, 35)],
        ),
        of_calls(
            "log-fail",
            "FAIL stale-or-lost: b was acknowledged at offset 1, a later poll says that the log ends there",
            Outcome.FAIL,
            "log",
            [*acked, ("poll", 1, [], 22, 30)],
        ),
        of_calls(
            "log-unknown",
            "UNKNOWN: a transaction of two operations is no operation of a log",
            Outcome.UNKNOWN,
            "log",
            [("txn", several, [["append", "k", "a"], ["r", "k", ["a"]]], 0, 10)],
        ),
    ]


def queues() -> list[Example]:
    both = [("enqueue", "a", "a", 0, 10), ("enqueue", "b", "b", 12, 20)]
    return [
        of_calls(
            "queue-pass",
            "PASS: the dequeue that got no answer may have taken a",
            Outcome.PASS,
            "queue",
            [*both, ("dequeue", None, None, 15, None), ("dequeue", None, "b", 25, 35), ("dequeue", None, None, 40, 45)],
        ),
        of_calls(
            "queue-fail",
            "FAIL lost-overtaken: b was put in later and came out, a never did",
            Outcome.FAIL,
            "queue",
            [*both, ("dequeue", None, "b", 25, 35), ("dequeue", None, None, 40, 45)],
        ),
        of_calls(
            "queue-unknown",
            "UNKNOWN: a drain without an answer may have taken any number of values",
            Outcome.UNKNOWN,
            "queue",
            [*both, ("drain", None, None, 25, None)],
        ),
    ]


def totals() -> list[Example]:
    both = [("enqueue", "a", "a", 0, 10), ("enqueue", "b", "b", 12, 20)]
    return [
        of_calls(
            "total-pass",
            "PASS: all that was acknowledged has come out, in whatever order",
            Outcome.PASS,
            "total-queue",
            [*both, ("dequeue", None, "b", 25, 30), ("dequeue", None, "a", 35, 40)],
        ),
        of_calls(
            "total-fail",
            "FAIL lost: a was acknowledged, and the drain did not bring it",
            Outcome.FAIL,
            "total-queue",
            [*both, ("drain", None, ["b"], 25, 35)],
        ),
        of_calls(
            "total-unknown",
            "UNKNOWN: a never came out, but a dequeue that got no answer may have taken it",
            Outcome.UNKNOWN,
            "total-queue",
            [*both, ("dequeue", None, None, 15, None), ("drain", None, ["b"], 25, 35)],
        ),
    ]


def sets() -> list[Example]:
    both = [("add", "a", "a", 0, 10), ("add", "b", "b", 5, 30)]
    return [
        of_calls(
            "set-pass",
            "PASS: b is being added while one read lacks it and a later one shows it",
            Outcome.PASS,
            "set",
            [*both, ("read", None, ["a"], 12, 18), ("read", None, ["a", "b"], 20, 35)],
        ),
        of_calls(
            "set-fail",
            "FAIL went-backwards: one read shows b, a later one lacks it",
            Outcome.FAIL,
            "set",
            [*both, ("read", None, ["a", "b"], 12, 18), ("read", None, ["a"], 20, 28)],
        ),
        of_calls(
            "set-unknown",
            "UNKNOWN: nothing was read, so nothing is known of what was acknowledged",
            Outcome.UNKNOWN,
            "set",
            [*both],
        ),
    ]


TWICE: list[Step] = [
    ("write", 1, 1, 0, 8),
    ("write", 2, 2, 10, 18),
    ("read", None, 2, 20, 28),
    ("write", 1, 1, 30, 38),
]


def registers() -> list[Example]:
    steps = [("write", 1, 1, 0, 30), ("write", 2, 2, 5, 25), ("read", None, 2, 8, 12)]
    return [
        of_calls(
            "register-pass",
            "PASS: 2 is written, read, then overwritten by 1",
            Outcome.PASS,
            "register",
            [*steps, ("read", None, 1, 32, 40)],
        ),
        of_calls(
            "register-fail",
            "FAIL zones-overlap: 2 was read, then 1, then 2 again, but each was written once",
            Outcome.FAIL,
            "register",
            [*steps, ("read", None, 1, 14, 18), ("read", None, 2, 20, 24)],
        ),
        of_calls(
            "register-unknown",
            "UNKNOWN: two writes were acknowledged and nothing was read, which proves nothing",
            Outcome.UNKNOWN,
            "register",
            [steps[0], steps[1], ("read", None, None, 32, None)],
        ),
    ]


def searches() -> list[Example]:
    """A value that is written twice, and a search that gives up."""
    hard = [("write", value, value, 0, 40) for value in (1, 2, 3)] + [("read", None, 9, 50, 60)]
    part = register_part(calls_of(hard), "example", False)

    def give_up() -> Outcome:
        return Outcome.UNKNOWN if search(part, register(), budget=3).holds is None else Outcome.FAIL

    return [
        of_calls(
            "search-pass",
            "PASS: 1 is written twice, with a 2 between; there is an order",
            Outcome.PASS,
            "register",
            [*TWICE, ("read", None, 1, 42, 50)],
        ),
        of_calls(
            "search-fail",
            "FAIL no-order: when the last read begins, the register must be 1",
            Outcome.FAIL,
            "register",
            [*TWICE, ("read", None, 2, 42, 50)],
        ),
        Example(
            "search-unknown",
            "UNKNOWN: a search with a budget of three configurations gives up",
            Outcome.UNKNOWN,
            give_up,
            lambda text: draw(bars(calls_of(hard)), text),
        ),
    ]


def locks() -> list[Example]:
    def locked(name: str, title: str, outcome: Outcome, times: Sequence[tuple[int, str, int, int | None]]) -> Example:
        calls = [
            Call(number + 1, owner, f, None, call, ret, "info" if ret is None else "ok", None, None)
            for number, (owner, f, call, ret) in enumerate(times)
        ]
        shown = [
            Bar(f"process {c.process} {c.f}" + (": no answer" if c.ret is None else ""), c.call, c.ret, c.type)
            for c in calls
        ]
        return Example(
            name, title, outcome, lambda: check_calls(calls, "mutex").outcome, lambda text: draw(shown, text)
        )

    return [
        locked(
            "lock-pass",
            "PASS: the release overlaps the next acquire",
            Outcome.PASS,
            [(1, "acquire", 0, 5), (1, "release", 10, 20), (2, "acquire", 8, 18)],
        ),
        locked(
            "lock-fail",
            "FAIL: process 1 held it until 20 at the earliest, process 2 had it at 12",
            Outcome.FAIL,
            [(1, "acquire", 0, 5), (2, "acquire", 8, 12), (1, "release", 20, 25)],
        ),
        locked("lock-unknown", "UNKNOWN: a history without operations proves nothing", Outcome.UNKNOWN, []),
    ]


def of_logs(name: str, title: str, outcome: Outcome, ops: Sequence[Drawn]) -> Example:
    """An example of two logs and processes that keep their order."""

    def judge() -> Outcome:
        processes = np.array([op.process for op in ops], dtype=np.int64)
        answer = check_sequential(log_input(list(ops), 2), processes).holds
        return Outcome.UNKNOWN if answer is None else Outcome.PASS if answer else Outcome.FAIL

    shown = [Bar(_log_label(op), op.inv, op.ret if op.outcome == "ok" else None, op.outcome) for op in ops]
    return Example(name, title, outcome, judge, lambda text: draw(shown, text))


def grades() -> list[Example]:
    """Sequential consistency: processes keep their order, the clock does not count."""
    stale = [appended(0, 0, 0, 0, process=0), answered("empty", 0, 0, 20, process=1)]
    crossed = [
        appended(0, 0, 0, 0, process=0),
        answered("empty", 1, 0, 12, process=0),
        appended(1, 1, 0, 1, process=1),
        answered("empty", 0, 0, 14, process=1),
    ]
    filled = [
        appended(0, 0, 1, 0, process=0),
        answered("empty", 1, 0, 12, process=0),
        Drawn("append", 0, 1, INFINITE, "info", [1], -1, [], 2),
        appended(1, 2, 0, 2, process=1),
        answered("empty", 0, 0, 14, process=1),
    ]
    return [
        of_logs("sequential-pass", "PASS: late for the clock, but processes 0 and 1 never met", Outcome.PASS, stale),
        of_logs(
            "sequential-fail",
            "FAIL circle: each process appended to its log and then found the other one's empty",
            Outcome.FAIL,
            crossed,
        ),
        of_logs(
            "sequential-unknown",
            "UNKNOWN: the same circle, through an offset that an unknown send fills",
            Outcome.UNKNOWN,
            filled,
        ),
    ]


def appended(queue: int, value: int, offset: int, at_: int, process: int) -> Drawn:
    return Drawn("append", queue, at_, at_ + 8, "ok", [value], offset, [], process)


def answered(kind: str, queue: int, at_offset: int, at_: int, process: int) -> Drawn:
    return Drawn(kind, queue, at_, at_ + 8, "ok", [], at_offset, [], process)


def _log_label(op: Drawn) -> str:
    what = f"append m{op.values[0]}" if op.kind == "append" else "poll"
    answer = "no answer" if op.outcome != "ok" else f"@{op.offset}" if op.kind == "append" else f"@{op.offset}: nothing"
    return f"process {op.process}: {what} to log {op.queue} → {answer}"


def losses() -> list[Example]:
    def run(lost: Sequence[int], *, drained: bool = True) -> Build:
        build = Build()
        for message in range(4):
            build.send(message * 20, message * 20 + 8, message, message)
        build.fault("cut_power", "broker-a-0", 85, 90, heal=110)
        for message in range(4):
            if message not in lost:
                build.drain(120 + 12 * message, 128 + 12 * message, message, [message])
        if drained:
            build.drained(180, 4)
        return build

    return [
        of_run(
            "loss-pass",
            "PASS, loss shown: the last two messages before a power cut with asynchronous flush",
            Outcome.PASS,
            check_accounting,
            run([2, 3]),
        ),
        of_run(
            "loss-fail",
            "FAIL lost-in-middle: m1 is gone, m3 behind it survived the same power cut",
            Outcome.FAIL,
            check_accounting,
            run([1]),
        ),
        of_run(
            "loss-unknown",
            "UNKNOWN: m3 was not read, but nobody read its queue to the end",
            Outcome.UNKNOWN,
            check_accounting,
            run([3], drained=False),
        ),
    ]


def services() -> list[Example]:
    def run(answers: Sequence[str], end: int = 10) -> Build:
        build = Build()
        build.fault("kill", "broker-a-0", 25, 27, heal=60)
        for number, status in enumerate(answers):
            offset = number if status == "SEND_OK" else -1
            build.send(number * end, number * end + 6, number, offset, status=status)
        return build

    down = ["SEND_OK"] * 3 + ["CONNECT_FAILED"] * 3
    return [
        of_run(
            "availability-pass",
            "PASS: down from 0.030 s to 0.060 s, back within the guarantee",
            Outcome.PASS,
            check_availability,
            run([*down, "SEND_OK", "SEND_OK"]),
        ),
        of_run(
            "availability-fail",
            "FAIL not-recovered: still down a minute after the fault was healed",
            Outcome.FAIL,
            check_availability,
            run(["SEND_OK"] + ["CONNECT_FAILED"] * 8, end=10_000),
        ),
        of_run(
            "availability-unknown",
            "UNKNOWN: nothing was ever served, so nothing can be said to have become unavailable",
            Outcome.UNKNOWN,
            check_availability,
            run(["CONNECT_FAILED"] * 4),
        ),
    ]


def groups() -> list[Example]:
    def run(told: int, *, fault: str = "", asked: bool = True) -> Build:
        build, here = Build(), {"queue": 0, "node": "broker-a-0", "group": "readers"}
        build.op("commit_offset", 0, 8, "OK", offset=4, **here)
        build.op("commit_offset", 20, 28, "OK", offset=9, **here)
        if fault:
            build.fault(fault, "broker-a-0", 40, 44, heal=70)
        if asked:
            build.op("fetch_offset", 90, 98, "OK", offset=told, **here)
        return build

    return [
        of_run(
            "groups-pass",
            "PASS: the power cut took the last commit along, since its file is never forced",
            Outcome.PASS,
            check_offsets,
            run(4, fault="cut_power"),
        ),
        of_run(
            "groups-fail",
            "FAIL offset-went-back: @9 had been committed and confirmed, nothing had happened to the broker",
            Outcome.FAIL,
            check_offsets,
            run(4),
        ),
        of_run(
            "groups-unknown",
            "UNKNOWN: offsets were committed, but nobody ever asked for them",
            Outcome.UNKNOWN,
            check_offsets,
            run(9, asked=False),
        ),
    ]


def drawings() -> dict[Path, str]:
    """file → SVG; ``AssertionError`` for an example that is not judged as its page says."""
    made = {}
    for example in [
        *logs(),
        *queues(),
        *totals(),
        *sets(),
        *registers(),
        *searches(),
        *grades(),
        *locks(),
        *losses(),
        *services(),
        *groups(),
    ]:
        judged = example.judge()
        if judged is not example.outcome:
            raise AssertionError(f"{example.name} is judged {judged.name}, not {example.outcome.name}")
        made[FOLDER / f"{example.name}.svg"] = example.picture(example.title)
    return made


def main() -> int:
    made = drawings()
    if "--check" in sys.argv:
        stale = [path.name for path, text in made.items() if not path.is_file() or path.read_text("utf-8") != text]
        print(f"not what their examples make: {', '.join(stale)}" if stale else f"{len(made)} drawings are up to date")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
    print(f"{len(made)} drawings")
    return 0


if __name__ == "__main__":
    sys.exit(main())
