"""Faults of links between nodes that go on to work: slow_link, drop_frames.

A proxy stands between the nodes (toxiproxy, or ours that knows RocketMQ's frames). It is put there when the fault
strikes: connections between the sides are reset once and come back through it. Healing takes the toxic away and
disturbs nobody.

``slow_link``: everything is late, both ways. The witness is a real request by RocketMQ's protocol across the link: its
answer takes as long as the delay both ways demands, and took less before. Where nobody can be asked (the link of
replication), the witness is a connection that goes through a proxy whose server says that it is slow.

``drop_frames``: chosen requests or answers are lost, delayed, doubled, reordered or corrupted, the connection is not.
The witness is the proxy's own count of frames that it has acted on; a rule that nothing has fitted yet cannot be told
to have taken effect.
"""

from __future__ import annotations

from typing import Any, Final

from faults.catalogue.network import PORTS, both_run, pairs_of, ports_of
from faults.effects import Effect
from faults.errors import InjectionFailed
from faults.levers import LinkSet
from faults.mechanisms.frameproxy.toxics import CHOICES
from faults.units import duration_ns
from faults.verb import NO, UNTOLD, YES, Facts, Option, Probed, Strike, Verb, option

MS: Final = 1_000_000
ANSWER_PATIENCE_MS: Final = 5_000
SEEN_PATIENCE_MS: Final = 12_000
"""A slave calls its master again after five seconds; a client sooner."""


