"""One row a cell: how many runs ended how, what was lost within the contract and outside it, with intervals.

``passed`` + ``unknown`` + ``failed`` = ``runs``. ``fail_low`` to ``fail_high``: 95 % interval of the share of runs that
fail. ``lost_allowed`` messages were lost as the contract of the mode allows, ``lost_broken`` outside it, both as the
checks counted them; ``lost`` is counted from the operations and must be their sum. ``with_loss`` runs lost anything.
``checks``: which were not PASS in some run. ``failing``: up to 20 runs, the failed ones first.
"""

from results.marts import cells
from results.marts.intervals import wilson

QUERY = f"""
WITH listed AS (
    SELECT {cells.of("x")},
           transform(slice(array_sort(collect_list(struct(x.rank, x.run))), 1, 20), one -> one.run) AS failing
    FROM (SELECT *, CASE outcome WHEN 'FAIL' THEN 0 ELSE 1 END AS rank FROM runs WHERE outcome <> 'PASS') x
    GROUP BY {cells.of("x")}
), unlike AS (
    SELECT {cells.of("s")}, array_join(array_sort(collect_set(concat(v.check, ' ', v.outcome))), ', ') AS checks
    FROM verdicts v JOIN runs s ON v.run = s.run WHERE v.outcome <> 'PASS' GROUP BY {cells.of("s")}
)
SELECT {cells.of("r")},
       count(*)                                 AS runs,
       count_if(r.outcome = 'PASS')             AS passed,
       count_if(r.outcome = 'UNKNOWN')          AS unknown,
       count_if(r.outcome = 'FAIL')             AS failed,
       {wilson("count_if(r.outcome = 'FAIL')", "count(*)", "fail")},
       sum(l.acknowledged)                      AS acknowledged,
       sum(l.lost)                              AS lost,
       sum(l.lost_allowed)                      AS lost_allowed,
       sum(l.lost_broken)                       AS lost_broken,
       count_if(l.lost > 0)                     AS with_loss,
       {wilson("count_if(l.lost > 0)", "count(*)", "with_loss")},
       max(l.lost)                              AS lost_max,
       min(r.started_epoch_ms)                  AS first_epoch_ms,
       max(r.started_epoch_ms)                  AS last_epoch_ms,
       array_join(array_sort(collect_set(r.commit)), ', ') AS commits,
       coalesce(max(c.checks), '')              AS checks,
       coalesce(max(f.failing), array())        AS failing
FROM runs r
JOIN losses l ON r.run = l.run
LEFT JOIN unlike c ON {cells.same("r", "c")}
LEFT JOIN listed f ON {cells.same("r", "f")}
GROUP BY {cells.of("r")}
ORDER BY {cells.of("r")}
"""
