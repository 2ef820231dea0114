"""One row a cell and side: how long after a fault the first send to a queue succeeds again (RTO).

A recovery is watched for every queue and every fault that took effect: from the beginning of its act to the completion
of the first ``ok`` send that was *invoked* after its end. A queue that had not come back when the load ended is
censored: it counts as waiting until then, not as absent (Kaplan–Meier, see ``intervals``). ``affected`` separates the
queues of the brokers that were hit from all others. Quantiles are NULL where more queues stayed away than they allow.
Times in milliseconds.
"""

from results.marts import cells
from results.marts.intervals import survival

STAGE = """
WITH brokers AS (
    SELECT run, fault, collect_set(broker) AS brokers FROM hits GROUP BY run, fault
), firsts AS (
    SELECT s.run, f.fault, s.queue, min(s.complete_ns) AS back_ns
    FROM sends s JOIN faults f ON s.run = f.run
    WHERE s.outcome = 'ok' AND f.inject_ns IS NOT NULL AND f.effective <> 0 AND s.invoke_ns >= f.inject_ns
    GROUP BY s.run, f.fault, s.queue
)
SELECT f.run, f.fault, q.queue, array_contains(b.brokers, q.broker) AS affected,
       greatest(coalesce(x.back_ns, t.last_send_ns) - f.since_ns, 0) / 1e6 AS t,
       CASE WHEN x.back_ns IS NULL THEN 0 ELSE 1 END AS happened
FROM faults f
JOIN queues q ON f.run = q.run
JOIN strikes t ON f.run = t.run
JOIN brokers b ON f.run = b.run AND f.fault = b.fault
LEFT JOIN firsts x ON f.run = x.run AND f.fault = x.fault AND q.queue = x.queue
WHERE f.inject_ns IS NOT NULL AND f.effective <> 0 AND t.last_send_ns IS NOT NULL
"""
"""One row a fault and queue: ``t`` in milliseconds, ``happened`` 1 if it came back."""

_JOINED = f"(SELECT {cells.of('r')}, x.affected, x.t, x.happened FROM recoveries x JOIN runs r ON x.run = r.run)"

QUERY = f"""
SELECT * FROM ({survival(_JOINED, f"{cells.CELL}, affected", (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)))})
ORDER BY {cells.CELL}, affected
"""