def _duration_ms(text: str) -> int:
    if (ms := duration_ns(text) // MS) < 1:
        raise ValueError(f"{text!r} is less than a millisecond")
    return ms


def _number(text: str) -> int:
    if not text.lstrip("-").isdecimal():
        raise ValueError(f"{text!r} is no number")
    return int(text)


SLOW_OPTIONS: Final = {
    "delay": Option("200ms", "how late everything is, each way", read=_duration_ms),
    "jitter": Option("0ms", "up to how much earlier or later that is", read=duration_ns),
    **PORTS,
}
FRAME_OPTIONS: Final = {
    "action": Option("drop", "what happens to the frames", CHOICES["action"]),
    "kind": Option("response", "requests, responses or any", CHOICES["kind"]),
    "code": Option("-1", "request code, of a response that of its request; -1: any", read=_number),
    "skip": Option("0", "so many that fit pass first", read=_number),
    "count": Option("0", "at most so many are hit; 0: all", read=_number),
    "delay": Option("1s", "of the actions delay, replay and reorder", read=_duration_ms),
    **PORTS,
}


def _link(strike: Strike) -> LinkSet:
    return LinkSet(strike.fault, strike.left, strike.right, ports_of(strike))


def _slow(levers: Any, strike: Strike) -> Facts:
    delay_ms = _duration_ms(option(strike, SLOW_OPTIONS, "delay"))
    jitter_ms = duration_ns(option(strike, SLOW_OPTIONS, "jitter")) // MS
    if jitter_ms > delay_ms:
        raise InjectionFailed("a jitter above the delay would let answers come before their requests")
    before = _answers(levers, strike)
    levers.shape_links(_link(strike), "latency", {"latency": delay_ms, "jitter": jitter_ms})
    return {"before_ms": before, "least_ms": 2 * (delay_ms - jitter_ms)}


def _answers(levers: Any, strike: Strike) -> dict[tuple[str, str], int]:
    """Pairs across the link that speak RocketMQ's protocol, and how long an answer takes."""
    if ports_of(strike) == "ha":
        return {}
    return {pair: levers.answers_after_ms(*pair, ANSWER_PATIENCE_MS) for pair in pairs_of(strike)}


def _written(answers: dict[tuple[str, str], int]) -> dict[str, int]:
    return {f"{source} > {target}": ms for (source, target), ms in answers.items()}


def _is_slow(levers: Any, strike: Strike, facts: Facts) -> list[Probed]:
    before, least_ms = facts["before_ms"], facts["least_ms"]
    if not before:
        return [_goes_through(levers, strike)]
    now = _answers(levers, strike)
    detail = {"before_ms": _written(before), "now_ms": _written(now), "least_ms": least_ms}
    asked = [pair for pair, ms in before.items() if 0 <= ms < least_ms]
    if any(0 <= now[pair] < least_ms for pair in now):
        return [Probed("", NO, detail)]
    if not asked or all(now[pair] < 0 for pair in asked):
        return [Probed("", UNTOLD, {**detail, "reason": "no pair across the link answered before and answers now"})]
    return [Probed("", YES, detail)]


def _goes_through(levers: Any, strike: Strike) -> Probed:
    """Nobody can be asked: a connection of the nodes' own goes through a proxy that is slow."""
    proxies, connections = levers.links_shaped(strike.fault, SEEN_PATIENCE_MS)
    detail: dict[str, Any] = {"proxies": proxies, "connections": connections}
    if not proxies:
        return Probed("", NO, detail)
    if not connections:
        return Probed("", UNTOLD, {**detail, "reason": "no connection of the nodes came through a proxy"})
    return Probed("", YES, detail)


def _unshape(levers: Any, strike: Strike, facts: Facts) -> None:
    levers.unshape_links(strike.fault)


def _is_fast_again(levers: Any, strike: Strike, facts: Facts) -> list[Probed]:
    proxies, _ = levers.links_shaped(strike.fault)
    running = {pair: ms for pair, ms in facts.get("before_ms", {}).items() if ms >= 0 and both_run(levers, pair)}
    now = {pair: levers.answers_after_ms(*pair, ANSWER_PATIENCE_MS) for pair in running}
    detail = {"proxies": proxies, "now_ms": _written(now)}
    is_slow = any(ms >= facts["least_ms"] or ms < 0 for ms in now.values())
    return [Probed("", NO if proxies or is_slow else YES, detail)]


def _drop(levers: Any, strike: Strike) -> Facts:
    numbers = {name: int(option(strike, FRAME_OPTIONS, name)) for name in ("code", "skip", "count")}
    words = {name: option(strike, FRAME_OPTIONS, name) for name in ("action", "kind")}
    delay = {"delay": _duration_ms(option(strike, FRAME_OPTIONS, "delay"))}
    levers.shape_links(_link(strike), "frames", {**numbers, **words, **delay})
    return {}


def _has_hit(levers: Any, strike: Strike, facts: Facts) -> list[Probed]:
    hit = levers.frames_hit(strike.fault, SEEN_PATIENCE_MS)
    detail: dict[str, Any] = {"fitting": hit[0], "hit": hit[1]}
    if not hit[1]:
        return [Probed("", UNTOLD, {**detail, "reason": "no frame came that the rule acts on"})]
    return [Probed("", YES, detail)]


def _is_gone(levers: Any, strike: Strike, facts: Facts) -> list[Probed]:
    proxies, _ = levers.links_shaped(strike.fault)
    return [Probed("", NO if proxies else YES, {"proxies": proxies})]


SLOW_LINK: Final = Verb(
    name="slow_link",
    family="network",
    summary="everything between LEFT and RIGHT is late, both ways",
    takes_effect_when="a request across the link is answered no sooner than the delay both ways, and was before",
    undone_by="the delay is taken from the proxy",
    shape="sides",
    condition="own",
    effects=(Effect("slows"),),
    inject=_slow,
    probe=_is_slow,
    heal=_unshape,
    heal_probe=_is_fast_again,
    options=SLOW_OPTIONS,
    needs=("links",),
)

DROP_FRAMES: Final = Verb(
    name="drop_frames",
    family="network",
    summary="single requests or responses between LEFT and RIGHT are lost, delayed, doubled, reordered, corrupted",
    takes_effect_when="the proxy has acted on a frame",
    undone_by="the rule is taken from the proxy",
    shape="sides",
    condition="own",
    effects=(Effect("slows"),),
    inject=_drop,
    probe=_has_hit,
    heal=_unshape,
    heal_probe=_is_gone,
    options=FRAME_OPTIONS,
    needs=("links",),
)
