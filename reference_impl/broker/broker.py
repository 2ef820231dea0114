"""The broker role: one master of RocketMQ's *single master* and *multi-master* modes.

Question: what does a RocketMQ broker do with each request, at each start, tick and stop?

Model. The role owns a remoting end, a message store and a few tables (topics, groups, offsets, clients, locks). A
request is looked up by its code in one table of handlers; a handler returns its answer, or nothing and answers later
(a synchronous flush, a parked pull). Behaviour is that of Apache RocketMQ 4.9.7 where it is known.

Limits. A step never waits, so the answers that RocketMQ gives from overload (code 2) cannot occur. Transactions, SQL92
filters and POP are not served: they answer code 3, 16 or 1 as the specification says for a broker without them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from reference_impl.broker.config import BrokerConfig
from reference_impl.environment import Environment, Link


class Broker:
    """A broker node (``Role``).

    ``config`` holds RocketMQ's properties; ``defects`` are names of planted bugs (the store and the broker read their
    own). ``on_start`` recovers the store, listens on ``listenPort`` and ``listenPort − 2`` and registers with every
    NameServer; ``on_stop`` flushes, writes the tables, unregisters, and calls ``env.exit()``.
    """

    def __init__(self, config: BrokerConfig, defects: Iterable[str] = ()) -> None:
        self.config = config
        self.defects = frozenset(defects)

    def on_start(self, env: Environment) -> None: ...

    def on_connected(self, env: Environment, link: Link) -> None: ...

    def on_closed(self, env: Environment, link: Link) -> None: ...

    def on_bytes(self, env: Environment, link: Link, data: bytes) -> None: ...

    def on_timer(self, env: Environment, key: Hashable) -> None: ...

    def on_synced(self, env: Environment, file: str, token: Hashable) -> None: ...

    def on_disk_error(self, env: Environment, file: str, token: Hashable, error: str) -> None: ...

    def on_stop(self, env: Environment) -> None: ...
