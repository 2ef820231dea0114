"""How long is a group of three without a leader that serves, and what takes the time, beside Apache RocketMQ?

The leader is killed under load (``dledger-leader-in-the-routes``), once a run, with as many seeds as there are runs.
What passes from the kill to the first SEND_OK is cut at what members and clients tell:

    detect     the first of the others stands for election
    elect      one of them leads
    register   it serves as master: its log is committed up to its own term, and it has told the NameServer
    route      a client is told so
    write      the first message sent after the kill is acknowledged

Simulated first, many runs of the reference: a distribution, a function of the seeds and the code, whatever the machine
does. Then a few runs on real processes, the reference and Apache's broker in turn. Apache's members do not tell their
roles to anybody outside, so of theirs there is only when a client was told, and when it could write; the ratio is of
the medians, and better below 1. Silence, the waits between votes and the pauses of clients are DLedger's and RocketMQ's
own numbers in both.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.brokers import APACHE_VERSION
from benchmarks.figure import Figure
from checkers.history.columns import Ints
from checkers.history.history import History
from harness import runfolder
from harness.errors import BackendUnavailable
from harness.run import run_scenario

SCENARIO: Final = "dledger-leader-in-the-routes"
MEMBERS: Final = 3
SIMULATED: Final = 40
RUNS: Final = 3
PARTS: Final = ("detect", "elect", "register", "route", "write")
SEEN_BY_CLIENTS: Final = ("route", "write")

Times = dict[str, int]
"""Part → when it was over, nanoseconds after the kill. What was not told is not there."""


def measure(quick: bool) -> Iterator[Figure]:
    yield from _simulated(2 if quick else SIMULATED)
    if not quick:
        yield from _on_processes()


def _simulated(count: int) -> Iterator[Figure]:
    runs = [times(_ran("sim", "reference", seed)) for seed in range(1, count + 1)]
    for part, lasted in lengths(runs).items():
        yield Figure(f"simulated, {part}", float(np.median(lasted)), "ms", note=_spread(lasted))
    whole = _ends(runs, "write")
    yield Figure("simulated, from the kill to SEND_OK", float(np.median(whole)), "ms", note=_spread(whole))


def _on_processes() -> Iterator[Figure]:
    reference, apache, missing = _in_turn(f"rocketmq:{APACHE_VERSION}")
    for part in SEEN_BY_CLIENTS:
        own, theirs = _ends(reference, part), _ends(apache, part)
        ratio = float(np.median(own) / np.median(theirs)) if len(theirs) else None
        label = f"processes, from the kill to {'SEND_OK' if part == 'write' else 'the route'}"
        yield Figure(label, float(np.median(own)), "ms", ratio, "Apache", note=missing or _spread(own))
        if len(theirs):
            yield Figure(f"Apache {APACHE_VERSION}, the same", float(np.median(theirs)), "ms", note=_spread(theirs))


def _in_turn(target: str) -> tuple[list[Times], list[Times], str]:
    """(runs of the reference, of *target*, why there are none of that)."""
    reference: list[Times] = []
    others: list[Times] = []
    for seed in range(1, RUNS + 1):
        reference.append(times(_ran("process", "reference", seed)))
        try:
            others.append(times(_ran("process", target, seed)))
        except BackendUnavailable as error:
            return reference, [], str(error)
    return reference, others, ""


def _ran(backend: str, target: str, seed: int) -> History:
    with tempfile.TemporaryDirectory(prefix="mqchaos-benchmark-") as folder:
        result = run_scenario(SCENARIO, backend=backend, target=target, seed=seed, out=Path(folder), keep="all")
        assert result.folder is not None
        return runfolder.load_history(result.folder)


def times(history: History) -> Times:
    """When each part was over, of the one kill in *history*."""
    killed_ns, _ = next(_told(history, "node", "killed", lambda _: True))
    ends = {
        "detect": _told(history, "role", "role_changed", lambda detail: detail["role"] == "CANDIDATE"),
        "elect": _told(history, "role", "role_changed", lambda detail: detail["role"] == "LEADER"),
        "register": _told(history, "role", "became_master", lambda _: True),
        "route": _told(history, "note", "routes", _has_another_master),
    }
    first = {part: next((ns for ns, _ in told if ns >= killed_ns), None) for part, told in ends.items()}
    ops = history.ops
    granted = np.flatnonzero(ops.f.mask("send") & ops.outcome.mask("ok") & (ops.invoke_ns >= killed_ns))
    if len(granted):
        first["write"] = int(ops.complete_ns[granted].min())
    return {part: ns - killed_ns for part, ns in first.items() if ns is not None}


def _told(history: History, kind: str, step: str, fits: Callable[[Any], bool]) -> Iterator[tuple[int, Any]]:
    """(when, detail) of events of this *kind* and *step* whose detail *fits*, in order."""
    events = history.events
    for row in np.flatnonzero(events.kind.mask(kind) & events.step.mask(step)).tolist():
        detail = json.loads(events.detail[row] or "{}")
        if fits(detail):
            yield int(events.ns[row]), detail


def _has_another_master(detail: Any) -> bool:
    """A master is listed, and the one that died is not."""
    return any(0 in ids and len(ids) < MEMBERS for ids in detail["brokers"].values())


def lengths(runs: list[Times]) -> dict[str, Ints]:
    """Part → how long it lasted in each run that told of all parts, in milliseconds: from the end of the one before."""
    whole = [run for run in runs if run.keys() >= set(PARTS)]
    ends = np.array([[0, *(run[part] for part in PARTS)] for run in whole], dtype=np.int64).reshape(-1, len(PARTS) + 1)
    return dict(zip(PARTS, np.diff(ends, axis=1).T // 1_000_000, strict=True))


def _ends(runs: list[Times], part: str) -> Ints:
    return np.array([run[part] for run in runs if part in run], dtype=np.int64) // 1_000_000


def _spread(lasted: Ints) -> str:
    low, ninety, high = (int(np.percentile(lasted, share)) for share in (0, 90, 100))
    return f"{len(lasted)} runs: least {low:,} ms, 90 % within {ninety:,} ms, most {high:,} ms"
