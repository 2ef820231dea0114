"""Faults of a process: kill, stop, pause, restart.

``kill`` ends the process at once; what it had written is in the page cache and survives. ``stop`` asks (SIGTERM) and
waits: an orderly end that flushes. ``pause`` stops every instruction while the sockets stay open, so that peers hear
nothing instead of a reset. ``restart`` is stop or kill and start again at once.

A node that was dead before proves nothing when it is dead after: the probe then says *no*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from faults.effects import KILLED, STOPPED, Effect
from faults.levers import HealStep, Levers
from faults.units import duration_ns
from faults.verb import NO, UNTOLD, YES, Facts, Option, Probed, Strike, Verb, option

STOP_OPTIONS: Final = {"timeout": Option("30s", "how long an orderly stop may take", read=duration_ns)}
RESTART_OPTIONS: Final = {
    "how": Option("stop", "how the process ends before it starts again", choices=("stop", "kill")),
    **STOP_OPTIONS,
}


def states(levers: Levers, strike: Strike) -> dict[str, str]:
    """What each node hit is doing now."""
    return {node: levers.state(node) for node in strike.left}


def bit(levers: Levers, strike: Strike, facts: Facts, wanted: str) -> list[Probed]:
    """*wanted* is seen now and was not there before."""
    answers = []
    for node in strike.left:
        before, now = facts["before"][node], levers.state(node)
        answer = YES if now == wanted != before else NO
        answers.append(Probed(node, answer, {"before": before, "now": now}))
    return answers


def runs_again(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """Heal probe of everything that had ended or stopped a process."""
    seen = states(levers, strike)
    return [Probed(node, YES if state == "running" else NO, {"now": state}) for node, state in seen.items()]


def start_again(levers: Levers, strike: Strike, facts: Facts) -> None:
    """Start what is dead; a node that somebody has started already is left alone."""
    for node in strike.left:
        if levers.state(node) == "dead":
            levers.start(node)


def steps_of(state: str) -> Callable[[Levers, Strike], list[HealStep]]:
    """How another process ends *state* of every node hit, as the backend knows it."""
    return lambda levers, strike: [step for node in strike.left for step in levers.heal_steps(state, node)]


def _kill(levers: Levers, strike: Strike) -> Facts:
    before = states(levers, strike)
    for node in strike.left:
        levers.kill(node)
    return {"before": before}


def _stop(levers: Levers, strike: Strike) -> Facts:
    """A stop that hangs is evidence, not a crash of the harness: the probe then sees a living process that serves no
    more, and may end at any time. That is neither yes nor no."""
    before, timeout = states(levers, strike), option(strike, STOP_OPTIONS, "timeout")
    hung = []
    for node in strike.left:
        try:
            levers.stop(node, duration_ns(timeout))
        except TimeoutError:
            hung.append(node)
    return {"before": before, "hung": hung, "timeout": timeout}


def _stopped(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    return [_unless_hung(facts, answer) for answer in bit(levers, strike, facts, "dead")]


def _unless_hung(facts: Facts, probed: Probed) -> Probed:
    """*probed*, or that nobody can tell yet: it was asked to stop, and did not end in time."""
    if probed.answer == YES or probed.node not in facts.get("hung", ()):
        return probed
    late = {"error": f"still there {facts['timeout']} after it was asked to stop"}
    return Probed(probed.node, UNTOLD, {**probed.detail, **late})


def _pause(levers: Levers, strike: Strike) -> Facts:
    before = states(levers, strike)
    for node in strike.left:
        if before[node] == "running":
            levers.pause(node)
    return {"before": before}


def _resume(levers: Levers, strike: Strike, facts: Facts) -> None:
    """Whatever its state reads, unless it is dead: a stop that waits for the end of an fsync is not to be seen yet, and
    to go on harms nobody who runs. Who was dead when it struck, and was started and paused by another since, ends its
    pause with the last of them."""
    for node in strike.left:
        state, was_dead = levers.state(node), facts.get("before", {}).get(node) == "dead"
        if state == "paused" or (state != "dead" and not was_dead):
            levers.resume(node)


def _resumed(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """Killed in the meantime by another fault: then there is nothing left to resume, which is as good as resumed."""
    seen = states(levers, strike)
    return [Probed(node, NO if state == "paused" else YES, {"now": state}) for node, state in seen.items()]


def _restart(levers: Levers, strike: Strike) -> Facts:
    """What was dead before stays dead: another fault may be keeping it so."""
    how = option(strike, RESTART_OPTIONS, "how")
    ended = _kill(levers, strike) if how == "kill" else _stop(levers, strike)
    between = states(levers, strike)
    start_again(levers, strike.only([node for node in strike.left if ended["before"][node] != "dead"]), ended)
    return {**ended, "between": between}


def _restarted(levers: Levers, strike: Strike, facts: Facts) -> list[Probed]:
    """It was running, it was seen dead, it runs again."""
    answers = []
    for node, now in states(levers, strike).items():
        before, between = facts["before"][node], facts["between"][node]
        went = (before, between, now) == ("running", "dead", "running")
        probed = Probed(node, YES if went else NO, {"before": before, "between": between, "now": now})
        answers.append(_unless_hung(facts, probed))
    return answers


KILL: Final = Verb(
    name="kill",
    family="process",
    summary="ends the process at once (SIGKILL); the page cache survives",
    takes_effect_when="the process ran before and is gone from the process table",
    undone_by="start, with the same data",
    shape="nodes",
    condition="dead",
    effects=KILLED,
    inject=_kill,
    probe=lambda levers, strike, facts: bit(levers, strike, facts, "dead"),
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
)

STOP: Final = Verb(
    name="stop",
    family="process",
    summary="asks for an orderly end (SIGTERM) and waits for it",
    takes_effect_when="the process ran before and has ended within the timeout",
    undone_by="start, with the same data",
    shape="nodes",
    condition="dead",
    effects=STOPPED,
    inject=_stop,
    probe=_stopped,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    options=STOP_OPTIONS,
)

PAUSE: Final = Verb(
    name="pause",
    family="process",
    summary="no instruction runs (SIGSTOP), sockets stay open",
    takes_effect_when="the process ran before and is in state T",
    undone_by="SIGCONT",
    shape="nodes",
    condition="paused",
    effects=(Effect("freezes"),),
    inject=_pause,
    probe=lambda levers, strike, facts: bit(levers, strike, facts, "paused"),
    heal=_resume,
    heal_probe=_resumed,
    heal_steps=steps_of("paused"),
    needs=("pause",),
)

RESTART: Final = Verb(
    name="restart",
    family="process",
    summary="stop (or kill) and start again at once",
    takes_effect_when="the process ran, was seen dead, and runs again",
    undone_by="nothing to undo; started if it is found dead",
    shape="nodes",
    condition="none",
    effects=(
        Effect("ends", "stopped", only_if=("how", "stop")),
        Effect("ends", "killed", only_if=("how", "kill")),
        Effect("starts"),
    ),
    inject=_restart,
    probe=_restarted,
    heal=start_again,
    heal_probe=runs_again,
    heal_steps=steps_of("dead"),
    options=RESTART_OPTIONS,
)
