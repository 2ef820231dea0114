"""One row a lost message: where it was, when it was acknowledged, what happened next, and every operation on it.

At most the 25 oldest of a run and 20,000 in all, those outside the contract first. ``fault`` is the first one that was
injected after the acknowledgement, ``age_ms`` the time between. ``allowed``: all losses of that run are within the
contract. ``story``: the operations that sent or read the message, in order (op, what, outcome, where, when). Instants
are on the clock of the scenario: 0 when the load of that run began.
"""

from __future__ import annotations

PER_RUN = 25
IN_ALL = 20_000

QUERY = f"""
WITH loads AS (
    SELECT run, coalesce(min(CASE WHEN kind = 'phase' AND step = 'steady' THEN ns END), 0) AS load_ns
    FROM events GROUP BY run
), lost AS (
    SELECT f.run, f.message, f.queue, f.offset, f.position, f.acked_ns, f.op,
           row_number() OVER (PARTITION BY f.run ORDER BY f.acked_ns, f.message) AS place,
           count(*) OVER (PARTITION BY f.run) AS lost_in_run
    FROM fates f WHERE f.acknowledged AND NOT f.drained
), chosen AS (
    SELECT l.*, s.lost_broken = 0 AS allowed FROM lost l JOIN losses s ON l.run = s.run
    WHERE l.place <= {PER_RUN} ORDER BY allowed, l.place, l.run LIMIT {IN_ALL}
), struck AS (
    SELECT c.run, c.message, min_by(struct(f.fault, f.verb, f.left_nodes, f.inject_ns), f.inject_ns) AS first
    FROM chosen c JOIN faults f ON c.run = f.run AND f.effective <> 0 AND f.inject_ns >= c.acked_ns
    GROUP BY c.run, c.message
), told AS (
    SELECT c.run, c.message, o.op, o.f, o.outcome, o.status, o.node, o.invoke_ns, o.complete_ns, o.offset
    FROM chosen c JOIN ops o ON c.run = o.run AND o.f = 'send' AND c.message = o.message
    UNION ALL
    SELECT c.run, c.message, o.op, o.f, o.outcome, o.status, o.node, o.invoke_ns, o.complete_ns, r.offset
    FROM chosen c JOIN reads r ON c.run = r.run AND c.message = r.message
    JOIN ops o ON r.run = o.run AND r.op = o.op
), stories AS (
    SELECT run, message, slice(array_sort(collect_list(
               struct(op, f, outcome, status, node, offset, invoke_ns - coalesce(load_ns, 0) AS invoke_ns,
                      if(complete_ns < 0, -1, complete_ns - coalesce(load_ns, 0)) AS complete_ns))), 1, 40) AS story
    FROM told LEFT JOIN loads USING (run) GROUP BY run, message
)
SELECT c.run, c.message, c.place, c.lost_in_run, c.allowed, coalesce(q.topic, '') AS topic,
       coalesce(q.broker, '') AS broker, coalesce(q.queue_id, -1) AS queue_id, c.offset, c.position,
       c.acked_ns - coalesce(l.load_ns, 0) AS acked_ns,
       s.first.fault AS fault, s.first.verb AS verb, array_join(s.first.left_nodes, ', ') AS nodes,
       s.first.inject_ns - coalesce(l.load_ns, 0) AS fault_ns, (s.first.inject_ns - c.acked_ns) / 1e6 AS age_ms,
       coalesce(t.story, array()) AS story
FROM chosen c
LEFT JOIN loads l ON c.run = l.run
LEFT JOIN queues q ON c.run = q.run AND c.queue = q.queue
LEFT JOIN struck s ON c.run = s.run AND c.message = s.message
LEFT JOIN stories t ON c.run = t.run AND c.message = t.message
ORDER BY c.run, c.place
"""
