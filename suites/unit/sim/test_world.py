"""The backend around the machinery: hosts, port classes, clients, collecting, budgets, the final draw, disk levers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.backends.sim.hosts import Hosts
from harness.backends.sim.models import Budgets, DiskModel, Model
from harness.backends.sim.ports import port_bits
from harness.errors import BudgetExceeded, ClusterError, FaultError
from reference_impl.environment import MS, SECOND, Environment
from suites.unit.sim.toys import Pair, Recorder, spec


@pytest.mark.parametrize(
    ("node", "host"),
    [
        ("namesrv-1", "10.1.0.1"), ("namesrv-2", "10.1.0.2"), ("broker-a-0", "10.2.1.1"), ("broker-a-1", "10.2.1.2"),
        ("broker-z-0", "10.2.26.1"), ("client-1", "10.3.0.1"), ("client-251", "10.3.1.1"), ("operator", "10.3.255.1"),
        ("tester", "10.4.0.1"), ("namesrv-0", "10.4.0.1"), ("namesrv-255", "10.4.0.1"), ("broker-a-254", "10.4.0.1"),
    ],
)  # fmt: skip
def test_hosts_are_a_function_of_the_name(node: str, host: str) -> None:
    assert Hosts().of(node) == host


@given(st.lists(st.from_regex(r"(namesrv-|broker-[a-z]-|client-)[0-9]{1,5}|operator|[a-z]{1,9}", fullmatch=True)))
def test_no_two_nodes_share_a_host(nodes: list[str]) -> None:
    hosts = Hosts()
    assert len({hosts.of(node) for node in nodes}) == len({*nodes})
    assert all(0 <= int(part) <= 255 for node in nodes for part in hosts.of(node).split("."))


def test_port_classes_follow_the_properties() -> None:
    assert port_bits(spec("namesrv-1")) == {9876: 2}
    assert port_bits(spec("broker-a-0")) == {10911: 1, 10909: 1, 10912: 4}
    assert port_bits(spec("broker-a-0", listenPort="20000")) == {20000: 1, 19998: 1, 20001: 4}
    assert port_bits(spec("broker-a-0", haListenPort="7")) == {10911: 1, 10909: 1, 7: 4}


def test_nodes_are_listed_in_the_order_of_adding() -> None:
    pair = Pair()
    pair.world.add_node(spec("namesrv-1"))
    assert pair.levers.nodes() == ("broker-a-0", "client-1", "namesrv-1")
    assert pair.levers.state("namesrv-1") == "dead"


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ClusterError, match="already"):
        Pair().world.add_node(spec("broker-a-0"))


def test_after_calls_back_at_its_time_and_its_errors_are_the_harness_s() -> None:
    pair, called = Pair(), []
    before = pair.world.now()
    pair.world.after(SECOND, lambda: called.append(pair.world.now() - before))
    pair.run(2 * SECOND)
    assert called == [SECOND]
    pair.world.after(0, lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        pair.run(SECOND)


def test_perform_does_the_work() -> None:
    assert Pair().world.perform(lambda: 42) == 42


def test_the_unseed_depends_on_what_was_drawn_and_on_the_number_of_events() -> None:
    def final_draw(sends: int, wait_ns: int = SECOND) -> int:
        pair = Pair()
        for _ in range(sends):
            pair.send(b"x")
        pair.run(wait_ns)
        return pair.world.entropy()

    assert final_draw(3) == final_draw(3)
    assert len({final_draw(3), final_draw(4), final_draw(3, 2 * SECOND)}) == 3


def test_budgets_end_a_run_with_their_name() -> None:
    pair = Pair(budgets=Budgets(events=1000))

    def again(env: Environment) -> None:
        env.set_timer("t", MS)

    pair.server.on_timer = lambda env, key: again(env)  # type: ignore[method-assign]
    pair.server_does(again)
    with pytest.raises(BudgetExceeded, match="1000 events"):
        pair.run(60 * SECOND)


def test_a_table_is_read_from_the_page_cache_and_is_gone_with_the_power() -> None:
    pair = Pair()
    assert pair.world.read_table("broker-a-0", "delayOffset.json") is None
    pair.server_does(lambda env: env.write("store/config/delayOffset.json", 0, b"{}"))
    assert pair.world.read_table("broker-a-0", "delayOffset.json") == b"{}"
    pair.levers.cut_power("broker-a-0")
    assert pair.world.read_table("broker-a-0", "delayOffset.json") in (None, b"")


def test_collecting_writes_what_survived_and_what_was_said(tmp_path: Path) -> None:
    pair = Pair()

    def work(env: Environment) -> None:
        env.create("store/commitlog/0", 10**9)
        env.write("store/commitlog/0", 5 * 10**8, b"in the middle")
        env.write("config/topics.json", 0, b"{}")
        env.note("flushed", upto=13)

    pair.server_does(work)
    pair.levers.kill("broker-a-0")
    pair.world.collect("broker-a-0", tmp_path)
    log = tmp_path / "dump" / "store" / "commitlog" / "0"
    assert log.stat().st_size == 10**9
    assert log.stat().st_blocks * 512 < 10**6, "holes stay holes"
    with log.open("rb") as file:
        file.seek(5 * 10**8)
        assert file.read(14) == b"in the middle\0"
    assert (tmp_path / "dump" / "config" / "topics.json").read_bytes() == b"{}"
    notes = [json.loads(line) for line in (tmp_path / "log" / "notes.jsonl").read_text().splitlines()]
    assert notes == [{"ns": 200 * MS, "event": "flushed", "upto": 13}]
    assert (tmp_path / "config" / "node.properties").read_text() == ""
    pair.world.collect("client-1", tmp_path / "client")
    assert not (tmp_path / "client" / "config").exists()


def test_closing_ends_everything_and_twice_is_once() -> None:
    pair = Pair()
    pair.world.close()
    pair.world.close()
    assert [pair.levers.state(node) for node in pair.levers.nodes()] == ["dead", "dead"]
    pair.run(SECOND)


# -- disks, through the levers ----------------------------------------------------------------------------------------


def sync_once(pair: Pair) -> tuple[str, int]:
    """(what came back, how long it took) of a write and a sync of the server."""
    before, count = pair.world.now(), len(pair.server.seen)

    def action(env: Environment) -> None:
        env.write("f", 0, b"x" * 1000)
        env.sync("f", 0)

    pair.server_does(action)
    pair.run(60 * SECOND)
    if len(pair.server.seen) == count:
        return "", -1
    ns, what, _ = pair.server.seen[count]
    return what, ns - before


def test_disk_faults_come_and_go() -> None:
    pair = Pair()
    levers = pair.levers
    levers.fail_syncs("broker-a-0", 1)
    assert sync_once(pair)[0] == "disk_error"
    assert sync_once(pair)[0] == "synced"
    levers.kill_disk("broker-a-0")
    levers.repair_disk("broker-a-0")
    assert sync_once(pair)[0] == "synced"
    levers.delay_forces("broker-a-0", 0)
    assert sync_once(pair) == ("", -1)
    levers.repair_disk("broker-a-0")
    pair.run(SECOND)
    assert pair.server.what()[-1] == ("synced", ("f", 0))
    assert pair.world.node("broker-a-0").disk.faults is None


def test_a_slow_disk_is_slow_until_healed() -> None:
    pair = Pair()
    healthy_ns = 61 * DiskModel().sync_spread_ns + DiskModel().sync_min_ns + 5000
    pair.levers.delay_forces("broker-a-0", 300)
    assert 0 <= sync_once(pair)[1] - 300 * MS <= healthy_ns
    assert pair.levers.count_forces_hit("broker-a-0") == 1
    pair.levers.mend_forces("broker-a-0")
    assert not pair.levers.forces_hit("broker-a-0")
    assert sync_once(pair)[1] <= healthy_ns


def test_forces_that_are_late_are_late_each_for_itself_and_end_at_once_when_mended() -> None:
    pair = Pair()
    pair.server_does(lambda env: (env.create("f", 1000), env.create("g", 1000)))
    pair.levers.delay_forces("broker-a-0", 10_000)
    for file in ("f", "g"):
        pair.server_does(lambda env, file=file: env.sync(file, 0))
    pair.run(9 * SECOND)
    assert not [what for what in pair.server.what() if what[0] == "synced"]
    pair.levers.mend_forces("broker-a-0")
    pair.run(MS)
    assert [told[0] for what, told in pair.server.what() if what == "synced"] == ["f", "g"]


def test_what_was_on_its_way_to_a_late_disk_is_lost_with_the_power() -> None:
    pair = Pair(model=Model(disk=DiskModel(power_cut_weights=(("drop-all", 1),))))
    sync_once(pair)
    pair.levers.delay_forces("broker-a-0", 1_000)
    pair.server_does(lambda env: (env.write("f", 0, b"later"), env.sync("f", 1)))
    pair.run(900 * MS)
    pair.levers.cut_power("broker-a-0")
    pair.levers.start("broker-a-0")
    assert pair.world.node("broker-a-0").disk.read("f", 0, 5) == b"xxxxx"


def test_a_full_disk_crashes_a_role_that_does_not_care_and_can_be_emptied() -> None:
    pair = Pair()
    pair.levers.fill_disk("broker-a-0", free_bytes=0)
    pair.server_does(lambda env: env.write("f", 0, b"x"))
    assert "No space left" in pair.events[-1][2]["error"]
    pair.levers.empty_disk("broker-a-0")
    pair.levers.start("broker-a-0")
    pair.run(SECOND)
    assert sync_once(pair)[0] == "synced"


def test_rotten_bits_are_told_and_are_where_there_was_something() -> None:
    pair = Pair()
    sync_once(pair)
    flipped = pair.levers.flip_bits("broker-a-0", "f", 3)
    disk = pair.world.node("broker-a-0").disk
    assert len(flipped) == 3
    assert sum(byte != ord("x") for byte in disk.read("f", 0, 1000)) in (1, 2, 3)
    assert pair.levers.flip_bits("broker-a-0", "nothing here", 3) == []


def test_wiping_needs_a_dead_node() -> None:
    pair = Pair()
    sync_once(pair)
    with pytest.raises(FaultError, match="while it runs"):
        pair.levers.wipe("broker-a-0")
    pair.levers.kill("broker-a-0")
    pair.levers.wipe("broker-a-0")
    assert pair.world.node("broker-a-0").disk.files("") == []
    assert pair.world.node("broker-a-0").disk.usage()[0] == 0


def test_the_witness_of_a_power_cut() -> None:
    model = Model(disk=DiskModel(power_cut_weights=(("drop-all", 1),)))
    pair = Pair(model=model)
    assert pair.levers.power_cut_lost("broker-a-0") == 0
    sync_once(pair)
    pair.server_does(lambda env: env.write("f", 1000, b"12345"))
    pair.levers.cut_power("broker-a-0")
    assert pair.levers.power_cut_lost("broker-a-0") == 5
    assert pair.events[-1] == (
        "broker-a-0", "power_was_cut", {"mode": "drop-all", "pending_bytes": 5, "lost_bytes": 5, "lost_names": 0},
    )  # fmt: skip


def test_counts_start_at_one() -> None:
    for call in (
        lambda levers: levers.fail_syncs("broker-a-0", 0),
        lambda levers: levers.die_in_step("broker-a-0", 0),
    ):
        with pytest.raises(ValueError, match="starts at 1"):
            call(Pair().levers)


def test_heals_leave_nothing_for_another_process() -> None:
    assert Pair().levers.heal_steps("dead", "broker-a-0") == []
    assert isinstance(Pair().server, Recorder)
