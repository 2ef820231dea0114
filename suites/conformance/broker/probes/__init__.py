"""All probes of a broker, by chapter; importing this package fills the tables of ``probing``."""

from suites.conformance.broker.probes import (
    acting,
    administration,
    flushing,
    folders,
    frames,
    groups,
    layout,
    nameserver,
    offsets,
    pulls,
    reading,
    recovery,
    replication,
    retries,
    sends,
    transactions,
)
from suites.conformance.broker.probing import LIVES, PROBES, Probe

CHAPTERS = (
    frames,
    sends,
    pulls,
    offsets,
    groups,
    retries,
    administration,
    transactions,
    layout,
    recovery,
    replication,
    reading,
    flushing,
    nameserver,
    acting,
    folders,
)

__all__ = ["CHAPTERS", "LIVES", "PROBES", "Probe"]
