"""Findings that a pair of 5.x shows whose slave may act as its master.

Question: what does the slave do for clients while its master is away, and does the master come back?
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from faults.journal import HealJournal
from harness.backends.process import ProcessBackend
from harness.worlds import open_target
from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from suites.conformance.broker.peer import answer, create_topic, max_offset, pull, send
from suites.conformance.replication.pair import Pair
from suites.conformance.replication.test_acting_masters import (
    BOTH,
    QUEUE,
    SETTINGS,
    WITHOUT_TIMERS,
    begin,
    committed,
    seen,
)
from suites.findings.seen import Seen, there_if

WAIT_NS: Final = 80 * SECOND
"""Over two periods of registration and the copy of tables that comes every minute."""
NO_SLAVE: Final = 11


@contextmanager
def opened(target: str, folder: Path, **more: Any) -> Iterator[Pair]:
    """A pair of processes."""
    made = open_target(target)
    made.prepare()
    journal = HealJournal.open("findings", folder / "heal")
    backend = ProcessBackend("findings", folder, made, journal, isolation="auto")
    try:
        yield Pair(backend, in_turn=True, **more)
    finally:
        backend.close()
        journal.close()


def acting_ends_transactions(target: str, folder: Path) -> Seen:
    """END_TRANSACTION at the slave that acts as the master."""
    with opened(target, folder, **BOTH, **SETTINGS) as pair:
        begin(pair)
        pair.backend.perform(lambda: pair.backend.levers.pause("broker-a-0"))
        if not _comes(pair, lambda: seen(pair) == ({0: pair.slave.broker}, 4)):
            return Seen("undecided", "the slave was never shown as acting master")
        end = {"producerGroup": "PG", "tranStateTableOffset": 0, "commitLogOffset": 0, "commitOrRollback": 8}
        code = answer(pair.slave, Code.END_TRANSACTION, **end, msgId="K").code
        return there_if(code == NO_SLAVE, f"the acting master answers END_TRANSACTION with {code}")


def returns_without_timers(target: str, folder: Path) -> Seen:
    """Neither has a timer wheel."""
    with opened(target, folder, **WITHOUT_TIMERS, **BOTH, **SETTINGS) as pair:
        return _returns(pair)


def returns_to_acting_slave(target: str, folder: Path) -> Seen:
    """With every default, after a group has pulled from the slave that acts."""
    with opened(target, folder, **BOTH, **SETTINGS) as pair:
        return _returns(pair, pulls=1)


def _returns(pair: Pair, pulls: int = 0) -> Seen:
    begin(pair)
    pair.kill("broker-a-0")
    if not _comes(pair, lambda: seen(pair) == ({0: pair.slave.broker}, 4)):
        return Seen("undecided", "the slave was never shown as acting master")
    for offset in range(pulls):
        pull(pair.slave, "T", offset)
    pair.start("broker-a-0")
    begun_ns = pair.backend.now()
    if _comes(pair, lambda: seen(pair) == ({0: pair.master.broker, 1: pair.slave.broker}, 6)):
        return Seen("gone", f"the master is back after {(pair.backend.now() - begun_ns) / SECOND:.0f} s")
    return Seen("there", f"{WAIT_NS // SECOND} s after its start the master is not registered")


def slave_gets_no_offsets(target: str, folder: Path) -> Seen:
    """A group pulls and commits at the master; a slave copies what is committed within 67 s at most."""
    with opened(target, folder, joined=False, slaveReadEnable="true") as pair:
        create_topic(pair.master, "T")
        pair.until(lambda: send(pair.master, "T").code == 0)
        pair.until(lambda: max_offset(pair.master, "T") > 0)
        answer(pair.master, Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"CG"}')
        pull(pair.master, "T", 0)
        assert answer(pair.master, Code.UPDATE_CONSUMER_OFFSET, **QUEUE, commitOffset=1).code == 0
        if _comes(pair, lambda: committed(pair, "broker-a-1") == "1"):
            return Seen("gone", "the slave has the offset")
        return Seen("there", f"{WAIT_NS // SECOND} s after the commit the slave says {committed(pair, 'broker-a-1')}")


def _comes(pair: Pair, holds: Any) -> bool:
    try:
        pair.until(holds, WAIT_NS)
    except AssertionError:
        return False
    return True
