"""The official command line, ``mqadmin``: what each tool prints, without what changes by the run.

Question: does an operator who types these commands see the same of the reference as of Apache's broker?

Model. Each tool is run once against a cluster that a few messages and a group have passed through; its output without
addresses, ids, numbers and times is the observation (:func:`without_numbers`), with lines in order. Of tables of names
and values only the names are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from suites.conformance.broker.peer import answer
from suites.conformance.official.case import Observation, without_numbers
from suites.conformance.official.place import Place

Tool = Callable[[Place, str], Observation]


def _plain(*words: str) -> Tool:
    """A tool with fixed words; ``{broker}``, ``{topic}`` and ``{group}`` are filled in."""

    def run(where: Place, version: str) -> Observation:
        topic, group = _ground(where)
        filled = [word.format(broker=where.broker, topic=topic, group=group) for word in words]
        code, text = where.mqadmin(version, *filled)
        return [code, *without_numbers(text.replace(topic, "TOPIC").replace(group, "GROUP"))]

    return run


def _names(*words: str) -> Tool:
    """Of a table ``name : value`` or ``name = value`` the names."""

    def run(where: Place, version: str) -> Observation:
        code, text = where.mqadmin(version, *[word.format(broker=where.broker) for word in words])
        lines = [line.replace("=", ":", 1) if ":" not in line else line for line in text.splitlines()]
        return [code, *sorted({_without(line.partition(":")[0]) for line in lines if ":" in line})]

    return run


def _sorted(*words: str) -> Tool:
    """A list whose order is that of a hash table."""
    plain = _plain(*words)

    def run(where: Place, version: str) -> Observation:
        code, *lines = plain(where, version)
        return [code, *sorted(lines)]

    return run


def _without(name: str) -> str:
    return " ".join(without_numbers(re.sub(r"_\S*commitlog$", "_FOLDER", name.strip())))


def _ground(where: Place) -> tuple[str, str]:
    """A topic with three messages and a group that has committed in it; made once a cluster."""
    topic, group = "OfficialGround", "GroundGroup"
    if not hasattr(where, "ground"):
        from suites.conformance.broker.peer import create_topic

        create_topic(where.peer, topic, 2)
        for number in range(3):
            fields = {"producerGroup": "P", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": 4}
            fields |= {"queueId": 0, "sysFlag": 0, "bornTimestamp": where.peer.now_ms(), "flag": 0}
            answer(where.peer, 10, b"ground %d" % number, **fields, properties=f"KEYS\x01key{number}\x02")
        answer(where.peer, 200, b'{"groupName":"%s","consumeEnable":true,"retryMaxTimes":16}' % group.encode())
        answer(where.peer, 15, consumerGroup=group, topic=topic, queueId=0, commitOffset=1)
        setattr(where, "ground", True)  # noqa: B010 - a mark of ours on somebody else's object
    return topic, group


TOOLS: Final[dict[str, Tool]] = {
    "clusterList": _plain("clusterList"),
    "clusterList -m": _plain("clusterList", "-m"),
    "brokerStatus": _names("brokerStatus", "-b", "{broker}"),
    "getBrokerConfig": _names("getBrokerConfig", "-b", "{broker}"),
    "getNamesrvConfig": _names("getNamesrvConfig"),
    "topicList": _sorted("topicList"),
    "topicRoute": _plain("topicRoute", "-t", "{topic}"),
    "topicStatus": _plain("topicStatus", "-t", "{topic}"),
    "topicClusterList": _plain("topicClusterList", "-t", "{topic}"),
    "topicStatus of none": _plain("topicStatus", "-t", "Nothing"),
    "updateTopic": _plain("updateTopic", "-b", "{broker}", "-t", "MadeByTool", "-r", "2", "-w", "2"),
    "updateTopic by cluster": _plain("updateTopic", "-c", "DefaultCluster", "-t", "MadeByTool2"),
    "updateTopic illegal": _plain("updateTopic", "-b", "{broker}", "-t", "not a name"),
    "updateTopicPerm": _plain("updateTopicPerm", "-b", "{broker}", "-t", "MadeByTool", "-p", "4"),
    "deleteTopic": _plain("deleteTopic", "-c", "DefaultCluster", "-t", "MadeByTool"),
    "updateSubGroup": _plain("updateSubGroup", "-b", "{broker}", "-g", "MadeGroup", "-r", "3"),
    "deleteSubGroup": _plain("deleteSubGroup", "-b", "{broker}", "-g", "MadeGroup"),
    "updateBrokerConfig": _plain("updateBrokerConfig", "-b", "{broker}", "-k", "traceOn", "-v", "true"),
    "updateOrderConf put": _plain("updateOrderConf", "-t", "{topic}", "-m", "put", "-v", "broker-a:2"),
    "updateOrderConf get": _plain("updateOrderConf", "-t", "{topic}", "-m", "get"),
    "updateOrderConf delete": _plain("updateOrderConf", "-t", "{topic}", "-m", "delete"),
    "updateKvConfig": _plain("updateKvConfig", "-s", "SPACE", "-k", "one", "-v", "two"),
    "deleteKvConfig": _plain("deleteKvConfig", "-s", "SPACE", "-k", "one"),
    "consumerProgress": _plain("consumerProgress", "-g", "{group}"),
    "consumerProgress of all": _sorted("consumerProgress"),
    "consumerConnection": _plain("consumerConnection", "-g", "{group}"),
    "producerConnection": _plain("producerConnection", "-g", "Nobody", "-t", "{topic}"),
    "consumerStatus": _plain("consumerStatus", "-g", "{group}"),
    "brokerConsumeStats": _plain("brokerConsumeStats", "-b", "{broker}"),
    "queryMsgByKey": _plain("queryMsgByKey", "-t", "{topic}", "-k", "key1"),
    "queryMsgByOffset": _plain("queryMsgByOffset", "-t", "{topic}", "-b", "broker-a", "-i", "0", "-o", "1"),
    "printMsg": _plain("printMsg", "-t", "{topic}", "-d", "true"),
    "printMsgByQueue": _plain("printMsgByQueue", "-t", "{topic}", "-a", "broker-a", "-i", "0", "-p", "true"),
    "queryCq": _plain("queryCq", "-t", "{topic}", "-q", "0", "-i", "0", "-c", "2", "-b", "{broker}"),
    "sendMessage": _plain("sendMessage", "-t", "{topic}", "-p", "hello"),
    "consumeMessage": _plain("consumeMessage", "-t", "{topic}", "-b", "broker-a", "-i", "0", "-o", "0", "-c", "1"),
    "resetOffsetByTime": _plain("resetOffsetByTime", "-g", "{group}", "-t", "{topic}", "-s", "0"),
    "skipAccumulatedMessage": _plain("skipAccumulatedMessage", "-g", "{group}", "-t", "{topic}"),
    "cloneGroupOffset": _plain("cloneGroupOffset", "-s", "{group}", "-d", "Clone", "-t", "{topic}"),
    "allocateMQ": _plain("allocateMQ", "-t", "{topic}", "-i", "10.0.0.1,10.0.0.2"),
    "checkMsgSendRT": _plain("checkMsgSendRT", "-t", "{topic}", "-a", "1", "-s", "10"),
    "statsAll": _sorted("statsAll", "-t", "{topic}"),
    "cleanExpiredCQ": _plain("cleanExpiredCQ", "-b", "{broker}"),
    "cleanUnusedTopic": _plain("cleanUnusedTopic", "-b", "{broker}"),
    "wipeWritePerm": _plain("wipeWritePerm", "-b", "broker-a"),
    "addWritePerm": _plain("addWritePerm", "-b", "broker-a"),
    "getConsumerConfig": _plain("getConsumerConfig", "-g", "{group}"),
    "remappingStaticTopic": _plain("remappingStaticTopic", "-t", "{topic}", "-c", "DefaultCluster"),
}
"""Every tool by name, in the order in which they are run."""
