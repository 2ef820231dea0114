"""What the official tools' library looks up: offsets, messages by id and by key."""

from __future__ import annotations

from suites.conformance.official.case import JAVA, Observation, case
from suites.conformance.official.cases.pulling import QUEUE, filled
from suites.conformance.official.cases.sending import message, producer
from suites.conformance.official.place import SECOND, OfficialClient, Place


def admin(client: OfficialClient) -> int:
    return client.open("admin")


@case(JAVA)
def least_and_greatest_offset(place: Place, client: OfficialClient) -> Observation:
    """Of a queue with four messages, and of an empty one."""
    topic, handle = filled(client, place), admin(client)
    ask = {"from": handle, "topic": topic, "broker": "broker-a"}
    return [client.do("offset", **ask, queue=queue, what=what).offset for queue in (0, 1) for what in ("min", "max")]


@case(JAVA)
def offset_by_store_time(place: Place, client: OfficialClient) -> Observation:
    """Before all, after all, and in an empty queue."""
    topic, handle = filled(client, place), admin(client)
    ask = {"from": handle, "topic": topic, "broker": "broker-a", "what": "time"}
    asked = ((0, 1), (0, 4_000_000_000_000), (1, 1))
    return [client.do("offset", **ask, queue=queue, at_ms=at).offset for queue, at in asked]


@case(JAVA)
def earliest_store_time(place: Place, client: OfficialClient) -> Observation:
    """Of a queue with messages and of one without."""
    topic, handle = filled(client, place), admin(client)
    ask = {"from": handle, "topic": topic, "broker": "broker-a", "what": "earliest"}
    return [client.do("offset", **ask, queue=queue).offset > 0 for queue in (0, 1)]


@case(JAVA)
def a_message_by_its_id(place: Place, client: OfficialClient) -> Observation:
    """The id that the send was told."""
    topic = place.topic()
    done = client.do("send", **{"from": producer(client, place)}, **QUEUE, message=message(topic, b"seen"))
    found = client.do("view", **{"from": admin(client)}, topic=topic, message_id=done.message_id)
    return [[shown.topic == topic, shown.queue, shown.offset, shown.body.decode()] for shown in found.messages]


@case(JAVA)
def a_message_by_its_unique_key(place: Place, client: OfficialClient) -> Observation:
    """The id that the producer made."""
    topic = place.topic()
    done = client.do("send", **{"from": producer(client, place)}, **QUEUE, message=message(topic, b"unique"))
    place.pass_time(SECOND)
    found = client.do("view", **{"from": admin(client)}, topic=topic, message_id=done.unique_key)
    return [[shown.body.decode(), shown.message_id == done.unique_key] for shown in found.messages]


@case(JAVA)
def messages_by_key(place: Place, client: OfficialClient) -> Observation:
    """Two of three messages have the key."""
    topic, opened = place.topic(), producer(client, place)
    for body, keys in ((b"1", "red"), (b"2", "blue"), (b"3", "green red")):
        client.do("send", **{"from": opened}, message=message(topic, body, keys=keys))
    place.pass_time(SECOND)
    found = client.do("query", **{"from": admin(client)}, topic=topic, key="red")
    return sorted(shown.body.decode() for shown in found.messages)


@case(JAVA)
def a_key_that_nobody_has(place: Place, client: OfficialClient) -> Observation:
    """Nothing is found, in the client's words."""
    return client.do("query", **{"from": admin(client)}, topic=place.topic(), key="none").status


@case(JAVA)
def an_id_that_nothing_has(place: Place, client: OfficialClient) -> Observation:
    """The offset of the id lies beyond the log."""
    topic = place.topic()
    done = client.do("send", **{"from": producer(client, place)}, message=message(topic))
    beyond = done.message_id[:-8] + "7FFFFFF0"
    return client.do("view", **{"from": admin(client)}, topic=topic, message_id=beyond).status
