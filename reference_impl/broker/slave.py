"""What a slave's broker does otherwise than a master's: what it refuses, and how its tables are overwritten.

Question: a client talks to a broker whose ``brokerRole`` is SLAVE; which answers differ?

Model (RocketMQ 4.9.7: SendMessageProcessor, EndTransactionProcessor, AdminBrokerProcessor; 5.3.3: rejectRequest).

    request                       4.9.7                                       5.3.3
    send, batch, send-back        the store refuses: 14, send-back 1          2, before anything is looked at
    END_TRANSACTION               11                                          11
    create, delete topic, group   1                                           done
    pull                          served                                      2, unless slaveReadEnable
    everything else               served                                      served

With ``enableSlaveActingMaster`` 5.3.3 looks at sends as 4.9.7 does: the store refuses them. Nothing else changes for a
slave whose name has no master: reads still need slaveReadEnable, and END_TRANSACTION is still refused.

Delayed messages are not delivered, and nothing is put by the broker itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reference_impl.broker.send import BUSY
from reference_impl.broker.state import State
from reference_impl.environment import Environment, Link
from reference_impl.wire.bodies import (
    DataVersion,
    SubscriptionGroupTable,
    TopicConfigTable,
    read_data_version,
    read_delay_offsets,
)
from reference_impl.wire.codes import RequestCode, ResponseCode
from reference_impl.wire.frame import Command
from reference_impl.wire.remoting import Handler

_WRITES: Final = (
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
    RequestCode.CONSUMER_SEND_MSG_BACK,
)
_READS: Final = (RequestCode.PULL_MESSAGE, RequestCode.LITE_PULL_MESSAGE)
_CHANGES: Final = (
    RequestCode.UPDATE_AND_CREATE_TOPIC,
    RequestCode.DELETE_TOPIC_IN_BROKER,
    RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
    RequestCode.DELETE_SUBSCRIPTIONGROUP,
)
_NO_CHANGES: Final = "Can't modify topic or subscription group from slave broker, please execute it from master broker."


def slave_handlers(state: State, handlers: Mapping[int, Handler]) -> dict[int, Handler]:
    """*handlers* of a master with those replaced that a slave answers otherwise."""

    def no_transaction(env: Environment, link: Link, request: Command) -> Command:
        return Command(ResponseCode.SLAVE_NOT_AVAILABLE, remark="not set any response code")

    def no_change(env: Environment, link: Link, request: Command) -> Command:
        return Command(ResponseCode.SYSTEM_ERROR, remark=_NO_CHANGES)

    def busy(env: Environment, link: Link, request: Command) -> Command:
        return Command(ResponseCode.SYSTEM_BUSY, remark=BUSY)

    def read(env: Environment, link: Link, request: Command) -> Command | None:
        if not state.config.slave_read_enable:
            return busy(env, link, request)
        return handlers[request.code](env, link, request)

    chosen = {**handlers, int(RequestCode.END_TRANSACTION): no_transaction}
    if state.config.is_5x:
        refused = () if state.config.acts else _WRITES
        return chosen | {int(code): busy for code in refused} | {int(code): read for code in _READS}
    return chosen | {int(code): no_change for code in _CHANGES}


class TablesOfSlave:
    """``reference_impl.replication.SlaveTables`` over a broker's state."""

    def __init__(self, state: State) -> None:
        self._state = state

    def take_topics(self, env: Environment, table: TopicConfigTable) -> None:
        """Replace topics.json where the master's version is another."""
        if self._state.topics.take(table):
            self._state.files.topics.save(env, self._state.topics.file_text())

    def take_offsets(self, env: Environment, offsets: dict[str, dict[int, int]], version: DataVersion) -> None:
        """Overlay and save consumerOffset.json."""
        self._state.offsets.take(offsets, version)
        self._state.files.offsets.save(env, self._state.offsets.file_text())

    def take_delay_offsets(self, env: Environment, text: str) -> None:
        """Write delayOffset.json as it came. A slave of 5.x also tells them from now on: its master takes them back."""
        if self._state.config.is_5x:
            self._state.delays.take(read_delay_offsets(text.encode()), read_data_version(text.encode()))
        self._state.files.delays.save(env, text)

    def take_timers(self, env: Environment, checkpoint: bytes) -> None:
        """Write timercheck (5.x)."""
        self._state.timers.take(env, checkpoint)

    def take_groups(self, env: Environment, table: SubscriptionGroupTable) -> None:
        """Replace subscriptionGroup.json where the master's version is another."""
        if self._state.groups.take(table):
            self._state.save_groups(env)
