"""Sends of every kind, and what is refused."""

from __future__ import annotations

from collections import Counter
from typing import Any

from harness.external.protocol import Done
from suites.conformance.broker.peer import create_topic
from suites.conformance.official.case import BOTH, JAVA, Observation, case
from suites.conformance.official.place import SECOND, OfficialClient, Place


def message(topic: str, body: bytes = b"body", **more: Any) -> dict[str, Any]:
    return {"topic": topic, "body": body, **more}


def producer(client: OfficialClient, place: Place, **fields: Any) -> int:
    return client.open("producer", group=place.unique("P"), timeout_ms=10_000, **fields)


def listener(client: OfficialClient, place: Place, topic: str, **fields: Any) -> int:
    return client.open("consumer", **{"group": place.unique("G"), "topic": topic, "from_where": "first", **fields})


def told(done: Done) -> Observation:
    """Of a send: status, and whether the place was told."""
    return {"status": done.status, "queue": done.queue >= 0, "offset": done.offset, "id": len(done.message_id)}


@case(BOTH)
def send_sync(place: Place, client: OfficialClient) -> Observation:
    """One synchronous send."""
    return told(client.do("send", **{"from": producer(client, place)}, message=message(place.topic())))


@case(BOTH)
def send_in_rotation(place: Place, client: OfficialClient) -> Observation:
    """Eight sends to four queues."""
    opened, topic = producer(client, place), place.topic()
    queues = Counter(client.do("send", **{"from": opened}, message=message(topic)).queue for _ in range(8))
    return sorted(queues.items())


@case(BOTH)
def send_async(place: Place, client: OfficialClient) -> Observation:
    """One asynchronous send."""
    return told(client.do("send", **{"from": producer(client, place)}, mode="async", message=message(place.topic())))


@case(BOTH)
def send_one_way(place: Place, client: OfficialClient) -> Observation:
    """One send without an answer, and its delivery."""
    topic = place.topic()
    done = client.do("send", **{"from": producer(client, place)}, mode="one_way", message=message(topic, b"one way"))
    listener(client, place, topic)
    client.wait_given(1)
    return [done.status, client.bodies()]


@case(BOTH)
def send_to_a_queue(place: Place, client: OfficialClient) -> Observation:
    """A send to queue 2."""
    done = client.do(
        "send", **{"from": producer(client, place)}, broker="broker-a", queue=2, message=message(place.topic())
    )
    return [done.status, done.queue, done.offset]


@case(BOTH)
def send_to_a_queue_that_is_not_there(place: Place, client: OfficialClient) -> Observation:
    """A send to queue 99 of four."""
    opened = producer(client, place, retries=0)
    return client.do("send", **{"from": opened}, broker="broker-a", queue=99, message=message(place.topic())).status


@case(BOTH)
def send_batch(place: Place, client: OfficialClient) -> Observation:
    """Three messages in one request, and their delivery."""
    topic = place.topic()
    batch = [message(topic, b"b%d" % number) for number in range(3)]
    done = client.do("send_batch", **{"from": producer(client, place)}, messages=batch)
    listener(client, place, topic)
    client.wait_given(3)
    return [done.status, done.offset, sorted(client.bodies()), len({line.queue for line in client.given})]


@case(JAVA)
def send_batch_with_a_delay(place: Place, client: OfficialClient) -> Observation:
    """A batch whose messages are delayed."""
    topic = place.topic()
    batch = [message(topic, b"b", delay_level=1)]
    return client.do("send_batch", **{"from": producer(client, place)}, messages=batch).error.partition(":")[0]


@case(BOTH)
def send_large_body(place: Place, client: OfficialClient) -> Observation:
    """10 KB that compress well, and how they arrive."""
    topic = place.topic()
    client.do("send", **{"from": producer(client, place)}, message=message(topic, b"x" * 10_240))
    listener(client, place, topic)
    client.wait_given(1)
    return [len(line.body) for line in client.given]


@case(BOTH)
def send_empty_body(place: Place, client: OfficialClient) -> Observation:
    """A message without a body."""
    return client.do("send", **{"from": producer(client, place)}, message=message(place.topic(), b"")).status


