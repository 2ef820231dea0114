"""What a NameServer remembers beside its tables so that a broker's end costs what that broker had: never another truth.

Question: do the indexes of the registry (topics and clusters of a name, names at an address, addresses on a connection)
say what a search through the tables would say, after any sequence of registrations and ends?
"""

from __future__ import annotations

from random import Random

import pytest

from reference_impl.namesrv.registry import BrokerKey, LiveBroker, Registry
from reference_impl.wire.bodies import DataVersion
from suites.conformance.namesrv.cluster_by_hand import topics

STEPS = 300


def one_step(registry: Registry, rng: Random) -> None:
    name, id_, port, link = f"b{rng.randrange(4)}", rng.randrange(3), rng.randrange(6), rng.randrange(4)
    key = BrokerKey(f"c{rng.randrange(2)}", name, id_, f"10.0.0.1:{port}")
    act = rng.randrange(8)
    if act < 4:
        version = DataVersion(rng.randrange(3), timestamp=1)
        table = topics(*(f"t{n}" for n in rng.sample(range(6), rng.randrange(4))), version=version)
        live = LiveBroker(0, rng.choice([10, 1000]), version, link, "")
        registry.register(key, table, live, acting_master=rng.choice([None, False, True]))
    elif act == 4:
        registry.unregister(key)
    elif act == 5:
        registry.drop_link(link)
    elif act == 6:
        registry.drop(key.address)
    else:
        registry.delete_topic(f"t{rng.randrange(6)}", rng.choice(["", "c0"]))


@pytest.mark.parametrize("is_5x", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_an_index_says_what_a_search_through_the_tables_says(seed: int, is_5x: bool) -> None:
    registry, rng = Registry(is_5x=is_5x), Random(seed)
    for _ in range(STEPS):
        one_step(registry, rng)
        assert {(t, name) for t, queues in registry._topics.items() for name in queues} == {
            (topic, name) for name, names in registry._topics_of.items() for topic in names
        }
        assert {(c, name) for c, names in registry._clusters.items() for name in names} == {
            (cluster, name) for name, clusters in registry._clusters_of.items() for cluster in clusters
        }
        assert {(address, live.link) for address, live in registry._live.items()} == {
            (address, link) for link, addresses in registry._live_on.items() for address in addresses
        }
        held = {(a, b.broker_name) for b in registry._brokers.values() for a in b.broker_addrs.values()}
        assert held <= {(address, name) for address, names in registry._names_of.items() for name in names}
    for link in range(4):
        registry.drop_link(link)
    for port in range(6):
        registry.drop(f"10.0.0.1:{port}")
    assert [registry._live, registry._live_on, registry._names_of] == [{}, {}, {}]
