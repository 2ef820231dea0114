"""What every lever does to real processes, wherever they run, and what each world refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from faults.errors import InjectionFailed
from faults.levers import LeverRefused, LinkSet
from faults.mechanisms import loopfs, netns, nft
from faults.mechanisms.command import call
from faults.mechanisms.netns import argv_inside
from harness.backends.backend import NodeSpec
from harness.backends.process import disks
from harness.backends.process.backend import ProcessBackend
from harness.errors import BackendUnavailable, ClusterError
from reference_impl.environment import MS, SECOND
from suites.unit.process.tiny_node import TinyTarget
from suites.unit.process.tiny_world import LineClient, TinyWorld

IN_CONTAINERS = pytest.param("containers", marks=pytest.mark.requires("docker:power"))
KEPT_APART = [pytest.param("namespaces", marks=pytest.mark.requires("process:power")), IN_CONTAINERS]
ALL = ["loopback", *KEPT_APART]


@pytest.fixture(params=ALL)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TinyWorld]:
    with closing(TinyWorld(tmp_path, request.param)) as made:
        made.start("broker-a-0")
        yield made


@pytest.fixture(params=KEPT_APART)
def island(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TinyWorld]:
    """Two nodes with networks and disks of their own."""
    with closing(TinyWorld(tmp_path, request.param, ("broker-a-0", "broker-b-0"))) as made:
        made.start("broker-a-0", "broker-b-0")
        yield made


# -- configuration and space ------------------------------------------------------------------------------------------


def test_a_dead_node_is_reconfigured_and_starts_with_that(world: TinyWorld) -> None:
    before = dict(world.levers.properties("broker-a-0"))
    with pytest.raises(InjectionFailed, match="runs"):
        world.do(world.levers.reconfigure, "broker-a-0", before)
    world.do(world.levers.kill, "broker-a-0")
    port = world.port + 10
    moved = {**before, "address": f"{world.backend.host('broker-a-0')}:{port}", "listenPort": str(port)}
    world.do(world.levers.reconfigure, "broker-a-0", moved)
    assert dict(world.levers.properties("broker-a-0")) == moved
    world.port = port
    world.start("broker-a-0")
    assert world.ask("echo moved") == b"moved"


def test_a_disk_that_was_kept_is_put_back_whole(island: TinyWorld) -> None:
    levers, node = island.levers, "broker-a-0"
    island.ask("drop older")
    with pytest.raises(InjectionFailed, match="runs"):
        island.do(levers.keep_disk, node)
    island.do(levers.kill, node)
    island.do(levers.keep_disk, node)
    files = levers.disk_files(node)
    island.start(node)
    island.ask("drop newer")
    island.do(levers.kill, node)
    island.do(levers.put_disk_back, node)
    assert levers.disk_files(node) == files
    island.start(node)
    assert island.ask("read") == b"older "


@pytest.mark.parametrize(("act", "error"), [("kill_disk", "EIO"), ("make_disk_read_only", "EROFS")])
def test_a_disk_that_takes_nothing_fails_every_write_until_it_is_mended(
    island: TinyWorld, act: str, error: str
) -> None:
    levers, node = island.levers, "broker-a-0"
    island.do(getattr(levers, act), node)
    assert (levers.write_error(node), levers.write_error("broker-b-0"), levers.state(node)) == (error, "", "running")
    with pytest.raises(InjectionFailed, match="runs"):
        island.do(levers.mend_disk, node)
    island.do(levers.kill, node)
    island.do(levers.mend_disk, node)
    assert levers.write_error(node) == ""
    island.start(node)
    island.ask("drop written")
    assert island.ask("read") == b"written "


def test_a_full_disk_has_no_room_for_the_node_until_it_is_emptied(island: TinyWorld) -> None:
    levers = island.levers
    free, size = levers.disk_space("broker-a-0")
    island.do(levers.fill_disk, "broker-a-0", size // 20)
    assert levers.disk_space("broker-a-0")[0] <= size // 20 + size // 100
    assert levers.disk_space("broker-b-0")[0] > size // 2, "the other disk is its own"
    island.do(levers.fill_disk, "broker-a-0", size // 10)
    assert size // 20 < levers.disk_space("broker-a-0")[0] <= size // 10 + size // 100
    for _ in range(2):
        island.do(levers.empty_disk, "broker-a-0")
    assert abs(levers.disk_space("broker-a-0")[0] - free) < size // 100


def test_the_clock_of_a_process_is_everybodys_unless_it_has_its_own(world: TinyWorld) -> None:
    with pytest.raises(LeverRefused, match="was started with the clock of the machine"):
        world.do(world.levers.step_clock, "broker-a-0", 1000)
    assert world.levers.clock_ahead("broker-a-0") == 0


@pytest.mark.requires("process:clock")
@pytest.mark.parametrize("isolation", ["loopback", IN_CONTAINERS])
def test_a_clock_of_its_own_jumps_and_outlives_its_process(tmp_path: Path, isolation: str) -> None:
    with closing(TinyWorld(tmp_path, isolation, own_clock=True)) as world:
        levers, node = world.levers, "broker-a-0"
        world.start(node)
        for step_ms, ahead_ms in ((150_000, 150_000), (-200_000, -50_000)):
            world.do(levers.step_clock, node, step_ms)
            assert levers.clock_ahead(node) == ahead_ms
        world.do(levers.kill, node)
        world.do(levers.start, node)
        assert levers.clock_ahead(node) == -50_000


# -- processes ---------------------------------------------------------------------------------------------------------


def test_kill_closes_connections_keeps_the_page_cache_and_is_no_crash(world: TinyWorld) -> None:
    world.ask("drop unforced")
    world.do(world.levers.kill, "broker-a-0")
    assert world.levers.state("broker-a-0") == "dead"
    world.until(lambda: len(world.clients["client-1"].closed) == 1)
    world.start("broker-a-0")
    assert world.ask("read") == b"unforced "
    assert world.count("broker-a-0", "crashed") == 0


def test_kill_of_the_dead_and_start_of_the_living_change_nothing(world: TinyWorld) -> None:
    world.do(world.levers.start, "broker-a-0")
    assert world.ask("echo same process") == b"same process"
    world.do(world.levers.kill, "broker-a-0")
    world.do(world.levers.kill, "broker-a-0")
    assert world.levers.state("broker-a-0") == "dead"


def test_pause_holds_answers_back_and_resume_delivers_them(world: TinyWorld) -> None:
    world.ask("echo warm")
    world.do(world.levers.pause, "broker-a-0")
    assert world.levers.state("broker-a-0") == "paused"
    world.say("echo late")
    assert not world.says(lambda: b"late" in world.clients["client-1"].answers, 200 * MS)
    world.do(world.levers.resume, "broker-a-0")
    world.until(lambda: b"late" in world.clients["client-1"].answers)
    assert world.levers.state("broker-a-0") == "running"


def test_a_pause_that_could_not_be_seen_in_time_is_taken_back(world: TinyWorld, monkeypatch) -> None:
    monkeypatch.setattr(disks, "STILL_TIMEOUT_S", 0.0)
    with pytest.raises(InjectionFailed, match=r"broker-a-0 did not stand still 0 s after SIGSTOP"):
        world.do(world.levers.pause, "broker-a-0")
    assert world.ask("echo still here") == b"still here"


def test_stop_asks_for_the_orderly_end_and_keeps_its_deadline(world: TinyWorld) -> None:
    world.do(world.levers.pause, "broker-a-0")
    with pytest.raises(TimeoutError, match=r"broker-a-0 did not end within 0.2 s"):
        world.do(world.levers.stop, "broker-a-0", 200 * MS)
    world.do(world.levers.resume, "broker-a-0")
    world.do(world.levers.stop, "broker-a-0", 60 * SECOND)
    assert world.levers.state("broker-a-0") == "dead"
    assert world.count("broker-a-0", "crashed") == 0


def test_a_crash_is_an_event_with_the_last_words(world: TinyWorld) -> None:
    world.say("crash")
    world.until(lambda: world.count("broker-a-0", "crashed") == 1)
    fields = world.events[-1][2]
    assert fields["exit"] == 70
    assert fields["last_lines"][-1] == "RuntimeError: planted"


def test_notes_of_processes_carry_the_runs_clock(world: TinyWorld) -> None:
    ((_, _, fields),) = [event for event in world.events if event[1] == "listening"]
    assert fields["address"] == world.address("broker-a-0")
    assert 0 < fields["at_ns"] < world.backend.now()


def test_a_taken_port_is_one_clear_error(world: TinyWorld) -> None:
    world.do(world.levers.kill, "broker-a-0")
    host = world.backend.host("broker-a-0")
    with world.backend._network.open_socket("broker-a-0") as squatter:
        squatter.bind((host, world.port))
        squatter.listen()
        with pytest.raises(ClusterError, match=rf"port {host}:{world.port} of broker-a-0 is not to be had"):
            world.do(world.levers.start, "broker-a-0")


def test_a_program_that_cannot_be_run_is_one_clear_error(tmp_path: Path) -> None:
    with closing(TinyWorld(tmp_path, "loopback", target=TinyTarget("/nowhere/python"))) as world:  # noqa: SIM117
        with pytest.raises(ClusterError, match=r"broker-a-0 cannot be started: .*No such file"):
            world.do(world.levers.start, "broker-a-0")


def test_collect_takes_log_configuration_and_store(world: TinyWorld, tmp_path: Path) -> None:
    world.ask("drop x")
    world.do(world.levers.kill, "broker-a-0")
    world.backend.collect("broker-a-0", tmp_path / "kept")
    assert (tmp_path / "kept" / "dump" / "log").read_bytes() == b"x "
    assert (tmp_path / "kept" / "log" / "notes.jsonl").exists()


def test_a_table_is_read_where_the_node_keeps_it_also_when_it_is_dead(world: TinyWorld, tmp_path: Path) -> None:
    assert world.backend.read_table("broker-a-0", "delayOffset.json") is None
    tables = tmp_path / "run" / "nodes" / "broker-a-0" / "data" / "store" / "config"
    tables.mkdir(parents=True)
    (tables / "delayOffset.json").write_bytes(b"{}")
    world.do(world.levers.kill, "broker-a-0")
    assert world.backend.read_table("broker-a-0", "delayOffset.json") == b"{}"


def test_two_clients_come_from_two_addresses(world: TinyWorld) -> None:
    hosts = {world.backend.host(name) for name in ("client-1", "client-2", "broker-a-0")}
    assert len(hosts) == 3
    assert world.levers.state("client-1") == "running"
    with pytest.raises(LeverRefused, match="client-1 lives in the harness's own process"):
        world.levers.kill("client-1")


def test_a_client_dies_begins_again_and_is_frozen(world: TinyWorld) -> None:
    lives = [LineClient(), LineClient()]
    world.backend.add_client("client-3", lives[0], lambda: lives[1])
    world.clients["client-3"] = lives[0]
    assert world.ask("echo first", client="client-3") == b"first"
    world.do(world.levers.kill, "client-3")
    assert world.levers.state("client-3") == "dead"
    world.do(world.levers.start, "client-3")
    world.clients["client-3"] = lives[1]
    assert world.ask("echo second", client="client-3") == b"second"
    assert lives[0].answers == [b"first"]
    world.do(world.levers.pause, "client-3")
    assert world.levers.state("client-3") == "paused"
    world.say("echo third", client="client-3")
    assert world.ask("echo other", client="client-2") == b"other"
    assert lives[1].answers == [b"second"], "it does nothing while it is frozen"
    world.do(world.levers.resume, "client-3")
    world.until(lambda: lives[1].answers[-1:] == [b"third"])


# -- network -----------------------------------------------------------------------------------------------------------

CLIENT_ALONE = LinkSet("f/1", ("client-1",), ("broker-a-0",))


def test_a_cut_holds_one_client_and_no_other(island: TinyWorld) -> None:
    assert island.ask("echo before") == b"before"
    assert island.do(island.levers.reaches, "client-1", "broker-a-0", "any")
    island.do(island.levers.partition, CLIENT_ALONE)
    assert not island.do(island.levers.reaches, "client-1", "broker-a-0", "any")
    assert not island.do(island.levers.reaches, "broker-a-0", "client-1", "any")
    island.say("echo held")
    assert island.ask("echo other", client="client-2") == b"other"
    assert island.ask("echo elsewhere", node="broker-b-0") == b"elsewhere"
    assert b"held" not in island.clients["client-1"].answers
    island.do(island.levers.heal_partition, "f/1")
    assert island.do(island.levers.reaches, "client-1", "broker-a-0", "any")
    island.until(lambda: b"held" in island.clients["client-1"].answers)
    island.do(island.levers.heal_partition, "f/1")


def test_cuts_lie_over_each_other(island: TinyWorld) -> None:
    island.do(island.levers.partition, CLIENT_ALONE)
    island.do(island.levers.partition, LinkSet("f/2", ("client-1", "client-2"), ("broker-a-0", "broker-b-0")))
    island.do(island.levers.heal_partition, "f/1")
    assert not island.do(island.levers.reaches, "client-1", "broker-a-0", "any")
    island.do(island.levers.heal_partition, "f/2")
    assert island.do(island.levers.reaches, "client-1", "broker-a-0", "any")


@pytest.mark.parametrize("chains", [("input", "output"), ("input",)])
def test_what_gets_through_a_partition_is_counted(island: TinyWorld, chains: tuple[str, ...]) -> None:
    """Nothing gets through what holds, nor where one of the two ends drops it. Without any rule it is told by its
    bytes, also when the partition is gone."""
    network, drops = island.backend._network, nft.table_name("f/1")
    island.do(island.levers.partition, CLIENT_ALONE)
    island.say("echo held")
    assert not island.do(island.levers.reaches, "client-1", "broker-a-0", "any")
    assert island.do(island.levers.leaked_bytes, "f/1") == 0
    for namespace in map(network.namespace, ("client-1", "broker-a-0")):
        for chain in chains:
            call(argv_inside(namespace, ["nft", "flush", "chain", "ip", drops, chain]))
    is_open = island.do(island.levers.reaches, "client-1", "broker-a-0", "any")
    leaked = island.do(island.levers.leaked_bytes, "f/1")
    assert (is_open, leaked > 0) == ((True, True) if len(chains) == 2 else (False, False))
    island.do(island.levers.heal_partition, "f/1")
    assert island.do(island.levers.leaked_bytes, "f/1") >= leaked
    island.do(island.levers.partition, CLIENT_ALONE)
    assert island.do(island.levers.leaked_bytes, "f/1") == 0, "another one of that name begins anew"


def test_a_port_class_cuts_only_its_ports(island: TinyWorld) -> None:
    island.do(island.levers.partition, LinkSet("ha", ("broker-a-0",), ("broker-b-0",), "ha"))
    reached = {
        port_class: island.do(island.levers.reaches, "broker-a-0", "broker-b-0", port_class)
        for port_class in ("ha", "broker", "namesrv", "any")
    }
    assert reached == {"ha": False, "broker": True, "namesrv": True, "any": True}


def test_a_one_way_cut_lets_the_other_way_through(island: TinyWorld) -> None:
    island.do(island.levers.partition, LinkSet("way", ("broker-a-0",), ("broker-b-0",), one_way=True))
    assert not island.do(island.levers.reaches, "broker-a-0", "broker-b-0", "broker")
    assert island.do(island.levers.reaches, "broker-b-0", "broker-a-0", "broker")


def test_a_cut_of_new_connections_leaves_those_that_are_there(island: TinyWorld) -> None:
    island.ask("echo there")
    between = LinkSet("new", ("client-1",), ("broker-a-0",), "any", only_new=True)
    there = island.do(island.levers.connections, between)
    assert there
    island.do(island.levers.partition, between)
    assert not island.do(island.levers.connects, "client-1", "broker-a-0", "any")
    assert island.do(island.levers.connects, "client-1", "broker-b-0", "any")
    assert island.ask("echo still there") == b"still there"
    assert island.do(island.levers.connections, between) == there
    island.do(island.levers.heal_partition, "new")
    assert island.do(island.levers.connects, "client-1", "broker-a-0", "any")


def test_connections_are_reset_at_both_ends_and_no_others(island: TinyWorld) -> None:
    island.ask("echo there")
    between, elsewhere = LinkSet("r", ("client-1",), ("broker-a-0",)), LinkSet("e", ("client-1",), ("broker-b-0",))
    there = island.do(island.levers.connections, between)
    island.do(island.levers.reset_connections, elsewhere)
    island.do(island.levers.reset_connections, LinkSet("ha", ("client-1",), ("broker-a-0",), "ha"))
    assert island.do(island.levers.connections, between) == there != frozenset()
    island.do(island.levers.reset_connections, between)
    island.until(lambda: len(island.clients["client-1"].closed) == 1)
    assert not island.do(island.levers.connections, between) & there


@pytest.mark.parametrize("island", KEPT_APART[:1], indirect=True)
def test_nothing_of_the_network_is_on_the_host(island: TinyWorld) -> None:
    """Looked at, not knocked at: what is not ours is never a target."""
    subnet = island.backend.host("broker-a-0").rpartition(".")[0] + "."
    assert "hub0" not in os.listdir("/sys/class/net")
    assert subnet not in call(["ip", "address", "show"])
    assert subnet not in call(["ip", "route", "show", "table", "all"])


# -- power -------------------------------------------------------------------------------------------------------------


def test_a_power_cut_takes_what_was_not_forced_and_nothing_else(island: TinyWorld) -> None:
    island.ask("keep forced")
    island.ask("drop unforced")
    island.do(island.levers.cut_power, "broker-a-0")
    assert island.levers.state("broker-a-0") == "dead"
    assert island.levers.power_cut_lost("broker-a-0") == 1
    island.start("broker-a-0")
    assert island.ask("read") == b"forced "


def test_a_power_cut_of_a_dead_node_takes_its_page_cache(island: TinyWorld) -> None:
    island.ask("keep forced")
    island.ask("drop unforced")
    island.do(island.levers.kill, "broker-a-0")
    island.do(island.levers.cut_power, "broker-a-0")
    assert island.levers.power_cut_lost("broker-a-0") == 1
    island.do(island.levers.cut_power, "broker-a-0")
    assert island.levers.power_cut_lost("broker-a-0") == 0, "there was nothing left to lose"


def test_a_power_cut_of_one_node_leaves_the_others_disk_alone(island: TinyWorld) -> None:
    island.ask("drop unforced", node="broker-b-0")
    island.do(island.levers.cut_power, "broker-a-0")
    assert island.ask("read", node="broker-b-0") == b"unforced "


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_plain_loopback_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    with closing(TinyWorld(tmp_path, "loopback")) as world:
        world.start("broker-a-0")
        with pytest.raises(LeverRefused, match="a partition needs a network namespace for every node"):
            world.do(world.levers.partition, CLIENT_ALONE)
        with pytest.raises(LeverRefused, match="a power cut needs a disk of its own"):
            world.do(world.levers.cut_power, "broker-a-0")
        assert world.ask("echo alive") == b"alive", "a refused lever touches nothing"
        world.say("crash")
        world.until(lambda: world.count("broker-a-0", "crashed") == 1)


def test_servers_that_listen_everywhere_find_room_only_once_on_loopback(tmp_path: Path) -> None:
    target = TinyTarget()
    target.listens_everywhere = True
    with closing(TinyWorld(tmp_path, "loopback", target=target)) as world:
        world.backend.add_node(NodeSpec("namesrv-1", "namesrv", {}))
        with pytest.raises(BackendUnavailable, match="broker-b-0 finds no room beside broker-a-0"):
            world.backend.add_node(NodeSpec("broker-b-0", "broker", {}))


# -- leaving -----------------------------------------------------------------------------------------------------------


@pytest.mark.requires("process:network")
def test_close_leaves_nothing(tmp_path: Path) -> None:
    with closing(TinyWorld(tmp_path, "namespaces")) as world:
        world.start("broker-a-0")
        world.do(world.levers.pause, "broker-a-0")
        tag = _tag_of(world.backend)
        assert netns.list_namespaces(tag)
    world.close()
    assert netns.list_namespaces(tag) == []
    assert [point for point in loopfs.mount_points() if tag in point] == []
    assert not world.backend._scratch.exists()
    assert not world.journal.path.exists(), "nothing is to be undone"


def _tag_of(backend: ProcessBackend) -> str:
    return backend._tag
