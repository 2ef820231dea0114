"""The dialogue ``topic-life``: a topic is made, filled and counted, groups commit and are moved, and all of it goes.

Question: does what a broker and its NameServers tell of a topic agree with everything that was done to it, before and
after it is deleted?

Model. A round has a topic of two to four queues, of which some stay empty, and two groups:

    made       17, 200; listed by every NameServer (105, 206, 224, and 312 if it is of a unit)
    filled     messages to drawn queues, each with the next offset; extents (30, 31), statistics (202), contents (11)
    consumed   one group commits in every queue (15, 14); progress (208, 303, 317), who consumes it (300)
    moved      the other group is put where the first stands (314), and goes further; the least of both (308)
    kept       cleaning that concerns nothing of it (306, 316) changes nothing
    gone       a group with its offsets (207); the topic at the broker (215), whose NameServers go on listing it until
               they are told (216); made again, it is empty

Limits. 317 is of all groups that brokers know: of groups that this round has not made nothing may be committed.
"""

from __future__ import annotations

from typing import Any, Final

from harness.cluster import CLUSTER_NAME
from harness.workloads.dialogues import SOON_NS, Dialogue, DialoguePart, Step
from harness.workloads.orders import Desk
from harness.workloads.parts import PartHost
from reference_impl.environment import Environment
from reference_impl.wire.bodies import SubscriptionGroupTable, read_consume_stats, read_topic_stats
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient, read_json
from reference_impl.wire.frame import Command
from reference_impl.wire.message import decode_records

UNIT: Final = 1
"""``topicSysFlag`` of a topic of a unit."""


def topic_life(host: PartHost) -> DialoguePart:
    """Operator ``topic-life``."""
    return DialoguePart(host, "topic-life", lambda env, number: _Round(host, env, number).steps())


