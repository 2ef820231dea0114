"""One row a cell: its ``outcomes``, and what the operations say of its losses, with intervals.

All columns of ``outcomes``. ``acknowledged`` and ``lost`` messages are counted from the operations; ``lost`` must be
the sum of ``lost_allowed`` and ``lost_broken``, which the checks counted. ``with_loss`` runs lost anything, and
``lost_max`` is the most that one of them lost.
"""

from results.marts import cells
from results.marts.intervals import wilson

QUERY = f"""
WITH counted AS (
    SELECT {cells.of("l")},
           sum(l.acknowledged)                      AS acknowledged,
           sum(l.lost)                              AS lost,
           count_if(l.lost > 0)                     AS with_loss,
           {wilson("count_if(l.lost > 0)", "count(*)", "with_loss")},
           max(l.lost)                              AS lost_max
    FROM losses l GROUP BY {cells.of("l")}
)
SELECT o.*, c.acknowledged, c.lost, c.with_loss, c.with_loss_low, c.with_loss_high, c.lost_max
FROM outcomes o JOIN counted c ON {cells.same("o", "c")}
ORDER BY {cells.of("o")}
"""
