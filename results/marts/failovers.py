"""One row a fault of a run that took effect: the stages of what clients went through, in milliseconds after its begin.

``detected_ms``   the first send to a broker that was hit ended without success
``elsewhere_ms``  the first success at another broker, of a send that began after that (NULL: none, or no other broker)
``back_ms``       the first success at a broker that was hit, of a send that began after the detection
``healed_ms``     the fault was taken back
``converged_ms``  the cluster was whole again: the drain could begin
"""

from results.marts import cells

QUERY = f"""
WITH struck AS (
    SELECT f.run, f.fault, f.verb, f.since_ns, f.heal_ns, collect_set(h.broker) AS brokers
    FROM faults f JOIN hits h ON f.run = h.run AND f.fault = h.fault
    WHERE f.effective <> 0 AND f.inject_ns IS NOT NULL
    GROUP BY f.run, f.fault, f.verb, f.since_ns, f.heal_ns
), after AS (
    SELECT x.run, x.fault, s.invoke_ns, s.complete_ns, s.outcome, array_contains(x.brokers, s.broker) AS hit,
           x.since_ns
    FROM struck x JOIN sends s ON x.run = s.run AND (s.invoke_ns >= x.since_ns OR s.complete_ns >= x.since_ns)
), detected AS (
    SELECT run, fault, min(CASE WHEN hit AND outcome <> 'ok' THEN complete_ns END) AS detected_ns
    FROM after WHERE complete_ns >= 0 GROUP BY run, fault
), returned AS (
    SELECT a.run, a.fault,
           min(CASE WHEN NOT a.hit THEN a.complete_ns END) AS elsewhere_ns,
           min(CASE WHEN a.hit THEN a.complete_ns END) AS back_ns
    FROM after a JOIN detected d ON a.run = d.run AND a.fault = d.fault
    WHERE a.outcome = 'ok' AND a.invoke_ns >= d.detected_ns GROUP BY a.run, a.fault
), drains AS (SELECT run, min(ns) AS drain_ns FROM events WHERE kind = 'phase' AND step = 'drain' GROUP BY run)
SELECT {cells.of("r")}, x.run, x.fault AS fault_id, x.verb,
       (d.detected_ns - x.since_ns) / 1e6  AS detected_ms,
       (b.elsewhere_ns - x.since_ns) / 1e6 AS elsewhere_ms,
       (b.back_ns - x.since_ns) / 1e6      AS back_ms,
       (x.heal_ns - x.since_ns) / 1e6      AS healed_ms,
       (e.drain_ns - x.since_ns) / 1e6     AS converged_ms
FROM struck x
JOIN runs r ON x.run = r.run
LEFT JOIN detected d ON x.run = d.run AND x.fault = d.fault
LEFT JOIN returned b ON x.run = b.run AND x.fault = b.fault
LEFT JOIN drains e ON x.run = e.run
ORDER BY {cells.of("r")}, x.run, x.fault
"""
