"""Push consumers: sharing, order, retries, positions."""

from __future__ import annotations

from collections import Counter

from suites.conformance.official.case import BOTH, Observation, case
from suites.conformance.official.cases.sending import listener, message, producer
from suites.conformance.official.place import SECOND, OfficialClient, Place

REDELIVERY_NS = 60 * SECOND


def send_numbers(client: OfficialClient, opened: int, topic: str, count: int, **fields: object) -> None:
    for number in range(count):
        client.do("send", **{"from": opened}, message=message(topic, b"%d" % number), **fields)


@case(BOTH)
def push_gets_everything(place: Place, client: OfficialClient) -> Observation:
    """Ten messages, one listener."""
    topic = place.topic()
    send_numbers(client, producer(client, place), topic, 10)
    listener(client, place, topic)
    client.wait_given(10)
    place.pass_time(SECOND)
    return sorted(client.bodies())


@case(BOTH)
def two_groups_get_everything(place: Place, client: OfficialClient) -> Observation:
    """Two groups, each with one listener."""
    topic = place.topic()
    send_numbers(client, producer(client, place), topic, 5)
    handles = [listener(client, place, topic), listener(client, place, topic)]
    client.wait_given(10)
    by = Counter(line.consumer for line in client.given)
    return [by[handle] for handle in handles]


@case(BOTH)
def members_share(place: Place, client: OfficialClient) -> Observation:
    """Two members of one group: each message once, to one of them."""
    topic, group = place.topic(), place.unique("G")
    handles = [listener(client, place, topic, group=group) for _ in range(2)]

    def settled() -> bool:
        last = {line.consumer: line.queues for line in client.assigned if line.topic == topic}
        return [len(last.get(handle, [])) for handle in handles] == [2, 2]

    both_have_two = place.wait(settled)
    send_numbers(client, producer(client, place), topic, 8)
    client.wait_given(8)
    place.pass_time(SECOND)
    return [both_have_two, sorted(client.bodies()), len({line.consumer for line in client.given})]


@case(BOTH)
def broadcast_reaches_all(place: Place, client: OfficialClient) -> Observation:
    """Two broadcasting members of one group: each gets each message."""
    topic, group = place.topic(), place.unique("G")
    handles = [listener(client, place, topic, group=group, broadcast=True) for _ in range(2)]
    place.wait(lambda: {line.consumer for line in client.assigned} >= set(handles), 3 * SECOND)
    send_numbers(client, producer(client, place), topic, 4)
    client.wait_given(8)
    by = Counter(line.consumer for line in client.given)
    return [by[handle] for handle in handles]


@case(BOTH)
def order_in_a_queue(place: Place, client: OfficialClient) -> Observation:
    """Twenty messages of one key, an orderly listener."""
    topic = place.topic()
    send_numbers(client, producer(client, place), topic, 20, shard="key")
    listener(client, place, topic, order=True)
    client.wait_given(20)
    return client.bodies()


@case(BOTH)
def an_orderly_listener_that_fails_once(place: Place, client: OfficialClient) -> Observation:
    """The second message of three is refused once: it comes again before the third."""
    topic, refused = place.topic(), [b"1"]

    def judge(line):  # type: ignore[no-untyped-def]
        if line.body in refused:
            refused.remove(line.body)
            return {"result": "later"}
        return {"result": "ok"}

    client.judge = judge
    send_numbers(client, producer(client, place), topic, 3, shard="key")
    listener(client, place, topic, order=True)
    client.wait_given(4)
    return client.bodies()


@case(BOTH)
def a_refused_message_comes_again(place: Place, client: OfficialClient) -> Observation:
    """Refused once: it comes again, counted, from the retry topic."""
    topic = place.topic()
    client.judge = lambda line: {"result": "ok" if line.times else "later"}
    client.do("send", **{"from": producer(client, place)}, message=message(topic, b"again"))
    listener(client, place, topic)
    client.wait_given(2, REDELIVERY_NS)
    return [[line.times, line.body.decode(), line.properties.get("RETRY_TOPIC") == topic] for line in client.given]


@case(BOTH)
def a_message_that_is_always_refused_dies(place: Place, client: OfficialClient) -> Observation:
    """At most one retry: then it is in the dead-letter topic, and not given again."""
    topic, group = place.topic(), place.unique("G")
    client.judge = lambda line: {"result": "later"}
    client.do("send", **{"from": producer(client, place)}, message=message(topic, b"poison"))
    listener(client, place, topic, group=group, max_times=1)
    client.wait_given(2, REDELIVERY_NS)
    place.pass_time(2 * SECOND)
    from suites.conformance.broker.peer import answer

    end = answer(place.peer, 30, topic=f"%DLQ%{group}", queueId=0).fields["offset"]
    return [[line.times for line in client.given], end]


@case(BOTH)
def a_group_goes_on_where_it_was(place: Place, client: OfficialClient) -> Observation:
    """A member leaves in order and comes back: what was done is not given again."""
    topic, group = place.topic(), place.unique("G")
    opened = producer(client, place)
    send_numbers(client, opened, topic, 6)
    first = listener(client, place, topic, group=group)
    client.wait_given(6)
    place.pass_time(SECOND)
    client.do("close", **{"from": first})
    client.do("send", **{"from": opened}, message=message(topic, b"new"))
    listener(client, place, topic, group=group)
    client.wait_given(7)
    place.pass_time(SECOND)
    return sorted(client.bodies())


@case(BOTH)
def a_new_group_begins_at_the_last_offset(place: Place, client: OfficialClient) -> Observation:
    """CONSUME_FROM_LAST_OFFSET on a young topic: what was there before is given."""
    topic = place.topic()
    opened = producer(client, place)
    send_numbers(client, opened, topic, 3)
    listener(client, place, topic, from_where="last")
    place.wait(lambda: bool(client.assigned))
    place.pass_time(SECOND)
    client.do("send", **{"from": opened}, message=message(topic, b"new"))
    client.wait_given(4, 6 * SECOND)
    return sorted(client.bodies())


@case(BOTH)
def a_suspended_listener_waits(place: Place, client: OfficialClient) -> Observation:
    """Suspended, then resumed: what was sent meanwhile comes afterwards."""
    topic = place.topic()
    handle = listener(client, place, topic)
    place.wait(lambda: bool(client.assigned))
    client.do("suspend", **{"from": handle}, on=True)
    place.pass_time(SECOND)
    client.do("suspend", **{"from": handle}, on=False)
    client.do("send", **{"from": producer(client, place)}, message=message(topic, b"late"))
    client.wait_given(1)
    return client.bodies()
