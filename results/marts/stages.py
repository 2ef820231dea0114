"""What several marts share, computed once: the faults that happened, and what became of every message.

``faults``  one row a fault of a run: verb, nodes on both sides, instants, whether it took effect (1 yes, 0 no, −1
            cannot be told), whether its heal did. ``since_ns``: its act began; an orderly stop refuses clients from
            then on, and is done (``inject_ns``) seconds later
``hits``    one row a fault and node that it was on, with the node's broker and role
``strikes`` one row a run: when the first fault that was injected began, and the end of the load
``fates``   one row a sent message: acknowledged or not, when, where, and whether the drain saw it, once or more
``sends``   one row a send, with the phase and the time since the first fault

Kept as Parquet while the marts are built: each is read by several.
"""

from __future__ import annotations

from typing import Final

FAULTS: Final = """
WITH steps AS (
    SELECT run, fault, step, ns, effective, node, get_json_object(detail, '$.do') AS verb,
           from_json(get_json_object(detail, '$.left'), 'array<string>') AS left_nodes,
           from_json(get_json_object(detail, '$.right'), 'array<string>') AS right_nodes
    FROM events WHERE kind = 'fault'
)
SELECT run, fault,
       coalesce(max(verb), fault)                                       AS verb,
       coalesce(max(left_nodes), array())                               AS left_nodes,
       coalesce(max(right_nodes), array())                              AS right_nodes,
       min(CASE WHEN step = 'inject' THEN ns END)                       AS inject_ns,
       min(CASE WHEN step IN ('resolve', 'inject') THEN ns END)         AS since_ns,
       min(CASE WHEN step = 'heal' THEN ns END)                         AS heal_ns,
       count_if(step = 'refused') > 0                                   AS refused,
       CASE WHEN count_if(step IN ('inject', 'refused', 'probe') AND effective = 0) > 0 THEN 0
            WHEN count_if(step = 'probe') > 0 AND count_if(step = 'probe' AND effective = -1) = 0 THEN 1
            ELSE -1 END                                                 AS effective,
       CASE WHEN count_if(step = 'heal_probe' AND effective = 0) > 0 THEN 0
            WHEN count_if(step = 'heal_probe') > 0 AND count_if(step = 'heal_probe' AND effective = -1) = 0 THEN 1
            ELSE -1 END                                                 AS healed
FROM steps GROUP BY run, fault
"""

HITS: Final = """
SELECT h.run, h.fault, h.verb, h.node, h.is_left, coalesce(n.broker, '') AS broker,
       coalesce(n.role, CASE WHEN h.node LIKE 'client%' THEN 'client' ELSE 'other' END) AS role
FROM (
    SELECT run, fault, verb, true AS is_left, explode(left_nodes) AS node FROM faults
    UNION ALL
    SELECT run, fault, verb, false AS is_left, explode(right_nodes) AS node FROM faults
) h LEFT JOIN nodes n ON h.run = n.run AND h.node = n.node
"""

STRIKES: Final = """
SELECT r.run, f.first_ns, l.last_send_ns
FROM runs r
LEFT JOIN (SELECT run, min(since_ns) AS first_ns FROM faults
           WHERE effective <> 0 AND inject_ns IS NOT NULL GROUP BY run) f ON r.run = f.run
LEFT JOIN (SELECT run, max(invoke_ns) AS last_send_ns FROM ops WHERE f = 'send' GROUP BY run) l ON r.run = l.run
"""

FATES: Final = """
WITH sent AS (
    SELECT run, message, max(outcome = 'ok') AS acknowledged, count(*) AS sends,
           min(CASE WHEN outcome = 'ok' THEN complete_ns END) AS acked_ns,
           min(queue) AS queue, max(offset) AS offset, max(position) AS position, min(op) AS op
    FROM ops WHERE f = 'send' AND message >= 0 GROUP BY run, message
), drains AS (
    SELECT run, op, queue FROM ops WHERE f = 'drain'
), drained AS (
    SELECT r.run, r.message, min(struct(d.queue, r.offset)) <> max(struct(d.queue, r.offset)) AS is_twice
    FROM reads r JOIN drains d ON r.run = d.run AND r.op = d.op
    WHERE r.message >= 0 GROUP BY r.run, r.message
)
SELECT s.*, d.run IS NOT NULL AS drained, coalesce(d.is_twice, false) AS is_twice
FROM sent s LEFT JOIN drained d ON s.run = d.run AND s.message = d.message
"""

SENDS: Final = """
SELECT o.run, o.message, o.queue, o.process, o.invoke_ns, o.complete_ns, o.outcome, o.position, o.node AS broker,
       s.first_ns
FROM ops o JOIN strikes s ON o.run = s.run
WHERE o.f = 'send'
"""

STAGES: Final = {"faults": FAULTS, "hits": HITS, "strikes": STRIKES, "fates": FATES, "sends": SENDS}
"""In the order in which they need one another."""
