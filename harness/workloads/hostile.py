"""Operators that mean no good: one frame that no honest client sends, at a set time of the load.

Question: does one request of anybody cost others what was acknowledged to them?

    host-bit    a send to a topic of its own whose sysFlag has 0x10, a bit by which the broker itself tells how long a
                host in its record is (an op ``act`` named ``host_bit``)
    ha-report   a connection to the HA port of the first master that reports 2^62 as its log's end, stays, and reads
                nothing (an op ``act`` named ``ha_report``)

Nothing is expected to be seen of either: the checks of a run judge what becomes of the load beside them.

Limits. The first broker only. What a broker sends on the HA connection is thrown away.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from harness.cluster import HA_PORT
from harness.workloads.measuring import Process
from harness.workloads.observing import Act, Script, ScriptPart
from harness.workloads.parts import PartHost, Stranger
from harness.workloads.scripts import SECOND_TOPIC, at_percent, topic_request
from reference_impl.environment import Environment
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.frame import Command

HOST_BIT: Final = 0x10
REPORT: Final = 1 << 62
TOPIC_PERCENT, FRAME_PERCENT = 5, 25
"""Of the load: a topic is made, the frame is sent."""


def host_bit(host: PartHost) -> ScriptPart:
    """Operator ``host-bit``."""
    hit = host.stage.queues[0]
    fields = {"a": "PG", "b": SECOND_TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": str(HOST_BIT), "g": "1", "h": "0"}
    send = Command(RequestCode.SEND_MESSAGE_V2, {**fields, "i": "", "j": "0"}, b"flagged")
    acts = [
        Act(at_percent(host.stage, percent), name, hit.node, hit.address, request, {})
        for percent, name, request in (
            (TOPIC_PERCENT, "create_topic", topic_request(SECOND_TOPIC, 4)),
            (FRAME_PERCENT, "host_bit", send),
        )
    ]
    return ScriptPart(host, "host-bit", Script(acts))


class HaReport:
    """Operator ``ha-report`` (``Part``)."""

    _KEY: Final = ("ha-report", "send")

    def __init__(self, host: PartHost) -> None:
        self._host = host

    def on_start(self, env: Environment) -> None:
        env.set_timer(self._KEY, at_percent(self._host.stage, FRAME_PERCENT))

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        if key != self._KEY:
            return False
        hit = self._host.stage.queues[0]
        process = Process(self._host.recorder.process())
        op = self._host.recorder.invoke(process.number, "act", node=hit.node)
        link = env.connect(f"{hit.address.rpartition(':')[0]}:{HA_PORT}")
        self._host.strangers[link] = Stranger()
        env.send(link, REPORT.to_bytes(8, "big"))
        self._host.complete(op, "act", "OK", process, detail={"act": "ha_report", "shows": {}})
        return True
