"""One row a cell (mode, flush, fault, backend, target, planted defects): how many runs ended how.

``unlike`` names the checks that were not PASS in some run of the cell, so that a red cell says what to look at.
"""

QUERY = """
SELECT r.mode, r.flush, r.fault, r.backend, r.target, r.defects,
       count(*)                              AS runs,
       count_if(r.outcome = 'PASS')          AS passed,
       count_if(r.outcome = 'UNKNOWN')       AS unknown,
       count_if(r.outcome = 'FAIL')          AS failed,
       coalesce(max(c.unlike), '')           AS unlike
FROM runs r
LEFT JOIN (
    SELECT s.mode, s.flush, s.fault, s.backend, s.target, s.defects,
           array_join(array_sort(collect_set(concat(v.check, ' ', v.outcome))), ', ') AS unlike
    FROM verdicts v JOIN runs s ON v.run = s.run
    WHERE v.outcome <> 'PASS'
    GROUP BY ALL
) c ON r.mode = c.mode AND r.flush = c.flush AND r.fault = c.fault AND r.backend = c.backend
       AND r.target = c.target AND r.defects = c.defects
GROUP BY r.mode, r.flush, r.fault, r.backend, r.target, r.defects
ORDER BY r.defects, r.mode, r.flush, r.fault, r.backend, r.target
"""
