"""One row a cell, kind of operation and phase: how long answered operations took.

Phases are the run's own (``steady``, ``faults``, ``heal``, ``converge``, ``drain``); an operation belongs to the one in
which it began. Quantiles are approximate (one in ten thousand), in milliseconds.
"""

from results.marts import cells

QUERY = f"""
WITH spans AS (
    SELECT run, min(CASE step WHEN 'steady' THEN ns END) AS steady, min(CASE step WHEN 'faults' THEN ns END) AS faults,
           min(CASE step WHEN 'heal' THEN ns END) AS heal, min(CASE step WHEN 'converge' THEN ns END) AS converge,
           min(CASE step WHEN 'drain' THEN ns END) AS drain
    FROM events WHERE kind = 'phase' GROUP BY run
), timed AS (
    SELECT o.run, o.f, (o.complete_ns - o.invoke_ns) / 1e6 AS ms,
           CASE WHEN o.invoke_ns >= p.drain THEN 'drain' WHEN o.invoke_ns >= p.converge THEN 'converge'
                WHEN o.invoke_ns >= p.heal THEN 'heal' WHEN o.invoke_ns >= p.faults THEN 'faults'
                WHEN o.invoke_ns >= p.steady THEN 'steady' ELSE 'start' END AS phase
    FROM ops o JOIN spans p ON o.run = p.run
    WHERE o.complete_ns >= 0 AND o.f IN ('send', 'pull', 'drain', 'commit_offset')
)
SELECT {cells.of("r")}, t.f, t.phase, count(*) AS answered,
       percentile_approx(t.ms, array(0.5, 0.9, 0.99))[0] AS p50_ms,
       percentile_approx(t.ms, array(0.5, 0.9, 0.99))[1] AS p90_ms,
       percentile_approx(t.ms, array(0.5, 0.9, 0.99))[2] AS p99_ms,
       max(t.ms) AS max_ms
FROM timed t JOIN runs r ON t.run = r.run
GROUP BY ALL
ORDER BY {cells.of("r")}, t.f, t.phase
"""
