"""A process that runs units on the reference, with one change or with none, and says what came of each.

Question: what is the least that a parent must know of a process that may loop for ever, eat all memory or die?

Model. The order is one JSON document on standard input, the answers are JSON lines on standard output: ``begin`` before
a run, ``end`` after it. So the parent knows in which run a process has died. A run has an allowance of CPU seconds;
the kernel ends the process (SIGPROF, whose default is death) when it is used up, whatever the code is doing. Memory is
bounded by the address space, so that a change which fills a list for ever ends in ``MemoryError`` or death.

With ``probe`` coverage.py tells the lines of the reference that each run executes.

Limits. What a run leaves in the modules of its process (caches) the next one finds, here as in every batch of runs.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

MEMORY_BYTES: Final = 6 << 30
ALLOWANCE_S: Final = 30.0
PREFIX: Final = "".join(f"{part}." for part in (__package__ or "").split(".")[:-2])
"""Of the rooms' modules; empty in a checkout."""


@dataclass(frozen=True)
class Run:
    """One unit with one seed, and the CPU seconds that it may take."""

    unit: str
    seed: int
    allowance_s: float = ALLOWANCE_S


@dataclass(frozen=True)
class Order:
    """*path* and *number* name the change; without a path there is none. Reports of runs end with the first that has
    failed, and ``after_unknown`` runs after the first that is not PASS."""

    runs: Sequence[Run]
    path: str = ""
    number: int = -1
    probe: bool = False
    after_unknown: int = 0

    def to_json(self) -> str:
        """For standard input."""
        return json.dumps(
            {
                "runs": [[run.unit, run.seed, run.allowance_s] for run in self.runs],
                "path": self.path,
                "number": self.number,
                "probe": self.probe,
                "after_unknown": self.after_unknown,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Order:
        """What :meth:`to_json` wrote."""
        document = json.loads(text)
        return cls(**{**document, "runs": [Run(*run) for run in document["runs"]]})


def main() -> int:
    """Run what is ordered."""
    order = Order.from_json(sys.stdin.read())
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if order.path:
        _change(order.path, order.number)
    patience = order.after_unknown
    for run in order.runs:
        _say({"begin": [run.unit, run.seed]})
        said = _probed(run) if order.probe else _judged(run)
        _say({"end": [run.unit, run.seed], **said})
        if order.probe or said["outcome"] == "PASS":
            continue
        if said["outcome"] == "FAIL" or patience == 0:
            break
        patience -= 1
    return 0


def _change(path: str, number: int) -> None:
    from harness.mutation.loading import install
    from harness.mutation.operators import changed
    from harness.mutation.population import ROOT

    module = PREFIX + path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    install(module, changed((ROOT / path).read_text(encoding="utf-8"), number))


def _judged(run: Run) -> dict[str, Any]:
    """How the run ended: its outcome, ``cause`` (check and kind), what was said, a digest of all that clients saw.

    A scenario that is there to show a broken guarantee, and shows that and no more, counts as PASS.
    """
    from harness.errors import HarnessError
    from harness.mutation.units import unit_named
    from harness.run import run_scenario
    from harness.summary import cause_of, headline, is_as_expected

    began = time.process_time()
    with _allowance(run.allowance_s):
        try:
            result = run_scenario(unit_named(run.unit).scenario, seed=run.seed, keep="none")
        except (HarnessError, MemoryError) as error:
            said = {"outcome": "ERROR", "cause": type(error).__name__, "headline": str(error)[:200], "history": ""}
        else:
            is_good = is_as_expected(result.outcome, result.verdicts)
            said = {
                "outcome": "PASS" if is_good else result.outcome.name,
                "cause": "" if is_good else cause_of(result),
                "headline": headline(result)[:200],
                "history": result.history_sha256[:16],
            }
    return {**said, "cpu_s": round(time.process_time() - began, 2)}


@contextmanager
def _allowance(seconds: float) -> Iterator[None]:
    """The process dies when it has used so much CPU within."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _probed(run: Run) -> dict[str, Any]:
    """The same, and the lines that were executed, by path below the folder of the rooms."""
    from coverage import Coverage

    from harness.mutation.population import ROOT, SUBJECT

    tracer = Coverage(data_file=None, include=[f"{ROOT / SUBJECT}/*"])
    tracer.start()
    try:
        said = _judged(run)
    finally:
        tracer.stop()
    data = tracer.get_data()
    lines = {str(Path(path).relative_to(ROOT)): sorted(data.lines(path) or ()) for path in data.measured_files()}
    return {**said, "lines": lines}


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document, separators=(",", ":")) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
