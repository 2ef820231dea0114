"""Everything that can go wrong around a run, and the exit code it means.

    HarnessError                       exit 3
    ├─ UsageError                      exit 64   wrong flag, value or file
    │  └─ ScenarioError                          file:line:column, did you mean
    ├─ BackendUnavailable                        what is missing, how to get it
    ├─ ClusterError                              the cluster did not start, stop or answer in time
    ├─ BudgetExceeded                            a bounded run hit its bound (becomes UNKNOWN, not an exit code)
    ├─ FaultError                                a fault could not be applied
    │  └─ UndoError                              what is left, and the command that clears it
    └─ HistoryError                              a malformed or incomplete history

A violation of a guarantee is a verdict, never an exception.
"""

from __future__ import annotations

EXIT_PASS, EXIT_FAIL, EXIT_UNKNOWN, EXIT_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 0, 1, 2, 3, 64, 130


class HarnessError(Exception):
    """Printed as ``error: what`` / ``  at place`` / ``  hint: what to do``; never a traceback without ``--debug``."""

    exit_code = EXIT_ERROR

    def __init__(self, what: str, *, place: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what, self.place, self.hint = what, place, hint

    def __str__(self) -> str:
        lines = [self.what]
        lines += [f"  at {self.place}"] if self.place else []
        lines += [f"  hint: {self.hint}"] if self.hint else []
        return "\n".join(lines)


class UsageError(HarnessError):
    exit_code = EXIT_USAGE


class ScenarioError(UsageError):
    """A scenario file that cannot be bound; ``place`` is file:line:column."""


class BackendUnavailable(HarnessError):
    """Something this machine lacks."""


class ClusterError(HarnessError):
    """The cluster did not do in time what it had to."""


class BudgetExceeded(HarnessError):
    """A bound on events, virtual time or queued bytes was reached; the run is UNKNOWN with this as its reason."""


class FaultError(HarnessError):
    """A fault could not be resolved or injected."""


class UndoError(FaultError):
    """A fault could not be undone."""


class HistoryError(HarnessError):
    """A history that cannot be judged because it cannot be read."""
