"""TCP between simulated hosts: order, partitions, retries, jams, resets, pauses, ends."""

from __future__ import annotations

import pytest

from faults.levers import LinkSet
from harness.backends.sim.models import Budgets, Model, NetModel
from harness.errors import BudgetExceeded
from reference_impl.environment import MS, SECOND, Environment
from suites.unit.sim.toys import PORT, Pair, seconds

BETWEEN = LinkSet("c", ("client-1",), ("broker-a-0",))
TO_SERVER = LinkSet("c", ("client-1",), ("broker-a-0",), one_way=True)
WHOLE = Model(net=NetModel(split_per_1024=0))
TO_CLIENT = LinkSet("c", ("broker-a-0",), ("client-1",), one_way=True)


def test_connecting_is_seen_at_both_ends() -> None:
    pair = Pair()
    assert pair.client.what() == [("start", None), ("connected", pair.link)]
    assert pair.server.what() == [("start", None), ("connected", 1)]


def test_addresses_of_both_ends() -> None:
    pair, seen = Pair(), []
    pair.client_does(lambda env: seen.append((env.peer(pair.link), env.listener(pair.link))))
    pair.server_does(lambda env: seen.append((env.peer(1), env.listener(1))))
    assert seen == [(pair.address, None), ("10.3.0.1:32768", f"0.0.0.0:{PORT}")]


