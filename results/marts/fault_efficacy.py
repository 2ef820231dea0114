"""One row a verb, role, backend and target: of the faults that were planned, how many took effect and were undone.

``planned`` = ``took_effect`` + ``no_effect`` + ``cannot_be_told``; ``refused`` and those that hit no node are part of
``no_effect``. A fault on nodes of several roles counts under each of them.
"""

from results.marts.intervals import wilson

QUERY = f"""
SELECT f.verb, coalesce(h.role, 'no node') AS role, r.backend, r.target,
       count(*)                        AS planned,
       count_if(f.effective = 1)       AS took_effect,
       count_if(f.effective = 0)       AS no_effect,
       count_if(f.effective = -1)      AS cannot_be_told,
       count_if(f.refused)             AS refused,
       count_if(f.healed = 1)          AS undone,
       count_if(f.healed = 0)          AS not_undone,
       {wilson("count_if(f.effective = 1)", "count(*)", "took_effect")}
FROM faults f
JOIN runs r ON f.run = r.run
LEFT JOIN (SELECT DISTINCT run, fault, role FROM hits WHERE is_left) h ON f.run = h.run AND f.fault = h.fault
GROUP BY f.verb, coalesce(h.role, 'no node'), r.backend, r.target
ORDER BY f.verb, role, r.backend, r.target
"""
