"""The life cycle of one run, from a scenario to a verdict.

Question: in which order do load, faults, healing and judgement happen, and who bounds each of them?

    prepare  start  steady  faults  heal  converge  drain  dump  check  report

Each phase is an event in the history, with its time. The text is sequential and never sleeps: it asks the backend to
run the world until something holds or a deadline passes, so it serves the simulator and real processes alike.

Limits. A phase that misses its deadline does not hang the run: its name goes into the facts and the verdict is at least
UNKNOWN. A budget of the simulator that is reached ends the load and makes the run UNKNOWN. What the harness itself
cannot do (a broker that never starts) is a ``HarnessError``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from checkers.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from harness.scenario import Scenario

Keep = Literal["all", "failures", "none"]


@dataclass(frozen=True)
class RunResult:
    """What a run came to. ``folder`` is ``None`` for a run that was not kept."""

    run: str
    scenario: str
    backend: str
    target: str
    seed: int
    outcome: Outcome
    verdicts: tuple[Verdict, ...]
    history_sha256: str
    """Of ``journal.jsonl``; in the simulator a function of scenario, seed, defects and code."""
    unseed: int
    """One more draw of the run's root generator after the run; 0 where the world is not deterministic."""
    folder: Path | None
    measures: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def replay_command(self) -> str:
        """What a person types to see it again."""
        if self.folder is not None:
            return f"mqchaos replay {self.folder}"
        return f"mqchaos run {self.scenario} --backend {self.backend} --target {self.target} --seed {self.seed:#x}"


@dataclass(frozen=True)
class Progress:
    """For a live display, at most ten times a second of the run's clock."""

    phase: str
    now_ns: int
    faults: tuple[str, ...]
    """Faults that are active now, as sentences."""
    measures: Mapping[str, int]


class Interrupt:
    """Ctrl-C as a value, pressed by a signal handler: once for an early orderly end, twice to leave.

    After the first the load stops, faults are healed, what can be is drained, and the history is judged; after the
    second faults are healed and the run ends without a verdict (``KeyboardInterrupt``).
    """

    def __init__(self) -> None:
        self.presses = 0

    def press(self) -> None:
        self.presses += 1


def run_scenario(
    scenario: Scenario | str | Path,
    *,
    backend: str = "sim",
    target: str = "reference",
    seed: int,
    out: Path | None = None,
    defects: Sequence[str] = (),
    keep: Keep = "all",
    on_progress: Callable[[Progress], None] | None = None,
    interrupt: Interrupt | None = None,
) -> RunResult:
    """Run *scenario* (a value, the name of a scenario that comes with the project, or a file) and judge it.

    *out* is the folder of runs (``runs/`` by default), below which the run gets a folder of its own; with ``keep`` =
    ``failures`` that is written only if the outcome is not PASS, with ``none`` never (simulator only). Raises
    ``HarnessError`` and its kinds for what is no verdict, ``KeyboardInterrupt`` after a second press.
    """
    from harness.lifecycle import Run

    return Run.of(
        scenario, backend, target, seed, out, tuple(defects), keep, on_progress, interrupt or Interrupt()
    ).result()