def test_bytes_arrive_in_order_however_they_are_cut() -> None:
    pair, sent = Pair(), b""
    for number in range(3000):
        data = number.to_bytes(4, "big") * 3
        sent += data
        pair.send(data)
        if not number % 7:
            pair.run(MS // 10)
    pair.run(SECOND)
    assert pair.server.received() == sent
    pieces = [detail for what, detail in pair.server.what() if what == "bytes"]
    assert any(len(piece) % 12 for piece in pieces), "no frame was torn"


def test_what_one_step_sends_travels_together() -> None:
    pair = Pair(model=WHOLE)

    def send_three(env: Environment) -> None:
        for part in (b"a", b"b", b"c"):
            env.send(pair.link, part)

    pair.client_does(send_three)
    pair.run(SECOND)
    assert ("bytes", b"abc") in pair.server.what()


def test_what_is_sent_before_the_connection_is_up_follows_it() -> None:
    pair = Pair(model=WHOLE)

    def connect_and_send(env: Environment) -> None:
        env.send(env.connect(pair.address), b"early")

    pair.client_does(connect_and_send)
    pair.run(SECOND)
    assert pair.server.what()[-2:] == [("connected", 2), ("bytes", b"early")]


def test_latency_is_drawn_and_bounded_below() -> None:
    model, delays = NetModel(), []
    for seed in range(30):
        pair = Pair(seed)
        before = pair.world.now()
        pair.send(b"x")
        pair.run(SECOND)
        delays.append(pair.server.when("bytes") - before)
    assert min(delays) >= model.latency_min_ns
    assert len(set(delays)) > 20


def test_refused_where_nobody_listens() -> None:
    pair, links = Pair(), []
    before = pair.world.now()
    pair.client_does(lambda env: links.append(env.connect("10.2.1.1:9")))
    pair.run(SECOND)
    assert pair.client.seen[-1][1:] == ("closed", links[0])
    assert pair.client.seen[-1][0] - before < 50 * MS


@pytest.mark.parametrize("address", ["", "x", "10.2.1.1", "10.2.1.1:x", "10.2.1.1:0", "10.2.1.1:70000"])
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    """A peer may tell any text as an address; nobody's step ends with an exception."""
    pair, links = Pair(), []
    before = pair.world.now()
    pair.client_does(lambda env: links.append(env.connect(address)))
    pair.run(SECOND)
    assert pair.client.seen[-1] == (before, "closed", links[0])


@pytest.mark.parametrize("address", ["10.9.9.9:1", "10.2.1.1:10911"])
def test_silence_ends_at_the_connect_timeout(address: str) -> None:
    pair, links = Pair(), []
    pair.levers.partition(BETWEEN)
    before = pair.world.now()
    pair.client_does(lambda env: links.append(env.connect(address)))
    pair.run(10 * SECOND)
    assert pair.client.seen[-1] == (before + NetModel().connect_timeout_ns, "closed", links[0])


def test_a_connection_request_is_repeated() -> None:
    pair = Pair()
    pair.levers.partition(BETWEEN)
    before = pair.world.now()
    pair.connect()
    pair.run(500 * MS)
    pair.levers.heal_partition("c")
    pair.run(SECOND)
    assert pair.client.what()[-1] == ("connected", 2)
    assert 1000 * MS <= pair.client.seen[-1][0] - before < 1100 * MS


def test_a_listener_is_taken_or_not_ours() -> None:
    pair, errors = Pair(), []

    def listen(address: str) -> None:
        def action(env: Environment) -> None:
            try:
                env.listen(address)
            except OSError as error:
                errors.append(error.errno)

        pair.server_does(action)

    listen(pair.address)
    listen("10.2.9.9:1")
    listen("10.2.1.1:2")
    assert errors == [98, 99]


# -- partitions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cut_ns", "recovered_ns"),
    [(seconds(0.1), seconds(0.2)), (seconds(0.5), seconds(0.6)), (SECOND, seconds(1.4)), (4 * SECOND, seconds(6.2))],
)
def test_a_healed_cut_is_felt_until_the_next_retry(cut_ns: int, recovered_ns: int) -> None:
    """0.2 s · 2^n as Linux does: the retries are at 0.2, 0.6, 1.4, 3.0, 6.2 s."""
    pair = Pair()
    pair.levers.partition(BETWEEN)
    before = pair.world.now()
    pair.send(b"one")
    pair.run(cut_ns // 2)
    pair.send(b"two")
    pair.run(cut_ns // 2)
    assert pair.server.received() == b""
    pair.levers.heal_partition("c")
    pair.run(10 * SECOND)
    assert pair.server.received() == b"onetwo"
    assert 0 <= pair.server.when("bytes") - before - recovered_ns < 30 * MS
    assert not [what for what, _ in pair.client.what() + pair.server.what() if what == "closed"]


def test_order_survives_a_cut_in_the_middle_of_a_stream() -> None:
    for seed in range(40):
        pair, sent = Pair(seed), b""
        for number in range(200):
            data = number.to_bytes(2, "big")
            pair.send(data)
            sent += data
            pair.run(MS // 10)
            if number in (50, 120):
                pair.levers.partition(BETWEEN)
            if number in (90, 160):
                pair.levers.heal_partition("c")
        pair.run(30 * SECOND)
        assert pair.server.received() == sent


def test_an_idle_connection_does_not_notice_a_cut() -> None:
    pair = Pair()
    pair.levers.partition(BETWEEN)
    pair.run(300 * SECOND)
    pair.levers.heal_partition("c")
    pair.send(b"still here")
    pair.run(SECOND)
    assert pair.server.received() == b"still here"


def test_the_sender_gives_up_after_a_quarter_of_an_hour_and_the_other_end_learns_when_it_speaks() -> None:
    pair = Pair()
    pair.levers.partition(BETWEEN)
    before = pair.world.now()
    pair.send(b"lost")
    pair.run(1200 * SECOND)
    ended = pair.client.when("closed") - before
    assert NetModel().retransmit_give_up_ns <= ended <= NetModel().retransmit_give_up_ns + 121 * SECOND
    pair.levers.heal_partition("c")
    pair.run(SECOND)
    assert [what for what, _ in pair.server.what()] == ["start", "connected"]
    pair.server_does(lambda env: env.send(1, b"anyone?"))
    pair.run(SECOND)
    assert pair.server.what()[-1] == ("closed", 1)
    assert pair.server.received() == b""


def test_one_way_to_the_server_lets_answers_through() -> None:
    pair = Pair()
    pair.levers.partition(TO_SERVER)
    pair.send(b"lost for now")
    pair.server_does(lambda env: env.send(1, b"heard"))
    pair.run(100 * MS)
    assert (pair.server.received(), pair.client.received()) == (b"", b"heard")


def test_without_acknowledgements_one_window_arrives_and_the_rest_after_the_heal() -> None:
    pair, window = Pair(), NetModel().unacknowledged_bytes_max
    pair.levers.partition(TO_CLIENT)
    for _ in range(100):
        pair.send(b"x" * 1000)
        pair.run(MS)
    pair.run(5 * SECOND)
    arrived = len(pair.server.received())
    assert window - 1000 <= arrived <= window
    pair.levers.heal_partition("c")
    pair.run(10 * SECOND)
    assert len(pair.server.received()) == 100_000


def test_a_cut_of_new_connections_leaves_those_that_are_there() -> None:
    pair = Pair()
    pair.levers.partition(LinkSet("c", ("client-1",), ("broker-a-0",), only_new=True))
    pair.send(b"goes on")
    pair.client_does(lambda env: env.connect(pair.address))
    pair.run(100 * MS)
    assert pair.server.received() == b"goes on"
    assert [what for what, _ in pair.client.what()] == ["start", "connected"]
    assert not pair.levers.connects("client-1", "broker-a-0", "any")
    assert pair.levers.reaches("client-1", "broker-a-0", "any")
    pair.levers.heal_partition("c")
    assert pair.levers.connects("client-1", "broker-a-0", "any")
    pair.run(10 * SECOND)
    assert [what for what, _ in pair.client.what()] == ["start", "connected", "connected"]


@pytest.mark.parametrize(
    ("port_class", "arrives"), [("any", False), ("broker", False), ("namesrv", True), ("ha", True)]
)
def test_a_cut_of_a_port_class_leaves_the_others(port_class: str, arrives: bool) -> None:
    pair = Pair()
    pair.levers.partition(LinkSet("c", ("client-1",), ("broker-a-0",), port_class))  # type: ignore[arg-type]
    pair.send(b"x")
    pair.server_does(lambda env: env.send(1, b"y"))
    pair.run(SECOND)
    assert (pair.server.received() == b"x") is arrives
    assert (pair.client.received() == b"y") is arrives


def test_cuts_add_up_and_are_healed_one_by_one() -> None:
    pair = Pair()
    pair.levers.partition(BETWEEN)
    pair.levers.partition(LinkSet("d", ("broker-a-0",), ("client-1",), "broker"))
    pair.levers.heal_partition("c")
    assert not pair.levers.reaches("client-1", "broker-a-0", "broker")
    assert pair.levers.reaches("client-1", "broker-a-0", "ha")
    assert pair.levers.reaches("client-1", "broker-a-0", "any")
    pair.levers.heal_partition("d")
    pair.levers.heal_partition("never there")
    assert pair.levers.reaches("client-1", "broker-a-0", "broker")


def test_a_probe_tells_one_way_cuts_and_takes_no_longer_than_a_packet() -> None:
    pair = Pair()
    pair.levers.partition(TO_SERVER)
    before = pair.world.now()
    assert not pair.levers.reaches("client-1", "broker-a-0", "any")
    assert pair.levers.reaches("broker-a-0", "client-1", "any")
    assert pair.world.now() - before < 50 * MS


def test_a_probe_is_bounded_by_a_second() -> None:
    pair = Pair()
    pair.levers.slow_link(BETWEEN, factor=1, extra_ns=10 * SECOND)
    before = pair.world.now()
    assert not pair.levers.reaches("client-1", "broker-a-0", "any")
    assert pair.world.now() - before == SECOND


# -- jams, slowness, resets -------------------------------------------------------------------------------------------


def test_a_jam_holds_and_then_delivers_at_once_and_in_order() -> None:
    pair = Pair()
    pair.levers.jam(BETWEEN)
    for number in range(20):
        pair.send(bytes([number]))
        pair.run(SECOND)
    assert pair.server.received() == b""
    pair.levers.unjam("c")
    pair.run(20 * MS)
    assert pair.server.received() == bytes(range(20))


def test_a_slow_link_is_slow_until_healed() -> None:
    pair = Pair()

    def trip() -> int:
        before, count = pair.world.now(), len(pair.server.seen)
        pair.send(b"x")
        pair.run(10 * SECOND)
        return pair.server.seen[count][0] - before

    pair.levers.slow_link(BETWEEN, factor=1, extra_ns=SECOND)
    assert SECOND < trip() < seconds(1.1)
    pair.levers.unslow_link("c")
    assert trip() < 100 * MS


def test_a_reset_is_seen_at_both_ends_once() -> None:
    pair = Pair()
    pair.send(b"x")
    assert len(pair.levers.connections(BETWEEN)) == 1
    pair.levers.reset_connections(BETWEEN)
    pair.run(SECOND)
    assert pair.client.what()[-1] == ("closed", pair.link)
    assert pair.server.what()[-1] == ("closed", 1)
    assert pair.server.received() == b""
    assert not pair.levers.connections(BETWEEN)


# -- ends of processes and hosts --------------------------------------------------------------------------------------


def test_a_kill_closes_the_links_of_its_peers_behind_what_was_sent() -> None:
    pair = Pair()
    pair.server_does(lambda env: env.send(1, b"last words"))
    pair.levers.kill("broker-a-0")
    pair.run(SECOND)
    assert pair.client.received() == b"last words"
    assert pair.client.what()[-1] == ("closed", pair.link)


def test_who_sends_to_a_dead_process_is_closed_once() -> None:
    pair = Pair()
    pair.levers.kill("broker-a-0")
    pair.send(b"x")
    pair.run(SECOND)
    assert [what for what, _ in pair.client.what()] == ["start", "connected", "closed"]


def test_a_new_life_does_not_get_what_was_sent_to_the_former() -> None:
    pair = Pair()
    pair.send(b"for the old one")
    pair.levers.kill("broker-a-0")
    pair.levers.start("broker-a-0")
    pair.run(SECOND)
    assert pair.server.what() == [("start", None)]


def test_a_kill_behind_a_cut_is_learnt_after_the_heal() -> None:
    pair = Pair()
    pair.levers.partition(BETWEEN)
    pair.levers.kill("broker-a-0")
    pair.run(5 * SECOND)
    assert pair.client.what()[-1] == ("connected", pair.link)
    pair.levers.heal_partition("c")
    pair.run(5 * SECOND)
    assert pair.client.what()[-1] == ("closed", pair.link)


def test_a_host_without_power_is_silent_until_it_is_up_again() -> None:
    pair = Pair()
    pair.levers.cut_power("broker-a-0")
    pair.send(b"x")
    pair.run(10 * SECOND)
    assert pair.client.what()[-1] == ("connected", pair.link)
    assert not pair.levers.reaches("client-1", "broker-a-0", "any")
    pair.levers.start("broker-a-0")
    pair.run(10 * SECOND)
    assert pair.client.what()[-1] == ("closed", pair.link)
    assert pair.server.what() == [("start", None)]


def test_close_leaves_after_the_bytes_and_is_not_told_to_the_closer() -> None:
    pair = Pair()

    def say_goodbye(env: Environment) -> None:
        env.send(pair.link, b"bye")
        env.close(pair.link)
        env.send(pair.link, b"nobody hears this")

    pair.client_does(say_goodbye)
    pair.server_does(lambda env: env.send(1, b"crossing"))
    pair.run(SECOND)
    assert pair.server.received() == b"bye"
    assert pair.server.what()[-1] == ("closed", 1)
    assert pair.client.what()[-1] == ("connected", pair.link)


def test_a_closed_link_still_tells_its_peer_while_the_role_hears_of_it() -> None:
    pair, told = Pair(), []
    pair.client.on_closed = lambda env, link: told.append(env.peer(link))  # type: ignore[method-assign]
    pair.levers.kill("broker-a-0")
    pair.run(SECOND)
    assert told == [pair.address]


def test_a_process_killed_before_it_accepts_resets_the_other_end() -> None:
    for seed in range(40):
        pair = Pair(seed)
        link = pair.connect()
        pair.run(MS // 4)
        pair.levers.kill("broker-a-0")
        pair.run(SECOND)
        assert pair.client.what()[-1][0] == "closed"
        assert ("closed", link) in pair.client.what()


# -- bounds -----------------------------------------------------------------------------------------------------------


def test_unread_bytes_are_bounded_by_the_budget() -> None:
    pair = Pair(budgets=Budgets(queued_bytes=10_000))
    pair.levers.pause("broker-a-0")
    for _ in range(10):
        pair.send(b"x" * 1000)
        pair.run(SECOND)
    with pytest.raises(BudgetExceeded, match="client-1 → broker-a-0"):
        pair.send(b"x")


def test_what_was_read_does_not_count() -> None:
    pair = Pair(budgets=Budgets(queued_bytes=10_000))
    for _ in range(100):
        pair.send(b"x" * 1000)
        pair.run(SECOND)
    assert len(pair.server.received()) == 100_000
