"""A mode as a stranger adds it: one row, one contract; everything else reads these (docs/extending.md)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from checkers import contract
from harness.modes import MODES, Count, GridRow, Mode
from harness.run import run_scenario
from harness.scenario_file import dump, parse

ROW = Mode(
    "guarded-pair",
    brokers=Count(1, 1, 1),
    slaves=Count(1, 1, 1),
    grid=(GridRow("sync", 1, 1),),
    master={"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"},
)
CONTRACT = """\
mode: guarded-pair
order: 9
like: multi-master-multi-slave-sync
acknowledged_by: master-and-slave
statement: One master and one slave, both of which have a message before it is acknowledged.
"""
SCENARIO = """\
name: guarded
mode: guarded-pair
workload: {rate: 20/s, for: 8s}
faults:
  - {at: 3s, do: kill, on: slave(broker-a), for: 2s}
"""


@pytest.fixture(autouse=True)
def _added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "contracts"
    folder.mkdir()
    for path in contract._FOLDER.glob("*.yaml"):
        (folder / path.name).write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "guarded-pair.yaml").write_text(CONTRACT, encoding="utf-8")
    monkeypatch.setattr(contract, "_FOLDER", folder)
    monkeypatch.setitem(MODES, ROW.name, ROW)
    contract.contract_of.cache_clear()
    yield
    contract.contract_of.cache_clear()


def test_it_runs_and_is_judged_by_its_contract() -> None:
    scenario = parse(SCENARIO, "guarded")
    assert (scenario.topology.brokers, scenario.topology.slaves) == (1, 1)
    assert parse(dump(scenario), "guarded") == scenario
    result = run_scenario(scenario, seed=1, keep="none")
    assert result.outcome.name == "PASS", [reason for verdict in result.verdicts for reason in verdict.reasons]


def test_lists_show_it_last_and_its_guarantees_are_those_of_the_mode_that_it_is_like() -> None:
    assert contract.known_modes()[-1] == "guarded-pair"
    own, like = contract.contract_of("guarded-pair"), contract.contract_of("multi-master-multi-slave-sync")
    assert own is not None
    assert like is not None
    assert set(own.guarantees) == set(like.guarantees)
    assert {guarantee.mode for guarantee in own.guarantees.values()} == {"guarded-pair"}


def test_a_cluster_that_it_cannot_have_is_refused_with_its_line() -> None:
    with pytest.raises(Exception, match="mode guarded-pair has 1 slave, not 2"):
        parse(SCENARIO.replace("workload", "topology: {slaves: 2}\nworkload"), "guarded")
