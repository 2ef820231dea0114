"""One row a run: promised, lost and duplicated messages, counted from the raw operations.

``promised``    messages with an ``ok`` send
``lost``        of those, never seen by a read of the drain phase (nor are those that expired)
``duplicated``  messages that the drain saw at more than one place (queue, offset)
``recovered``   messages without a promise that the drain saw all the same
``oldest_lost_ms``  acknowledgement of the oldest lost message to the first fault after it (null: none lost)
``checker_lost`` what the accounting check counted, lost or expired, from ``verdicts``: the two must agree
"""

QUERY = """
WITH sends AS (
    SELECT run, message, max(outcome = 'ok') AS promised, min(CASE WHEN outcome = 'ok' THEN complete_ns END) AS acked_ns
    FROM ops WHERE f = 'send' AND message >= 0 GROUP BY run, message
), drained AS (
    SELECT r.run, r.message, count(DISTINCT o.queue, r.offset) AS places
    FROM reads r JOIN ops o ON r.run = o.run AND r.op = o.op
    WHERE o.f = 'drain' AND r.message >= 0 GROUP BY r.run, r.message
), breaks AS (
    SELECT run, ns FROM events WHERE kind = 'fault' AND step = 'inject' AND effective <> 0
), fates AS (
    SELECT s.run, s.message, s.promised, s.acked_ns, coalesce(d.places, 0) AS places
    FROM sends s LEFT JOIN drained d ON s.run = d.run AND s.message = d.message
), ages AS (
    SELECT f.run, max(after_ns - f.acked_ns) / 1e6 AS oldest_lost_ms
    FROM (SELECT f.run, f.message, f.acked_ns, min(b.ns) AS after_ns
          FROM fates f JOIN breaks b ON f.run = b.run AND b.ns >= f.acked_ns
          WHERE f.promised AND f.places = 0 GROUP BY f.run, f.message, f.acked_ns) f
    GROUP BY f.run
), judged AS (
    SELECT run, max(try_cast(get_json_object(measures, '$.lost') AS bigint)
                    + coalesce(try_cast(get_json_object(measures, '$.expired') AS bigint), 0)) AS checker_lost
    FROM verdicts WHERE check = 'accounting' GROUP BY run
)
SELECT r.run, r.mode, r.flush, r.fault, r.backend, r.target, r.defects, r.outcome, r.scenario,
       count(f.message)                                    AS sent,
       count_if(f.promised)                                AS promised,
       count_if(f.promised AND f.places = 0)               AS lost,
       count_if(f.places > 1)                              AS duplicated,
       count_if(NOT f.promised AND f.places > 0)           AS recovered,
       max(a.oldest_lost_ms)                               AS oldest_lost_ms,
       max(j.checker_lost)                                 AS checker_lost
FROM runs r
LEFT JOIN fates f ON r.run = f.run
LEFT JOIN ages a ON r.run = a.run
LEFT JOIN judged j ON r.run = j.run
GROUP BY r.run, r.mode, r.flush, r.fault, r.backend, r.target, r.defects, r.outcome, r.scenario
ORDER BY r.mode, r.flush, r.fault, r.backend, r.target, r.run
"""
