"""The benchmarks work: each prints figures beside a yardstick, with its aim, and never ends in an error for being slow.

At tiny sizes, so no figure here means anything but that it was measured. Those that start brokers or Go programs are
left to ``python -m benchmarks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

import pytest

from benchmarks import controllers, failover
from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.figure import Figure
from benchmarks.groups import Group
from benchmarks.replication import LAG_COUNT, LagMeter, PairOfBrokers, quantiles_ms
from checkers.history.history import History
from harness.backends.sim.world import SimBackend
from harness.errors import EXIT_ERROR, ClusterError
from harness.recorder import Recorder
from harness.targets.reference import ReferenceTarget
from suites.unit.checkers.build import Build

SMALL = ("command_line", "recorder", "simulator", "runs")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_each_benchmark_is_a_module_that_says_what_it_asks(name: str) -> None:
    module = import_module(f"benchmarks.{name}")
    assert callable(module.measure)
    assert "?" in str(module.__doc__).partition("\n\n")[0]


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_yields_positive_figures_beside_its_yardstick(name: str) -> None:
    figures = list(import_module(f"benchmarks.{name}").measure(True))
    assert figures
    assert all(figure.value > 0 and figure.unit for figure in figures)
    assert figures[0].ratio == 1.0, "the yardstick comes first"
    assert any(figure.aim for figure in figures), "every benchmark has something that was aimed at"


def test_a_lag_counts_from_the_answer_to_the_first_sight_on_the_slave() -> None:
    meter = LagMeter("master:1", "slave:1", [b"frame"])
    meter.told = {0: 100, 1: 200, 2: 300, 3: 400}
    meter.seen = [(90, 0), (150, 1), (290, 3), (900, 4)]
    assert meter.lags_ns(0) == [50, 90, 0, 500], "of offset 2 the slave told before the master did"
    assert meter.lags_ns(3) == [500]
    assert quantiles_ms([3_000_000, 1_000_000, 2_000_000]) == {"median": 2.0, "99 %": 3.0, "greatest": 3.0}


def test_the_lag_of_a_simulated_pair_is_that_of_its_network() -> None:
    """The figures are of the real clock; what is tried here is that a slave is waited for and every message counted."""
    pair = PairOfBrokers(SimBackend(ReferenceTarget(), 1), "ASYNC_MASTER")
    pair.start()
    assert len(pair.lags_ns(True)) == LAG_COUNT // 20
    assert pair.meter.refused == 0


TOLD = (
    ("role", "a-0", "role_changed", {"role": "CANDIDATE"}),
    ("role", "a-0", "role_changed", {"role": "LEADER"}),
    ("role", "a-0", "became_master", {}),
    ("note", "client-1", "routes", {"brokers": {"a": [0, 1, 2]}}),
    ("node", "a-0", "killed", {}),
    ("note", "client-2", "routes", {"brokers": {"a": [0, 1, 2]}}),
    ("note", "client-1", "routes", {"brokers": {"a": [1, 2]}}),
    ("role", "a-1", "role_changed", {"role": "CANDIDATE"}),
    ("role", "a-2", "role_changed", {"role": "CANDIDATE"}),
    ("role", "a-2", "role_changed", {"role": "LEADER"}),
    ("role", "a-2", "became_master", {}),
    ("note", "client-1", "routes", {"brokers": {"a": [0, 1]}}),
    ("note", "client-2", "routes", {"brokers": {"a": [0, 1]}}),
)


def test_the_parts_of_a_failover_count_from_the_kill_and_a_stale_route_names_no_new_master() -> None:
    recorder = Recorder(iter(range(0, 1_000, 10)).__next__, run=1)
    for kind, node, step, detail in TOLD:
        recorder.event(kind, node=node, step=step, detail=detail)
    found = failover.times(History.from_columns(recorder.columns()))
    assert found == {"detect": 30, "elect": 50, "register": 60, "route": 70}, "nobody wrote"


def test_a_part_lasts_from_the_end_of_the_one_before_in_runs_that_told_of_all() -> None:
    ends = dict(zip(failover.PARTS, (5_000_000, 6_000_000, 6_000_000, 9_000_000, 10_000_000), strict=True))
    lasted = failover.lengths([ends, {"route": 7_000_000, "write": 8_000_000}])
    assert {part: some.tolist() for part, some in lasted.items()} == {
        "detect": [5],
        "elect": [1],
        "register": [0],
        "route": [3],
        "write": [1],
    }


def test_a_failover_lasts_until_another_master_is_listed_and_takes_a_message_before_the_next_kill() -> None:
    build = Build(["broker-a"])
    for asked, answered, master in (
        (0, 1, "a-0"), (99, 105, "a-0"), (110, 111, "nobody"),
        (140, 142, "a-1"), (300, 301, "a-1"), (600, 601, "nobody"),
    ):  # fmt: skip
        build.op("master", asked, answered, "OK", node="namesrv-1", detail=f'{{"broker-a": "{master}"}}')
    build.fault("kill", "a-0", 90, 100, fault="f1")
    build.fault("pause", "a-2", 200, 210, fault="f2")
    build.fault("kill", "a-2", 240, 250, fault="f3")
    build.fault("kill", "a-1", 490, 500, fault="f4")
    for message, sent in enumerate((95, 170, 300)):
        build.send(sent, sent + 20, message, message)
    found = controllers.failovers(build.history())
    assert found == [{"listed": 42_000_000, "write": 90_000_000}, {}], "a slave's death is none, the last has no heir"
    notes = [figure.note for figure in controllers.figures([build.history()])]
    assert notes == ["1 of 2 kills; each: 42 ms", "1 of 2 kills; each: 90 ms"]


def test_a_synchronous_pair_is_measured_when_its_slave_has_joined_and_not_before() -> None:
    pair = PairOfBrokers(SimBackend(ReferenceTarget(), 1), "SYNC_MASTER")
    pair.start()
    assert pair.meter.refused > 0, "there was no slave yet"
    assert pair.client.rate(8, 20_000_000) > 0
    assert pair.client.refused == 0


def test_a_group_is_measured_at_its_leader_when_all_of_it_is_registered() -> None:
    client = Group(SimBackend(ReferenceTarget(), 1)).start()
    assert client.rate(8, 20_000_000) > 0
    assert client.refused == 0, "who does not lead refuses"


def test_the_command_prints_machine_load_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "recorder"]) == 0
    printed = capsys.readouterr().out
    assert "Python 3." in printed
    assert "load " in printed
    assert "record into a file" in printed
    assert "× json.dumps" in printed
    assert "aim" not in printed, "at tiny sizes no aim is judged"


def test_an_unknown_name_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["recorders"])
    assert stopped.value.code == 2
    assert "no benchmark recorders" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("figure", "is_met", "words"),
    [
        (Figure("a", 1234.5, "s/s", at_least=1000), True, "1,234 s/s          "),
        (Figure("a", 999.9, "s/s", at_least=1000), False, "aim ≥ 1,000: MISSED"),
        (Figure("a", 99, "ms", at_most=100), True, "aim ≤ 100: met"),
        (Figure("a", 101, "ms", at_most=100), False, "aim ≤ 100: MISSED"),
        (Figure("a", 2.5, "x", 0.25, "b"), None, "0.25 × b"),
        (Figure("a", 2.5, "x", note="of three"), None, "\n      of three"),
    ],
)
def test_a_row_says_figure_ratio_and_aim(figure: Figure, is_met: bool | None, words: str) -> None:
    assert figure.is_met is is_met
    assert words in figure.line()


def test_a_cluster_that_does_not_start_is_a_line_of_error_and_the_next_benchmark_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(quick: bool) -> Iterator[Figure]:
        yield Figure("the first of two", 1.0, "s")
        raise ClusterError("broker-a-0 takes no message", hint="see its log")

    monkeypatch.setattr(controllers, "measure", measure)
    monkeypatch.setattr(failover, "measure", lambda quick: iter([Figure("another", 2.0, "s")]))
    assert main(["controllers", "failover"]) == EXIT_ERROR
    out, err = capsys.readouterr()
    assert "the first of two" in out
    assert "another" in out
    assert err == "  error: broker-a-0 takes no message\n  hint: see its log\n"
