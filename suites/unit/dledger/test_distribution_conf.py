"""A configuration file as RocketMQ's distribution has it for DLedger starts a member of a group, and nothing else."""

from __future__ import annotations

import pytest

from reference_impl.broker.group_broker import GroupBroker
from reference_impl.configuration import ConfigurationError, parse_properties
from reference_impl.node import build_node, known_properties
from reference_impl.operators_file import judged

CONF = """
brokerClusterName = RaftCluster
brokerName=RaftNode00
listenPort=30911
namesrvAddr=127.0.0.1:9876
enableDLegerCommitLog=true
dLegerGroup=RaftNode00
dLegerPeers=n0-127.0.0.1:40911;n1-127.0.0.1:40912;n2-127.0.0.1:40913
## must be unique
dLegerSelfId=n0
sendMessageThreadPoolNums=16
"""


def test_it_is_a_member_of_a_group() -> None:
    properties = parse_properties(CONF)
    broker = build_node("broker", properties.values)
    assert isinstance(broker, GroupBroker)
    assert broker.config.broker_id == -1
    settings = broker.store.engine.settings
    assert (settings.group, settings.self_id, len(settings.peers)) == ("RaftNode00", "n0", 3)
    assert judged("broker", properties, known_properties("broker")) == [
        "properties:11: sendMessageThreadPoolNums has no effect here"
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("dLegerSelfId=n7", "dLegerSelfId=n7: not among dLegerPeers"),
        ("dLegerSelfId=7", "dLegerSelfId=7"),
        ("dLegerPeers=n0-127.0.0.1", "expected n0-host:port"),
        ("dLegerGroup=", "dLegerGroup is empty"),
        ("enableDLegerCommitLog=yes", "expected true or false"),
        ("brokerRole=SLAVE", "not with brokerRole=SLAVE"),
    ],
)
def test_what_it_cannot_be_is_refused(line: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        build_node("broker", parse_properties(f"{CONF}\nbrokerId=1\n{line}\n").values)
