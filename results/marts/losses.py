"""One row a run: acknowledged, lost and duplicated messages, counted from the operations, beside what the check says.

``acknowledged``   messages with an ``ok`` send
``lost``           of those, never seen by a read of the drain phase (those that expired are among them)
``duplicated``     messages that the drain saw at more than one place (queue, offset)
``recovered``      messages without an acknowledgement that the drain saw all the same
``oldest_lost_ms`` from the acknowledgement of the oldest lost message to the first fault after it (NULL: none lost)
``checker_lost``   what the accounting check counted, lost or expired: the two must agree
``lost_allowed``, ``lost_broken``  how the findings of the checks divide them: within the contract, outside it
"""

from results.marts.outcomes import COUNTED

QUERY = f"""
WITH counted AS (
    SELECT run, count(*) AS sent, count_if(acknowledged) AS acknowledged,
           count_if(acknowledged AND NOT drained) AS lost, count_if(is_twice) AS duplicated,
           count_if(NOT acknowledged AND drained) AS recovered
    FROM fates GROUP BY run
), ages AS (
    SELECT run, max(after_ns - acked_ns) / 1e6 AS oldest_lost_ms FROM (
        SELECT f.run, f.message, f.acked_ns, min(b.inject_ns) AS after_ns
        FROM fates f JOIN faults b ON f.run = b.run AND b.effective <> 0 AND b.inject_ns >= f.acked_ns
        WHERE f.acknowledged AND NOT f.drained GROUP BY f.run, f.message, f.acked_ns
    ) GROUP BY run
), judged AS (
    SELECT run, max(try_cast(get_json_object(measures, '$.lost') AS bigint)
                    + coalesce(try_cast(get_json_object(measures, '$.expired') AS bigint), 0)) AS checker_lost
    FROM verdicts WHERE check = 'accounting' GROUP BY run
), divided AS (
    SELECT run, sum(lost_allowed) AS lost_allowed, sum(lost_broken) AS lost_broken FROM ({COUNTED}) GROUP BY run
)
SELECT r.run, r.mode, r.flush, r.fault, r.backend, r.target, r.defects, r.outcome, r.scenario, r.seed, r.commit,
       r.started_epoch_ms, r.folder, r.replay, r.failed_checks, r.ops, r.duration_ns,
       coalesce(c.sent, 0)          AS sent,
       coalesce(c.acknowledged, 0)  AS acknowledged,
       coalesce(c.lost, 0)          AS lost,
       coalesce(c.duplicated, 0)    AS duplicated,
       coalesce(c.recovered, 0)     AS recovered,
       a.oldest_lost_ms,
       j.checker_lost,
       coalesce(d.lost_allowed, 0)  AS lost_allowed,
       coalesce(d.lost_broken, 0)   AS lost_broken
FROM runs r
LEFT JOIN counted c ON r.run = c.run
LEFT JOIN ages a ON r.run = a.run
LEFT JOIN judged j ON r.run = j.run
LEFT JOIN divided d ON r.run = d.run
ORDER BY r.run
"""
