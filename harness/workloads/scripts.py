"""What operators do while there is load, and what they and observers ask for: one script each.

Question: which requests change permissions, ordered topics and the tables of a master, and who must show it?

    permissions   a second topic; then write permission away and back at the NameServers (205, 327), then the broker's
                  own permission: read only, write only, both (25 brokerPermission). Observed: the routes of both
                  topics at every NameServer; how many topics the broker has (21), for a changed table undoes what
                  NameServers were told
    order         the topic's entry in ORDER_TOPIC_CONFIG is put and deleted at every NameServer (100, 102). Looked
                  at: ``order`` of the topic on every master (21), the route's order text at every NameServer
    metadata      every two seconds one more of each: queues of a topic (17), retry queues of a group (200), a
                  consumer's offset (15), a delayed message that is due after a second. Observed: the four tables
                  (21, 201, 43, 45) of masters and slaves, and the slaves' delayOffset.json on their disks
    ends          nothing is changed. Observed: the end of the first queue (30) on masters and slaves
    masters       nothing is changed. Observed: who is master in the topic's route at every NameServer

Limits. Acts concern the first broker. Of delayed messages the first level only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from harness.workloads.observing import Act, FileQuestion, Question, Script, ScriptPart, Shown, Undone
from harness.workloads.parts import PartHost
from harness.workloads.workload import QueueAddress, Stage
from reference_impl.environment import SECOND
from reference_impl.wire.bodies import (
    SubscriptionGroupConfig,
    SubscriptionGroupTable,
    TopicConfigTable,
    TopicRouteData,
    read_consumer_offsets,
    read_delay_offsets,
)
from reference_impl.wire.codes import RequestCode
from reference_impl.wire.dialect import read_json, write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.message import properties_text

SECOND_TOPIC: Final = "chaos-second"
TABLES_TOPIC: Final = "chaos-tables"
TABLES_GROUP: Final = "chaos-tables-group"
ORDER_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
ROUND_NS: Final = 2 * SECOND
CHANGED_PERCENT: Final = 80
"""Of the load: then tables are left alone, so that what is missing at the end is seen."""
PERM_READ, PERM_WRITE = 4, 2
BROKERS_OWN: Final = "rw"
"""What a broker registers until its own permission is changed."""
NOBODY: Final = "nobody"
DELAY_TABLE: Final = "delayOffset.json"
DELAY_FILE: Final = "delay in the file"
"""What the check ``propagation`` calls the offset that lies in that table."""


# Permissions ----------------------------------------------------------------------------------------------------------


def permissions(host: PartHost) -> ScriptPart:
    """Operator ``permissions``."""
    return ScriptPart(host, "permissions", _permissions_script(host.stage))


def _permissions_script(stage: Stage) -> Script:
    """Acts at fixed shares of the load, so that each lasts long enough to be seen."""
    hit, servers = stage.queues[0], tuple(stage.nameservers)

    def shows(permission: str) -> Shown:
        return {f"permission of {hit.broker} for {topic}": permission for topic in (stage.topic, SECOND_TOPIC)}

    acts = [Act(0, "create_topic", m.node, m.address, topic_request(SECOND_TOPIC, 4), {}) for m in _masters(stage)]
    for percent, name, code, permission in (
        (15, "wipe_write_permission", RequestCode.WIPE_WRITE_PERM_OF_BROKER, "r-"),
        (30, "add_write_permission", RequestCode.ADD_WRITE_PERM_OF_BROKER, "rw"),
    ):
        request = Command(code, {"brokerName": hit.broker})
        undone = Undone(_subjects_of_table(hit.broker), BROKERS_OWN)
        for server, address in stage.nameservers.items():
            shown = {server: shows(permission)}
            acts.append(Act(at_percent(stage, percent), name, server, address, request, shown, undone=undone))
    for percent, number in ((45, PERM_READ), (60, PERM_WRITE), (75, PERM_READ | PERM_WRITE)):
        request = Command(RequestCode.UPDATE_BROKER_CONFIG, body=f"brokerPermission={number}\n".encode())
        shown = dict.fromkeys(servers, shows(_permission(number)))
        acts.append(Act(at_percent(stage, percent), "broker_permission", hit.node, hit.address, request, shown))
    questions = [
        Question("look", server, address, _route(topic), partial(_permissions, topic))
        for server, address in stage.nameservers.items()
        for topic in (stage.topic, SECOND_TOPIC)
    ]
    questions.append(Question("look", hit.node, hit.address, _ALL_TOPICS, partial(_table_of, hit.broker)))
    return Script(acts, questions)


def _permissions(topic: str, answer: Command) -> Shown:
    route = read_json(answer.body, TopicRouteData)
    return {f"permission of {queues.broker_name} for {topic}": _permission(queues.perm) for queues in route.queue_datas}


def _subjects_of_table(broker: str) -> tuple[str, str]:
    return f"topics of {broker}", f"ordered topics of {broker}"


def _table_of(broker: str, answer: Command) -> Shown:
    """How many topics, and how many of them are ordered, but for those of operators: a broker tells NameServers of such
    a topic alone, which undoes nothing."""
    table = read_json(answer.body, TopicConfigTable).topic_config_table
    topics = [topic for name, topic in table.items() if name not in (SECOND_TOPIC, TABLES_TOPIC)]
    counts = len(topics), sum(topic.order for topic in topics)
    return dict(zip(_subjects_of_table(broker), map(str, counts), strict=True))


def _permission(number: int) -> str:
    return f"{'r' if number & PERM_READ else '-'}{'w' if number & PERM_WRITE else '-'}"


# Order ----------------------------------------------------------------------------------------------------------------


def order(host: PartHost) -> ScriptPart:
    """Operator ``order``."""
    return ScriptPart(host, "order", _order_script(host.stage))


def _order_script(stage: Stage) -> Script:
    """Put early, deleted a little after the middle: brokers hear of it with their next registration, every 30 s."""
    masters, first = _masters(stage), next(iter(stage.nameservers))
    queues = Counter(queue.broker for queue in stage.queues)
    text = ";".join(f"{broker}:{count}" for broker, count in queues.items())
    key = {"namespace": ORDER_NAMESPACE, "key": stage.topic}
    put, delete = Command(RequestCode.PUT_KV_CONFIG, {**key, "value": text}), Command(RequestCode.DELETE_KV_CONFIG, key)
    acts = []
    for percent, name, request, told, marked in (
        (5, "put_order", put, text, "yes"),
        (52, "delete_order", delete, "", "no"),
    ):
        at_brokers = {master.node: {"topic is ordered": marked} for master in masters}
        for server, address in stage.nameservers.items():
            shows = {server: {"order text of the route": told}, **(at_brokers if server == first else {})}
            acts.append(Act(at_percent(stage, percent), name, server, address, request, shows))
    questions = [
        *(
            Question("look", server, address, _route(stage.topic), _order_text)
            for server, address in stage.nameservers.items()
        ),
        *(Question("look", m.node, m.address, _ALL_TOPICS, partial(_is_ordered, stage.topic)) for m in masters),
    ]
    return Script(acts, questions)


def _order_text(answer: Command) -> Shown:
    return {"order text of the route": read_json(answer.body, TopicRouteData).order_topic_conf or ""}


def _is_ordered(topic: str, answer: Command) -> Shown:
    config = read_json(answer.body, TopicConfigTable).topic_config_table[topic]
    return {"topic is ordered": "yes" if config.order else "no"}


# Metadata -------------------------------------------------------------------------------------------------------------


def metadata(host: PartHost) -> ScriptPart:
    """Operator ``metadata``."""
    return ScriptPart(host, "metadata", _metadata_script(host.stage))


def _metadata_script(stage: Stage) -> Script:
    """Rounds, each one more than the last; the four kinds of a round at four instants of it.

    How far delayed messages get is counted by the broker: the answer tells the message's place in its level, and when
    it has been delivered the level's offset is the next. A slave of 4.9 does not read the delay offsets that it copies
    before it is started again; so what it must show, it must show in its file.
    """
    master = stage.queues[0]
    slaves = tuple(node.node for node in stage.addressing.replicas(master.broker))
    nodes = (master.node, *slaves)
    acts = []
    for number in range(1, at_percent(stage, CHANGED_PERCENT) // ROUND_NS):
        for place, (kind, request) in enumerate(_round(number)):
            at_ns = number * ROUND_NS + place * ROUND_NS // 4
            shows = {node: {kind: number} for node in nodes}
            told = partial(_delayed, master.node, slaves) if kind == "delay" else None
            acts.append(Act(at_ns, f"change_{kind}", master.node, master.address, request, shows, told))
    questions = [
        question
        for node in nodes
        for question in (
            Question("look", node, stage.brokers[node], _ALL_TOPICS, _topic_round),
            Question(
                "look", node, stage.brokers[node], Command(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG), _group_round
            ),
            Question("look", node, stage.brokers[node], Command(RequestCode.GET_ALL_CONSUMER_OFFSET), _offset_round),
            Question("look", node, stage.brokers[node], Command(RequestCode.GET_ALL_DELAY_OFFSET), _delay_round),
        )
    ]
    files = [FileQuestion("look", node, DELAY_TABLE, _delay_in_file, {DELAY_FILE: 0}) for node in slaves]
    return Script(acts, questions, files)


def _round(number: int) -> list[tuple[str, Command]]:
    group = SubscriptionGroupConfig(group_name=TABLES_GROUP, retry_queue_nums=number)
    offset = {"consumerGroup": TABLES_GROUP, "topic": TABLES_TOPIC, "queueId": "0", "commitOffset": str(number)}
    return [
        ("topic", topic_request(TABLES_TOPIC, number)),
        ("group", Command(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=write_json(group))),
        ("offset", Command(RequestCode.UPDATE_CONSUMER_OFFSET, offset)),
        ("delay", _delayed_message()),
    ]


def _delayed_message() -> Command:
    fields = {
        "a": TABLES_GROUP,
        "b": TABLES_TOPIC,
        "c": TABLES_TOPIC,
        "d": "4",
        "e": "0",
        "f": "0",
        "g": "0",
        "h": "0",
        "i": properties_text({"DELAY": "1", "WAIT": "false"}),
        "j": "0",
        "k": "false",
        "m": "false",
    }
    return Command(RequestCode.SEND_MESSAGE_V2, fields, b"due after a second")


def _topic_round(answer: Command) -> Shown:
    topic = read_json(answer.body, TopicConfigTable).topic_config_table.get(TABLES_TOPIC)
    return {"topic": topic.write_queue_nums if topic else 0}


def _group_round(answer: Command) -> Shown:
    group = read_json(answer.body, SubscriptionGroupTable).subscription_group_table.get(TABLES_GROUP)
    return {"group": group.retry_queue_nums if group else 0}


def _offset_round(answer: Command) -> Shown:
    return {"offset": read_consumer_offsets(answer.body).get(f"{TABLES_TOPIC}@{TABLES_GROUP}", {}).get(0, 0)}


def _delay_round(answer: Command) -> Shown:
    return {"delay": read_delay_offsets(answer.body).get(1, 0)}


def _delay_in_file(held: bytes) -> Shown:
    return {DELAY_FILE: read_delay_offsets(held).get(1, 0)}


def _delayed(master: str, slaves: Sequence[str], answer: Command) -> dict[str, Shown]:
    offset = int(answer.fields["queueOffset"]) + 1
    return {master: {"delay": offset}, **{slave: {DELAY_FILE: offset} for slave in slaves}}


# Ends and masters -----------------------------------------------------------------------------------------------------


def ends(host: PartHost) -> ScriptPart:
    """Observer ``ends``."""
    return ScriptPart(host, "ends", _ends_script(host.stage))


def _ends_script(stage: Stage) -> Script:
    """The end of the first queue of each broker, on all its nodes; masters are also asked where they may move to."""
    serving = [stage.addressing.serves(broker) for broker in dict.fromkeys(queue.broker for queue in stage.queues)]
    return Script(
        questions=[
            Question("end", node.node, where, _queue_end(stage.topic), partial(_end, node.broker))
            for node in stage.addressing.brokers
            for where in ((node.address, _moved(node.address)) if node in serving else (node.address,))
        ]
    )


def _moved(address: str) -> str:
    """Where scenarios let a master go: ten ports higher (its HA port goes along, it is the next in 4.9)."""
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 10}"


def _queue_end(topic: str) -> Command:
    return Command(RequestCode.GET_MAX_OFFSET, {"topic": topic, "queueId": "0"})


def _end(broker: str, answer: Command) -> Shown:
    return {broker: int(answer.fields["offset"])}


def masters(host: PartHost) -> ScriptPart:
    """Observer ``masters``."""
    return ScriptPart(host, "masters", _masters_script(host.stage))


def _masters_script(stage: Stage) -> Script:
    """Who is id 0 of each broker, by the name of the node whose address it is."""
    nodes = {address: node for node, address in stage.brokers.items()}
    brokers = dict.fromkeys(queue.broker for queue in stage.queues)

    def listed_masters(answer: Command) -> Shown:
        route = read_json(answer.body, TopicRouteData)
        listed = {data.broker_name: data.broker_addrs.get(0, "") for data in route.broker_datas}
        return {broker: nodes.get(listed.get(broker, ""), NOBODY) for broker in brokers}

    return Script(
        questions=[
            Question("master", server, address, _route(stage.topic), listed_masters, dict.fromkeys(brokers, NOBODY))
            for server, address in stage.nameservers.items()
        ]
    )


# Shared ---------------------------------------------------------------------------------------------------------------

_ALL_TOPICS: Final = Command(RequestCode.GET_ALL_TOPIC_CONFIG)


def at_percent(stage: Stage, percent: int) -> int:
    """That share of the load, in nanoseconds from its start."""
    return stage.load.duration_ns * percent // 100


def _route(topic: str) -> Command:
    return Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic, "acceptStandardJsonOnly": "true"})


def topic_request(name: str, queues: int) -> Command:
    """Make the topic, or change it."""
    fields = {
        "topic": name,
        "defaultTopic": "TBW102",
        "readQueueNums": str(queues),
        "writeQueueNums": str(queues),
        "perm": "6",
        "topicFilterType": "SINGLE_TAG",
        "topicSysFlag": "0",
        "order": "false",
    }
    return Command(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)


def _masters(stage: Stage) -> list[QueueAddress]:
    """The first queue of every master."""
    return list({queue.node: queue for queue in reversed(stage.queues)}.values())[::-1]
