"""Members of groups: connections, not client ids; and when the others must be told."""

from __future__ import annotations

from reference_impl.broker.clients import EXPIRY_MS, ClientTable, Member, Subscription

KIND = ("CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET")


def member(client: str = "c@1", seen_ms: int = 0) -> Member:
    return Member(client, "JAVA", 407, seen_ms)


def seen(table: ClientTable, link: int, *topics: str, group: str = "G", version: int = 1, seen_ms: int = 0) -> bool:
    subscriptions = [Subscription(topic, "*", version=version) for topic in topics]
    return table.consumer_seen(group, link, member(f"c@{link}", seen_ms), KIND, subscriptions)


def test_members_and_topics_are_changes_repetitions_are_none() -> None:
    table = ClientTable()
    assert [seen(table, 1, "T"), seen(table, 1, "T"), seen(table, 2, "T"), seen(table, 2, "T")] == [
        True,
        False,
        True,
        False,
    ]
    assert seen(table, 1, "T", "U")
    assert seen(table, 1, "T")
    assert not seen(table, 1, "T", version=9)
    assert table.client_ids("G") == ["c@1", "c@2"]


def test_only_a_newer_subscription_replaces() -> None:
    table = ClientTable()
    for version, expression in [(5, "new"), (3, "old"), (5, "same"), (6, "newer")]:
        table.consumer_seen("G", 1, member(), KIND, [Subscription("T", expression, version=version)])
    assert table.consumers["G"].subscriptions["T"].expression == "newer"
    table.consumer_seen("G", 1, member(), KIND, [Subscription("T", "late", version=5)])
    assert table.consumers["G"].subscriptions["T"].expression == "newer"


def test_one_client_id_on_two_connections_counts_twice() -> None:
    table = ClientTable()
    for link in (1, 2):
        table.consumer_seen("G", link, member("same@1"), KIND, [])
    assert table.client_ids("G") == ["same@1", "same@1"]


def test_a_closed_connection_leaves_every_group_and_names_those_to_be_told() -> None:
    table = ClientTable()
    for group in ("G", "H"):
        seen(table, 1, "T", group=group)
    seen(table, 2, "T", group="G")
    table.producer_seen("P", 1, member())
    assert table.connection_closed(1) == ["G", "H"]
    assert (table.client_ids("G"), table.client_ids("H"), table.producers) == (["c@2"], [], {})
    assert table.connection_closed(1) == []


def test_unregistering() -> None:
    table = ClientTable()
    seen(table, 1, "T")
    table.producer_seen("P", 1, member())
    assert [table.remove_consumer("G", 2), table.remove_consumer("G", 1), table.remove_consumer("G", 1)] == [
        False,
        True,
        False,
    ]
    table.remove_producer("P", 1)
    table.remove_producer("P", 1)
    assert (table.consumers, table.producers) == ({}, {})


def test_expiry_counts_from_the_last_heartbeat_of_each_group() -> None:
    table = ClientTable()
    seen(table, 1, "T", seen_ms=0)
    seen(table, 2, "T", seen_ms=1000)
    table.producer_seen("P", 3, member(seen_ms=0))
    assert table.expired(EXPIRY_MS) == []
    assert table.expired(EXPIRY_MS + 1) == [1, 3]
    seen(table, 1, "T", seen_ms=EXPIRY_MS)
    assert table.expired(EXPIRY_MS + 1) == [3]
