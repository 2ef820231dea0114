"""One row a cell: how old the oldest lost message of a run is at the fault (RPO), over all runs of the cell.

A run that lost nothing has a recovery point of 0 ms. Quantiles with 95 % intervals; nothing is censored here, since
every run was drained to its end. Times in milliseconds.
"""

from results.marts import cells
from results.marts.intervals import survival

_OBSERVED = "(SELECT *, coalesce(oldest_lost_ms, 0.0D) AS t, 1 AS happened FROM losses WHERE fault <> 'none')"

QUERY = f"""
SELECT * FROM ({survival(_OBSERVED, cells.CELL, (("p50_ms", 0.5), ("p90_ms", 0.9), ("p99_ms", 0.99)))})
ORDER BY {cells.CELL}
"""
