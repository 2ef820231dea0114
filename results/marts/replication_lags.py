"""One row a run, slave and moment at which it lost or found its master: how far behind it was, in bytes of log.

``behind_bytes`` is the position of the last send that its broker had acknowledged by then, less the end of the slave's
log as the slave noted it: 0 or less means that it had everything. NULL where nothing had been acknowledged.
"""

from results.marts import cells

QUERY = f"""
WITH moments AS (
    SELECT e.run, e.node, n.broker, e.step, e.ns, e.event,
           try_cast(get_json_object(e.detail, '$.log_end') AS bigint) AS log_end
    FROM events e JOIN nodes n ON e.run = n.run AND e.node = n.node
    WHERE e.kind = 'role' AND e.step IN ('ha_master_gone', 'ha_master_connected')
)
SELECT {cells.of("r")}, m.run, m.node, CASE m.step WHEN 'ha_master_gone' THEN 'lost' ELSE 'found' END AS master,
       m.ns, m.log_end, max(s.position) - m.log_end AS behind_bytes
FROM moments m
JOIN runs r ON m.run = r.run
LEFT JOIN sends s ON m.run = s.run AND m.broker = s.broker AND s.outcome = 'ok' AND s.complete_ns <= m.ns
     AND s.position >= 0
WHERE m.log_end IS NOT NULL
GROUP BY {cells.of("r")}, m.run, m.node, m.step, m.ns, m.event, m.log_end
ORDER BY {cells.of("r")}, m.run, m.ns, m.node
"""
