"""A history of another tool, judged within a time and a memory that were agreed on.

Question: a search may take longer than anyone waits, and a file may be larger than the machine; is there an answer
anyhow?

Model. The file is read and judged in a process of its own. If it is still at it after so many seconds, or asks for more
memory than it may have, it is ended, and the verdict is UNKNOWN with that reason. Checkers have no clock, so whoever
asks them has one.

Limits. Memory is the address space of that process, with what the libraries take in it: less than some 500 MB is not
enough to begin.
"""

from __future__ import annotations

import multiprocessing
import resource
from multiprocessing.connection import Connection
from pathlib import Path
from traceback import format_exc
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from checkers.verdict import Verdict

SECONDS: Final = 300
MEMORY_MB: Final = 4096


def check_within(
    path: Path, model: str, seconds: float = SECONDS, memory_mb: int = MEMORY_MB, report: Path | None = None
) -> Verdict:
    """As :func:`checkers.external.check.check_file`, or UNKNOWN with the bound that was met.

    *report* is where the page goes; a check that met a bound leaves none.
    """
    from checkers.history.columns import HistoryFormatError
    from checkers.verdict import Outcome, Verdict

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_judge, args=(sender, path, model, memory_mb, report), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            return Verdict(model, Outcome.UNKNOWN, reasons=(f"it was given up after {seconds:g} s (--seconds)",))
        kind, said = receiver.recv()
    except EOFError:
        process.join()
        kind, said = "ended", process.exitcode
    finally:
        process.kill()
        process.join()
    if kind == "verdict":
        verdict: Verdict = said
        return verdict
    if kind == "malformed":
        reason, place = said
        raise HistoryFormatError("history", -1, reason, place=place)
    reasons = {
        "memory": f"it needs more than {memory_mb} MB of memory (--memory)",
        "ended": f"the process that judged it ended without an answer (exit code {said})",
    }
    return Verdict(model, Outcome.UNKNOWN, reasons=(reasons.get(kind, f"the checker itself failed:\n{said}"),))


def _judge(sender: Connection, path: Path, model: str, memory_mb: int, report: Path | None) -> None:
    from checkers.history.columns import HistoryFormatError

    answer: tuple[str, Any]
    resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))
    try:
        answer = "verdict", _judged(path, model, report)
    except HistoryFormatError as error:
        answer = "malformed", (error.reason, error.place)
    except MemoryError:
        answer = "memory", None
    except Exception:  # noqa: BLE001 - what a checker raises is told by who asked, as with any check
        answer = "failed", format_exc()
    sender.send(answer)


def _judged(path: Path, model: str, report: Path | None) -> Verdict:
    from checkers.external.check import check_calls
    from checkers.external.files import read
    from checkers.external.keys import with_keys
    from harness.report import foreign

    file = read(path)
    verdict = check_calls(file.calls, model, str(path), refusals=file.is_log)
    if report is not None:
        calls = with_keys(file.calls, str(path), may_lack_key=model == "set")
        foreign.write(report, str(path), model, verdict, calls)
    return verdict
