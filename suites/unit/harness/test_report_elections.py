"""Who led when, on the page of a run: as members told of themselves, else as the check ``elections`` found."""

from __future__ import annotations

import json

from checkers.history.history import History
from harness.recorder import Recorder
from harness.report import elections
from harness.run import run_scenario
from suites.unit.harness.test_report import Outline

TOLD = [
    ("a-0", "started", ""),
    ("a-0", "role_changed", {"role": "CANDIDATE", "term": 0}),
    ("a-0", "role_changed", {"role": "LEADER", "term": 1}),
    ("a-1", "role_changed", {"role": "FOLLOWER", "term": 1}),
    ("a-0", "paused", ""),
    ("a-0", "resumed", ""),
    ("a-0", "killed", ""),
    ("a-1", "role_changed", {"role": "LEADER", "term": 3}),
    ("a-0", "started", ""),
    ("a-0", "role_changed", {"role": "FOLLOWER", "term": 3}),
]


def history_of(told) -> History:
    """An event every 10 ns."""
    recorder = Recorder(iter(range(0, 10_000, 10)).__next__, run=1)
    for node, step, detail in told:
        kind = "role" if step == "role_changed" else "node"
        recorder.event(kind, node=node, step=step, detail=detail)
    return History.from_columns(recorder.columns())


def leader(broker, node, term, begin_ns, end_ns):
    return {"broker": broker, "node": node, "term": term, "begin_ns": begin_ns, "end_ns": end_ns}


def test_a_member_has_a_role_until_it_tells_another_one_or_ends():
    found = elections.roles(history_of(TOLD), [], end_ns=200)
    by_node = {node: [(s["role"], s["term"]) for s in found if s["node"] == node] for node in ("a-0", "a-1")}
    assert by_node["a-0"] == [("CANDIDATE", 0), ("LEADER", 1), ("FOLLOWER", 3)]
    assert by_node["a-1"] == [("FOLLOWER", 1), ("LEADER", 3)]
    led, back = [s for s in found if s["node"] == "a-0"][1:]
    assert back["begin"] - led["end"] >= 30, "from its end to its next word it has none"
    assert back["end"] == 200


def test_of_who_tells_nothing_is_known_who_served():
    leaders = [leader("broker-a", "b-0", elections.UNTOLD, 5, 50), leader("broker-a", "a-0", 1, 5, 50)]
    found = elections.roles(history_of(TOLD), leaders, end_ns=200)
    assert [s for s in found if s["node"] == "b-0"] == [
        {"node": "b-0", "role": "LEADER", "term": -1, "begin": 5, "end": 50}
    ]
    assert sum(s["node"] == "a-0" for s in found) == 3, "what it told is not told twice"


def test_the_table_says_for_how_long_nobody_led_a_group():
    second = 10**9
    checks = [
        {"check": "log", "measures": {"leaders": 7}},
        {
            "check": "elections",
            "measures": {
                "leaders": [
                    leader("broker-b", "b-1", elections.UNTOLD, 3 * second, 5 * second),
                    leader("broker-a", "a-2", 4, 8 * second, 9 * second),
                    leader("broker-a", "a-0", 1, 2 * second, 6 * second),
                ]
            },
        },
    ]
    rows = elections.rows(history_of([]), elections.leaders_in(checks))
    assert [(row[0], row[1], row[2], row[5], row[6]) for row in rows] == [
        ("broker-a", "a-0", "1", "4.000 s", "–"),
        ("broker-a", "a-2", "4", "1.000 s", "2.000 s"),
        ("broker-b", "b-1", "not told", "2.000 s", "–"),
    ]


def test_the_page_of_a_group_shows_the_terms_of_its_leaders(tmp_path):
    run = run_scenario("dledger-leader-killed", seed=1, out=tmp_path)
    outline = Outline((run.folder / "report.html").read_text("utf-8"))
    stretches = json.loads(outline.data["timeline"])["roles"]
    led = [s for s in stretches if s["role"] == "LEADER"]
    assert [s["term"] for s in led] == [0, 1]
    assert led[0]["node"] != led[1]["node"]
    assert led[0]["end"] < led[1]["begin"]
    assert {s["role"] for s in stretches} == {"LEADER", "FOLLOWER", "CANDIDATE"}
    table = outline.text[outline.text.index("Who led which group") :]
    assert all(f"broker-a{one['node']}{one['term']}" in table for one in led)
