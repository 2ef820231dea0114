"""One row a combination that was exercised: verb, role that it hit, state of the cluster, kind of message, mode, world.

``state``: ``alone``, or ``during <verbs>`` where other faults were in force at the injection. Only faults that took
effect count. What is not here was never exercised; the page lists that against all verbs and modes there are.
"""

QUERY = """
WITH states AS (
    SELECT f.run, f.fault, CASE WHEN count(o.fault) = 0 THEN 'alone'
        ELSE concat('during ', array_join(array_sort(collect_set(o.verb)), ', ')) END AS state
    FROM faults f LEFT JOIN faults o ON f.run = o.run AND f.fault <> o.fault AND o.effective <> 0
         AND o.inject_ns <= f.inject_ns AND coalesce(o.heal_ns, 9223372036854775807) > f.inject_ns
    WHERE f.effective = 1 GROUP BY f.run, f.fault
), kinds AS (
    SELECT DISTINCT run, CASE WHEN kind = '' THEN 'plain' ELSE kind END AS kind FROM messages
), roles AS (SELECT DISTINCT run, fault, verb, role FROM hits WHERE is_left)
SELECT h.verb, h.role, s.state, coalesce(k.kind, 'none') AS kind, r.mode, r.flush, r.backend, r.target,
       count(DISTINCT r.run) AS runs
FROM roles h
JOIN states s ON h.run = s.run AND h.fault = s.fault
JOIN runs r ON h.run = r.run
LEFT JOIN kinds k ON h.run = k.run
GROUP BY h.verb, h.role, s.state, coalesce(k.kind, 'none'), r.mode, r.flush, r.backend, r.target
ORDER BY h.verb, h.role, s.state, kind, r.mode, r.flush, r.backend, r.target
"""
