"""The dialogue ``figures``: what a broker tells of itself, of its clients and of what went through it.

Question: an operator reads figures before he decides. Do they agree with what was done, with each other, and do they go
back to nothing when nothing is done?

Model. A round has a topic, a group, and a member of it that is a client of its own:

    itself     28: every name that RocketMQ's tools print, and rules between the values; after the round's messages the
               counts have grown by them. 25 and 26: a setting that was changed is shown, under a higher version; 305
    counted    315 of the topic and the group: messages, bytes and times of what was sent, pulled and given back, a
               second of it, and after a minute without any nothing more; the rates in 208 and 317
    asked      307 and 309 are handed on to the member, and its own answer comes back; who is not there, or does not
               answer, is told as that. 203, 328: the members
    kept       329 takes nothing that is young

Limits. One broker, no faults: a broker that starts again counts from 0. Only the window of a minute: a round of ten
minutes would be needed for the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart, Rest
from harness.workloads.newcomers import Newcomer
from harness.workloads.orders import Desk, bodies
from harness.workloads.parts import PartHost
from reference_impl.environment import SECOND, Environment, Link
from reference_impl.wire.bodies import KVTable, TopicList
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.codes import ResponseCode
from reference_impl.wire.dialect import parse_lenient, read_json, write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from reference_impl.wire.message import decode_record

COUNT: Final = 6
SAMPLED_NS: Final = 12 * SECOND
"""A broker looks at its counters every ten seconds."""
OVER_NS: Final = 60 * SECOND
"""More than the rest of the window of a minute: the questions to a member take ten seconds and more before it."""
SILENCE_NS: Final = 10 * SECOND
"""How long a broker waits for a client that it has handed a question to."""
UNFLUSHED_MAX: Final = 128 << 10
"""What a load of some kilobytes a second brings in ten seconds, after which everything is flushed."""
SETTING: Final = "transactionCheckMax"
RESERVED: Final = ("SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "TBW102", "OFFSET_MOVED_EVENT")

Table = Mapping[str, str]


def _list(text: str) -> list[float]:
    return [float(part) for part in text.split()]


def _bytes(text: str) -> int:
    return int(text.split()[0])


def _seconds(text: str) -> int:
    """``[ 0 days, 0 hours, 1 minutes, 3 seconds ]``."""
    days, hours, minutes, seconds = (int(part.split()[0]) for part in text.strip("[ ]").split(","))
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


_POOLS: Final = ("sendThreadPool", "pullThreadPool", "queryThreadPool")

RULES: Final[Mapping[str, Callable[[Table], bool]]] = {
    "the version has a name": lambda t: int(t["brokerVersion"]) > 0 and t["brokerVersionDesc"].startswith("V"),
    "the log begins before it ends": lambda t: 0 <= int(t["commitLogMinOffset"]) <= int(t["commitLogMaxOffset"]),
    "what is to be dispatched is in the log": lambda t: (
        0 <= int(t["dispatchBehindBytes"]) <= int(t["commitLogMaxOffset"])
    ),
    "little is to be flushed": lambda t: 0 <= _bytes(t["remainHowManyDataToFlush"]) <= UNFLUSHED_MAX,
    "the oldest message is from after the epoch": lambda t: (
        int(t["earliestMessageTimeStamp"]) > 0 or int(t["commitLogMaxOffset"]) == 0
    ),
    "messages are counted alike": lambda t: t["msgPutTotalTodayNow"] == t["putMessageTimesTotal"],
    "days begin with less than there is now": lambda t: (
        0 <= int(t["msgPutTotalYesterdayMorning"]) <= int(t["msgPutTotalTodayMorning"]) <= int(t["msgPutTotalTodayNow"])
    ),
    "days of gets, too": lambda t: (
        0 <= int(t["msgGetTotalYesterdayMorning"]) <= int(t["msgGetTotalTodayMorning"]) <= int(t["msgGetTotalTodayNow"])
    ),
    "the mean size is size by messages": lambda t: (
        abs(float(t["putMessageAverageSize"]) * int(t["putMessageTimesTotal"]) - int(t["putMessageSizeTotal"])) < 1
    ),
    "gets are those that found and those that did not": lambda t: all(
        abs(found + missed - both) < 1e-6
        for found, missed, both in zip(
            _list(t["getFoundTps"]), _list(t["getMissTps"]), _list(t["getTotalTps"]), strict=True
        )
    ),
    "three windows each": lambda t: all(
        len(_list(t[name])) == 3 and min(_list(t[name])) >= 0
        for name in ("putTps", "getFoundTps", "getMissTps", "getTotalTps", "getTransferedTps")
    ),
    "disks are between empty and full": lambda t: all(
        0 <= float(t[name]) <= 1 for name in ("commitLogDiskRatio", "consumeQueueDiskRatio")
    ),
    "the disk has a size": lambda t: t["commitLogDirCapacity"].startswith("Total : "),
    "pools are named": lambda t: all(
        int(t[f"{pool}QueueSize"]) >= 0
        and int(t[f"{pool}QueueCapacity"]) > 0
        and int(t[f"{pool}QueueHeadWaitTimeMills"]) >= 0
        for pool in _POOLS
    ),
    "ends of transactions have a pool": lambda t: (
        int(t["EndTransactionQueueSize"]) >= 0 and int(t["EndTransactionThreadPoolQueueCapacity"]) > 0
    ),
    "writers wait for no time": lambda t: int(t["pageCacheLockTimeMills"]) >= 0,
    "sends are taken from the start on": lambda t: int(t["startAcceptSendRequestTimeStamp"]) >= 0,
}
"""Between the values of 28."""


def figures(host: PartHost) -> DialoguePart:
    """Operator ``figures``."""
    member = _Member(host)
    return DialoguePart(host, "figures", lambda env, number: _Round(host, member, env, number).steps())


class _Member(Newcomer):
    """A client that brokers ask: it says what it was asked, or nothing."""

    is_silent = False

    def describe(self, heartbeat: HeartbeatData) -> None:
        wish = SubscriptionData(topic=self.topic, sub_string="*", sub_version=1)
        heartbeat.consumer_data_set.append(ConsumerData(group_name=self.group, subscription_data_set=[wish]))
        heartbeat.producer_data_set.append(ProducerData(self.group))

    def on_request(self, env: Environment, link: Link, request: Command) -> bool:
        if request.code not in (Code.GET_CONSUMER_RUNNING_INFO, Code.CONSUME_MESSAGE_DIRECTLY):
            return False
        if not self.is_silent:
            about = {"group": request.fields.get("consumerGroup", ""), "message": _message(request.body)}
            answer = Command(ResponseCode.SUCCESS, body=write_json(about), remark="the member's")
            self.client.remoting.reply(env, link, request, answer)
        return True


def _message(data: bytes) -> list[Any]:
    if not data:
        return []
    record = decode_record(data)
    return [record.topic, record.queue_offset, record.body.decode()]


class _Round:
    def __init__(self, host: PartHost, member: _Member, env: Environment, number: int) -> None:
        self._desk, self._member, self._rng = Desk(host, "figures", number), member, env.rng
        self._sizes: list[int] = []
        self._ids: list[str] = []

    def steps(self) -> Dialogue:
        desk = self._desk
        yield desk.make_topic(1)
        yield desk.make_group(desk.group)
        yield self._rates("TOPIC_PUT_NUMS", desk.topic, "SYSTEM_ERROR")
        answer = yield self._runtime()
        yield from self._settings()
        yield from self._reserved()
        yield from self._filled()
        yield self._grown(read_json(answer.body, KVTable).table)
        yield from self._counted()
        yield from self._asked()
        yield from self._kept()
        yield from self._over()

    # Itself ----------------------------------------------------------------------------------------------------------

    def _runtime(self) -> Ask:
        """28: the names of rules that do not hold."""

        def read(answer: Command) -> list[str]:
            table = read_json(answer.body, KVTable).table
            return [name for name, holds in RULES.items() if not _holds(holds, table)]

        return self._desk.ask("figures of the broker", Code.GET_BROKER_RUNTIME_INFO, {}, [], read)

    def _grown(self, before: Table) -> Ask:
        """28 again: what has grown by less than this round has brought."""
        least = {
            "putMessageTimesTotal": len(self._sizes),
            "putMessageSizeTotal": sum(self._sizes),
            "msgPutTotalTodayNow": len(self._sizes),
            "msgGetTotalTodayNow": len(self._sizes),
            "commitLogMaxOffset": sum(self._sizes),
        }

        def read(answer: Command) -> list[str]:
            now = read_json(answer.body, KVTable).table
            grown = [name for name, by in least.items() if int(now[name]) - int(before[name]) < by]
            went_back = [] if _seconds(now["runtime"]) >= _seconds(before["runtime"]) else ["runtime"]
            moved = [name for name in ("bootTimestamp", "brokerVersion") if now[name] != before[name]]
            return grown + went_back + moved

        return self._desk.ask("figures that have not grown", Code.GET_BROKER_RUNTIME_INFO, {}, [], read)

    def _settings(self) -> Dialogue:
        version = -1
        for text in (str(self._rng.randint(16, 99)), "15"):
            body = f"{SETTING}={text}\n".encode()
            yield self._desk.ask(f"{SETTING}={text}", Code.UPDATE_BROKER_CONFIG, {}, body=body)
            answer = yield self._desk.ask(SETTING, Code.GET_BROKER_CONFIG, {}, [text, True], _setting(version))
            version = _version(answer)

    def _reserved(self) -> Dialogue:
        def read(answer: Command) -> list[bool]:
            known = read_json(answer.body, TopicList).topic_list
            return [name in known for name in names]

        names = (*RESERVED, self._desk.master.broker, self._desk.topic)
        must = [*(True for _ in names[:-1]), False]
        yield self._desk.ask("reserved topics", Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER, {}, must, read)

    # Counted ---------------------------------------------------------------------------------------------------------

    def _filled(self) -> Dialogue:
        desk = self._desk
        for number in range(COUNT):
            answer = yield desk.send(0, self._text(number), number)
            self._ids.append(answer.fields["msgId"])
        yield from desk.extent(0, 0, COUNT)
        for number in range(COUNT):
            answer = yield desk.pull(
                self._text(number), lambda answer: bodies(answer)[0], offset=number, at_most=1, group=desk.group
            )
            self._sizes.append(len(answer.body))
            yield desk.commit(desk.group, 0, number + 1)
        fields = {
            "offset": int(self._ids[0][-16:], 16),
            "group": desk.group,
            "delayLevel": 0,
            "originMsgId": self._ids[0],
            "originTopic": desk.topic,
            "unitMode": False,
        }
        yield desk.ask("give a message back", Code.CONSUMER_SEND_MSG_BACK, fields, orders=True)

    def _text(self, number: int) -> str:
        return f"{self._desk.topic} {'x' * number * 7} {number}"

    def _counted(self) -> Dialogue:
        desk, taken = self._desk, f"{self._desk.topic}@{self._desk.group}"
        size = sum(self._sizes)
        for name, key, total, times in (
            ("TOPIC_PUT_NUMS", desk.topic, COUNT, COUNT),
            ("TOPIC_PUT_SIZE", desk.topic, size, COUNT),
            ("GROUP_GET_NUMS", taken, COUNT, COUNT),
            ("GROUP_GET_SIZE", taken, size, COUNT),
            ("SNDBCK_PUT_NUMS", taken, 1, 1),
        ):
            yield self._rates(name, key, [total, round(total / times, 3), True], SAMPLED_NS)
        fields = {"consumerGroup": desk.group, "topic": desk.topic}
        yield desk.ask("how fast the group is", Code.GET_CONSUME_STATS, fields, True, _is_fast)
        yield desk.ask("how fast all groups are", Code.GET_BROKER_CONSUME_STATS, {"isOrder": False}, True, self._fast)

    def _fast(self, answer: Command) -> bool:
        """317: the rate of this round's group in its topic."""
        told = parse_lenient(answer.body)["consumeStatsList"]
        entries = next(table[self._desk.group] for table in told if self._desk.group in table)
        return all(0 < float(entry["consumeTps"]) <= COUNT for entry in entries)

    def _rates(self, name: str, key: str, must: Any, within_ns: int = 0) -> Ask:
        """315, of the last minute: the sum, its mean each time, and whether it is so much a second."""

        def read(answer: Command) -> list[Any]:
            told = parse_lenient(answer.body)
            minute = told["statsMinute"]
            is_fast = 0 < minute["tps"] <= minute["sum"] / 10
            return [minute["sum"], round(float(minute["avgpt"]), 3), is_fast]

        fields = {"statsName": name, "statsKey": key}
        return self._desk.ask(f"{name} of {key}", Code.VIEW_BROKER_STATS_DATA, fields, must, read, within_ns=within_ns)

    def _over(self) -> Dialogue:
        """Nothing was sent or taken for a minute."""
        yield Rest(OVER_NS)
        yield self._rates("TOPIC_PUT_NUMS", self._desk.topic, [0, 0.0, False], SAMPLED_NS)
        yield self._rates("GROUP_GET_SIZE", f"{self._desk.topic}@{self._desk.group}", [0, 0.0, False], SAMPLED_NS)

    # Asked and kept --------------------------------------------------------------------------------------------------

    def _asked(self) -> Dialogue:
        desk, member = self._desk, self._member
        member.is_silent = False
        yield self._handed_on("running info", Code.GET_CONSUMER_RUNNING_INFO, "SYSTEM_ERROR")
        member.enter(desk.topic, desk.group)
        yield self._members("members of the group", Code.GET_CONSUMER_CONNECTION_LIST, _client_ids)
        yield self._members("all producers", Code.GET_ALL_PRODUCER_INFO, self._producers)
        own: dict[str, Any] = {"group": desk.group, "message": []}
        yield self._handed_on("running info", Code.GET_CONSUMER_RUNNING_INFO, own)
        number = self._rng.randrange(COUNT)
        own = {"group": desk.group, "message": [desk.topic, number, self._text(number)]}
        code = Code.CONSUME_MESSAGE_DIRECTLY
        yield self._handed_on("take this message", code, own, msgId=self._ids[number])
        nowhere = self._ids[number][:-16] + f"{1 << 40:016X}"
        yield self._handed_on("take no message", code, "SYSTEM_ERROR", msgId=nowhere)
        yield self._handed_on("running info of nobody", Code.GET_CONSUMER_RUNNING_INFO, "SYSTEM_ERROR", client="nobody")
        member.is_silent = True
        yield self._handed_on(
            "running info of who is silent",
            Code.GET_CONSUMER_RUNNING_INFO,
            "CONSUME_MSG_TIMEOUT",
            timeout_ns=SILENCE_NS + SOON_NS,
        )

    def _handed_on(
        self, name: str, code: Code, must: Any, *, client: str = "", timeout_ns: int = SOON_NS, **more: str
    ) -> Ask:
        fields = {"consumerGroup": self._desk.group, "clientId": client or self._member.client.client_id, **more}
        return self._desk.ask(
            name, code, fields, must, lambda answer: parse_lenient(answer.body), timeout_ns=timeout_ns
        )

    def _members(self, name: str, code: Code, read: Callable[[Command], list[str]]) -> Ask:
        fields = {"consumerGroup": self._desk.group}
        return self._desk.ask(name, code, fields, [self._member.client.client_id], read, within_ns=SOON_NS)

    def _producers(self, answer: Command) -> list[str]:
        return [one["clientId"] for one in parse_lenient(answer.body)["data"].get(self._desk.group, ())]

    def _kept(self) -> Dialogue:
        yield self._desk.ask("delete old files", Code.DELETE_EXPIRED_COMMITLOG, {})
        yield from self._desk.extent(0, 0, COUNT)
        yield self._runtime()


def _holds(rule: Callable[[Table], bool], table: Table) -> bool:
    """A rule about what is missing, or is no number, does not."""
    try:
        return rule(table)
    except (LookupError, ValueError):
        return False


def _setting(before: int) -> Callable[[Command], list[Any]]:
    """Of 26: the setting, and whether the version is higher than *before*."""

    def read(answer: Command) -> list[Any]:
        lines = dict(line.split("=", 1) for line in answer.body.decode().splitlines() if "=" in line)
        return [lines[SETTING], _version(answer) > before]

    return read


def _version(answer: Command) -> int:
    return int(parse_lenient(answer.fields["version"].encode())["counter"])


def _is_fast(answer: Command) -> bool:
    return 0 < float(parse_lenient(answer.body)["consumeTps"]) <= COUNT


def _client_ids(answer: Command) -> list[str]:
    return [connection["clientId"] for connection in parse_lenient(answer.body)["connectionSet"]]
