"""Steps on a real loop: effects leave after the step, in order; a crash lets none leave; links, timers, syncs."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_impl.environment import MS, Environment, Link
from reference_impl.runtime import network
from suites.unit.runtime.script_role import ScriptRole, Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


@pytest.fixture
def address() -> str:
    """A free port of a loopback address that no other process uses, since many tests run at once."""
    host = f"127.{64 + os.getpid() // 62_500 % 128}.{os.getpid() // 250 % 250}.{1 + os.getpid() % 250}"
    with socket.socket() as probe:
        probe.bind((host, 0))
        return f"{host}:{probe.getsockname()[1]}"


def listening(address: str, **reactions: object) -> ScriptRole:
    return ScriptRole(start=lambda env: env.listen(address), **reactions)


def calling(address: str, data: bytes = b"", **reactions: object) -> ScriptRole:
    def start(env: Environment) -> None:
        env.send(env.connect(address), data)

    return ScriptRole(start=start, **reactions)


def received(role: ScriptRole) -> bytes:
    return b"".join(call[2] for call in role.calls if call[0] == "bytes")


# -- links -------------------------------------------------------------------------------------------------------------


def test_bytes_sent_before_the_connection_is_up_arrive_and_are_echoed(stage: Stage, address: str) -> None:
    server = listening(address, bytes=lambda env, link, data: env.send(link, data))
    stage.host(server)
    client = calling(address, b"early")
    stage.host(client)
    stage.until(lambda: received(client) == b"early")
    assert client.calls[1] == ("connected", 1)


def test_both_ends_know_each_others_address(stage: Stage, address: str) -> None:
    seen: list[tuple[str, str | None]] = []
    server = listening(address, connected=lambda env, link: seen.append((env.peer(link), env.listener(link))))
    stage.host(server)
    client = calling(address, connected=lambda env, link: seen.append((env.peer(link), env.listener(link))))
    stage.host(client, source_host="127.1.2.3")
    stage.until(lambda: len(seen) == 2)
    (theirs, listener), (ours, none) = sorted(seen, key=lambda pair: pair[1] is None)
    assert theirs.startswith("127.1.2.3:"), "a connection comes from the source address of its role"
    assert (listener, ours, none) == (address, address, None)


def test_a_large_message_arrives_whole(stage: Stage, address: str) -> None:
    server = listening(address)
    stage.host(server)
    data = bytes(range(256)) * 40_000
    stage.host(calling(address, data))
    stage.until(lambda: sum(len(call[2]) for call in server.calls if call[0] == "bytes") == len(data))
    assert received(server) == data


def test_a_refused_connection_is_closed_without_ever_being_up(stage: Stage, address: str) -> None:
    client = calling(address)
    stage.host(client)
    stage.until(lambda: client.count("closed") == 1)
    assert client.calls == [("start",), ("closed", 1)]


@pytest.mark.parametrize("address", ["", "x", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000"])
def test_what_is_no_address_is_a_refused_connection(stage: Stage, address: str) -> None:
    client = calling(address)
    stage.host(client)
    stage.until(lambda: client.count("closed") == 1)
    assert client.calls == [("start",), ("closed", 1)]
    assert not stage.crashes


def test_who_closes_is_not_told_the_other_is_and_the_last_bytes_arrive(stage: Stage, address: str) -> None:
    def say_and_close(env: Environment, link: Link) -> None:
        env.send(link, b"good")
        env.send(link, b"bye")
        env.close(link)
        env.send(link, b"never")

    server = listening(address, connected=say_and_close)
    stage.host(server)
    client = calling(address)
    stage.host(client)
    stage.until(lambda: client.count("closed") == 1)
    assert received(client) == b"goodbye"
    assert server.count("closed") == 0


def test_a_taken_port_is_an_error_at_once(stage: Stage, address: str) -> None:
    stage.host(listening(address))
    second = listening(address)
    stage.host(second)
    assert isinstance(stage.crashes[0], OSError)


def test_a_port_can_be_had_again_after_its_owner_was_killed(stage: Stage, address: str) -> None:
    server = listening(address)
    first = stage.host(server)
    client = calling(address, b"x")
    stage.host(client)
    stage.until(lambda: received(server) == b"x")
    first.abandon()
    stage.until(lambda: client.count("closed") == 1)
    again = listening(address)
    stage.host(again)
    stage.host(calling(address, b"y"))
    stage.until(lambda: received(again) == b"y")


def test_a_peer_that_does_not_read_is_cut_off(stage: Stage, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "BUFFER_LIMIT_BYTES", 100_000)
    server = listening(address, connected=lambda env, link: env.send(link, bytes(50_000_000)))
    stage.host(server)
    with socket.socket() as deaf:
        deaf.setblocking(False)
        host, port = address.split(":")
        deaf.connect_ex((host, int(port)))
        stage.until(lambda: server.count("closed") == 1)


# -- steps -------------------------------------------------------------------------------------------------------------


def test_a_crash_lets_nothing_of_its_step_leave(stage: Stage, address: str) -> None:
    def answer_then_fail(env: Environment, link: Link, data: bytes) -> None:
        env.send(link, b"never")
        raise RuntimeError("planted")

    server = listening(address, bytes=answer_then_fail)
    stage.host(server)
    client = calling(address, b"x")
    stage.host(client)
    stage.until(lambda: client.count("closed") == 1)
    assert received(client) == b""
    assert [str(error) for error in stage.crashes] == ["planted"]
    assert stage.environments[0].ended
    assert not stage.environments[1].ended, "the crash of one role leaves the others alone"


def test_nothing_is_called_after_the_end(stage: Stage) -> None:
    role = ScriptRole(start=lambda env: (env.set_timer("late", 1 * MS), env.exit(3)))
    environment = stage.host(role)
    assert stage.exits == [3]
    time_up = stage.loop.time() + 0.02
    stage.until(lambda: stage.loop.time() > time_up)
    environment.step(role.on_timer, "by hand")
    assert role.calls == [("start",)]


def test_exit_lets_the_last_bytes_leave(stage: Stage, address: str) -> None:
    server = listening(address)
    stage.host(server)

    def say_and_exit(env: Environment, link: Link) -> None:
        env.send(link, b"unregister" * 100_000)
        env.exit()

    leaving = stage.host(calling(address, connected=say_and_exit))
    stage.until(lambda: bool(stage.exits))
    stage.loop.run_until_complete(leaving.shut_down())
    stage.until(lambda: server.count("closed") == 1)
    assert len(received(server)) == 1_000_000


def test_notes_keep_their_order(stage: Stage) -> None:
    stage.host(ScriptRole(start=lambda env: (env.note("a", number=1), env.note("b"))))
    assert stage.notes == [("a", {"number": 1}), ("b", {})]


# -- timers ------------------------------------------------------------------------------------------------------------


def test_a_timer_is_never_early(stage: Stage) -> None:
    late_by: list[int] = []

    def start(env: Environment) -> None:
        for number in range(200):
            env.set_timer(env.now() + number * 100_000, number * 100_000)

    role = ScriptRole(start=start, timer=lambda env, due: late_by.append(env.now() - due))
    stage.host(role)
    stage.until(lambda: len(late_by) == 200)
    # The key is the time before set_timer was called, so a timer that fired on time shows a little more than zero.
    assert min(late_by) >= 0


def test_a_timer_of_the_same_key_replaces_and_cancel_forgets(stage: Stage) -> None:
    def start(env: Environment) -> None:
        env.set_timer("replaced", 1 * MS)
        env.set_timer("replaced", 15 * MS)
        env.set_timer("cancelled", 1 * MS)
        env.cancel_timer("cancelled")
        env.cancel_timer("never set")

    role = ScriptRole(start=start)
    stage.host(role)
    started = time.monotonic_ns()
    stage.until(lambda: role.count("timer") > 0)
    assert role.calls == [("start",), ("timer", "replaced")]
    assert time.monotonic_ns() - started >= 14 * MS


# -- disk --------------------------------------------------------------------------------------------------------------


def test_syncs_come_back_as_steps(stage: Stage) -> None:
    def start(env: Environment) -> None:
        env.write("log", 0, b"x")
        env.sync("log", 1)
        env.sync_dir(2)
        env.sync("absent", 3)

    role = ScriptRole(start=start, synced=lambda env, file, token: env.set_timer(token, 0))
    stage.host(role)
    stage.until(lambda: role.count("timer") == 2 and role.count("disk_error") == 1)
    assert {call for call in role.calls if call[0] != "timer"} == {
        ("start",), ("synced", "log", 1), ("synced", "", 2), ("disk_error", "absent", 3, "ENOENT"),
    }  # fmt: skip


def test_disk_usage_is_that_of_the_file_system(stage: Stage) -> None:
    used, total = stage.host(ScriptRole()).disk_usage()
    assert 0 < used <= total


def test_a_path_that_is_not_there_yet_would_lie_where_the_folder_above_it_lies(stage: Stage) -> None:
    env = stage.host(ScriptRole())
    assert env.disk_usage("none/of/these")[1] == env.disk_usage()[1]


def test_a_folder_may_lie_on_another_disk(stage: Stage) -> None:
    env = stage.host(ScriptRole())
    (stage.folder / "0" / "shared").symlink_to("/dev/shm")
    space = os.statvfs("/dev/shm")
    assert env.disk_usage("shared/log")[1] == space.f_blocks * space.f_frsize


def test_who_asks_and_does_not_read_waits_alone(stage: Stage, address: str) -> None:
    """Two hundred requests of one peer that reads nothing, each answered with 100 kB; a second peer asks and reads."""

    def answer(env: Environment, link: Link, data: bytes) -> None:
        for _ in range(data.count(b"?")):
            env.send(link, bytes(100_000))

    server = listening(address, bytes=answer)
    environment = stage.host(server)
    host, port = address.split(":")
    with socket.socket() as deaf:
        deaf.connect((host, int(port)))
        deaf.sendall(b"?".ljust(1000, b".") * 200)
        client = calling(address, b"?")
        stage.host(client)
        stage.until(lambda: len(received(client)) == 100_000)
        unsent = [c.transport.get_write_buffer_size() for c in environment._network._connections.values()]
        assert max(unsent) < network.WATER_MARK_BYTES + 100_000 * (network.TURN_BYTES // 1000 + 1)
        assert server.count("closed") == 0
        deaf.setblocking(False)
        taken = bytearray()

        def is_served() -> bool:
            """As far as it reads."""
            with contextlib.suppress(BlockingIOError):
                taken.extend(deaf.recv(1 << 20))
            return len(taken) == 200 * 100_000

        stage.until(is_served)


def test_all_that_nobody_reads_has_a_bound(stage: Stage, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight peers read nothing of 8 MB each: the first of them are hung up on, who reads is served."""
    monkeypatch.setattr(network, "UNSENT_BYTES_MAX", 20_000_000)
    server = listening(address, bytes=lambda env, link, data: env.send(link, bytes(8_000_000 if data == b"!" else 10)))
    environment = stage.host(server)
    host, port = address.split(":")
    with contextlib.ExitStack() as peers:
        for _ in range(8):
            peers.enter_context(deaf := socket.socket())
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect((host, int(port)))
            deaf.sendall(b"!")
        stage.until(lambda: server.count("bytes") == 8 and server.count("closed") > 0)
        left = [c.transport.get_write_buffer_size() for c in environment._network._connections.values()]
        assert 0 < sum(left) <= 20_000_000
        client = calling(address, b"?")
        stage.host(client)
        stage.until(lambda: len(received(client)) == 10)


def test_what_was_received_before_the_end_of_a_connection_is_all_handed_over(stage: Stage, address: str) -> None:
    server = listening(address)
    stage.host(server)
    host, port = address.split(":")
    with socket.socket() as brief:
        brief.connect((host, int(port)))
        brief.sendall(bytes(300_000))
    stage.until(lambda: server.count("closed") == 1)
    assert len(received(server)) == 300_000
