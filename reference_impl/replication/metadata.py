"""What a slave copies besides the log: topics, consumer offsets, delay offsets, consumer groups.

Question: how old may the tables of a slave be, and what does it do with those of its master?

Model (RocketMQ: SlaveSynchronize). One request after the other to the master that the last registration named; a
request that fails is noted, and the next one is made all the same:

    21  topics            replaced if the version differs       asked at the fast port (listenPort − 2)
    43  consumer offsets  entries of the master replace ours, entries that only we have are kept
    45  delay offsets     the text becomes delayOffset.json, nothing is loaded
    201 consumer groups   replaced if the version differs

4.9.7: first after 3 s, then every 10 s. 5.3.3: a tick every 3 s from 10 s on, but at most once in 60 s; in between a
tick asks for the checkpoint of timers alone (60). Without a master nothing happens. Nothing is ever copied back.

Limits. What else only 5.x has (message request modes, assignments) is not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Protocol

from reference_impl.environment import MS, SECOND, Address, Environment
from reference_impl.replication.config import ReplicationConfig
from reference_impl.wire.bodies import (
    DataVersion,
    SubscriptionGroupTable,
    TopicConfigTable,
    read_consumer_offsets,
    read_data_version,
)
from reference_impl.wire.codes import RequestCode, ResponseCode, response_name
from reference_impl.wire.dialect import read_json
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer, CallFailed, Remoting

CALL_TIMEOUT_NS: Final = 3_000 * MS
FAST_CHANNEL: Final = -2

_KEY: Final = ("metadata", "tick")
_KEEPS: Final = {"4.9.7": (3 * SECOND, 10 * SECOND, 0), "5.3.3": (10 * SECOND, 3 * SECOND, 60 * SECOND)}
"""Release → first tick, ticks after that, least time between two runs."""


class SlaveTables(Protocol):
    """The tables of the slave that are overwritten. Each method also saves what it changes."""

    def take_topics(self, env: Environment, table: TopicConfigTable) -> None:
        """The master's topics, if their version differs from ours."""

    def take_offsets(self, env: Environment, offsets: dict[str, dict[int, int]], version: DataVersion) -> None:
        """``topic@group`` → queue → offset: entry by entry over ours."""

    def take_delay_offsets(self, env: Environment, text: str) -> None:
        """The text of delayOffset.json."""

    def take_timers(self, env: Environment, checkpoint: bytes) -> None:
        """The body of GET_TIMER_CHECK_POINT; asked of masters of 5.x only."""

    def take_groups(self, env: Environment, table: SubscriptionGroupTable) -> None:
        """The master's groups, if their version differs from ours."""


class MetadataSync:
    """The copying of one slave. ``master`` is its master's address as last learned, ``None``: nothing to ask."""

    def __init__(
        self,
        config: ReplicationConfig,
        remoting: Remoting,
        tables: SlaveTables,
        own_address: Address,
    ) -> None:
        self.tables = tables
        self._remoting, self._own_address = remoting, own_address
        self._first_ns, self._tick_ns, self._least_ns = _KEEPS[config.release]
        self.master: Address | None = None
        self._last_run_ns = 0
        self._is_running = False
        self._is_due = False

    def start(self, env: Environment) -> None:
        """Begin to tick."""
        self._last_run_ns = env.now()
        env.set_timer(_KEY, self._first_ns)

    def stop(self, env: Environment) -> None:
        """Copy nothing more; what is under way ends by itself."""
        env.cancel_timer(_KEY)
        self.master = None

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Whether the timer was ours."""
        if key != _KEY:
            return False
        env.set_timer(_KEY, self._tick_ns)
        if self._is_running:
            self._is_due = not self._least_ns  # a late run is followed by the next at once: it is a fixed rate
        elif env.now() - self._last_run_ns > self._least_ns or not self._least_ns:
            self._run(env)
        elif self._has_master():
            self._timers(env)
        return True

    def _has_master(self) -> bool:
        return self.master is not None and self.master != self._own_address

    def _timers(self, env: Environment) -> None:
        """5.x: between two runs."""
        assert self.master is not None

        def take(env: Environment, answer: Command) -> None:
            self.tables.take_timers(env, answer.body)

        self._ask(env, self.master, RequestCode.GET_TIMER_CHECK_POINT, take, lambda env: None)

    # --- one run ----------------------------------------------------------------------------------------------------

    def _run(self, env: Environment) -> None:
        self._last_run_ns = env.now()
        if self.master is None or not self._has_master():
            return
        self._is_running = True
        self._topics(env, self.master)

    def _topics(self, env: Environment, master: Address) -> None:
        def take(env: Environment, answer: Command) -> None:
            self.tables.take_topics(env, read_json(answer.body, TopicConfigTable))

        self._ask(
            env, fast_channel(master), RequestCode.GET_ALL_TOPIC_CONFIG, take, lambda env: self._offsets(env, master)
        )

    def _offsets(self, env: Environment, master: Address) -> None:
        def take(env: Environment, answer: Command) -> None:
            self.tables.take_offsets(env, read_consumer_offsets(answer.body), read_data_version(answer.body))

        self._ask(env, master, RequestCode.GET_ALL_CONSUMER_OFFSET, take, lambda env: self._delays(env, master))

    def _delays(self, env: Environment, master: Address) -> None:
        def take(env: Environment, answer: Command) -> None:
            self.tables.take_delay_offsets(env, answer.body.decode("utf-8", "replace"))

        self._ask(env, master, RequestCode.GET_ALL_DELAY_OFFSET, take, lambda env: self._groups(env, master))

    def _groups(self, env: Environment, master: Address) -> None:
        def take(env: Environment, answer: Command) -> None:
            self.tables.take_groups(env, read_json(answer.body, SubscriptionGroupTable))

        self._ask(env, master, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, take, self._done)

    def _done(self, env: Environment) -> None:
        self._is_running = False
        if self._is_due:
            self._is_due = False
            self._run(env)

    def _ask(
        self,
        env: Environment,
        address: Address,
        code: RequestCode,
        take: Callable[[Environment, Command], None],
        then: Callable[[Environment], None],
    ) -> None:
        """One request; *then* in any case."""

        def answered(env: Environment, answer: Answer) -> None:
            if fault := _fault(env, answer, take):
                env.note("metadata_not_copied", request=code.name, master=address, reason=fault)
            then(env)

        self._remoting.call(env, address, Command(code), CALL_TIMEOUT_NS, answered)


def _fault(env: Environment, answer: Answer, take: Callable[[Environment, Command], None]) -> str:
    """Use *answer*; why it could not be used, or nothing."""
    if isinstance(answer, CallFailed):
        return answer.kind
    if answer.code != ResponseCode.SUCCESS:
        return response_name(answer.code)
    try:
        take(env, answer)
    except RemoteWireError as error:
        return str(error)
    return ""


def fast_channel(master: Address) -> Address:
    """RocketMQ: MixAll#brokerVIPChannel."""
    host, _, port = master.rpartition(":")
    return f"{host}:{int(port) + FAST_CHANNEL}"
