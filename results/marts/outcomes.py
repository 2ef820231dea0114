"""One row a cell: how many runs ended how, and what the checks counted as lost. The first answer of a build.

``passed`` + ``unknown`` + ``failed`` = ``runs``. ``fail_low`` to ``fail_high``: 95 % interval of the share of runs that
fail. ``lost_allowed`` messages were lost as the contract of the mode allows, ``lost_broken`` outside it, both as the
accounting check counted them. ``checks``: which were not PASS in some run. ``failing``: up to 20 runs, the failed ones
first.

Only verdicts are read, no operation, so it takes seconds however large the lake is. What the operations say of losses
comes with ``cell_outcomes``, which has all these columns, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from results.marts import cells
from results.marts.intervals import wilson

if TYPE_CHECKING:
    import pyarrow as pa

COUNTED: Final = """
    SELECT run, CASE WHEN allowed THEN n ELSE 0 END AS lost_allowed, CASE WHEN allowed THEN 0 ELSE n END AS lost_broken
    FROM (SELECT run, allowed, coalesce(try_cast(get_json_object(details, '$.count') AS bigint), 1) AS n
          FROM anomalies WHERE check = 'accounting' AND kind IN ('lost', 'expired'))
"""
"""One row a finding of the accounting check: messages of a run that were lost within the contract, and outside it."""

QUERY = f"""
WITH found AS (
    SELECT run, concat(check, ' ', outcome) AS check, 0L AS lost_allowed, 0L AS lost_broken
    FROM verdicts WHERE outcome <> 'PASS'
    UNION ALL
    SELECT run, NULL, lost_allowed, lost_broken FROM ({COUNTED})
), by_run AS (
    SELECT run, collect_set(check) AS checks, sum(lost_allowed) AS lost_allowed, sum(lost_broken) AS lost_broken
    FROM found GROUP BY run
)
SELECT {cells.of("r")},
       count(*)                                 AS runs,
       count_if(r.outcome = 'PASS')             AS passed,
       count_if(r.outcome = 'UNKNOWN')          AS unknown,
       count_if(r.outcome = 'FAIL')             AS failed,
       {wilson("count_if(r.outcome = 'FAIL')", "count(*)", "fail")},
       coalesce(sum(f.lost_allowed), 0)         AS lost_allowed,
       coalesce(sum(f.lost_broken), 0)          AS lost_broken,
       min(r.started_epoch_ms)                  AS first_epoch_ms,
       max(r.started_epoch_ms)                  AS last_epoch_ms,
       array_join(array_sort(collect_set(r.commit)), ', ') AS commits,
       coalesce(array_join(array_sort(array_distinct(flatten(collect_list(f.checks)))), ', '), '') AS checks,
       coalesce(transform(slice(array_sort(collect_list(
           CASE r.outcome WHEN 'FAIL' THEN struct(0 AS rank, r.run AS run)
                          WHEN 'UNKNOWN' THEN struct(1 AS rank, r.run AS run) END
       )), 1, 20), one -> one.run), array())    AS failing
FROM runs r
LEFT JOIN by_run f ON r.run = f.run
GROUP BY {cells.of("r")}
ORDER BY {cells.of("r")}
"""
"""With one join: each stage costs a new session half a second of processor time."""


def in_words(outcomes: pa.Table) -> str:
    """The whole table in one sentence."""
    counted = {name: sum(outcomes[name].to_pylist()) for name in ("runs", "passed", "unknown", "failed")}
    allowed, broken = (sum(outcomes[name].to_pylist()) for name in ("lost_allowed", "lost_broken"))
    return (
        f"{len(outcomes):,} cells of {counted['runs']:,} runs: {counted['passed']:,} PASS, "
        f"{counted['unknown']:,} UNKNOWN, {counted['failed']:,} FAIL; "
        f"{allowed:,} messages lost within the contract, {broken:,} outside it"
    )
