"""Scenario files: what they mean, what a person reads when he has mistyped one, and that YAML guesses nothing."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.plan import bind_fault
from harness.errors import EXIT_USAGE, ScenarioError, UsageError
from harness.scenario import (
    Deadlines,
    Expect,
    Scenario,
    Topology,
    Workload,
    client_names,
    find,
    server_names,
    shipped,
    topology_of,
)
from harness.scenario_file import dump, load, parse, to_json

SECOND = 10**9

WHOLE = """
name: sync-flush-survives-power-cut
claim: [CL-36, CL-37]
description: "a power cut takes nothing that was acknowledged: not one message"
mode: single-master
topology: {nameservers: 2, brokers: 1, slaves: 0, flush: sync}
workload: {kind: log, producers: 3, consumers: 1, queues: 8, rate: 150/s, for: 12s, size: 1KiB, topic: T-1}
faults:
  - {at: 6s, do: cut_power, on: master(broker-a), for: 3s}
  - {at: 4s..9s, do: partition, on: clients | masters, for: 500ms, with: {ports: broker}}
properties: {broker: {flushIntervalCommitLog: 500, x-warm: yes}, namesrv: {x-scan: 010}}
deadlines: {ready: 1m, converge: 90s, drain: 2m}
seed: 0x1f
expect: {lost: none}
"""


def test_every_key_of_a_file_has_its_place() -> None:
    assert parse(WHOLE, "w.yaml") == Scenario(
        name="sync-flush-survives-power-cut",
        mode="single-master",
        topology=Topology(nameservers=2, brokers=1, slaves=0, flush="sync"),
        workload=Workload("log", 3, 1, 8, 150, 12 * SECOND, 1024, "T-1"),
        faults=(
            bind_fault(1, at="6s", do="cut_power", on="master(broker-a)", hold="3s"),
            bind_fault(
                2, at="4s..9s", do="partition", on="clients | masters", hold="500ms", options={"ports": "broker"}
            ),
        ),
        properties={"broker": {"flushIntervalCommitLog": "500", "x-warm": "yes"}, "namesrv": {"x-scan": "010"}},
        deadlines=Deadlines(60 * SECOND, 90 * SECOND, 120 * SECOND),
        expect=Expect(lost="none"),
        claims=("CL-36", "CL-37"),
        description="a power cut takes nothing that was acknowledged: not one message",
        seed=31,
        source="w.yaml",
    )


def test_a_short_file_has_defaults_and_several_masters_have_two() -> None:
    assert parse("{name: a, mode: single-master}", "a") == Scenario("a", "single-master", source="a")
    assert parse("{name: a, mode: multi-master}", "a").topology == Topology(brokers=2)
    assert parse("{name: a, mode: single-master, claim: CL-05}", "a").claims == ("CL-05",)


def scenario_with(line: str) -> str:
    keys = {"name": "x", "mode": "single-master", "workload": "{for: 20s}"}
    name = line.partition(":")[0]
    return "\n".join(f"{key}: {value}" for key, value in keys.items() if key != name) + "\n" + line


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("partion: 3", "unknown key 'partion' in the scenario|x.yaml:4:1|known: name, claim"),
        ("deadline: {}", "unknown key 'deadline' in the scenario|x.yaml:4:1|did you mean 'deadlines'?"),
        ("mode: single", "mode cannot be 'single'|x.yaml:3:7|did you mean 'single-master'?"),
        ("topology: {flush: synk}", "topology flush: cannot be 'synk'; did you mean 'sync'?|x.yaml:4:19|"),
        ("topology: {brokers: 2}", "mode single-master has 1 broker, not 2|x.yaml:4:11|or use multi-master"),
        ("topology: {slaves: 1}", "mode single-master has no slaves|x.yaml:4:11|leave out slaves"),
        ("topology: 3", "topology must be a mapping of keys to values, not one value|x.yaml:4:11|"),
        ("workload: {rate: 200}", "workload rate: '200' is not a rate|x.yaml:3:18|"),
        ("workload: {rate: 0/s}", "workload rate: 0 is not within 1 and 100000|x.yaml:3:18|"),
        ("workload: {for: 12:30}", "workload for: '12:30' is not a duration|x.yaml:3:17|"),
        ("workload: {producers: 1_0x}", "workload producers: '1_0x' is not a whole number|x.yaml:3:23|"),
        ("workload: {producers: [1]}", "workload producers must be one value, not a list|x.yaml:3:23|"),
        ("workload: {size: 16B}", "workload size: 16 is not within 32 and 4194304|x.yaml:3:18|"),
        ("workload: {topic: a b}", "workload topic: 'a b' is no topic|x.yaml:3:19|"),
        ("workload: {kind: logs}", "workload kind: cannot be 'logs'; did you mean 'log'?|x.yaml:3:18|"),
        (
            "workload: {observers: [route]}",
            "workload observers: cannot be 'route'; did you mean 'routes'?|x.yaml:3:24|",
        ),
        ("workload: {operators: moving}", "workload operators: cannot be 'moving'; known: permissions, |x.yaml:3:23|"),
        ("workload: {for: 1h, rate: 99999/s}", "rate × for is more than 20,000,000 messages|x.yaml:3:11|"),
        ("seed: 1\nseed: 2", "key 'seed' is repeated|x.yaml:5:1|the first is in line 4"),
        ("seed:", "seed has no value|x.yaml:4:6|"),
        ("claim: CL-7", "claim: 'CL-7' is no claim|x.yaml:4:8|"),
        ("expect: {lost: some}", "expect lost: cannot be 'some'; known: none|x.yaml:4:16|"),
        ("expect: {verdict: FAIL}", "expect lacks because|x.yaml:4:9|say both"),
        ("expect: {because: lost}", "expect lacks verdict|x.yaml:4:9|say both"),
        ("expect: {verdict: PASS, because: lost}", "expect verdict: cannot be 'PASS'; known: FAIL|x.yaml:4:19|"),
        (
            "expect: {verdict: FAIL, because: resurected}",
            "expect because: cannot be 'resurected'; did you mean 'resurrected'?|x.yaml:4:34|",
        ),
        ("expect: {verdict: FAIL, because: why}", "expect because: cannot be 'why'; known: lost, |x.yaml:4:34|"),
        ("expect: {verdict: FAIL, because: expired}", "expect because: cannot be 'expired'; |x.yaml:4:34|"),
        ("workload: {size: 4MiB, spread: 1B}", "size and spread make more than 4MiB|x.yaml:3:11|"),
        ("properties: {brokers: {}}", "unknown key 'brokers' in properties|x.yaml:4:14|did you mean 'broker'?"),
        (
            "properties: {broker: {flushDiskType: SYNC_FLUSH}}",
            "flushDiskType is not set here|x.yaml:4:23|say topology: {flush: sync}",
        ),
        ("properties: {broker: {x-a: '{mastr}:1'}}", "{mastr} in x-a stands for nothing|x.yaml:4:28|{master} in a"),
        ("properties: {broker: {x-a: '{master}'}}", "{master} in x-a stands for nothing|x.yaml:4:28|"),
        ("properties: {slave: {x-a: y}}", "there are no slaves here to have properties|x.yaml:4:13|leave out slave"),
        ("properties: {controller: {x-a: y}}", "there are no controllers here to have properties|x.yaml:4:13|leave"),
        ("topology: {controllers: 3}", "mode single-master has no controllers|x.yaml:4:11|leave out controllers"),
        ("faults: {at: 1s}", "faults must be a list, not a mapping|x.yaml:4:9|"),
        ("faults: [{do: kill, on: masters}]", "a fault lacks 'at'|x.yaml:4:10|"),
        ("faults: [{at: 10, do: kill, on: masters}]", "'10' is not a duration|x.yaml:4:15|"),
        ("faults: [{at: 1s, do: kil, on: masters}]", "unknown fault 'kil'|x.yaml:4:23|did you mean 'kill'?; there"),
        (
            "faults: [{at: 1s, do: tear_write, on: masters}]",
            "unknown fault 'tear_write'|x.yaml:4:23|there are kill",
        ),
        ("faults: [{at: 1s, do: kill, on: mastr(a)}]", "unknown selector 'mastr'|x.yaml:4:33|did you mean 'master'?"),
        (
            "faults: [{at: 1s, do: kill, on: 'nameservers, slavs'}]",
            "unknown selector 'slavs'|x.yaml:4:47|did you mean 'slaves'?",
        ),
        (
            "faults: [{at: 1s, do: kill, on: master(broker-b)}]",
            "master(broker-b) fits no node of this cluster|x.yaml:4:33|there are namesrv-1, broker-a-0, client-1",
        ),
        ("faults: [{at: 1s, do: kill, on: slaves}]", "slaves fits no node of this cluster|x.yaml:4:33|"),
        ("faults: [{at: 1s, do: minor-kill}]", "minority(brokers) fits no node of this cluster|x.yaml:4:10|"),
        (
            "faults: [{at: 20s, do: kill, on: masters}]",
            "strikes at 20s, but the load lasts 20s|x.yaml:4:15|lengthen workload for",
        ),
        ("faults: [{at: 5s..25s, do: kill, on: masters}]", "strikes at 5s..25s, but the load lasts 20s|x.yaml:4:15|"),
        ("faults: [{at: 1s, do: kill, on: masters, with: {x: y}}]", "kill has no option 'x'|x.yaml:4:49|it takes none"),
        ("faults: [{at: 1s, do: restart, on: masters, for: 1s}]", "restart is over as soon as it is done|x.yaml:4:50|"),
        (
            "faults: [{at: 1s, do: partition, on: masters}]",
            "expected '|', found the end|x.yaml:4:45|a partition has two sides",
        ),
        (
            "faults: [{at: 1s, do: isolate, on: masters, with: {ports: ha}}]",
            "ports ha separates nothing: mode single-master has no replication|x.yaml:4:36|",
        ),
        (
            "faults: [{at: 1s, do: adopt_slave, on: masters, with: {from: broker-a-2}}]",
            "there is no slave 'broker-a-2'|x.yaml:4:55|",
        ),
        ("a: &b c", "anchors and aliases are not used here|x.yaml:4:4|write it out"),
        ("a: [", "not YAML: |x.yaml:5:1|"),
        ("description: a: b", "not YAML: mapping values|x.yaml:4:15|put quotes around a text that contains a colon"),
        ("? [a]\n: b", "a key of the scenario must be a word|x.yaml:4:3|"),
    ],
)
def test_a_mistake_is_told_with_line_column_and_what_was_meant(line: str, complaint: str) -> None:
    what, place, hint = complaint.replace("'|'", "'\0'").split("|")
    with pytest.raises(ScenarioError) as caught:
        parse(scenario_with(line), "x.yaml")
    error = caught.value
    assert what.replace("\0", "|") in error.what
    assert error.place == place
    assert hint in error.hint
    assert error.exit_code == EXIT_USAGE


def test_a_line_that_repeats_is_so_many_faults(tmp_path: Path) -> None:
    path = tmp_path / "stutter.yaml"
    path.write_text(
        "name: stutter\nmode: multi-master\nworkload: {for: 20s}\nfaults:\n"
        "  - {at: 1s, do: kill, on: master(broker-b), for: 1s}\n"
        "  - {at: 2s..3s, do: pause, on: master(broker-a), for: 300ms, every: 2s, times: 3}\n"
        "  - {at: 12s, do: kill, on: master(broker-a), for: 1s}\n"
    )
    faults = load(path).faults
    assert [(fault.id, str(fault.at)) for fault in faults] == [
        ("f1", "1s"), ("f2", "2s..3s"), ("f3", "4s..5s"), ("f4", "6s..7s"), ("f5", "12s"),
    ]  # fmt: skip
    assert {(fault.do, str(fault.hold)) for fault in faults[1:4]} == {("pause", "300ms")}


@pytest.mark.parametrize(
    ("repeats", "complaint"),
    [
        ("every: 2s", "a fault that repeats needs 'times', too"),
        ("times: 2", "a fault that repeats needs 'every', too"),
        ("every: 1s, times: 2", "it comes again before it is over: it lasts 1s"),
        ("every: 2s, times: 0", "'0' is not a number of times: 1 to 1000"),
        ("every: 2s, times: 1001", "'1001' is not a number of times: 1 to 1000"),
        ("every: 2s, times: 30", "strikes at 59s, but the load lasts 20s"),
        ("every: soon, times: 2", "soon"),
    ],
)
def test_a_line_that_cannot_repeat_so_is_refused_with_its_place(tmp_path: Path, repeats: str, complaint: str) -> None:
    path = tmp_path / "stutter.yaml"
    path.write_text(
        "name: s\nmode: multi-master\nworkload: {for: 20s}\n"
        f"faults: [{{at: 1s, do: pause, on: masters, for: 1s, {repeats}}}]\n"
    )
    with pytest.raises(ScenarioError, match=re.escape(complaint)):
        load(path)


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file() -> None:
    text = dedent("""\
        nam: x
        mode: single-master
        faults:
          - {at: 10, do: kill, on: masters}
          - {at: 3s, do: kil, on: masters}
        """)
    with pytest.raises(ScenarioError) as caught:
        parse(text, "x.yaml")
    lines = caught.value.what.splitlines()
    assert lines[0] == "4 problems in x.yaml"
    assert [line.strip().split(": ")[0] for line in lines[1:]] == [
        "x.yaml:1:1",
        "x.yaml:1:1",
        "x.yaml:4:10",
        "x.yaml:5:18",
    ]


def test_a_comma_in_a_flow_mapping_is_explained() -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(scenario_with("faults: [{at: 1s, do: partition, on: link(masters, clients)}]"), "x.yaml")
    assert "a comma within {…} separates keys: put quotes around a text that contains one" in caught.value.what


@pytest.mark.parametrize(
    "word", ["on", "yes", "no", "off", "true", "null", "12:30", "010", "1_000", "2026-01-01", "1.10", "~"]
)
def test_yaml_guesses_nothing(word: str) -> None:
    """Each of these is a boolean, a number, a date or nothing to a YAML 1.1 loader."""
    scenario = parse(scenario_with(f"properties: {{broker: {{x-{word}: {word}}}}}"), "x.yaml")
    assert scenario.properties["broker"] == {f"x-{word}": word}


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("name: x\n\tmode: single-master\n", "2:1", "indent with spaces: YAML takes no tabs"),
        ("name: x\nmode: single-master\nworkload:\n", "3:10", "write its keys below it, or leave workload out"),
        (
            "name: x\nmode: multi-master\nfaults:\n  - {at: 3s, do: kill, on: broker-z}\n",
            "4:28",
            "a node is broker-z-0, all nodes of a broker are broker(broker-z)",
        ),
    ],
)
def test_what_people_write_by_mistake_has_a_hint_that_helps(text: str, place: str, hint: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "x.yaml")
    assert (caught.value.place, caught.value.hint) == (f"x.yaml:{place}", hint)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_says_so(text: str) -> None:
    with pytest.raises(ScenarioError):
        parse(text, "x.yaml")


def test_a_file_that_cannot_be_read_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xff")
    with pytest.raises(ScenarioError, match="not UTF-8: invalid start byte at byte 6"):
        load(tmp_path / "latin.yaml")


faults = st.builds(
    lambda index, at, verb, hold: bind_fault(
        index, at=f"{at}ms..{at + 7}ms", do=verb[0], on=verb[1], hold=f"{hold}s" if hold else ""
    ),
    st.just(1),
    st.integers(0, 5000),
    st.sampled_from(
        [
            ("kill", "one of masters"),
            ("pause", "master(broker-b), nameserver(1)"),
            ("cut_power", "some(brokers)"),
            ("partition", "clients | majority(brokers)"),
            ("partition", "link(client(1), master(broker-a), broker)"),
            ("isolate", "broker-a-0"),
        ]
    ),
    st.integers(0, 4),
)
scenarios = st.builds(
    Scenario,
    name=st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True),
    mode=st.just("multi-master"),
    topology=st.builds(
        Topology, nameservers=st.integers(1, 3), brokers=st.integers(2, 5), flush=st.sampled_from(["async", "sync"])
    ),
    workload=st.builds(
        Workload,
        producers=st.integers(1, 9),
        consumers=st.integers(0, 9),
        queues=st.integers(1, 16),
        rate_per_s=st.integers(1, 999),
        duration_ns=st.integers(6, 60).map(lambda s: s * SECOND),
        size_bytes=st.integers(32, 5000),
    ),
    faults=faults.map(lambda fault: (fault,)),
    properties=st.dictionaries(
        st.sampled_from(["broker", "namesrv"]),
        st.dictionaries(
            st.sampled_from(["x-flushIntervalCommitLog", "x-metadataSync"]),
            st.sampled_from(["true", "12:30", "a: b", "#x"]),
        ),
    ),
    expect=st.builds(Expect, lost=st.sampled_from(["none", ""])),
    claims=st.lists(st.sampled_from(["CL-01", "CL-36"]), max_size=2).map(tuple),
    description=st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cn")), max_size=40),
    seed=st.none() | st.integers(0, 2**64 - 1),
    source=st.just("x.yaml"),
)


@given(scenarios)
def test_a_scenario_written_and_read_again_is_the_same(scenario: Scenario) -> None:
    assert parse(dump(scenario), "x.yaml") == scenario


def test_run_json_uses_the_words_of_the_file() -> None:
    plain = to_json(parse(WHOLE, "w.yaml"))
    assert plain["workload"]["rate"] == "150/s"
    assert plain["faults"][0] == {"id": "f1", "at": "6s", "do": "cut_power", "on": "master(broker-a)", "for": "3s"}


def test_nodes_follow_from_the_scenario() -> None:
    scenario = Scenario(
        "a", "multi-master", Topology(nameservers=2, brokers=2, slaves=1), Workload(producers=1, consumers=1)
    )
    assert server_names(scenario) == ("namesrv-1", "namesrv-2", "broker-a-0", "broker-a-1", "broker-b-0", "broker-b-1")
    assert client_names(scenario) == ("client-1", "client-2")
    assert [node.name for node in topology_of(scenario).nodes][-3:] == ["client-1", "client-2", "operator"]


def test_scenarios_of_the_project_are_found_by_name_and_can_be_read() -> None:
    names = [path.stem for path in shipped()]
    assert {"single-master-kill", "multi-master-kill"} <= set(names)
    for path in shipped():
        assert load(path).name == path.stem
    assert find("single-master-kill") == next(path for path in shipped() if path.stem == "single-master-kill")
    with pytest.raises(UsageError) as caught:
        find("single-master-kil")
    assert caught.value.hint == "did you mean 'single-master-kill'?"
    with pytest.raises(UsageError, match=r"there is no file no/such\.yaml"):
        find("no/such.yaml")
