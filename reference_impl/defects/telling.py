"""Bugs of what nodes tell: figures that stand still, entries that are gone, registrations that are heard wrong."""

from __future__ import annotations

from typing import Final

from reference_impl.broker.rates import Rates
from reference_impl.defects.defect import BrokerDefect, Defect, NameServerDefect, substitute
from reference_impl.environment import Address, Environment
from reference_impl.namesrv.kv import KvConfig
from reference_impl.namesrv.registry import BrokerKey, LiveBroker, Registration, Registry
from reference_impl.wire.bodies import TopicConfigTable


class SamplesWhatMoves(Rates):
    """A counter that has not moved since it was looked at last is not looked at."""

    def on_tick(self, env: Environment) -> None:
        everything = self._table
        self._table = {
            key: rate
            for key, rate in everything.items()
            if not (kept := rate.windows[0]) or kept[-1].value != rate.value
        }
        super().on_tick(env)
        self._table = everything


class KeepsEntriesInMemory(KvConfig):
    """Nothing is written."""

    def _save(self, env: Environment) -> None:
        """Nothing."""


class KeepsOldIds(Registry):
    """An address that comes with another id stays where it was, too."""

    def register(
        self, key: BrokerKey, topics: TopicConfigTable, live: LiveBroker, *, acting_master: bool | None = None
    ) -> Registration:
        broker = self._brokers.get(key.name)
        before = dict(broker.broker_addrs) if broker is not None else {}
        registration = super().register(key, topics, live, acting_master=acting_master)
        for id_, address in before.items():
            if address == key.address:
                self._brokers[key.name].broker_addrs.setdefault(id_, address)
        return registration


class TakesTopicsOfSlaves(Registry):
    """Whoever comes, brings topics."""

    def _is_prime(self, key: BrokerKey, addresses: dict[int, Address], acting_master: bool | None) -> bool:
        return True


TELLING: Final[dict[str, Defect]] = {
    "rates-stand-still": BrokerDefect(
        lambda broker: substitute(broker.state.rates, SamplesWhatMoves),
        "counters that rest are not sampled, so that the rate of the last minute stays what it was",
        "messages a second of a topic that nobody has sent to for a minute",
        "answers",
    ),
    "namesrv-forgets-entries": NameServerDefect(
        lambda server: substitute(server._kv, KeepsEntriesInMemory),
        "entries of a NameServer are in its memory alone",
        "an entry that is gone after a NameServer was started again",
        "answers",
    ),
    "namesrv-keeps-old-ids": NameServerDefect(
        lambda server: substitute(server.registry, KeepsOldIds),
        "an address that registers with another id is shown under both",
        "a route with one address under two ids of its name",
        "answers",
    ),
    "namesrv-takes-topics-of-slaves": NameServerDefect(
        lambda server: substitute(server.registry, TakesTopicsOfSlaves),
        "a NameServer of 4.9 takes topics from slaves, too",
        "queues of a topic as a slave had told them, not its master",
        "answers",
    ),
}
