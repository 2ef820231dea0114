"""One row a cell, side and tenth of a second around the first fault: sends begun then, and how many succeeded.

``bin`` 0 is the 100 ms in which the act of the fault began; from −20 (2 s before) to 199 (20 s after). ``affected``:
sends to brokers that some fault of the run hit.
"""

from results.marts import cells

QUERY = f"""
WITH struck AS (SELECT run, collect_set(broker) AS brokers FROM hits GROUP BY run)
SELECT {cells.of("r")}, array_contains(b.brokers, s.broker) AS affected,
       cast(floor((s.invoke_ns - s.first_ns) / 100000000) AS bigint) AS bin,
       count(*) AS attempts, count_if(s.outcome = 'ok') AS succeeded
FROM sends s JOIN runs r ON s.run = r.run JOIN struck b ON s.run = b.run
WHERE s.first_ns IS NOT NULL AND s.invoke_ns >= s.first_ns - 2000000000 AND s.invoke_ns < s.first_ns + 20000000000
GROUP BY ALL
ORDER BY {cells.of("r")}, affected, bin
"""
