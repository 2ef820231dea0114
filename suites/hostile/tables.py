"""Damaged tables: the JSON files of a broker, and what a start makes of them.

Question: topics.json, consumerOffset.json, subscriptionGroup.json, delayOffset.json, or their copies, hold something
else than RocketMQ wrote; does the broker start from what is left, or say in one line why not? One seed is a broker with
topics, groups and offsets, its orderly end, damage to one or two of the files, and a start.
"""

from __future__ import annotations

import json
from random import Random

from reference_impl.environment import SECOND
from reference_impl.store.config_file import parse_json
from reference_impl.wire.codes import RequestCode as Code
from suites.hostile.values import damaged, disturbed, json_text, json_value
from suites.unit.broker.broker_by_hand import BrokerByHand

NAME = "tables"
A_SEED = "damaged tables of a broker, and its next start"
CONFIG = "store/config"
TABLES = ("topics.json", "subscriptionGroup.json", "consumerOffset.json", "delayOffset.json")


def attack(seed: int) -> None:
    """One seed."""
    rng = Random(seed)
    disk = _disk()
    for _ in range(rng.choice([1, 1, 2, 4])):
        name = f"{CONFIG}/{rng.choice(TABLES)}{rng.choice(['', '', '.bak'])}"
        disk[name] = bytearray(_instead(rng, bytes(disk.get(name, b"{}"))))
        if rng.random() < 0.4:
            disk[f"{name}.bak"] = bytearray(_instead(rng, bytes(disk[name])))
    broker = BrokerByHand(disk=disk)
    if broker.env.exit_code is not None:
        assert broker.env.exit_code == 253
        assert broker.env.exit_reason
        assert "\n" not in broker.env.exit_reason
        return
    for step in (SECOND, 11 * SECOND, 61 * SECOND):
        broker.env.advance(step)
        broker.sync_everything()
    broker.create_topic("Later")
    assert broker.send("Later").code == 0
    for code in (Code.GET_ALL_TOPIC_CONFIG, Code.GET_ALL_CONSUMER_OFFSET, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG):
        broker.ask(code)
    assert not broker.env.noted("handler_failed"), broker.env.noted("handler_failed")[0]


def _disk() -> dict[str, bytearray]:
    broker = BrokerByHand()
    broker.create_topic("T", queues=3)
    broker.answer(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, b'{"groupName":"G","retryQueueNums":2}')
    broker.answer(Code.UPDATE_CONSUMER_OFFSET, consumerGroup="G", topic="T", queueId=1, commitOffset=42)
    broker.send("T", b"late", "DELAY\x012")
    broker.role.on_stop(broker.env)
    for _ in range(10):
        broker.sync_everything()
        broker.env.advance(SECOND)
    return {name: bytearray(content) for name, content in broker.env.disk.items()}


def _instead(rng: Random, content: bytes) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return damaged(rng, content)
    if kind == 1:
        return json.dumps(json_value(rng)).encode()
    if kind == 2:
        return rng.choice(
            [b"", b"\0" * 100, b"null", b"[]", b"{}", b"[" * 50_000, b'{"a":' * 50_000, b"\xff\xfe", b"1e999"]
        )
    try:
        parsed = parse_json(content.decode("utf-8", "replace"))
    except ValueError:
        return damaged(rng, content)
    return json_text(rng, disturbed(rng, parsed))
