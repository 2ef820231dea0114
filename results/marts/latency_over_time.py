"""One row a cell and second around the first fault: how long sends that began then took.

``second`` 0 begins with the injection; from −5 to 29. Quantiles are approximate, in milliseconds; of answered sends.
"""

from results.marts import cells

QUERY = f"""
SELECT {cells.of("r")}, cast(floor((s.invoke_ns - s.first_ns) / 1000000000) AS bigint) AS second,
       count(*) AS answered,
       percentile_approx((s.complete_ns - s.invoke_ns) / 1e6, array(0.5, 0.99))[0] AS p50_ms,
       percentile_approx((s.complete_ns - s.invoke_ns) / 1e6, array(0.5, 0.99))[1] AS p99_ms
FROM sends s JOIN runs r ON s.run = r.run
WHERE s.complete_ns >= 0 AND s.first_ns IS NOT NULL
  AND s.invoke_ns >= s.first_ns - 5000000000 AND s.invoke_ns < s.first_ns + 30000000000
GROUP BY ALL
ORDER BY {cells.of("r")}, second
"""
