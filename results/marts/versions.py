"""One row a configuration, fault and world: the figures by which releases are laid side by side.

Runs with planted bugs are left out. ``ok_share`` is that of sends begun within 20 s after the first fault;
``steady_p99_ms`` that of sends before it. Recovery figures are those of the queues that were hit.
"""

QUERY = """
WITH served AS (
    SELECT mode, flush, fault, backend, target, defects, sum(attempts) AS attempts, sum(succeeded) AS succeeded
    FROM availability WHERE bin >= 0 GROUP BY ALL
)
SELECT c.mode, c.flush, c.fault, c.backend, c.target, c.runs, c.failed, c.unknown, c.acknowledged, c.lost,
       c.lost_broken, try_divide(c.lost * 10000.0D, c.acknowledged) AS lost_per_10000,
       try_divide(a.succeeded, a.attempts) AS ok_share,
       t.p50_ms AS recovery_p50_ms, t.p50_ms_low AS recovery_p50_ms_low, t.p50_ms_high AS recovery_p50_ms_high,
       t.p90_ms AS recovery_p90_ms, t.censored AS not_recovered, t.observed AS recoveries,
       l.p99_ms AS steady_p99_ms
FROM cell_outcomes c
LEFT JOIN served a USING (mode, flush, fault, backend, target, defects)
LEFT JOIN (SELECT * FROM recovery_times WHERE affected) t USING (mode, flush, fault, backend, target, defects)
LEFT JOIN (SELECT * FROM latencies WHERE f = 'send' AND phase = 'steady') l
     USING (mode, flush, fault, backend, target, defects)
WHERE c.defects = ''
ORDER BY c.mode, c.flush, c.fault, c.backend, c.target
"""
