"""Damaged stores: a start takes what it can, says why where it cannot, and destroys nothing that is whole.

Question: files of a store were flipped, cut, deleted, swapped, zeroed or joined by strangers while the broker was down;
what does the next start make of them?

Model. One seed is a store of small files with messages in three queues and a delayed one, an end of its process (a stop
or a kill), one to three acts of damage, and a start, with ``queueSelfCheck`` in every second seed. It holds if

    nothing but a refusal with a reason (StoreUnloadable, an error of the operating system) leaves the start
    every file of the log that begins with a whole record and was there before is there after, or set aside
    after the start messages are taken, and are there after one start more
    where only queues, index, checkpoint or abort file were damaged, the log has lost nothing; with queueSelfCheck
    every message is served again, in order

Limits. Damage to a record of the log may take everything behind it in that file, as with RocketMQ. Two damaged files
can cost a message more: after an orderly end a start reads the last three files of the log, as RocketMQ 4.9.7 does;
where it ends the log at the later damage, the start after it reads further back, comes to the earlier one, and ends it
there, before what was sent meanwhile. Seen on 4.9.7; 5.3.3 and 5.5.0 keep the message (finding 31).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from reference_impl.store import StoreUnloadable
from suites.unit.store.world import World

NAME = "stores"
A_SEED = "one damaged store, and its next two starts"
COUNT = 120
TINY = {
    "mappedFileSizeConsumeQueue": "400",
    "mappedFileSizeCommitLog": "4096",
    "maxHashSlotNum": "20",
    "maxIndexNum": "50",
}
LATER = "later"


def flip(rng: Random, w: World, file: str) -> None:
    data = w.content(file)
    if data:
        at = rng.randrange(len(data))
        w.patch(file, at, bytes([data[at] ^ 1 << rng.randrange(8)]))


def zero(rng: Random, w: World, file: str) -> None:
    size = len(w.content(file))
    at = rng.randrange(size + 1)
    w.patch(file, at, bytes(min(rng.choice([4, 20, 512, 4096]), size - at)))


def noise(rng: Random, w: World, file: str) -> None:
    size = len(w.content(file))
    at = rng.randrange(size + 1)
    w.patch(file, at, rng.randbytes(min(rng.choice([1, 8, 20, 512]), size - at)))


def cut(rng: Random, w: World, file: str) -> None:
    w.disk.truncate(f"store/{file}", rng.randrange(len(w.content(file)) + 1))


def grow(rng: Random, w: World, file: str) -> None:
    w.disk.truncate(f"store/{file}", len(w.content(file)) + rng.choice([1, 20, 4096]))


def delete(rng: Random, w: World, file: str) -> None:
    w.disk.delete(f"store/{file}")


def swap(rng: Random, w: World, file: str) -> None:
    other = rng.choice(w.names())
    one, two = w.content(file), w.content(other)
    for name, data in ((file, two), (other, one)):
        w.disk.truncate(f"store/{name}", 0)
        w.disk.write(f"store/{name}", 0, data)


def stranger(rng: Random, w: World, file: str) -> None:
    folder = file.rpartition("/")[0]
    name = rng.choice(["00000000000000000001", "00000000000000004097", ".DS_Store", "x", "²", "9" * 20, "9" * 40, "-1"])
    place = f"store/{folder}/{name}" if folder else f"store/{name}"
    if w.disk.size(place) < 0:
        w.disk.create(place, rng.choice([0, 1, 400, 4096, len(w.content(file))]))


DAMAGES: list[Callable[[Random, World, str], None]] = [flip, flip, zero, noise, cut, grow, delete, swap, stranger]


def attack(seed: int) -> None:
    """One seed."""
    rng = Random(seed)
    checks = rng.random() < 0.5
    w = World({**TINY, "queueSelfCheck": str(checks).lower()}, seed=seed).start()
    sent = [_send(w, number) for number in range(COUNT)]
    w.run(rng.choice([0.1, 3]))
    is_killed = rng.random() < 0.5
    (w.kill if is_killed else w.stop)()
    touched = _damage(rng, w)
    whole = {file: w.content(file) for file in w.names() if file.startswith("commitlog/") and _is_whole(w, file)}
    if not _starts(w):
        return
    _check_spared(w, whole)
    if not any(file.startswith("commitlog/") for file in touched):
        _check_log(w, sent, is_served=checks)
    _check_goes_on(w, {file for file in touched if file.startswith("commitlog/")})


def _starts(w: World) -> bool:
    """Whether the store took its files; a refusal has a reason."""
    try:
        w.start().run(1)
    except (StoreUnloadable, OSError) as error:
        refusal = str(error)
    else:
        return True
    assert refusal
    return False


def _damage(rng: Random, w: World) -> list[str]:
    touched = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        file = rng.choice(w.names())
        before = {name: w.content(name) for name in w.names()}
        rng.choice(DAMAGES)(rng, w, file)
        after = w.names()
        touched += [name for name in {*before, *after} if name not in after or before.get(name) != w.content(name)]
    return touched


def _send(w: World, number: int) -> tuple[int, str]:
    queue, body = number % 3, f"m{number}".ljust(60, ".")
    w.send_ok(body, queue_id=queue)
    return queue, body


def _is_whole(w: World, file: str) -> bool:
    """Whether it begins with a record whose magic, size and body are those of a message."""
    data = w.content(file)
    name = file.rpartition("/")[2]
    is_aligned = name.isascii() and name.isdigit() and len(name) == 20 and int(name) % 4096 == 0
    size = int.from_bytes(data[:4], "big", signed=True)
    return is_aligned and data[4:8] == b"\xda\xa3\x20\xa7" and 91 < size <= len(data) and b"m" in data[88:89]


def _check_spared(w: World, whole: dict[str, bytes]) -> None:
    for file, content in whole.items():
        name = file.rpartition("/")[2]
        places = [file, f"set-aside/{name}"]
        assert any(w.disk.size(f"store/{place}") >= 0 for place in places), f"{file} is gone, and held messages"
        assert content


def _check_log(w: World, sent: list[tuple[int, str]], *, is_served: bool) -> None:
    assert w.store.log_end > 0, "the log is empty"
    for queue in range(3) if is_served else ():
        assert w.bodies(queue_id=queue) == [body for at, body in sent if at == queue], f"queue {queue}"


def _check_goes_on(w: World, damaged: set[str]) -> None:
    if not w.store.is_writable:
        assert w.noted("read_only"), "takes no messages and does not say why"
        return
    result = w.send(LATER, topic="Later")
    assert result.status.is_stored, result
    ended_in = f"commitlog/{w.store.log_end // 4096 * 4096:020}"
    w.run(0.1)
    w.stop().start().run(1)
    is_cut_further_back = any(_holds_end(w, file) for file in damaged - {ended_in})
    assert LATER in w.bodies("Later") or is_cut_further_back


def _holds_end(w: World, file: str) -> bool:
    name = file.rpartition("/")[2]
    return name.isascii() and name.isdigit() and 0 <= w.store.log_end - int(name) < 4096
