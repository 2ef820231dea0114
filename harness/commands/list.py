"""``mqchaos list``: what there is, one line each.

Question: which names may I type, and what do they mean?

Model. Every list comes from the thing itself (the table of verbs, of checks, of contracts, of defects), never from a
copy. ``--json`` gives the same rows; ``list faults --markdown`` is the page ``docs/faults.md``.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from textwrap import fill
from typing import TYPE_CHECKING, Final

from harness.terminal import Terminal

if TYPE_CHECKING:
    from faults.verb import Option, Verb

Row = dict[str, str]
"""Column → text; all rows of a list have the same columns, the first is the name."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``list``."""
    parser.epilog = (
        "examples:\n  mqchaos list faults\n  mqchaos list promises --json\n  mqchaos list faults --markdown\n"
    )
    parser.add_argument("what", choices=tuple(LISTS), metavar="WHAT", help=", ".join(LISTS))
    parser.add_argument("--json", action="store_true", help="a JSON array of objects on standard output")
    parser.add_argument("--markdown", action="store_true", help="as a page of Markdown (faults only)")


def execute(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Show the rows."""
    from harness.errors import EXIT_PASS, UsageError

    if arguments.markdown:
        if arguments.what != "faults":
            raise UsageError("only faults are written as Markdown")
        terminal.result(faults_page().rstrip())
        return EXIT_PASS
    rows = LISTS[arguments.what]()
    if arguments.json:
        terminal.document(rows)
    else:
        for line in table(rows):
            terminal.result(line)
    return EXIT_PASS


def table(rows: Sequence[Row]) -> list[str]:
    """Columns side by side, as wide as their widest text; the last one runs free."""
    if not rows:
        return ["there are none"]
    columns = list(rows[0])
    widths = {column: max(len(row[column]) for row in rows) for column in columns[:-1]}
    return ["  ".join([*(row[c].ljust(widths[c]) for c in columns[:-1]), row[columns[-1]]]).rstrip() for row in rows]


def modes() -> list[Row]:
    """Deployment modes and what their contract says."""
    from checkers.contract import contract_of
    from harness.modes import MODES

    rows = []
    for mode in MODES:
        contract = contract_of(mode)
        rows.append({"mode": mode, "statement": contract.statement if contract else "there is no contract for it"})
    return rows


def faults() -> list[Row]:
    """Verbs, then OpenChaos' names."""
    from faults.catalogue import VERBS
    from faults.plan import ALIASES

    verbs = [{"fault": verb.name, "family": verb.family, "summary": verb.summary} for verb in VERBS.values()]
    return verbs + [
        {"fault": name, "family": "OpenChaos", "summary": f"{alias.verb} {alias.on or '(on: …)'}"}
        for name, alias in ALIASES.items()
    ]


def checkers() -> list[Row]:
    """Checks and the question that each answers."""
    return [{"checker": name, "question": question_of(module)} for name, module in checker_modules().items()]


def checker_modules() -> dict[str, str]:
    """Check → the module that explains it."""
    from checkers.runs import fault_efficacy
    from checkers.runs.checks import CHECKS
    from harness import judge

    modules = {name: check.__module__ for name, check in CHECKS.items()}
    return {**modules, "faults": fault_efficacy.__name__, judge.CHECK: judge.__name__}


def question_of(module: str) -> str:
    """What the docstring of *module* says after ``Question:``, up to the next blank line."""
    text = import_module(module).__doc__ or ""
    return " ".join(text.partition("Question:")[2].partition("\n\n")[0].split())


def scenarios() -> list[Row]:
    """Scenarios that come with the project."""
    from harness.scenario import shipped
    from harness.scenario_file import load

    rows = []
    for scenario in map(load, shipped()):
        claims = ", ".join(scenario.claims)
        rows.append({"scenario": scenario.name, "mode": scenario.mode, "claims": claims, "text": scenario.description})
    return rows


def guarantees() -> list[Row]:
    """The contract, cell by cell."""
    from checkers.contract import contract_of, known_modes

    contracts = [contract for contract in map(contract_of, known_modes()) if contract is not None]
    return [
        {"mode": p.mode, "harm": p.harm, "role": p.role, "flush": p.flush, "loss": p.loss, "guarantee": p.words}
        for contract in contracts
        for p in contract.guarantees.values()
    ]


def defects() -> list[Row]:
    """Planted bugs of the reference: the exhibits that each stands for, who must find it, where it is described."""
    from reference_impl.defects import DEFECTS

    return [
        {
            "defect": name,
            "node": d.node,
            "exhibits": ", ".join(d.exhibits) or "-",
            "check": d.check,
            "page": f"docs/museum.md#{name}",
            "what": d.what,
        }
        for name, d in DEFECTS.items()
    ]


def workloads() -> list[Row]:
    """Loads, and who may be beside them."""
    from harness.workloads.table import LOADS, OBSERVERS, OPERATORS

    rows = [("kind", load.name, load.summary) for load in LOADS.values()]
    rows += [("operator", operator.name, operator.summary) for operator in OPERATORS.values()]
    rows += [("observer", observer.name, observer.summary) for observer in OBSERVERS.values()]
    return [{"workload": name, "as": key, "text": summary} for key, name, summary in rows]


def backends() -> list[Row]:
    """Worlds to run in, and which levers each lacks here."""
    from harness.backends.table import BACKENDS

    rows = []
    for row in BACKENDS.values():
        lacks = [f"no levers of {family} ({why})" for family, why in row.capabilities().lacks().items()]
        rows.append({"backend": row.name, "text": "; ".join([row.summary, *(lacks or ["everything works here"])])})
    return rows


def targets() -> list[Row]:
    """What can run on the nodes; Apache's versions that are in the cache."""
    from harness.targets.jars import fetched
    from harness.targets.releases import known

    have = f"known: {', '.join(known())}; in the cache: {', '.join(fetched()) or 'none yet (mqchaos fetch)'}"
    return [
        {"target": "reference", "text": "the reference implementation, on every backend"},
        {"target": "rocketmq:VERSION", "text": f"Apache's own jars, on the process backend; {have}"},
        {"target": "a mix", "text": "reference,slaves=rocketmq:VERSION: one for the rest, others by selector"},
    ]


LISTS: Final[dict[str, Callable[[], list[Row]]]] = {
    "modes": modes,
    "faults": faults,
    "checkers": checkers,
    "scenarios": scenarios,
    "promises": guarantees,
    "defects": defects,
    "workloads": workloads,
    "backends": backends,
    "targets": targets,
}


_RUNBOOK = """\
## The promotion runbook

In the modes with slaves an operator promotes a slave, nobody else. `promote` does the same as a step of a plan:

```yaml
faults:
  - {at: 8s, do: kill, on: master(broker-a)}
  - {at: 20s, do: promote, on: slave(broker-a)}
```

| step | when | what |
|---|---|---|
| 1 | at the strike | stop the slave in order, so that it begins with whole records |
| 2 | | `brokerId=0` and the master's `brokerRole` (and `inSyncReplicas`) in its configuration |
| 3 | | start it: it registers, and the name has a master again |
| 4 | at the heal | stop it, and the old master if it runs |
| 5 | | copy its data to the old master, whose own is thrown away |
| 6 | | the old configuration; start both |

The outage of the name lasts from the death of the master until step 3 is over and clients have asked for routes again
(every 30 s). Lost is what the slave had not copied when its master died. **Do not start the old master before step 4**:
it registers under the same name and id, NameServers list whichever registered last, both take messages for the same
offsets, and what one of them took is lost with step 5 (scenario `old-master-returns-beside-promoted-slave`).
""".splitlines()


_FAULTS: Final = (
    "# Faults",
    "",
    "Generated by `mqchaos list faults --markdown`.",
    "",
    "A fault is data: `{at, do, on, for, with}`. Its life: *resolve, journal the heal, inject, probe that it took",
    "effect, hold, heal, probe that it is gone*; every step is a row of the history. A fault that did not take effect",
    "makes a run UNKNOWN, never green. Without `for` it lasts until everything is healed at the end of the load. `at`",
    "and `for` may be ranges (`4s..9s`), of which the seed draws one value.",
    "",
    "| `do` | what it does | how it is known to have taken effect | how it is undone |",
    "|---|---|---|---|",
)
_ALIASES: Final = ("## Names of OpenChaos", "", "| name | the same as | but |", "|---|---|---|")


def faults_page() -> str:
    """``docs/faults.md``, generated from the catalogue."""
    from faults.catalogue import VERBS
    from faults.plan import ALIASES

    lines = [*_FAULTS]
    for verb in VERBS.values():
        lines.append(f"| `{verb.name}` | {verb.summary} | {verb.takes_effect_when} | {verb.undone_by} |")
    lines += ["", *_options(VERBS.values()), "", *_selectors(), "", *_recipes(), "", *_RUNBOOK, "", *_ALIASES]
    for name, alias in ALIASES.items():
        where = f"on `{alias.on}`" if alias.on else "(say `on`)"
        lines.append(f"| `{name}` | `{alias.verb}` {where} | {alias.difference} |")
    return "\n".join(lines) + "\n"


def _recipes() -> list[str]:
    """Scenarios that are made of several faults, with what they are made of."""
    from harness.scenario import recipes
    from harness.scenario_file import load

    lines = [
        "## Recipes",
        "",
        "What is made of several and has a name: run it (`mqchaos run recipe-stutter`), or take its `faults`. A line",
        "with `every` and `times` is as many faults, each proved and healed for itself. A disk that dies under one",
        "and comes back is `dead_disk`, one that is remounted read-only `read_only_disk`; one that only fails forces,",
        "`fail_sync`, then `cut_power`. A clock that drifts: small steps.",
        "",
        "| scenario | what is to be seen | faults |",
        "|---|---|---|",
    ]
    for scenario in map(load, recipes()):
        counts = Counter(fault.do for fault in scenario.faults)
        made_of = ", ".join(f"`{do}` ×{count}" for do, count in counts.items())
        lines.append(f"| `{scenario.name}` | {scenario.description} | {made_of} |")
    return lines


def _selectors() -> list[str]:
    from faults.selectors import WORDS

    return [
        "## On whom",
        "",
        "Selectors are resolved when the fault strikes, by the roles of that moment: after `promote` the promoted",
        "slave is among `masters`. The nodes they meant then are in the history. `leader` and `followers` are for",
        "modes that elect; `minority` and `majority` without brackets mean the nodes of each broker name.",
        "",
        fill(f"`{'`, `'.join(WORDS)}`, a node by its name, and lists of these.", 120, break_on_hyphens=False),
        "",
        "`partition` takes two sides: `LEFT | RIGHT`, `LEFT | rest`, or `link(A, B, ports)`. Put quotes around a text",
        "that contains a comma.",
    ]


def _options(verbs: Iterable[Verb]) -> list[str]:
    """What ``with`` may say, verb by verb."""
    lines = ["## With what", "", "The keys of `with`; verbs that are not named have none."]
    for verb in verbs:
        items = [_option_text(name, option) for name, option in verb.options.items()]
        wrapped = [fill(f"* {item}", 120, subsequent_indent="  ", break_on_hyphens=False) for item in items]
        lines += ["", f"`{verb.name}`:", "", *wrapped] if wrapped else []
    return lines


def _option_text(name: str, option: Option) -> str:
    choices = " | ".join(option.choices)
    known = "; ".join(text for text in (choices, f"default {option.default}" if option.default else "") if text)
    return f"`{name}`: {option.meaning} ({known})" if known else f"`{name}`: {option.meaning}"
