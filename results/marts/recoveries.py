"""One row a cell and side: how long after a fault the first send to a queue succeeded again.

A recovery is measured for every queue and every fault that was injected (a selector that fitted nobody is no fault):
from the injection to the completion of the first ``ok`` send that was *invoked* after it. ``affected`` separates the
queues of brokers that were broken, or cut off from somebody, from all others. ``never`` counts queues that saw no
success to the end of the load. Times in milliseconds.
"""

QUERY = """
WITH faults AS (
    SELECT run, fault, min(ns) AS injected_ns FROM events
    WHERE kind = 'fault' AND step = 'inject' AND effective <> 0 GROUP BY run, fault
), hit AS (
    SELECT run, fault,
           explode(concat(array(node), coalesce(from_json(detail, 'right array<string>').right, array()))) AS node
    FROM events WHERE kind = 'fault' AND step = 'resolve'
), broken AS (
    SELECT run, fault, collect_set(regexp_replace(node, '-[0-9]+$', '')) AS brokers FROM hit GROUP BY run, fault
), sends AS (
    SELECT run, queue, invoke_ns, complete_ns FROM ops WHERE f = 'send' AND outcome = 'ok'
), firsts AS (
    SELECT f.run, f.fault, q.queue, q.broker,
           min(CASE WHEN s.invoke_ns >= f.injected_ns THEN s.complete_ns END) - f.injected_ns AS recovery_ns
    FROM faults f
    JOIN queues q ON f.run = q.run
    LEFT JOIN sends s ON f.run = s.run AND q.queue = s.queue
    GROUP BY f.run, f.fault, f.injected_ns, q.queue, q.broker
), sides AS (
    SELECT x.run, x.recovery_ns / 1e6 AS recovery_ms, array_contains(b.brokers, x.broker) AS affected
    FROM firsts x JOIN broken b ON x.run = b.run AND x.fault = b.fault
)
SELECT r.mode, r.flush, r.fault, r.backend, r.target, s.affected,
       count(*)                                        AS recoveries,
       count_if(s.recovery_ms IS NULL)                 AS never,
       percentile_approx(s.recovery_ms, 0.5)           AS p50_ms,
       percentile_approx(s.recovery_ms, 0.9)           AS p90_ms,
       percentile_approx(s.recovery_ms, 0.99)          AS p99_ms,
       max(s.recovery_ms)                              AS max_ms
FROM sides s JOIN runs r ON s.run = r.run
WHERE r.defects = ''
GROUP BY r.mode, r.flush, r.fault, r.backend, r.target, s.affected
ORDER BY r.mode, r.flush, r.fault, r.backend, r.target, s.affected
"""
