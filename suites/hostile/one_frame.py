"""One frame at a real broker: what it does to messages that were acknowledged (docs/findings.md).

    python -m suites.hostile.one_frame --target rocketmq:4.9.7 [sysflag folder long-group ha-report]

Question: which single request of any client makes a released broker lose what it has acknowledged, or acknowledge what
it should not? Each case starts a NameServer and a broker with SYNC_FLUSH as processes, sends one hostile request and
plain messages, kills the broker where that matters, and counts.

    sysflag      a send with sysFlag 0x10, a bit by which the broker tells how long the host in its record is
    folder       a message is sent back by the group ``../../evil``
    long-group   a message is sent back by a group of 100 two-byte letters
    ha-report    eight bytes at the HA port of a SYNC_MASTER: a slave's report of 2^62
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.worlds import open_target
from reference_impl.environment import SECOND
from reference_impl.wire.codes import RequestCode as Code
from suites.conformance.broker.lives import LivingPeer, ProcessStart
from suites.conformance.broker.peer import answer, create_topic, max_offset, send

COUNT: Final = 100
SETTLE_NS: Final = 3 * SECOND


def _with_sends(peer: LivingPeer) -> str:
    """Plain messages, a kill, and what can be read before and after it."""
    acknowledged = sum(send(peer, "T", b"%d" % number).code == 0 for number in range(COUNT))
    peer.sleep(SETTLE_NS)
    before = max_offset(peer, "T")
    peer.again("kill")
    peer.sleep(SETTLE_NS)
    return f"{acknowledged} acknowledged after it; readable {before} before the kill, {max_offset(peer, 'T')} after it"


def sysflag(start: ProcessStart) -> str:
    """The start after the kill ends the log before that record."""
    peer = _peer(start)
    told = send(peer, "T", b"flagged", queue=1, f=0x10).code
    return f"answered {told}; {_with_sends(peer)}"


def folder(start: ProcessStart) -> str:
    """Dispatch throws at that record, and goes no further."""
    return _sent_back(_peer(start), "../../evil")


def long_group(start: ProcessStart) -> str:
    """The topic's length does not fit into the signed byte that the record has for it."""
    return _sent_back(_peer(start), "é" * 100)


def ha_report(start: ProcessStart) -> str:
    """Whoever is connected counts as a slave, and its first report is not looked at."""
    peer = _peer(start, brokerRole="SYNC_MASTER", inSyncReplicas="2")
    alone = send(peer, "T", b"alone").code
    peer.write("ha:1", (1 << 62).to_bytes(8, "big"))
    peer.sleep(SETTLE_NS)
    return f"without a slave {alone}, after the report {[send(peer, 'T', b'x').code for _ in range(3)]}"


def _peer(start: ProcessStart, **properties: str) -> LivingPeer:
    peer = start(flushDiskType="SYNC_FLUSH", **properties)
    create_topic(peer, "T")
    return peer


def _sent_back(peer: LivingPeer, group: str) -> str:
    place = int(send(peer, "T", b"first").fields["msgId"][16:], 16)
    fields = {"offset": place, "group": group, "delayLevel": -1, "originTopic": "T", "maxReconsumeTimes": 16}
    told = answer(peer, Code.CONSUMER_SEND_MSG_BACK, unitMode=False, originMsgId="", **fields).code  # type: ignore[arg-type]
    return f"answered {told}; {_with_sends(peer)}"


CASES: Final[dict[str, Callable[[ProcessStart], str]]] = {
    "sysflag": sysflag,
    "folder": folder,
    "long-group": long_group,
    "ha-report": ha_report,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m suites.hostile.one_frame")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--target", default="reference", help="reference, rocketmq:4.9.7, rocketmq:5.3.3")
    arguments = parser.parse_args()
    isolation = "loopback" if arguments.target == "reference" else "auto"
    with TemporaryDirectory() as folder_:
        start = ProcessStart(open_target(arguments.target), Path(folder_), isolation)
        try:
            for name in arguments.cases or CASES:
                sys.stdout.write(f"{arguments.target} {name}: {CASES[name](start)}\n")
                sys.stdout.flush()
        finally:
            start.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
