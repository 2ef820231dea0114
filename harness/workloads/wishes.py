"""The dialogue ``wishes``: members of groups come, wish, wish otherwise, and go; each is given what it wants just then.

Question: do messages reach whoever asked for them, by tags or by a condition over properties, and does a broker know
who its clients are and what they want now?

Model. A round has a topic of one queue with messages of three tags, a number and a colour each, and for some a mark:

    conditions   pulls with SQL92 in the request (11): what Python's own operators choose of the same properties; 23 for
                 what is no condition, 46 says the same
    tags         pulls with tags in the request
    groups       a heartbeat (34) with a subscription: pulls without one are given what it wants; with the number of a
                 newer subscription that the broker has not heard of they are refused (25), until it has
    members      who they are and what they want (203, 204, 38), before and after they leave (35)

Limits. ``enablePropertyFilter=true``. One connection, so one member a group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from harness.workloads.dialogues import SOON_NS, Ask, Dialogue, DialoguePart
from harness.workloads.orders import Desk
from harness.workloads.parts import PartHost
from reference_impl.environment import Environment
from reference_impl.wire.bodies import ConsumerIds
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient, read_json, write_json
from reference_impl.wire.frame import Command
from reference_impl.wire.heartbeat import ConsumerData, HeartbeatData, ProducerData, SubscriptionData
from reference_impl.wire.message import tags_code

COUNT: Final = 12
TAGS: Final = ("red", "green", "blue")
SIZES: Final = ("small", "it's", "large")
Properties = Mapping[str, str]

CONDITIONS: Final[Mapping[str, Callable[[Properties], bool]]] = {
    "n > 5": lambda p: int(p["n"]) > 5,
    "n >= 5": lambda p: int(p["n"]) >= 5,
    "n < 5": lambda p: int(p["n"]) < 5,
    "n <= 5": lambda p: int(p["n"]) <= 5,
    "n = 5": lambda p: p["n"] == "5",
    "n <> 5": lambda p: p["n"] != "5",
    "n > 2.5": lambda p: int(p["n"]) > 2.5,
    "n BETWEEN 3 AND 6": lambda p: 3 <= int(p["n"]) <= 6,
    "n NOT BETWEEN 3 AND 6": lambda p: not 3 <= int(p["n"]) <= 6,
    "size = 'small'": lambda p: p["size"] == "small",
    "size <> 'small'": lambda p: p["size"] != "small",
    "size = 'it''s'": lambda p: p["size"] == "it's",
    "size IN ('small', 'large')": lambda p: p["size"] in ("small", "large"),
    "size NOT IN ('small')": lambda p: p["size"] != "small",
    "mark IS NULL": lambda p: "mark" not in p,
    "mark IS NOT NULL": lambda p: "mark" in p,
    "mark = 'x'": lambda p: "mark" in p,
    "mark <> 'x'": lambda p: False,
    "mark > 1": lambda p: False,
    "NOT (n < 5)": lambda p: int(p["n"]) >= 5,
    "NOT (mark = 'x')": lambda p: False,
    "n < 3 OR size = 'large'": lambda p: int(p["n"]) < 3 or p["size"] == "large",
    "n > 3 AND size = 'large'": lambda p: int(p["n"]) > 3 and p["size"] == "large",
    "n < 2 OR n > 9 AND size = 'small'": lambda p: int(p["n"]) < 2 or (int(p["n"]) > 9 and p["size"] == "small"),
    "(n < 2 or n > 9) and size = 'small'": lambda p: (int(p["n"]) < 2 or int(p["n"]) > 9) and p["size"] == "small",
    "mark IS NULL OR n = 3": lambda p: "mark" not in p or p["n"] == "3",
    "TRUE": lambda p: True,
    "FALSE OR n = 7": lambda p: p["n"] == "7",
}
"""In SQL92, and what Python makes of the same. A comparison with what is missing is neither true nor false."""

NO_CONDITIONS: Final = ("n >", "n BETWEEN 1", "size IN (1)", "size < 'x'", "(n = 1", "n IS 3", "7")


def wishes(host: PartHost) -> DialoguePart:
    """Operator ``wishes``."""
    return DialoguePart(host, "wishes", lambda env, number: _Round(host, env, number).steps())


class _Round:
    def __init__(self, host: PartHost, env: Environment, number: int) -> None:
        self._desk = Desk(host, "wish", number)
        self._client_id = f"{host.stage.backend.host(host.name)}@{self._desk.topic}"
        self._sent: list[dict[str, str]] = []
        for place in env.rng.sample(range(COUNT), COUNT):
            mark = {"mark": "x"} if place % 4 == 1 else {}
            self._sent.append({"n": str(place), "size": SIZES[place % 3], "TAGS": TAGS[place // 2 % 3], **mark})

    def _wanted(self, chosen: Callable[[Properties], bool]) -> Any:
        return [f"{self._desk.topic} {n}" for n, p in enumerate(self._sent) if chosen(p)] or "PULL_RETRY_IMMEDIATELY"

    def steps(self) -> Dialogue:
        desk = self._desk
        yield desk.make_topic(1)
        yield desk.make_group(desk.group)
        for number, properties in enumerate(self._sent):
            yield desk.send(0, f"{desk.topic} {number}", number, properties)
        yield from desk.extent(0, 0, COUNT)
        for expression, chosen in CONDITIONS.items():
            yield desk.pull(self._wanted(chosen), expression=expression, kind="SQL92")
            yield self._checked(expression, "OK")
        for expression in NO_CONDITIONS:
            yield desk.pull("SUBSCRIPTION_PARSE_FAILED", expression=expression, kind="SQL92")
            yield self._checked(expression, "SUBSCRIPTION_PARSE_FAILED")
        yield desk.pull("SYSTEM_ERROR", expression="n = 1", kind="XPATH")
        for tags in ("red", "green || blue", "red||nothing", "nothing"):
            words = [word.strip() for word in tags.split("||")]
            yield desk.pull(self._wanted(lambda p, words=words: p["TAGS"] in words), expression=tags)  # type: ignore[misc]
        yield from self._groups()

    def _checked(self, expression: str, must: str) -> Ask:
        body = write_json(
            {"subscriptionData": {"topic": self._desk.topic, "subString": expression, "expressionType": "SQL92"}}
        )
        return self._desk.ask(f"check {expression}", Code.CHECK_CLIENT_CONFIG, {}, must, body=body)

    # Groups ----------------------------------------------------------------------------------------------------------

    def _groups(self) -> Dialogue:
        desk = self._desk
        yield self._pull_as_member("SUBSCRIPTION_NOT_EXIST", 1)
        yield self._members("CONSUMER_NOT_ONLINE")
        for version, (expression, kind) in enumerate(
            (("red", "TAG"), ("n > 5", "SQL92"), ("*", "TAG"), ("n >", "SQL92")), 1
        ):
            chosen = self._chosen(expression, kind)
            if version > 1:
                yield self._pull_as_member("SUBSCRIPTION_NOT_LATEST", version)
            yield self._heartbeat(expression, kind, version)
            yield self._pull_as_member("FILTER_DATA_NOT_EXIST" if chosen is None else self._wanted(chosen), version)
            yield self._pull_as_member("FILTER_DATA_NOT_EXIST" if chosen is None else self._wanted(chosen), version - 1)
            yield self._pull_as_member("SUBSCRIPTION_NOT_LATEST", version + 1)
            yield self._members([[self._client_id], expression, kind, version])
        yield self._ids([self._client_id])
        yield self._producers([self._client_id])
        leave = {"clientID": self._client_id, "consumerGroup": desk.group, "producerGroup": desk.other_group}
        yield desk.ask("leave", Code.UNREGISTER_CLIENT, leave)
        yield self._pull_as_member("SUBSCRIPTION_NOT_EXIST", 1)
        yield self._members("CONSUMER_NOT_ONLINE")
        yield self._ids("SYSTEM_ERROR")
        yield self._producers("SYSTEM_ERROR")

    def _chosen(self, expression: str, kind: str) -> Callable[[Properties], bool] | None:
        if expression == "*":
            return lambda p: True
        return CONDITIONS.get(expression) if kind == "SQL92" else lambda p: p["TAGS"] == expression

    def _pull_as_member(self, must: Any, version: int) -> Ask:
        return self._desk.pull(must, expression="", group=self._desk.group, flags=0, version=version)

    def _heartbeat(self, expression: str, kind: str, version: int) -> Ask:
        tags = [] if kind == "SQL92" or expression == "*" else [expression]
        wish = SubscriptionData(
            topic=self._desk.topic,
            sub_string=expression,
            expression_type=kind,
            sub_version=version,
            tags_set=tags,
            code_set=[tags_code(tag) for tag in tags],
        )
        body = HeartbeatData(
            self._client_id,
            [ConsumerData(group_name=self._desk.group, subscription_data_set=[wish])],
            [ProducerData(self._desk.other_group)],
        )
        return self._desk.ask(f"want {kind} {expression}", Code.HEART_BEAT, {}, body=write_json(body))

    def _members(self, must: Any) -> Ask:
        """203: client ids, what they want of the topic, of which kind, in which version."""

        def read(answer: Command) -> list[Any]:
            told = parse_lenient(answer.body)
            wish = told["subscriptionTable"][self._desk.topic]
            ids = [connection["clientId"] for connection in told["connectionSet"]]
            return [ids, wish["subString"], wish["expressionType"], wish["subVersion"]]

        fields = {"consumerGroup": self._desk.group}
        return self._desk.ask("who is in the group", Code.GET_CONSUMER_CONNECTION_LIST, fields, must, read)

    def _ids(self, must: Any) -> Ask:
        fields = {"consumerGroup": self._desk.group}
        return self._desk.ask(
            "ids of the group",
            Code.GET_CONSUMER_LIST_BY_GROUP,
            fields,
            must,
            lambda answer: read_json(answer.body, ConsumerIds).consumer_id_list,
            within_ns=SOON_NS,
        )

    def _producers(self, must: Any) -> Ask:
        def read(answer: Command) -> list[str]:
            return [connection["clientId"] for connection in parse_lenient(answer.body)["connectionSet"]]

        fields = {"producerGroup": self._desk.other_group}
        return self._desk.ask("producers of the group", Code.GET_PRODUCER_CONNECTION_LIST, fields, must, read)
