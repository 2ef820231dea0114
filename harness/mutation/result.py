"""What the runs of one mutant come to.

Question: was the change noticed, by whom, and if not: did anything happen at all?

Model. One table, the first row that holds:

| result | when |
|---|---|
| ``killed`` | a run says FAIL, whose twin without the change says PASS; *cause* is check and kind |
| ``noticed`` | no FAIL, but UNKNOWN, an error of the harness, a crash, a run without end |
| ``survived`` | all runs say PASS; ``same`` if every one had the history of its twin to the byte |
| ``unexecuted`` | no unit executes the line |

``noticed`` counts as killed: nobody can take it for a green run. A survivor that is ``same`` changes nothing that a
client sees, there: it is equivalent, or nobody asks for what it changes. Which, a person says (``reviewed.yaml``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from harness.mutation.workers import Said

Kind = Literal["killed", "noticed", "survived", "unexecuted"]
KILLS: Final = ("killed", "noticed")


@dataclass(frozen=True)
class Result:
    """Of one mutant. *unit*, *seed*, *cause* and *headline* are of the run that noticed it; *executing*: how many units
    execute the line, *runs*: how many were asked, *same*: how many of these had the history of their twins."""

    mutant: str
    kind: Kind
    executing: int = 0
    runs: int = 0
    same: int = 0
    cpu_s: float = 0.0
    unit: str = ""
    seed: int = 0
    outcome: str = ""
    cause: str = ""
    headline: str = ""

    def to_record(self) -> dict[str, Any]:
        """For a file of records."""
        return asdict(self)


def result_of(mutant: str, executing: int, said: Sequence[Said], twins: Mapping[tuple[str, int], str]) -> Result:
    """*twins* has the histories of the same runs without the change, by unit and seed."""
    if not said:
        return Result(mutant, "unexecuted", executing)
    same = sum(one.history != "" and one.history == twins.get((one.unit, one.seed)) for one in said)
    common = (executing, len(said), same, round(sum(one.cpu_s for one in said), 1))
    failed = next((one for one in said if one.outcome == "FAIL"), None)
    other = next((one for one in said if one.outcome not in ("FAIL", "PASS")), None)
    if (seen := failed or other) is None:
        return Result(mutant, "survived", *common)
    kind: Kind = "killed" if failed else "noticed"
    return Result(mutant, kind, *common, seen.unit, seen.seed, seen.outcome, seen.cause, seen.headline)
