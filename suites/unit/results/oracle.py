"""What every mart must say, computed slowly from the run folders in plain Python.

One function a mart, from the definition in the mart's docstring and not from its SQL: dictionaries and loops, no join.
Each returns the mart's rows as ``{key: values}`` or as a list of dictionaries, in no order.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from math import exp, log, sqrt
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow.parquet as pq

from checkers.history.schema import TABLES

Row = dict[str, Any]
Z = NormalDist().inv_cdf(0.975)
CELL = ("mode", "flush", "fault", "backend", "target", "defects")


class Run:
    """One run folder with what several oracles ask of it."""

    def __init__(self, folder: Path) -> None:
        self.facts = json.loads((folder / "run.json").read_text())
        self.verdict = json.loads((folder / "verdict.json").read_text())
        self.tables = {name: pq.read_table(folder / f"{name}.parquet").to_pylist() for name in TABLES}
        self.name, self.folder = self.facts["run"], folder

    @cached_property
    def cell(self) -> tuple[str, ...]:
        labels = []
        for fault in self.facts["faults"]:
            label = fault["do"] + (" clients" if fault["on"].startswith("client") else "")
            labels += [label] if label not in labels else []
        facts = self.facts
        return (facts["mode"], facts["flush"], "+".join(labels) or "none", facts["backend"], facts["target"],
                "+".join(facts["defects"]))  # fmt: skip

    def ops(self, *f: str) -> list[Row]:
        return [op for op in self.tables["ops"] if op["f"] in f]

    @cached_property
    def faults(self) -> dict[str, Row]:
        found: dict[str, Row] = {}
        for event in self.tables["events"]:
            if event["kind"] != "fault":
                continue
            fault = found.setdefault(event["fault"], {"inject": [], "heal": [], "acts": [], "probes": [], "gone": []})
            step, detail = event["step"], json.loads(event["detail"] or "{}")
            if step == "resolve":
                fault |= {
                    "verb": detail["do"],
                    "left": detail["left"],
                    "right": detail["right"],
                    "since_ns": event["ns"],
                }
            if step in ("inject", "heal"):
                fault[step].append(event["ns"])
            if step in ("inject", "refused", "probe"):
                fault["acts"].append(event["effective"])
            fault["probes"] += [event["effective"]] if step == "probe" else []
            fault["gone"] += [event["effective"]] if step == "heal_probe" else []
        for fault in found.values():
            fault["inject_ns"] = min(fault["inject"], default=None)
            fault["heal_ns"] = min(fault["heal"], default=None)
            fault["refused"] = not fault["inject"]
            fault["effective"] = 0 if 0 in fault["acts"] else _answer(fault["probes"])
            fault["healed"] = _answer(fault["gone"])
        return found

    def struck(self) -> dict[str, Row]:
        """Faults that were injected and may have taken effect."""
        return {name: f for name, f in self.faults.items() if f["inject_ns"] is not None and f["effective"] != 0}

    @cached_property
    def first_ns(self) -> int | None:
        return min((f["since_ns"] for f in self.struck().values()), default=None)

    def broker(self, node: str) -> str:
        return self.facts["nodes"].get(node, {}).get("brokerName", "")

    def role(self, node: str) -> str:
        if node not in self.facts["nodes"]:
            return "client" if node.startswith("client") else "other"
        properties = self.facts["nodes"][node]
        return (
            {"SLAVE": "slave"}.get(properties["brokerRole"], "master") if "brokerName" in properties else "nameserver"
        )

    def brokers_hit(self, fault: Row) -> set[str]:
        return {self.broker(node) for node in (*fault["left"], *fault["right"])}

    @cached_property
    def fates(self) -> dict[int, Row]:
        queue_of = {op["op"]: op["queue"] for op in self.ops("drain")}
        places = defaultdict(set)
        for read in self.tables["reads"]:
            if read["op"] in queue_of:
                places[read["message"]].add((queue_of[read["op"]], read["offset"]))
        found: dict[int, Row] = {}
        for op in self.ops("send"):
            fate = found.setdefault(op["message"], {"acked": [], "sends": 0, "places": places[op["message"]]})
            fate["acked"] += [op["complete_ns"]] if op["outcome"] == "ok" else []
            fate["sends"] += 1
        return found

    def lost(self) -> dict[int, int]:
        """Message → when it was acknowledged."""
        return {m: min(fate["acked"]) for m, fate in self.fates.items() if fate["acked"] and not fate["places"]}


def _answer(answers: list[int]) -> int:
    return 0 if 0 in answers else 1 if answers and -1 not in answers else -1


def by_cell(runs: Iterable[Run]) -> dict[tuple[str, ...], list[Run]]:
    cells = defaultdict(list)
    for run in runs:
        cells[run.cell].append(run)
    return dict(cells)


def wilson(count: int, total: int) -> tuple[float, float]:
    share = count / total
    middle, half = share + Z * Z / (2 * total), Z * sqrt(share * (1 - share) / total + Z * Z / (4 * total * total))
    return tuple(min(1.0, max(0.0, (middle + side * half) / (1 + Z * Z / total))) for side in (-1, 1))  # type: ignore[return-value]


def survival(
    observations: list[tuple[float, bool]], quantile: float
) -> tuple[float | None, float | None, float | None]:
    """Kaplan–Meier: the quantile and its interval; a step at a time, as in a textbook."""
    share, variance, answers = 1.0, 0.0, [None, None, None]
    for t in sorted({t for t, _ in observations}):
        waiting = sum(other >= t for other, _ in observations)
        ended = sum(happened for other, happened in observations if other == t)
        share *= 1 - ended / waiting
        variance += ended / (waiting * (waiting - ended)) if waiting > ended else 0.0
        if share <= 0:
            low, high = 0.0, 1.0
        elif share >= 1:
            low, high = 1.0, 1.0
        else:
            width = Z * sqrt(variance) / abs(log(share))
            low, high = share ** exp(width), share ** exp(-width)
        for place, value in enumerate((share, low, high)):
            if ended and answers[place] is None and value <= 1 - quantile + 1e-12:
                answers[place] = t  # type: ignore[call-overload]
    return tuple(answers)  # type: ignore[return-value]


def losses(run: Run) -> Row:
    ages = []
    for acked in run.lost().values():
        after = [f["inject_ns"] for f in run.struck().values() if f["inject_ns"] >= acked]
        ages += [(min(after) - acked) / 1e6] if after else []
    (accounting,) = [check for check in run.verdict["verdicts"] if check["check"] == "accounting"]
    parts = {
        flag: sum(a["details"]["count"] for a in accounting["anomalies"] if a["allowed"] is flag)
        for flag in (True, False)
    }
    return {
        "sent": len(run.fates),
        "acknowledged": sum(bool(fate["acked"]) for fate in run.fates.values()),
        "lost": len(run.lost()),
        "duplicated": sum(len(fate["places"]) > 1 for fate in run.fates.values()),
        "recovered": sum(not fate["acked"] and bool(fate["places"]) for fate in run.fates.values()),
        "oldest_lost_ms": max(ages, default=None),
        "checker_lost": accounting["measures"]["lost"],
        "lost_allowed": parts[True],
        "lost_broken": parts[False],
        "outcome": run.verdict["outcome"],
    }


def outcomes(members: list[Run]) -> Row:
    """Of verdicts alone."""
    seen = Counter(run.verdict["outcome"] for run in members)
    rows = [losses(run) for run in members]
    bad = sorted((run for run in members if run.verdict["outcome"] != "PASS"),
                 key=lambda run: (run.verdict["outcome"] != "FAIL", run.name))  # fmt: skip
    checks = {f"{c['check']} {c['outcome']}" for r in members for c in r.verdict["verdicts"] if c["outcome"] != "PASS"}
    return {
        "runs": len(members), "passed": seen["PASS"], "unknown": seen["UNKNOWN"], "failed": seen["FAIL"],
        "fail_low": wilson(seen["FAIL"], len(members))[0], "fail_high": wilson(seen["FAIL"], len(members))[1],
        "lost_allowed": sum(row["lost_allowed"] for row in rows),
        "lost_broken": sum(row["lost_broken"] for row in rows), "checks": ", ".join(sorted(checks)),
        "failing": [run.name for run in bad][:20],
    }  # fmt: skip


def cell_outcomes(members: list[Run]) -> Row:
    """The same, and what the operations say."""
    rows = [losses(run) for run in members]
    with_loss = sum(row["lost"] > 0 for row in rows)
    return {
        **outcomes(members),
        "with_loss": with_loss, "with_loss_low": wilson(with_loss, len(members))[0],
        "lost": sum(row["lost"] for row in rows), "lost_max": max(row["lost"] for row in rows),
        "acknowledged": sum(row["acknowledged"] for row in rows),
    }  # fmt: skip


def lost_messages(run: Run) -> dict[int, Row]:
    found = {}
    load = next(event["ns"] for event in run.tables["events"] if event["step"] == "steady")
    for place, (message, acked) in enumerate(sorted(run.lost().items(), key=lambda lost: (lost[1], lost[0])), 1):
        after = [(f["inject_ns"], name) for name, f in run.struck().items() if f["inject_ns"] >= acked]
        reads = {read["op"] for read in run.tables["reads"] if read["message"] == message}
        story = sorted(op["op"] for op in run.tables["ops"]
                       if op["op"] in reads or (op["f"] == "send" and op["message"] == message))  # fmt: skip
        fault = min(after, default=(None, None))
        struck = None if fault[0] is None else fault[0] - load
        found[message] = {"place": place, "acked_ns": acked - load, "fault_ns": struck, "story": story}
    return {message: row for message, row in found.items() if row["place"] <= 25}


def duplicates(members: list[Run]) -> dict[tuple[str, str], tuple[int, int]]:
    messages: Counter[tuple[str, str]] = Counter()
    runs = defaultdict(set)
    for run in members:
        for key in (*_stored_twice(run), *_delivered_again(run)):
            messages[key] += 1
            runs[key].add(run.name)
    return {key: (count, len(runs[key])) for key, count in messages.items()}


def _stored_twice(run: Run) -> list[tuple[str, str]]:
    return [("stored", "sent again" if fate["sends"] > 1 else "copied")
            for fate in run.fates.values() if len(fate["places"]) > 1]  # fmt: skip


def _delivered_again(run: Run) -> list[tuple[str, str]]:
    committing = {op["group"] for op in run.ops("commit_offset")}
    pulls = {op["op"]: op for op in run.ops("pull") if op["detail"] != "taken away" and op["group"] in committing}
    deliveries = defaultdict(list)
    for read in run.tables["reads"]:
        if read["op"] in pulls and read["message"] >= 0:
            op = pulls[read["op"]]
            deliveries[op["group"], read["message"]].append((op["complete_ns"], op["op"], op["process"]))
    found: dict[int, str] = {}
    for (_, message), times in deliveries.items():
        times.sort()
        if len(times) < 2:
            continue
        (before, _, first), (after, _, second) = times[:2]
        between = [
            (f["inject_ns"], f["verb"])
            for f in run.faults.values()
            if any(ns is not None and before <= ns <= after for ns in (f["inject_ns"], f["heal_ns"]))
        ]
        cause = f"fault {min(between)[1]}" if between else "another consumer" if first != second else "same consumer"
        found[message] = cause
    return [("delivered", cause) for cause in found.values()]


def recoveries(members: list[Run]) -> dict[bool, list[tuple[float, bool]]]:
    """Affected or not → (milliseconds, came back)."""
    found = defaultdict(list)
    for run in members:
        sends = run.ops("send")
        for fault in run.struck().values():
            for queue in run.tables["queues"]:
                back = [s["complete_ns"] for s in sends if s["queue"] == queue["queue"] and s["outcome"] == "ok"
                        and s["invoke_ns"] >= fault["inject_ns"]]  # fmt: skip
                end = min(back) if back else max(send["invoke_ns"] for send in sends)
                observed = (max(end - fault["since_ns"], 0) / 1e6, bool(back))
                found[queue["broker"] in run.brokers_hit(fault)].append(observed)
    return dict(found)


def availability(members: list[Run]) -> dict[tuple[bool, int], tuple[int, int]]:
    found: dict[tuple[bool, int], list[int]] = defaultdict(lambda: [0, 0])
    for run in members:
        if run.first_ns is None:
            continue
        hit = {broker for fault in run.faults.values() for broker in run.brokers_hit(fault)}
        for send in run.ops("send"):
            place = (send["invoke_ns"] - run.first_ns) // 100_000_000
            if -20 <= place < 200:
                row = found[send["node"] in hit, place]
                row[0] += 1
                row[1] += send["outcome"] == "ok"
    return {key: (attempts, succeeded) for key, (attempts, succeeded) in found.items()}


def latencies(members: list[Run]) -> dict[tuple[str, str], list[float]]:
    found = defaultdict(list)
    for run in members:
        begins = [(e["ns"], e["step"]) for e in run.tables["events"] if e["kind"] == "phase"]
        for op in run.ops("send", "pull", "drain", "commit_offset"):
            if op["complete_ns"] >= 0:
                named = [step for ns, step in begins if ns <= op["invoke_ns"]]
                phase = [step for step in named if step in ("steady", "faults", "heal", "converge", "drain")]
                key = (op["f"], phase[-1] if phase else "start")
                found[key].append((op["complete_ns"] - op["invoke_ns"]) / 1e6)
    return dict(found)


def latency_over_time(members: list[Run]) -> Counter[int]:
    return Counter(
        (send["invoke_ns"] - run.first_ns) // 1_000_000_000
        for run in members if run.first_ns is not None
        for send in run.ops("send")
        if send["complete_ns"] >= 0 and -5 * 10**9 <= send["invoke_ns"] - run.first_ns < 30 * 10**9
    )  # fmt: skip


def failovers(run: Run) -> dict[str, Row]:
    found = {}
    for name, fault in run.struck().items():
        begin, hit = fault["since_ns"], run.brokers_hit(fault)
        sends = [s for s in run.ops("send") if s["complete_ns"] >= begin or s["invoke_ns"] >= begin]
        failed = [
            s["complete_ns"] for s in sends if s["node"] in hit and s["outcome"] != "ok" and s["complete_ns"] >= 0
        ]
        detected = min(failed, default=None)
        later = [s for s in sends if detected is not None and s["invoke_ns"] >= detected and s["outcome"] == "ok"]
        after = {
            "detected_ms": detected,
            "elsewhere_ms": min((s["complete_ns"] for s in later if s["node"] not in hit), default=None),
            "back_ms": min((s["complete_ns"] for s in later if s["node"] in hit), default=None),
            "healed_ms": fault["heal_ns"],
            "converged_ms": next(e["ns"] for e in run.tables["events"] if e["step"] == "drain"),
        }
        found[name] = {key: None if ns is None else (ns - begin) / 1e6 for key, ns in after.items()}
    return found


def replication_lags(run: Run) -> list[tuple[str, int, int, int | None]]:
    found = []
    for event in run.tables["events"]:
        if event["kind"] != "role" or event["step"] not in ("ha_master_gone", "ha_master_connected"):
            continue
        detail = json.loads(event["detail"])
        if not isinstance(detail, dict):
            continue
        known = [s["position"] for s in run.ops("send") if s["outcome"] == "ok" and 0 <= s["complete_ns"] <= event["ns"]
                 and s["node"] == run.broker(event["node"]) and s["position"] >= 0]  # fmt: skip
        behind = max(known) - detail["log_end"] if known else None
        found.append(("lost" if event["step"] == "ha_master_gone" else "found", event["ns"], detail["log_end"], behind))
    return sorted(found, key=str)


def fault_efficacy(runs: Iterable[Run]) -> dict[tuple[str, ...], Row]:
    found: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for run in runs:
        for fault in run.faults.values():
            for role in {run.role(node) for node in fault["left"]} or {"no node"}:
                row = found[fault["verb"], role, run.facts["backend"], run.facts["target"]]
                row["planned"] += 1
                row[{1: "took_effect", 0: "no_effect", -1: "cannot_be_told"}[fault["effective"]]] += 1
                row["refused"] += fault["refused"]
                row["undone"] += fault["healed"] == 1
                row["not_undone"] += fault["healed"] == 0
    return dict(found)


def coverage(runs: Iterable[Run]) -> dict[tuple[str, ...], int]:
    found = defaultdict(set)
    for run in runs:
        kinds = {m["kind"] or "plain" for m in run.tables["messages"]} or {"none"}
        for name, fault in run.faults.items():
            if fault["effective"] != 1:
                continue
            others = {
                o["verb"]
                for other, o in run.struck().items()
                if other != name
                and o["inject_ns"] <= fault["inject_ns"]
                and (o["heal_ns"] or 2**63) > fault["inject_ns"]
            }
            state = f"during {', '.join(sorted(others))}" if others else "alone"
            for role in {run.role(node) for node in fault["left"]}:
                for kind in kinds:
                    key = (fault["verb"], role, state, kind, run.facts["mode"], run.facts["target"])
                    found[key].add(run.name)
    return {key: len(names) for key, names in found.items()}


def versions(members: list[Run]) -> Row:
    """Of runs without planted bugs. Quantiles of steady sends are the caller's: each engine estimates its own."""
    cell = cell_outcomes(members)
    sends = [count for (_, place), count in availability(members).items() if place >= 0]
    attempts, succeeded = (sum(column) for column in zip(*sends, strict=True)) if sends else (0, 0)
    hit = recoveries(members).get(True, [])
    (p50, low, high), (p90, _, _) = survival(hit, 0.5), survival(hit, 0.9)
    return {
        **{name: cell[name] for name in ("runs", "failed", "unknown", "acknowledged", "lost", "lost_broken")},
        "lost_per_10000": cell["lost"] * 10_000 / cell["acknowledged"] if cell["acknowledged"] else None,
        "ok_share": succeeded / attempts if attempts else None,
        "recovery_p50_ms": p50, "recovery_p50_ms_low": low, "recovery_p50_ms_high": high, "recovery_p90_ms": p90,
        "recoveries": len(hit) if hit else None,
        "not_recovered": sum(not came_back for _, came_back in hit) if hit else None,
    }  # fmt: skip


def flakiness(runs: Iterable[Run]) -> dict[tuple[str, ...], Row]:
    found = defaultdict(list)
    for run in runs:
        plan = json.dumps([run.facts["mode"], run.facts["flush"], run.facts["faults"]])
        key = (
            run.facts["mode"],
            plan,
            run.facts["seed"],
            run.facts["target"],
            "+".join(run.facts["defects"]),
            run.facts["commit"],
        )
        found[key].append(run)
    return {
        key: {"runs": len(same), "histories": len({r.facts["history_sha256"] for r in same}),
              "seen": ", ".join(sorted({r.verdict["outcome"] for r in same}))}
        for key, same in found.items() if len(same) > 1
    }  # fmt: skip


def sorted_rows(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(rows, key=lambda row: str(sorted(row.items())))
