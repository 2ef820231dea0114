"""Processes that run units: begun, bounded, and read until they end.

Question: which runs were done, and in which one did the process die, and of what?

Model. ``begin`` without ``end`` is the run in which a process died. By SIGPROF it had used up its CPU seconds, so it
would not have ended; whatever else took it is a crash. A process that does not come to an end although it does not use
its CPU is killed after ``WALL_FACTOR`` times its allowance.

Limits. A busy machine may make the last case of the first: then the run says ``stuck``.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from threading import Timer
from typing import IO, Any, Final

from harness.mutation.population import ROOT
from harness.mutation.worker import Order, Run

WALL_FACTOR: Final = 10
WORDS_MAX: Final = 200


@dataclass(frozen=True)
class Said:
    """How one run ended. ``outcome`` is a verdict's, or ERROR (of the harness), ``endless``, ``stuck``, ``crash``."""

    unit: str
    seed: int
    outcome: str
    cause: str = ""
    headline: str = ""
    history: str = ""
    cpu_s: float = 0.0
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)


def carry_out(order: Order, command: Sequence[str] = ()) -> Iterator[Said]:
    """Begin a process for *order*; what it says, run by run, and how it died if it did."""
    words = command or [sys.executable, "-m", f"{__package__}.worker"]
    with (
        TemporaryFile("w+") as words_file,
        subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=words_file, text=True, cwd=ROOT
        ) as process,
    ):
        limit = Timer(WALL_FACTOR * sum(run.allowance_s for run in order.runs), process.kill)
        limit.daemon = True
        limit.start()
        try:
            yield from _read(process, order, words_file)
        finally:
            limit.cancel()
            process.kill()


def _read(process: subprocess.Popen[str], order: Order, words: IO[str]) -> Iterator[Said]:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # who died at once is told below, by its death
        process.stdin.write(order.to_json())
        process.stdin.close()
    current: list[Any] = [order.runs[0].unit, order.runs[0].seed]
    is_within = True
    for line in process.stdout:
        document = json.loads(line)
        is_within = "begin" in document
        current = document.pop("begin", None) or document.pop("end")
        if not is_within:
            yield Said(*current, **document)
    if (code := process.wait()) or is_within:
        words.seek(0)
        outcome, cause = _death(code)
        yield Said(current[0], current[1], outcome, cause, words.read().strip()[-WORDS_MAX:])


def _death(code: int) -> tuple[str, str]:
    """The outcome and its cause."""
    if code == -signal.SIGPROF:
        return "endless", "used up its CPU seconds"
    if code == -signal.SIGKILL:
        return "stuck", "did not end"
    return "crash", f"the process ended with {code}"


def runs_of(units: Sequence[str], seeds: Sequence[int], allowance_s: float) -> list[Run]:
    """Every unit with every seed."""
    return [Run(unit, seed, allowance_s) for seed in seeds for unit in units]
