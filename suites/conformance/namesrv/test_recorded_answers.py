"""The recorded conversation with Apache's NameServers, held again with ours: the same answers, word by word.

Every recorded request goes to our NameServer in the recorded order, and its answer is compared with the recorded one:
code, ext fields, remark, serialization, body as a value (order of names in a list, and which broker is "any broker",
are Java's hash order and not compared). Some registrations were not recorded (frames above 8,000 bytes, setup steps):
``UNRECORDED`` supplies what they had brought.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_impl.environment import Link
from reference_impl.wire.bodies import DataVersion
from reference_impl.wire.codes import RequestCode as Code
from reference_impl.wire.dialect import parse_lenient
from reference_impl.wire.frame import NO_FIELDS, Command, FrameDecoder
from reference_impl.wire.registration import write_registration
from suites.conformance.golden_wire import VERSIONS, GoldenFrame, golden_frames
from suites.conformance.namesrv.cluster_by_hand import NameServerByHand, topics


class Conversation:
    """Our NameServer and the links of those who talked to Apache's."""

    def __init__(self, release: str) -> None:
        self.server = NameServerByHand(release=release)
        self.links: dict[str, Link] = {}

    def link_of(self, address: str) -> Link:
        if address not in self.links:
            self.links[address] = self.server.env.accept()
        return self.links[address]

    def ask(self, golden: GoldenFrame) -> Command | None:
        who = golden.command.fields.get("brokerAddr", "") if golden.request_code == Code.REGISTER_BROKER else ""
        link = self.link_of(who)
        self.server.env.deliver(link, golden.frame)
        return next(FrameDecoder().feed(self.server.env.take(link)), None)

    def registered(self, name: str, port: int, cluster: str, *names: str, **settings: Any) -> None:
        table = topics(*names, **settings)
        address = f"127.0.0.1:{port}"
        fields = {"brokerName": name, "brokerAddr": address, "clusterName": cluster, "haServerAddr": "127.0.0.1:9"}
        body = write_registration(table, compressed=False)
        answer = self.server.answer(Code.REGISTER_BROKER, body, link=self.link_of(address), brokerId=0, **fields)
        assert answer.code == 0

    def real_broker_bs(self) -> None:
        """The 5.3.3 broker whose registration frame was too large to be kept."""
        names = ("CS", "bs", "CS_REPLY_TOPIC", "rmq_sys_REVIVE_LOG_CS", "rmq_sys_SYNC_BROKER_MEMBER_bs")
        self.registered("bs", 20130, "CS", *names)
        bs = {"perm": 7, "read_queue_nums": 8, "write_queue_nums": 8, "version": DataVersion(9, timestamp=9)}
        self.registered("bs", 20130, "CS", "TBW102", **bs)

    def order_of_tf1(self) -> None:
        self.server.answer(Code.PUT_KV_CONFIG, namespace="ORDER_TOPIC_CONFIG", key="TF1", value="f1:4")

    def newer_tf(self) -> None:
        self.registered("f1", 7001, "CF", "TF1", "TF2", version=DataVersion(1, timestamp=1_700_000_000_004))

    def broker_f4(self) -> None:
        self.registered("f4", 7005, "CF", "TC5", "TC6")

    def master_hangs_up(self) -> None:
        self.server.env.hang_up(self.links.pop("127.0.0.1:7001"))


UNRECORDED: dict[str, dict[str, Callable[[Conversation], None]]] = {
    "4.9.7": {
        "query_data_version_changed": Conversation.newer_tf,
        "wipe_write_perm": Conversation.broker_f4,
        "register_answer_with_order_kv": Conversation.order_of_tf1,
        "route_master_gone": Conversation.master_hangs_up,
    },
    "5.3.3": {
        "route_TBW102_json": Conversation.real_broker_bs,
        "register_answer_with_order_kv": Conversation.order_of_tf1,
        "route_master_gone": Conversation.master_hangs_up,
    },
}
"""What had happened just before the exchange of that name."""

OUR_OWN_WORDS = {
    "register_compressed_6_items": "the remark names our exception, not Java's",
    "namesrv_config": "our settings, not Netty's",
}

_REQUESTS = {
    Code.PUT_KV_CONFIG, Code.GET_KV_CONFIG, Code.DELETE_KV_CONFIG, Code.REGISTER_BROKER, Code.UNREGISTER_BROKER,
    Code.GET_ROUTEINFO_BY_TOPIC, Code.GET_BROKER_CLUSTER_INFO, Code.WIPE_WRITE_PERM_OF_BROKER,
    Code.ADD_WRITE_PERM_OF_BROKER, Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Code.DELETE_TOPIC_IN_NAMESRV,
    Code.GET_KVLIST_BY_NAMESPACE, Code.GET_TOPICS_BY_CLUSTER, Code.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    Code.UPDATE_NAMESRV_CONFIG, Code.GET_NAMESRV_CONFIG, Code.QUERY_DATA_VERSION, Code.GET_BROKER_MEMBER_GROUP,
}  # fmt: skip


def _exchanges(release: str) -> list[tuple[GoldenFrame, Command | None]]:
    """(request, recorded answer) until the first unregistration: from there on the state is that of later probes."""
    frames = [golden for golden in golden_frames(release) if golden.request_code in _REQUESTS]
    answers = {golden.pair: golden.command for golden in frames if golden.command.is_answer}
    requests = [golden for golden in frames if not golden.command.is_answer]
    end = next(at for at, golden in enumerate(requests) if golden.name == "unregister_broker")
    return [(golden, answers.get(golden.pair)) for golden in requests[: end + 1]]


def _comparable(answer: Command | None) -> object:
    if answer is None:
        return None
    body = _sorted(parse_lenient(answer.body)) if answer.body else b""
    if isinstance(body, dict):
        body.pop("brokerAddr", None)
    return answer.code, dict(answer.fields), answer.fields is NO_FIELDS, answer.remark, answer.serialization, body


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(member) for key, member in value.items()}
    return sorted((_sorted(member) for member in value), key=str) if isinstance(value, list) else value


@pytest.mark.parametrize("release", VERSIONS)
def test_ours_answers_what_apache_answered(release: str) -> None:
    conversation, compared = Conversation(release), 0
    for request, recorded in _exchanges(release):
        UNRECORDED[release].get(request.name, lambda _: None)(conversation)
        ours = conversation.ask(request)
        if request.name in OUR_OWN_WORDS:
            assert ours is not None
            assert recorded is not None
            assert ours.code == recorded.code
            continue
        assert _comparable(ours) == _comparable(recorded), str(request)
        compared += 1
    assert compared >= 33
    assert conversation.server.env.noted("handler_failed") == []
