"""Confidence intervals in SQL: Wilson's for shares, Kaplan and Meier's for times of which some were not seen to end.

*Wilson.* Of n runs k did it; the 95 % interval of the share is
(p + z²/2n ± z·√(p(1−p)/n + z²/4n²)) / (1 + z²/n), which is right for k = 0 and small n, too.

*Kaplan–Meier.* An observation is a time and whether the thing happened then (1) or had not happened when the watching
ended (0, censored). With d(t) events among the n(t) that were still waiting at t, the share that still waits is
S(t) = Π (1 − d/n). The quantile q is the first t with S(t) ≤ 1 − q: NULL if the curve never comes down so far, where a
quantile of the finished ones alone would be too small. Its interval is that of the log-log transformed curve
(Greenwood's variance): S^exp(±z·√v / |ln S|).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

Z: Final = 1.959963984540054
"""95 %, two sides."""

ROUNDING: Final = 1e-12
"""A product of shares that is one half is one half, whatever a sum of logarithms makes of it."""


def wilson(count: str, total: str, name: str) -> str:
    """Two columns, ``<name>_low`` and ``<name>_high``; NULL where *total* is 0."""
    n, p, z2 = f"({total})", f"(({count}) / ({total}))", Z * Z
    middle = f"({p} + {z2} / (2 * {n}))"
    half = f"({Z} * sqrt({p} * (1 - {p}) / {n} + {z2} / (4 * {n} * {n})))"
    return ", ".join(
        f"CASE WHEN {n} > 0 THEN least(1.0D, greatest(0.0D, ({middle} {sign} {half}) / (1 + {z2} / {n}))) END "
        f"AS {name}_{end}"
        for sign, end in (("-", "low"), ("+", "high"))
    )


def survival(observations: str, group: str, quantiles: Sequence[tuple[str, float]]) -> str:
    """A query: quantiles of the times in the table *observations* (columns of *group*, ``t``, ``happened``).

    Columns: *group*, ``observed``, ``censored``, ``greatest`` (of those that happened), and for every (name, q)
    ``name``, ``name_low``, ``name_high``.
    """
    columns = ",\n       ".join(
        f"min(CASE WHEN d > 0 AND s <= {1 - q + ROUNDING!r} THEN t END) AS {name}, "
        f"min(CASE WHEN d > 0 AND s_low <= {1 - q + ROUNDING!r} THEN t END) AS {name}_low, "
        f"min(CASE WHEN d > 0 AND s_high <= {1 - q + ROUNDING!r} THEN t END) AS {name}_high"
        for name, q in quantiles
    )
    return f"""
SELECT {group}, sum(c) AS observed, sum(c) - sum(d) AS censored, max(CASE WHEN d > 0 THEN t END) AS greatest,
       {columns}
FROM (
    SELECT *,
           CASE WHEN s <= 0 THEN 0.0D WHEN s >= 1 THEN 1.0D ELSE pow(s, exp({Z} * sqrt(v) / abs(ln(s)))) END AS s_low,
           CASE WHEN s <= 0 THEN 1.0D WHEN s >= 1 THEN 1.0D ELSE pow(s, exp(-{Z} * sqrt(v) / abs(ln(s)))) END AS s_high
    FROM (
        SELECT *,
               CASE WHEN min(n - d) OVER steps = 0 THEN 0.0D
                    ELSE exp(sum(CASE WHEN n > d THEN ln(1 - d / n) ELSE 0 END) OVER steps) END AS s,
               sum(CASE WHEN n > d THEN d / (n * (n - d)) ELSE 0 END) OVER steps AS v
        FROM (
            SELECT {group}, t, sum(happened) AS d, count(*) AS c,
                   sum(count(*)) OVER (PARTITION BY {group} ORDER BY t DESC) AS n
            FROM {observations} GROUP BY {group}, t
        )
        WINDOW steps AS (PARTITION BY {group} ORDER BY t ROWS UNBOUNDED PRECEDING)
    )
) GROUP BY {group}
"""
