"""All probes of a broker, by chapter; importing this package fills the tables of ``probing``."""

from suites.conformance.broker.probes import (
    administration,
    frames,
    groups,
    layout,
    offsets,
    pulls,
    recovery,
    replication,
    retries,
    sends,
    transactions,
)
from suites.conformance.broker.probing import LIVES, PROBES, Probe

CHAPTERS = (frames, sends, pulls, offsets, groups, retries, administration, transactions, layout, recovery, replication)

__all__ = ["CHAPTERS", "LIVES", "PROBES", "Probe"]