@case(BOTH)
def send_too_large(place: Place, client: OfficialClient) -> Observation:
    """A body of 5 MB that does not compress."""
    body = bytes((number * number >> 3) & 255 for number in range(5 * 1024 * 1024))
    return client.do("send", **{"from": producer(client, place)}, message=message(place.topic(), body)).status


@case(BOTH)
def send_makes_a_topic(place: Place, client: OfficialClient) -> Observation:
    """A send to a topic that nobody has made."""
    return client.do("send", **{"from": producer(client, place)}, message=message(place.unique("Fresh"))).status


@case(BOTH)
def send_illegal_name(place: Place, client: OfficialClient) -> Observation:
    """A topic with a blank in its name."""
    return client.do("send", **{"from": producer(client, place)}, message=message("not a name")).status


@case(BOTH)
def send_long_name(place: Place, client: OfficialClient) -> Observation:
    """A topic with 128 characters in its name."""
    return client.do("send", **{"from": producer(client, place)}, message=message("n" * 128)).status


@case(BOTH)
def send_to_a_system_topic(place: Place, client: OfficialClient) -> Observation:
    """A send to SCHEDULE_TOPIC_XXXX."""
    opened = producer(client, place, retries=0)
    return client.do("send", **{"from": opened}, message=message("SCHEDULE_TOPIC_XXXX")).status


@case(BOTH)
def send_without_permission(place: Place, client: OfficialClient) -> Observation:
    """A topic that may only be read."""
    topic = place.unique("Readable")
    create_topic(place.peer, topic, 4, 4)
    opened = producer(client, place, retries=0)
    return client.do("send", **{"from": opened}, message=message(topic)).status


@case(BOTH)
def send_properties(place: Place, client: OfficialClient) -> Observation:
    """Tags, keys and a property of the application, as the listener sees them."""
    topic = place.topic()
    sent = message(topic, tags="TagA", keys="K1", properties={"colour": "blue ☂"})
    client.do("send", **{"from": producer(client, place)}, message=sent)
    listener(client, place, topic)
    client.wait_given(1)
    return [{key: line.properties.get(key) for key in ("TAGS", "KEYS", "colour")} for line in client.given]


@case(BOTH)
def send_by_key(place: Place, client: OfficialClient) -> Observation:
    """Five sends of each of two sharding keys: one queue a key."""
    opened, topic = producer(client, place), place.topic()
    queues = {
        key: {client.do("send", **{"from": opened}, shard=key, message=message(topic)).queue for _ in range(5)}
        for key in ("K-one", "K-two")
    }
    return {key: len(one) for key, one in queues.items()}


@case(BOTH)
def send_delayed(place: Place, client: OfficialClient) -> Observation:
    """Delay level 2 (5 s): not early, and not five seconds late."""
    topic = place.topic()
    listener(client, place, topic)
    place.wait(lambda: bool(client.assigned))
    done = client.do("send", **{"from": producer(client, place)}, message=message(topic, delay_level=2))
    sent_ns = place.backend.now()
    client.wait_given(1)
    waited_ns = place.backend.now() - sent_ns
    return [done.status, len(client.given), waited_ns >= 4_900_000_000, waited_ns < 10 * SECOND]


@case(BOTH)
def request_and_reply(place: Place, client: OfficialClient) -> Observation:
    """A request, and the body of its reply."""
    topic = place.topic()
    listener(client, place, topic, replies=True)
    client.judge = lambda line: {"result": "ok", "reply": b"re: " + line.body}
    place.wait(lambda: bool(client.assigned))
    opened = producer(client, place)
    done = client.do("request", **{"from": opened}, timeout_ms=20_000, message=message(topic, b"question"))
    return [done.status, done.body.decode()]


@case(BOTH)
def request_without_a_reply(place: Place, client: OfficialClient) -> Observation:
    """A request that nobody answers."""
    opened = producer(client, place)
    return client.do("request", **{"from": opened}, timeout_ms=2_000, message=message(place.topic())).status


@case(JAVA)
def route_of_a_topic(place: Place, client: OfficialClient) -> Observation:
    """The queues that a producer may send to."""
    return client.do("route", **{"from": producer(client, place)}, topic=place.topic(3)).queues
