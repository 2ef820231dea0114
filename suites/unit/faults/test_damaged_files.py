"""Files beside the log that go bad: which are hit, what becomes of them, and what proves that."""

from __future__ import annotations

import pytest

from faults.catalogue import VERBS
from faults.errors import PlanError

MASTER = "broker-a-0"
QUEUE, OTHER_QUEUE = "store/consumequeue/T/0/00000000000000000000", "store/consumequeue/T/1/00000000000000000000"
EPOCHS = "store/epochFileCheckpoint"
OFFSETS, TOPICS = "store/config/consumerOffset.json", "store/config/topics.json"
UNITS = bytes(range(1, 101)) * 6
"""600 bytes, none of which is zero."""

FILES = {
    "store/commitlog/00000000000000000000": b"log",
    "store/dledger-n0/index/00000000000000000000": b"index of a group",
    QUEUE: UNITS + bytes(400),
    OTHER_QUEUE: b"one unit" + bytes(992),
    "store/consumequeue/T/2/00000000000000000000": bytes(1000),
    "store/index/20240101000000000": b"index",
    "store/checkpoint": b"times" + bytes(4091),
    OFFSETS: b'{"offsets": 1}',
    f"{OFFSETS}.bak": b'{"offsets": 0}',
    TOPICS: b'{"topics": 1}',
    EPOCHS: b"2 0 1-0 2-100",
    f"{EPOCHS}.bak": b"1 0 1-0",
}


@pytest.fixture
def harmed(world, fault):
    """Which files of the node a fault changed, and to what; ``None``: gone."""

    def strike(**options: str) -> dict[str, bytes | None]:
        world.disk[MASTER] = dict(FILES)
        world.drive(world.injector(fault("damage_files", "master(broker-a)", at="5s", hold="1s", **options)))
        now = world.disk[MASTER]
        return {file: now.get(file) for file in FILES if now.get(file) != FILES[file]}

    return strike


def probe(world) -> tuple[int, dict]:
    return next((event[3], event[4]) for event in world.events if event[1] == "probe")


def test_the_last_bytes_that_are_written_are_flipped_in_every_file_of_the_class(world, harmed) -> None:
    flipped = bytes(byte ^ 0xFF for byte in UNITS[88:])
    assert harmed(of="consume-queue") == {
        QUEUE: UNITS[:88] + flipped + bytes(400),
        OTHER_QUEUE: bytes(byte ^ 0xFF for byte in b"one unit") + bytes(992),
    }
    assert probe(world) == (1, {"before": "running", "now": "dead", "files": 2, "as_asked": 2})
    assert world.calls == [("kill", MASTER), ("change_file", f"{MASTER} {QUEUE}"),
                           ("change_file", f"{MASTER} {OTHER_QUEUE}"), ("start", MASTER)]  # fmt: skip
    assert world.is_whole()


@pytest.mark.parametrize(
    ("options", "became"),
    [
        ({"of": "consume-queue", "how": "zero", "named": "/T/1/"}, {OTHER_QUEUE: bytes(1000)}),
        ({"of": "consume-queue", "how": "delete"}, {QUEUE: None, OTHER_QUEUE: None}),
        ({"of": "index", "how": "truncate"}, {"store/index/20240101000000000": b"in"}),
        ({"of": "checkpoint", "how": "zero"}, {"store/checkpoint": bytes(4096)}),
        ({"of": "table", "how": "truncate"}, {OFFSETS: b'{"offse', TOPICS: b'{"topi'}),
        ({"of": "table", "how": "delete", "named": "topics"}, {TOPICS: None}),
        ({"of": "table-backup", "how": "delete"}, {f"{OFFSETS}.bak": None}),
        ({"of": "epochs", "how": "truncate"}, {EPOCHS: b"2 0 1-"}),
        ({"of": "epochs-and-backup", "how": "delete"}, {EPOCHS: None, f"{EPOCHS}.bak": None}),
    ],
)
def test_what_becomes_of_files(world, harmed, options: dict[str, str], became: dict[str, bytes | None]) -> None:
    assert harmed(**options) == became
    assert probe(world)[0] == 1


@pytest.mark.parametrize(("lever", "how"), [("change_file", "flip"), ("change_file", "zero"), ("cut_file", "truncate"),
                                            ("cut_file", "delete")])  # fmt: skip
def test_a_file_that_is_as_it_was_is_no_harm(world, harmed, lever: str, how: str) -> None:
    world.broken[lever] = None
    assert harmed(of="table", how=how) == {}
    assert probe(world) == (0, {"before": "running", "now": "dead", "files": 2, "as_asked": 0})


def test_a_disk_without_such_files_is_not_hit(world, harmed) -> None:
    assert harmed(of="index", named="2023") == {}
    assert probe(world)[0] == 0
    assert "no such file" in probe(world)[1]["reason"]
    assert world.is_whole()


def test_a_queue_that_ends_early_would_keep_the_broker_from_starting(fault) -> None:
    with pytest.raises(PlanError, match="keeps RocketMQ from starting"):
        fault("damage_files", "masters", of="consume-queue", how="truncate")


def test_the_class_must_be_said_and_known(fault) -> None:
    with pytest.raises(PlanError, match="of"):
        fault("damage_files", "masters")
    with pytest.raises(PlanError, match="commitlog"):
        fault("damage_files", "masters", of="commitlog")


@pytest.mark.parametrize(
    ("of", "how"),
    [("consume-queue", "derived"), ("index", "derived"), ("checkpoint", "derived"), ("table", "tables"),
     ("table-backup", "tables"), ("epochs", "epochs"), ("epochs-and-backup", "epochs")],
)  # fmt: skip
def test_what_it_means_follows_from_the_class(of: str, how: str) -> None:
    effects = VERBS["damage_files"].effects_of({"of": of})
    assert [effect["how"] for effect in effects if effect["does"] == "damages"] == [how]


def test_random_plans_harm_only_files_that_every_broker_soon_has() -> None:
    """Epochs are of controller mode, a checkpoint comes after a minute: harming them there would do nothing."""
    assert set(VERBS["damage_files"].options["of"].samples) == {"consume-queue", "index", "table", "table-backup"}
