"""The lite pull consumer of Java."""

from __future__ import annotations

from typing import Any

from suites.conformance.official.case import JAVA, Observation, case
from suites.conformance.official.cases.sending import message, producer
from suites.conformance.official.place import SECOND, OfficialClient, Place

QUEUE = {"broker": "broker-a", "queue": 0}


def assigned(client: OfficialClient, place: Place, topic: str) -> int:
    """A consumer of queue 0."""
    handle = client.open("pull", group=place.unique("G"), from_where="first")
    client.do("assign", **{"from": handle}, topic=topic, queues=[["broker-a", 0]])
    return handle


def polled(place: Place, client: OfficialClient, handle: int, wanted: int) -> list[str]:
    bodies: list[str] = []

    def more() -> bool:
        bodies.extend(shown.body.decode() for shown in client.do("poll", **{"from": handle}, timeout_ms=500).messages)
        return len(bodies) >= wanted

    end_ns = place.backend.now() + 8 * SECOND
    while not more() and place.backend.now() < end_ns:
        pass
    return bodies


def filled(client: OfficialClient, place: Place, count: int = 4, **more: Any) -> str:
    topic, opened = place.topic(), producer(client, place)
    for number in range(count):
        client.do("send", **{"from": opened}, **QUEUE, message=message(topic, b"%d" % number, **more))
    return topic


@case(JAVA)
def poll_an_assigned_queue(place: Place, client: OfficialClient) -> Observation:
    """Four messages by poll."""
    topic = filled(client, place)
    return polled(place, client, assigned(client, place, topic), 4)


@case(JAVA)
def seek_to_the_beginning(place: Place, client: OfficialClient) -> Observation:
    """Read, go back, read again."""
    topic = filled(client, place)
    handle = assigned(client, place, topic)
    first = polled(place, client, handle, 4)
    client.do("seek", **{"from": handle}, topic=topic, **QUEUE, to="begin")
    return [first, polled(place, client, handle, 4)]


@case(JAVA)
def seek_to_an_offset(place: Place, client: OfficialClient) -> Observation:
    """Offset 2 of four."""
    topic = filled(client, place)
    handle = assigned(client, place, topic)
    client.do("seek", **{"from": handle}, topic=topic, **QUEUE, to="offset", offset=2)
    return polled(place, client, handle, 2)[-2:]


@case(JAVA)
def seek_beyond_the_end(place: Place, client: OfficialClient) -> Observation:
    """Offset 99 of four is refused by the client."""
    topic = filled(client, place)
    handle = assigned(client, place, topic)
    return client.do("seek", **{"from": handle}, topic=topic, **QUEUE, to="offset", offset=99).status


@case(JAVA)
def seek_to_the_end(place: Place, client: OfficialClient) -> Observation:
    """Nothing old comes after it."""
    topic = filled(client, place)
    handle = assigned(client, place, topic)
    client.do("seek", **{"from": handle}, topic=topic, **QUEUE, to="end")
    client.do("poll", **{"from": handle}, timeout_ms=500)
    client.do("send", **{"from": producer(client, place)}, **QUEUE, message=message(topic, b"new"))
    return polled(place, client, handle, 1)[-1:]


@case(JAVA)
def committed_offset(place: Place, client: OfficialClient) -> Observation:
    """What the broker knows of a group before and after it has committed."""
    topic = filled(client, place)
    handle = assigned(client, place, topic)
    before = client.do("offset", **{"from": handle}, topic=topic, **QUEUE, what="committed").offset
    polled(place, client, handle, 4)
    client.do("commit", **{"from": handle})
    place.pass_time(SECOND)
    return [before, client.do("offset", **{"from": handle}, topic=topic, **QUEUE, what="committed").offset]


@case(JAVA)
def offset_by_time(place: Place, client: OfficialClient) -> Observation:
    """Before all, and after all messages."""
    topic = filled(client, place)
    handle = assigned(client, place, topic)
    ask = {"from": handle, "topic": topic, **QUEUE, "what": "time"}
    return [client.do("offset", **ask, at_ms=at).offset for at in (1, 4_000_000_000_000)]


@case(JAVA)
def a_paused_queue(place: Place, client: OfficialClient) -> Observation:
    """Paused: nothing comes; resumed: it comes."""
    topic = place.topic()
    handle = assigned(client, place, topic)
    client.do("pause", **{"from": handle}, topic=topic, **QUEUE, on=True)
    place.pass_time(SECOND)
    client.do("send", **{"from": producer(client, place)}, **QUEUE, message=message(topic, b"waited"))
    client.do("pause", **{"from": handle}, topic=topic, **QUEUE, on=False)
    return polled(place, client, handle, 1)


@case(JAVA)
def poll_with_a_subscription(place: Place, client: OfficialClient) -> Observation:
    """Queues by rebalancing, one tag."""
    topic = filled(client, place, tags="TagA")
    handle = client.open("pull", group=place.unique("G"), topic=topic, expression="TagA", from_where="first")
    return sorted(polled(place, client, handle, 4))


@case(JAVA)
def poll_with_a_condition(place: Place, client: OfficialClient) -> Observation:
    """Queues by rebalancing, SQL92."""
    topic = filled(client, place, properties={"a": "7"})
    handle = client.open("pull", group=place.unique("G"), topic=topic, sql="a = 7", from_where="first")
    return sorted(polled(place, client, handle, 4))
