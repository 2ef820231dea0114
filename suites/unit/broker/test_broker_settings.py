"""Which of RocketMQ's properties a broker obeys, and what it refuses to be."""

from __future__ import annotations

import pytest

from reference_impl.broker import Broker, BrokerConfig
from reference_impl.configuration import ConfigurationError
from reference_impl.environment import MS, SECOND


def test_defaults_are_rocketmqs() -> None:
    config = BrokerConfig.from_properties({})
    assert (config.cluster_name, config.broker_id, config.listen_port) == ("DefaultCluster", 0, 10911)
    assert config.delay_levels[:4] == (1000, 5000, 10_000, 30_000)
    assert (len(config.delay_levels), config.delay_levels[-1]) == (18, 7_200_000)
    assert (config.auto_create_topic, config.default_topic_queue_nums, config.broker_permission) == (True, 8, 6)


def test_addresses_follow_from_ip_and_port() -> None:
    config = BrokerConfig.from_properties({"brokerIP1": "10.0.0.1", "listenPort": "12000", "haListenPort": "12001"})
    assert (config.address, config.ha_address) == ("10.0.0.1:12000", "10.0.0.1:12001")
    everywhere = BrokerConfig.from_properties({"brokerIP1": "10.0.0.1", "bindAddress": "0.0.0.0"})
    assert everywhere.listen_addresses == ("0.0.0.0:10911", "0.0.0.0:10909")


@pytest.mark.parametrize(("given", "obeyed"), [("30000", 30), ("1", 10), ("99999999", 60)])
def test_the_registration_period_is_kept_between_10_and_60_seconds(given: str, obeyed: int) -> None:
    config = BrokerConfig.from_properties({"registerNameServerPeriod": given})
    assert config.register_period_ns == obeyed * SECOND


def test_nameservers_are_a_list_without_repetitions() -> None:
    config = BrokerConfig.from_properties({"namesrvAddr": "10.0.0.1:9876; 10.0.0.2:9876;10.0.0.1:9876;"})
    assert config.nameservers == ("10.0.0.1:9876", "10.0.0.2:9876")


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"listenPort": "many"}, "listenPort=many: expected a whole number"),
        ({"listenPort": "2"}, "listenPort=2: expected 3 to 65535"),
        ({"autoCreateTopicEnable": "perhaps"}, "autoCreateTopicEnable=perhaps: expected true or false"),
        ({"brokerRole": "KING"}, "brokerRole=KING: expected ASYNC_MASTER, SYNC_MASTER or SLAVE"),
        ({"namesrvAddr": "nowhere"}, "namesrvAddr=nowhere: expected host:port"),
        ({"messageDelayLevel": "1s soon"}, "messageDelayLevel=1s soon: expected durations"),
        ({"brokerRole": "SLAVE"}, "brokerId=0: a slave's brokerId must be greater than 0"),
        ({"release": "6.0.0"}, "release=6.0.0: expected 4.9.7 or 5.3.3"),
        ({"brokerName": ""}, "brokerName is empty"),
    ],
)
def test_a_bad_value_is_one_clear_error(properties: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        BrokerConfig.from_properties(properties)
    assert str(caught.value).startswith(words)


def test_a_masters_broker_id_is_0_whatever_is_configured() -> None:
    assert BrokerConfig.from_properties({"brokerRole": "SYNC_MASTER", "brokerId": "3"}).broker_id == 0
    assert BrokerConfig.from_properties({"brokerRole": "SLAVE", "brokerId": "3"}).broker_id == 3


@pytest.mark.parametrize(
    ("release", "configured", "listens"),
    [
        ("4.9.7", {}, 12001),
        ("4.9.7", {"haListenPort": "7"}, 12001),
        ("5.3.3", {}, 12001),
        ("5.3.3", {"haListenPort": "7"}, 7),
    ],
)
def test_the_ha_port_is_the_next_one_unless_5x_is_told_otherwise(
    release: str, configured: dict[str, str], listens: int
) -> None:
    config = BrokerConfig.from_properties({"listenPort": "12000", "release": release, **configured})
    assert config.ha_listen_port == listens


def test_a_bad_store_property_is_refused_when_the_broker_is_made() -> None:
    with pytest.raises(ConfigurationError, match="flushDiskType"):
        Broker(BrokerConfig.from_properties({"flushDiskType": "SOMETIMES"}))


@pytest.mark.parametrize("name", ["inSyncReplicas", "minInSyncReplicas", "totalReplicas", "enableSlaveActingMaster"])
def test_what_only_5x_knows_is_an_unknown_name_to_4_9(name: str) -> None:
    Broker(BrokerConfig.from_properties({name: "many"}))
    with pytest.raises(ConfigurationError, match=f"{name}=many: expected"):
        Broker(BrokerConfig.from_properties({name: "many", "release": "5.3.3"}))


def test_what_is_described_can_be_read_back() -> None:
    config = BrokerConfig.from_properties({"brokerName": "b", "flushConsumerOffsetInterval": "100", "unknownName": "v"})
    described = config.described()
    assert (described["unknownName"], described["flushConsumerOffsetInterval"]) == ("v", "100")
    again = BrokerConfig.from_properties(described)
    assert (again.flush_consumer_offset_interval_ns, again.delay_levels) == (100 * MS, config.delay_levels)


def test_only_what_is_looked_at_anew_can_be_changed() -> None:
    config = BrokerConfig.from_properties({"brokerName": "b"})
    assert config.updated({"brokerPermission": "4"}).broker_permission == 4
    with pytest.raises(ConfigurationError, match="cannot be changed while the broker runs: listenPort"):
        config.updated({"listenPort": "1"})
