"""One row a cell, kind and cause: messages that were there, or were delivered, more than once.

``kind``   ``stored``: the drain saw the message at two places. ``delivered``: a consumer group got it again.
``cause``  of a stored one: ``sent again`` (more than one send) or ``copied`` (one send, two records). Of a delivered
           one, the first that applies: ``fault <verb>`` (one was injected or healed between the two deliveries),
           ``another consumer``, ``same consumer``.
``messages`` counts messages (a message is counted under the cause of its first repetition), ``runs`` runs.
"""

from checkers.history.schema import TAKEN_AWAY
from results.marts import cells

QUERY = f"""
WITH deliveries AS (
    SELECT r.run, r.message, o.group, o.process, o.complete_ns, o.op
    FROM reads r JOIN ops o ON r.run = o.run AND r.op = o.op
    WHERE o.f = 'pull' AND o.detail <> '{TAKEN_AWAY}' AND r.message >= 0
      AND EXISTS (SELECT 1 FROM committing g WHERE g.run = o.run AND g.group = o.group)
), pairs AS (
    SELECT * FROM (
        SELECT run, message, process, complete_ns,
               lag(process) OVER w AS before_process, lag(complete_ns) OVER w AS before_ns, row_number() OVER w AS place
        FROM deliveries WINDOW w AS (PARTITION BY run, message, `group` ORDER BY complete_ns, op)
    ) WHERE place = 2
), again AS (
    SELECT p.run, p.message,
           CASE WHEN min(f.verb) IS NOT NULL THEN concat('fault ', min_by(f.verb, f.inject_ns))
                WHEN max(p.process <> p.before_process) THEN 'another consumer' ELSE 'same consumer' END AS cause
    FROM pairs p LEFT JOIN faults f ON p.run = f.run
         AND (f.inject_ns BETWEEN p.before_ns AND p.complete_ns OR f.heal_ns BETWEEN p.before_ns AND p.complete_ns)
    GROUP BY p.run, p.message
), found AS (
    SELECT run, message, 'stored' AS kind, CASE WHEN sends > 1 THEN 'sent again' ELSE 'copied' END AS cause
    FROM fates WHERE is_twice
    UNION ALL
    SELECT run, message, 'delivered' AS kind, cause FROM again
)
SELECT {cells.of("r")}, d.kind, d.cause, count(*) AS messages, count(DISTINCT d.run) AS runs
FROM found d JOIN runs r ON d.run = r.run
GROUP BY {cells.of("r")}, d.kind, d.cause
ORDER BY {cells.of("r")}, d.kind, d.cause
"""
