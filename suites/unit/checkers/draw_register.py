"""Random small histories of registers and locks, valid or damaged: for the oracle and for the checkers."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from checkers.history.columns import NEVER
from checkers.objects.max_register import MaxRegisterInput
from checkers.objects.mutex import MutexInput
from checkers.objects.register import RegisterInput
from suites.unit.checkers.brute import INFINITE, Op
from suites.unit.checkers.draw_log import ints, move


@dataclass
class Call:
    """kind: write (value), read (value), cas (old → value), refused (old); outcome ok or info (writes and cas)."""

    kind: str
    value: int
    inv: int
    ret: int
    old: int = -1
    outcome: str = "ok"


def draw(rng: Random, *, cas: bool = True, refused: bool = False, maximum: bool = False) -> list[Call]:
    """Calls of a register that really ran (values distinct unless *maximum*), damaged with probability 0.6."""
    count, width = rng.randint(3, 9), rng.choice((1, 2, 3, 5))
    state, fresh = 0 if maximum else -1, 0
    calls: list[Call] = []
    for instant in sorted(rng.randrange(3 * count) for _ in range(count)):
        inv, ret = max(0, instant - rng.randrange(width)), instant + rng.randrange(width)
        kind = rng.random()
        if kind < 0.45:
            calls.append(Call("read", state, inv, ret))
            continue
        value = rng.randint(1, 6) if maximum else fresh
        fresh += 1
        is_cas = cas and not maximum and kind < 0.75
        if is_cas and refused and rng.random() < 0.4:
            old = rng.randint(-1, max(fresh - 1, 0))
            if old != state:
                calls.append(Call("refused", value, inv, ret, old))
                continue
        call = Call("cas" if is_cas else "write", value, inv, ret, state)
        happens = True
        if rng.random() < 0.2:
            call.outcome, call.ret, happens = "info", INFINITE, rng.random() < 0.5
        if happens:
            state = max(state, value) if maximum else value
        calls.append(call)
    if rng.random() < 0.6:
        for _ in range(rng.choice((1, 1, 2, 3))):
            _damage(rng, calls, 6 if maximum else fresh)
    return calls


def _damage(rng: Random, calls: list[Call], values: int) -> None:
    call = rng.choice(calls)
    way = rng.choice(("later", "earlier", "value", "old"))
    if way in ("later", "earlier"):
        move(rng, call, way)
    elif way == "value" and call.kind == "read":
        call.value = rng.randrange(-1, values + 1)
    elif way == "old" and call.kind in ("cas", "refused"):
        call.old = rng.randrange(-1, values)


def oracle_ops(calls: list[Call]) -> list[Op]:
    def what(call: Call) -> tuple[str | int, ...]:
        if call.kind == "cas":
            return ("cas", call.old, call.value)
        return (call.kind, call.old if call.kind == "refused" else call.value)

    return [Op(call.inv, call.ret, call.outcome == "ok", what(call)) for call in calls]


def _columns(calls: list[Call], kind: str) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
    some = [(number, call) for number, call in enumerate(calls) if call.kind == kind]
    return (
        [call.value for _, call in some],
        [call.old for _, call in some],
        [call.inv for _, call in some],
        [int(NEVER) if call.outcome == "info" else call.ret for _, call in some],
        [number for number, _ in some],
    )


def register_input(calls: list[Call]) -> RegisterInput:
    w, c, r, n = (
        tuple(ints(column) for column in _columns(calls, kind)) for kind in ("write", "cas", "read", "refused")
    )
    return RegisterInput(
        w[0], w[2], w[3], w[4], c[1], c[0], c[2], c[3], c[4], r[0], r[2], r[3], r[4], n[1], n[2], n[3], n[4]
    )


def max_register_input(calls: list[Call]) -> MaxRegisterInput:
    w, r = (tuple(ints(column) for column in _columns(calls, kind)) for kind in ("write", "read"))
    return MaxRegisterInput(w[0], w[2], w[3], w[4], r[0], r[2], r[3], r[4])


@dataclass
class Hold:
    """One owner's try: refused, unknown without a release, or held from acquire to release (inv −1: never released)."""

    kind: str
    inv: int
    ret: int
    release_inv: int = -1
    release_ret: int = -1


def draw_lock(rng: Random, permits: int, refused: bool) -> list[Hold]:
    """Holds of a lock that really worked, some damaged; owners are the indexes."""
    holds: list[Hold] = []
    now, width = 0, rng.choice((1, 2, 3, 5))
    free_at = [0] * permits
    for _ in range(rng.randint(permits + 1, permits + 3)):
        slot = free_at.index(min(free_at))
        now = max(now, free_at[slot]) + rng.randrange(4 if permits == 1 else 2)
        until = now + rng.randrange(5) * permits
        inv, ret = max(0, now - rng.randrange(width)), now + rng.randrange(min(width, until - now + 1))
        fate = rng.random()
        if fate < 0.15:
            holds.append(Hold("unknown", inv, INFINITE))
            continue
        release = (max(ret, until - rng.randrange(width)), until + rng.randrange(width))
        if fate < 0.25:
            release = (release[0], INFINITE)
        holds.append(Hold("hold", inv, ret, *release))
        free_at[slot] = until
        if refused and permits == 1 and rng.random() < 0.5 and until > now:
            at = rng.randint(now, until)
            holds.append(Hold("refused", max(0, at - rng.randrange(width)), at + rng.randrange(width)))
    if rng.random() < 0.6:
        for _ in range(rng.choice((1, 2, 3)) * permits):
            _shift(rng, rng.choice(holds))
    return holds


def _shift(rng: Random, hold: Hold) -> None:
    by = rng.choice((-6, -3, -1, 1, 3, 6))
    if hold.inv + by < 0:
        return
    hold.inv += by
    hold.ret += by if hold.ret < INFINITE else 0
    if hold.release_inv >= 0:
        hold.release_inv += by
        hold.release_ret += by if hold.release_ret < INFINITE else 0


def lock_ops(holds: list[Hold]) -> list[Op]:
    ops = []
    for owner, hold in enumerate(holds):
        kind = "refused" if hold.kind == "refused" else "acquire"
        ops.append(Op(hold.inv, hold.ret, hold.kind != "unknown", (kind, owner)))
        if hold.release_inv >= 0:
            must = hold.release_ret < INFINITE
            ops.append(Op(hold.release_inv, hold.release_ret, must, ("release", owner)))
    return ops


def mutex_input(holds: list[Hold]) -> MutexInput:
    def never(ret: int) -> int:
        return int(NEVER) if ret >= INFINITE else ret

    held = [(number, hold) for number, hold in enumerate(holds) if hold.kind == "hold"]
    refused = [(number, hold) for number, hold in enumerate(holds) if hold.kind == "refused"]
    return MutexInput(
        a_invoke=ints([hold.inv for _, hold in held]),
        a_ret=ints([never(hold.ret) for _, hold in held]),
        a_op=ints([number for number, _ in held]),
        r_invoke=ints([int(NEVER) if hold.release_inv < 0 else hold.release_inv for _, hold in held]),
        r_ret=ints([int(NEVER) if hold.release_inv < 0 else never(hold.release_ret) for _, hold in held]),
        u_invoke=ints([hold.inv for hold in holds if hold.kind == "unknown"]),
        n_invoke=ints([hold.inv for _, hold in refused]),
        n_ret=ints([hold.ret for _, hold in refused]),
        n_op=ints([number for number, _ in refused]),
    )