class _Round:
    def __init__(self, host: PartHost, env: Environment, number: int) -> None:
        self._desk, self._rng = Desk(host, "life", number), env.rng
        self._count = self._rng.randint(2, 4)
        self._flag = self._rng.choice((0, UNIT))
        self._texts: list[list[str]] = [[] for _ in range(self._count)]
        self._stored_ms: list[list[int]] = [[] for _ in range(self._count)]
        self._offsets: list[int] = []

    def steps(self) -> Dialogue:
        yield from self._made()
        yield from self._filled()
        yield from self._consumed()
        yield from self._moved()
        yield from self._kept()
        yield from self._gone()

    # Made and filled -------------------------------------------------------------------------------------------------

    def _made(self) -> Dialogue:
        desk = self._desk
        yield desk.make_topic(self._count, self._flag)
        for group in (desk.group, desk.other_group):
            yield desk.make_group(group)
        yield desk.topic_is_known(True)
        yield from self._listed(True)
        for queue in range(self._count):
            yield from desk.extent(queue, 0, 0)

    def _listed(self, is_there: bool) -> Dialogue:
        desk = self._desk
        route = [[desk.master.broker, 6, self._count, self._count]] if is_there else "TOPIC_NOT_EXIST"
        for server in desk.stage.nameservers:
            yield desk.route(server, route, SOON_NS)
            yield desk.is_listed(server, Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, is_there)
            yield desk.is_listed(server, Code.GET_TOPICS_BY_CLUSTER, is_there, cluster=CLUSTER_NAME)
            yield desk.is_listed(server, Code.GET_TOPICS_BY_CLUSTER, False, cluster="nowhere")
            yield desk.is_listed(server, Code.GET_UNIT_TOPIC_LIST, is_there and self._flag == UNIT)
            yield desk.is_listed(server, Code.GET_HAS_UNIT_SUB_TOPIC_LIST, False)
            yield desk.is_listed(server, Code.GET_SYSTEM_TOPIC_LIST_FROM_NS, False)

    def _filled(self) -> Dialogue:
        desk = self._desk
        for number in range(self._rng.randint(6, 14)):
            queue = self._rng.randrange(self._count - 1)  # the last one stays empty
            text = f"{desk.topic} {number}"
            yield desk.send(queue, text, len(self._texts[queue]))
            self._texts[queue].append(text)
        for queue, texts in enumerate(self._texts):
            yield from desk.extent(queue, 0, len(texts))
            if not texts:
                yield desk.pull("PULL_NOT_FOUND", queue=queue)
                continue
            answer = yield desk.pull(texts, queue=queue)
            self._stored_ms[queue] = [record.store_timestamp for record in decode_records(answer.body)]
        yield self._statistics()

    def _statistics(self) -> Step:
        def read(answer: Command) -> dict[str, list[int]]:
            stats = read_topic_stats(answer.body)
            return {str(q.queue_id): [s.min_offset, s.max_offset, s.last_update_timestamp] for q, s in stats.items()}

        must = {str(queue): [0, len(ms), ms[-1] if ms else 0] for queue, ms in enumerate(self._stored_ms)}
        return self._desk.ask(
            "statistics of the topic", Code.GET_TOPIC_STATS_INFO, {"topic": self._desk.topic}, must, read
        )

    # Consumed and moved ----------------------------------------------------------------------------------------------

    def _consumed(self) -> Dialogue:
        desk = self._desk
        yield self._consumers([])
        self._offsets = [self._rng.randint(0, len(texts)) for texts in self._texts]
        for queue, offset in enumerate(self._offsets):
            yield desk.commit(desk.group, queue, offset)
            yield desk.committed(desk.group, queue, offset)
        yield self._consumers([desk.group])
        yield self._progress(desk.group, self._offsets)
        yield self._spans()
        yield self._all_progress({desk.group: self._offsets})

    def _consumers(self, groups: list[str]) -> Step:
        def read(answer: Command) -> list[str]:
            told = parse_lenient(answer.body)
            return sorted(told["groupList"])

        fields = {"topic": self._desk.topic}
        return self._desk.ask("who consumes the topic", Code.QUERY_TOPIC_CONSUME_BY_WHO, fields, sorted(groups), read)

    def _progress(self, group: str, offsets: list[int]) -> Step:
        def read(answer: Command) -> dict[str, list[int]]:
            stats = read_consume_stats(answer.body)
            return {str(q.queue_id): [s.broker_offset, s.consumer_offset, s.last_timestamp] for q, s in stats.items()}

        must = {
            str(queue): [len(self._texts[queue]), offset, self._stored_ms[queue][offset - 1] if offset else 0]
            for queue, offset in enumerate(offsets)
        }
        fields = {"consumerGroup": group, "topic": self._desk.topic}
        return self._desk.ask("how far the group is", Code.GET_CONSUME_STATS, fields, must, read)

    def _spans(self) -> Step:
        def read(answer: Command) -> dict[str, list[Any]]:
            return {
                str(span["messageQueue"]["queueId"]): [
                    span["minTimeStamp"],
                    span["maxTimeStamp"],
                    span["consumeTimeStamp"],
                    span["delayTime"] > 0,
                ]
                for span in parse_lenient(answer.body)["consumeTimeSpanSet"]
            }

        must = {}
        for queue, (offset, ms) in enumerate(zip(self._offsets, self._stored_ms, strict=True)):
            begin, end = (ms[0], ms[-1]) if ms else (-1, -1)
            must[str(queue)] = [begin, end, ms[offset - 1] if offset else begin, offset < len(ms)]
        fields = {"topic": self._desk.topic, "group": self._desk.group}
        return self._desk.ask("the times that the group is at", Code.QUERY_CONSUME_TIME_SPAN, fields, must, read)

    def _all_progress(self, offsets: dict[str, list[int]]) -> Step:
        """Of all groups: those of this round, and what all of them lack."""

        def read(answer: Command) -> list[Any]:
            told = parse_lenient(answer.body)
            known = {group: entries for table in told["consumeStatsList"] for group, entries in table.items()}
            return [sorted(group for group in offsets if known.get(group)), told["totalDiff"]]

        ends = [len(texts) for texts in self._texts]
        behind = sum(end - at for stands in offsets.values() for end, at in zip(ends, stands, strict=True))
        return self._desk.ask(
            "how far all groups are",
            Code.GET_BROKER_CONSUME_STATS,
            {"isOrder": False},
            [sorted(offsets), behind],
            read,
        )

    def _moved(self) -> Dialogue:
        desk = self._desk
        fields = {"srcGroup": desk.group, "destGroup": desk.other_group, "topic": desk.topic, "offline": True}
        yield desk.ask("put the other group there", Code.CLONE_GROUP_OFFSET, fields)
        for queue, offset in enumerate(self._offsets):
            yield desk.committed(desk.other_group, queue, offset)
        yield self._consumers([desk.group, desk.other_group])
        ends = [len(texts) for texts in self._texts]
        for queue, end in enumerate(ends):
            yield desk.commit(desk.other_group, queue, end)
        yield self._progress(desk.other_group, ends)
        yield self._all_progress({desk.group: self._offsets, desk.other_group: ends})
        yield self._least()

    def _least(self) -> Step:
        def read(answer: Command) -> dict[str, int]:
            least = parse_lenient(answer.body)["correctionOffsets"]
            return {str(queue): offset for queue, offset in least.items()}

        must = {str(queue): offset for queue, offset in enumerate(self._offsets)}
        fields = {"topic": self._desk.topic, "compareGroup": "nobody"}
        return self._desk.ask("the least offsets of all groups", Code.QUERY_CORRECTION_OFFSET, fields, must, read)

    # Kept and gone ---------------------------------------------------------------------------------------------------

    def _kept(self) -> Dialogue:
        desk = self._desk
        yield desk.ask("clean queues that have expired", Code.CLEAN_EXPIRED_CONSUMEQUEUE, {})
        yield desk.ask("clean queues of unknown topics", Code.CLEAN_UNUSED_TOPIC, {})
        yield self._statistics()
        for queue, texts in enumerate(self._texts):
            yield desk.pull(texts or "PULL_NOT_FOUND", queue=queue)

    def _gone(self) -> Dialogue:
        desk = self._desk
        for group, left in ((desk.group, [desk.other_group]), (desk.other_group, [])):
            yield self._group_is_known(group, True)
            fields = {"groupName": group, "removeOffset": True, "cleanOffset": True}
            yield desk.ask("delete the group", Code.DELETE_SUBSCRIPTIONGROUP, fields)
            yield self._group_is_known(group, False)
            yield self._consumers(left)
        for queue in range(self._count):
            yield desk.committed(desk.group, queue, 0)  # a queue in memory begins at 0 for whoever is new
        yield desk.ask("delete the topic", Code.DELETE_TOPIC_IN_BROKER, {"topic": desk.topic})
        yield from self._deleted()
        yield from self._listed(True)
        for server in desk.stage.nameservers:
            yield desk.ask("forget the topic", Code.DELETE_TOPIC_IN_NAMESRV, {"topic": desk.topic}, of=server)
        yield from self._listed(False)
        yield desk.make_topic(self._count)
        for queue in range(self._count):
            yield from desk.extent(queue, 0, 0)
            yield desk.send(queue, f"{desk.topic} again", 0)
        yield desk.ask("delete the topic", Code.DELETE_TOPIC_IN_BROKER, {"topic": desk.topic})

    def _group_is_known(self, group: str, must: bool) -> Step:
        def read(answer: Command) -> bool:
            return group in read_json(answer.body, SubscriptionGroupTable).subscription_group_table

        name = "whether the broker knows the group"
        return self._desk.ask(name, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG, {}, must, read)

    def _deleted(self) -> Dialogue:
        """What the broker says of a topic that it has not got any more."""
        desk = self._desk
        yield desk.topic_is_known(False)
        for queue in range(self._count):
            yield from desk.extent(queue, 0, 0)
            yield desk.pull("TOPIC_NOT_EXIST", queue=queue)
        yield desk.ask("statistics of the topic", Code.GET_TOPIC_STATS_INFO, {"topic": desk.topic}, "TOPIC_NOT_EXIST")
        yield desk.send(0, "nobody's", "TOPIC_NOT_EXIST")
