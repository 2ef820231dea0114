"""Key-value configuration and the NameServer's own settings over the wire."""

from __future__ import annotations

import json

import pytest

from reference_impl.wire.codes import RequestCode as Code
from suites.conformance.namesrv.cluster_by_hand import NameServerByHand, topics


@pytest.fixture(params=["4.9.7", "5.3.3"])
def server(request: pytest.FixtureRequest) -> NameServerByHand:
    return NameServerByHand(release=request.param)


def _put(server: NameServerByHand, namespace: str, key: str, value: str) -> None:
    assert server.answer(Code.PUT_KV_CONFIG, namespace=namespace, key=key, value=value).code == 0


def test_an_entry_is_put_got_and_deleted(server: NameServerByHand) -> None:
    _put(server, "NS", "k", "v")
    assert server.answer(Code.GET_KV_CONFIG, namespace="NS", key="k").fields == {"value": "v"}
    assert server.answer(Code.DELETE_KV_CONFIG, namespace="NS", key="k").code == 0
    missing = server.answer(Code.GET_KV_CONFIG, namespace="NS", key="k")
    assert (missing.code, missing.remark) == (22, "No config item, Namespace: NS Key: k")


def test_a_namespace_is_listed_and_stays_when_it_is_empty(server: NameServerByHand) -> None:
    assert server.answer(Code.GET_KVLIST_BY_NAMESPACE, namespace="NS").code == 22
    _put(server, "NS", "k", "v")
    assert server.answer(Code.GET_KVLIST_BY_NAMESPACE, namespace="NS").body == b'{"table":{"k":"v"}}'
    server.answer(Code.DELETE_KV_CONFIG, namespace="NS", key="k")
    assert server.answer(Code.GET_KVLIST_BY_NAMESPACE, namespace="NS").body == b'{"table":{}}'


def test_entries_survive_a_restart(server: NameServerByHand) -> None:
    _put(server, "NS", "k", "v")
    _put(server, "NS", "k2", "v2")
    content = json.loads(server.env.disk["namesrv/kvConfig.json"])
    assert content == {"configTable": {"NS": {"k": "v", "k2": "v2"}}}
    again = NameServerByHand(disk=server.env.disk)
    assert again.answer(Code.GET_KV_CONFIG, namespace="NS", key="k2").fields == {"value": "v2"}


def test_brokers_are_told_the_order_topics_once_there_were_any(server: NameServerByHand) -> None:
    link = server.broker()
    assert server.register(link, topics("T1", "T2")).body == b""
    _put(server, "ORDER_TOPIC_CONFIG", "T1", "b-a:4")
    assert server.register(link, topics("T1", "T2")).body == b'{"table":{"T1":"b-a:4"}}'
    server.answer(Code.DELETE_KV_CONFIG, namespace="ORDER_TOPIC_CONFIG", key="T1")
    assert server.register(link, topics("T1", "T2")).body == b'{"table":{}}'


def test_clients_are_told_the_order_of_a_topic_only_if_that_is_enabled(server: NameServerByHand) -> None:
    server.register(server.broker(), topics("T1", "T2"))
    _put(server, "ORDER_TOPIC_CONFIG", "T1", "b-a:4")
    assert b"orderTopicConf" not in server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T1").body
    assert server.answer(Code.UPDATE_NAMESRV_CONFIG, b"orderMessageEnable=true\n").code == 0
    assert b'"orderTopicConf":"b-a:4"' in server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T1").body
    assert b"orderTopicConf" not in server.answer(Code.GET_ROUTEINFO_BY_TOPIC, topic="T2").body


def test_settings_are_shown_as_properties(server: NameServerByHand) -> None:
    lines = server.answer(Code.GET_NAMESRV_CONFIG).body.decode().splitlines()
    assert "listenPort=9876" in lines
    assert "orderMessageEnable=false" in lines
    assert lines == sorted(lines)


@pytest.mark.parametrize("name", ["kvConfigPath", "configStorePath"])
def test_paths_cannot_be_changed(server: NameServerByHand, name: str) -> None:
    answer = server.answer(Code.UPDATE_NAMESRV_CONFIG, f"{name}=/x\norderMessageEnable=true\n".encode())
    assert answer.code == 16
    assert b"orderMessageEnable=false" in server.answer(Code.GET_NAMESRV_CONFIG).body


@pytest.mark.parametrize(
    "body", [b"orderMessageEnable=perhaps\n", b"listenPort=many", b"brokerChannelExpiredTime=0", b"\xff"]
)
def test_a_value_that_cannot_be_used_changes_nothing(server: NameServerByHand, body: bytes) -> None:
    before = server.answer(Code.GET_NAMESRV_CONFIG).body
    assert server.answer(Code.UPDATE_NAMESRV_CONFIG, body).code == 1
    assert server.answer(Code.GET_NAMESRV_CONFIG).body == before
    assert server.env.noted("handler_failed") == []


def test_unknown_settings_are_ignored(server: NameServerByHand) -> None:
    assert server.answer(Code.UPDATE_NAMESRV_CONFIG, b"noSuchThing=1\n").code == 0
