"""The tables that pages read, one module a table, each a SQL query over the lake.

A mart has some thousand rows, so it is written as one Parquet file by the driver: any reader opens it without Spark.
Every module has ``QUERY``, and says in its docstring what one row means. ``stages`` holds what several marts share;
``build`` makes them all in one session.
"""

from typing import Final

MARTS: Final = (
    "outcomes",
    "losses",
    "cell_outcomes",
    "lost_messages",
    "duplicates",
    "recovery_times",
    "recovery_points",
    "availability",
    "latencies",
    "latency_over_time",
    "failovers",
    "replication_lags",
    "fault_efficacy",
    "coverage",
    "versions",
    "flakiness",
)
"""Each is a module of this package; those that read another mart come after it, and what reads least comes first."""
