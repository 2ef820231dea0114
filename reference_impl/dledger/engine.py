"""One member at work: the protocol's step function, its files, its connections and its timers.

Question: how do effects become bytes on a disk and on the wire, and in which order?

Model. Whatever happens (a request, an answer, a timer, a proposal) is one :func:`~reference_impl.dledger.core.step`;
its effects are carried out in order. A write that fails ends the step: nothing that rests on it leaves. Messages wait
at a gate:

    every message                             until a changed term or vote is saved
    SUCCESS to a push of entries, TRUNCATE    with strict persistence, until the log is forced that far

Saving ``currterm`` is done at once without strict persistence; a member that cannot save it stays silent, and tries
again every second. Who owns an engine (a node of its own, a broker) forwards timers and syncs, sends it what
:meth:`Engine.handlers` names, and may watch ``on_role`` and ``on_committed``.
"""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Hashable
from random import Random
from typing import Final

from reference_impl.dledger.codes import Code, RpcCode
from reference_impl.dledger.config import DLedgerConfig
from reference_impl.dledger.core import step
from reference_impl.dledger.events import (
    Accepted,
    Answered,
    CancelTimer,
    Committed,
    Cut,
    DiskFailed,
    Done,
    Effect,
    Forced,
    Input,
    Note,
    Propose,
    Reply,
    Request,
    Restart,
    RoleChanged,
    SaveTerm,
    Send,
    SetTimer,
    Start,
    Timer,
    Write,
)
from reference_impl.dledger.expiry import Expiry
from reference_impl.dledger.identity import Identity
from reference_impl.dledger.log import FileLog
from reference_impl.dledger.log_flush import TIMER as FLUSH_TIMER
from reference_impl.dledger.log_flush import LogFlush
from reference_impl.dledger.messages import (
    ANSWERS,
    CODE_OF,
    REQUESTS,
    AppendRequest,
    Message,
    PushResponse,
    decode,
    encode,
)
from reference_impl.dledger.recovery import recover
from reference_impl.dledger.settings import Settings
from reference_impl.dledger.small_files import (
    CHECKPOINT_FILE,
    TERM_FILE,
    SmallFile,
    checkpoint_text,
    read_checkpoint,
    read_term,
    term_text,
)
from reference_impl.dledger.state import Member
from reference_impl.dledger.turn import LogView
from reference_impl.environment import MS, SECOND, Environment, Link
from reference_impl.store import mapped_files
from reference_impl.store.forcing import Forcing
from reference_impl.wire.codes import ResponseCode
from reference_impl.wire.fields import RequestRefused
from reference_impl.wire.frame import Command, RemoteWireError
from reference_impl.wire.remoting import Answer, CallFailed, Handler, Remoting

OnDone = Callable[[Environment, Done], None]
Step = Callable[[Settings, Member, LogView, int, Random, Input], list[Effect]]

_SAVE: Final = ("dledger", "save")
_CHECKPOINT: Final = ("dledger", "checkpoint")
_SAVE_AGAIN_NS: Final = SECOND
_STAMP_SIZE: Final = 8


class Engine:
    """One member. ``WrongFileSize``, ``LogDamaged`` and ``ForeignStore`` from :meth:`load`. *expires*: it deletes old
    files."""

    def __init__(
        self,
        config: DLedgerConfig,
        settings: Settings,
        remoting: Remoting,
        log: FileLog,
        forcing: Forcing,
        *,
        expires: bool = True,
    ) -> None:
        self.config, self.settings, self.log = config, settings, log
        self.step: Step = step
        """The protocol."""
        self.member = Member()
        self.on_role: Callable[[Environment, RoleChanged], None] | None = None
        self.on_committed: Callable[[Environment, int], None] | None = None
        self.on_shortened: Callable[[Environment], None] | None = None
        """Entries have gone."""
        self._remoting = remoting
        is_strict = settings.is_strict
        self._term_file = SmallFile(f"{config.folder}/{TERM_FILE}", forcing, is_forced=is_strict)
        self._checkpoint_file = SmallFile(f"{config.folder}/{CHECKPOINT_FILE}", forcing, is_forced=is_strict)
        self.identity = Identity(config, forcing)
        self.forcing = forcing
        self.flush = LogFlush(log, forcing, config.flush_file_interval, is_strict=is_strict)
        self.flush.on_forced = self._forced
        self.expiry = Expiry(config, log)
        self._expires = expires
        self._gate: deque[tuple[int, int, Effect]] = deque()
        self._terms = self._terms_saved = 0
        self._forced_writes = 0
        self._saved_checkpoint = (-1, -1)
        self._references = 0
        self._asked: dict[int, tuple[Link, Command]] = {}
        self._proposed: dict[int, OnDone] = {}
        self._accepted: dict[int, Accepted] = {}
        self._inputs: deque[Input] = deque()
        self._told: list[mapped_files.Done] = []
        self._is_stepping = self._is_stopped = False

    # --- life -------------------------------------------------------------------------------------------------------

    def load(self, env: Environment) -> None:
        """Read what survived."""
        self.identity.check(env)
        term, vote = read_term(self._term_file.load(env))
        checkpoint = read_checkpoint(self._checkpoint_file.load(env))
        recovered = recover(env, self.log, checkpoint if self.settings.is_strict else -1)
        committed = min(checkpoint, recovered.end_index)
        committed = committed if committed >= recovered.begin_index else -1
        self.member = Member(term=term, voted_for=vote, committed=committed)
        env.note("log_recovered", term=term, voted_for=vote, committed=committed, **recovered._asdict())

    def start(self, env: Environment) -> None:
        """Take part. Everything recovered is forced first where that counts."""
        env.set_timer(_CHECKPOINT, self.config.check_point_interval * MS)
        if self._expires:
            self.expiry.start(env)
        self.happens(env, Start())
        if self.settings.is_strict:
            end_index = self.log.end_index
            files = [file.name for row in (self.log.data, self.log.index) for file in row.files]
            self.forcing.force_all(env, files, lambda env, error: self._recovered_forced(env, error, end_index))

    def _recovered_forced(self, env: Environment, error: str, end_index: int) -> None:
        if error:
            raise OSError(f"{error}: the recovered log could not be forced")
        self.happens(env, Forced(min(end_index, self.log.end_index)))

    def stop(self, env: Environment, done: mapped_files.Done) -> None:
        """Take part no more; force the log and save the checkpoint, then *done*."""
        self._is_stopped = True
        for key in (_CHECKPOINT, _SAVE):
            env.cancel_timer(key)
        self.expiry.stop(env)

        def flushed(env: Environment) -> None:
            self._save_checkpoint(env, done)

        self.flush.stop(env, flushed)

    def on_timer(self, env: Environment, key: Hashable) -> bool:
        """Keys are tuples that start with ``dledger``."""
        if not (isinstance(key, tuple) and key[0] == "dledger"):
            return False
        if key == FLUSH_TIMER:
            self.flush.on_timer(env)
        elif key == _CHECKPOINT:
            self._save_checkpoint(env, _nothing)
            env.set_timer(_CHECKPOINT, self.config.check_point_interval * MS)
        elif key == _SAVE:
            self._save_term(env)
        elif not self.expiry.on_timer(env, key):
            self.happens(env, Timer(key[1]))
        return True

    # --- what is asked ----------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        return self.member.leader == self.settings.self_id

    @property
    def committed_position(self) -> int:
        """Where the last committed entry ends; 0 where nothing is committed."""
        unit = self.log.unit(self.member.committed)
        return unit.pos + unit.size if unit is not None else 0

    def handlers(self) -> dict[int, Handler]:
        """Request code → handler, for whoever listens at the member's address."""
        return {**dict.fromkeys(REQUESTS, self._handle), RpcCode.PULL: _pull}

    def _handle(self, env: Environment, link: Link, command: Command) -> None:
        message = decode(REQUESTS[command.code], command.body)
        if isinstance(message, AppendRequest):
            self._check_stamp(message)
        ref = self._next()
        self._asked[ref] = (link, command)
        self.happens(env, Request(ref, message))

    def _check_stamp(self, message: AppendRequest) -> None:
        """Apache's append hook throws where a body is too short for it, before anything is written; a request that is
        not for this leader does not get as far as that."""
        settings, reach = self.settings, self.settings.stamp_at + _STAMP_SIZE
        is_ours = self.is_leader and (message.group, message.remote_id) == (settings.group, settings.self_id)
        if is_ours and settings.stamp_at >= 0 and len(message.body) < reach:
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR, f"a body of {len(message.body)} bytes, at least {reach} needed"
            )

    def propose(self, env: Environment, bodies: tuple[bytes, ...], on_done: OnDone) -> Accepted | None:
        """Append entries as leader. What was accepted (its last entry), or ``None``; *on_done* is called once, later
        or before this returns."""
        ref = self._next()
        self._proposed[ref] = on_done
        self.happens(env, Propose(ref, bodies))
        return self._accepted.pop(ref, None)

    def _next(self) -> int:
        self._references += 1
        return self._references

    # --- one step ---------------------------------------------------------------------------------------------------

    def happens(self, env: Environment, happened: Input) -> None:
        """Carry out what follows; what happens meanwhile comes after it. Whoever is told of a step's outcome is told
        when it is over, and may propose again."""
        self._inputs.append(happened)
        if self._is_stepping or self._is_stopped:
            return
        self._is_stepping = True
        while self._inputs:
            self._step(env, self._inputs.popleft())
        self._is_stepping = False
        told, self._told = self._told, []
        for tell in told:
            tell(env)

    def _step(self, env: Environment, happened: Input) -> None:
        for effect in self.step(self.settings, self.member, self.log, env.now(), env.rng, happened):
            try:
                self._carry_out(env, effect)
            except OSError as error:
                env.note("write_failed", error=str(error), end_index=self.log.end_index)
                self._inputs.appendleft(DiskFailed(error.errno == errno.ENOSPC))
                return

    def _carry_out(self, env: Environment, effect: Effect) -> None:
        _CARRY_OUT[type(effect)](self, env, effect)

    def _write(self, env: Environment, effect: Write) -> None:
        self.log.append(effect.entry)
        self.flush.wrote(env)

    def _cut(self, env: Environment, effect: Cut) -> None:
        env.note("log_cut", index=effect.index, end_index=self.log.end_index)
        self.log.cut(effect.index)
        self.flush.wrote(env)
        self._shortened(env)

    def _restart(self, env: Environment, effect: Restart) -> None:
        env.note("log_restarted", index=effect.entry.index, end_index=self.log.end_index)
        self.log.restart(effect.entry)
        self.flush.wrote(env)
        self._shortened(env)

    def _shortened(self, env: Environment) -> None:
        if self.on_shortened is not None:
            self.on_shortened(env)

    def _set_timer(self, env: Environment, effect: SetTimer) -> None:
        env.set_timer(("dledger", effect.key), effect.delay_ns)

    def _cancel_timer(self, env: Environment, effect: CancelTimer) -> None:
        env.cancel_timer(("dledger", effect.key))

    def _note(self, env: Environment, effect: Note) -> None:
        env.note(effect.event, **effect.fields)

    def _accept(self, env: Environment, effect: Accepted) -> None:
        self._accepted[effect.ref] = effect

    def _done(self, env: Environment, effect: Done) -> None:
        on_done = self._proposed.pop(effect.ref)
        self._told.append(lambda env: on_done(env, effect))

    def _role_changed(self, env: Environment, effect: RoleChanged) -> None:
        env.note("role_changed", role=effect.role, term=self.member.term, heard=effect.term, leader=effect.leader)
        if self.on_role is not None:
            on_role = self.on_role
            self._told.append(lambda env: on_role(env, effect))

    def _committed(self, env: Environment, effect: Committed) -> None:
        if self.on_committed is not None:
            on_committed = self.on_committed
            self._told.append(lambda env: on_committed(env, effect.index))

    # --- the gate ---------------------------------------------------------------------------------------------------

    def _message(self, env: Environment, effect: Send | Reply) -> None:
        writes = self.log.writes if self.settings.is_strict and _rests_on_log(effect) else 0
        self._gate.append((self._terms, writes, effect))
        self._open_gate(env)

    def _open_gate(self, env: Environment) -> None:
        """Let through what waits for nothing more, in order among those that wait for the same."""
        waiting, self._gate = self._gate, deque()
        for terms, writes, effect in waiting:
            if terms > self._terms_saved or writes > self._forced_writes:
                self._gate.append((terms, writes, effect))
            elif isinstance(effect, Send):
                self._send(env, effect)
            elif isinstance(effect, Reply):
                self._reply(env, effect)

    def _send(self, env: Environment, effect: Send) -> None:
        def answered(env: Environment, answer: Answer) -> None:
            self.happens(env, Answered(effect.peer, effect.request, _read(effect.request, answer), effect.number))

        command = Command(CODE_OF[type(effect.request)], body=encode(effect.request))
        timeout_ns = self.settings.rpc_timeout_ms * MS
        self._remoting.call(env, self.settings.peers[effect.peer], command, timeout_ns, answered)

    def _reply(self, env: Environment, effect: Reply) -> None:
        link, request = self._asked.pop(effect.ref)
        self._remoting.reply(env, link, request, Command(Code.SUCCESS, body=encode(effect.answer)))

    def _forced(self, env: Environment, writes: int, end_index: int) -> None:
        self._forced_writes = writes
        if self.settings.is_strict:
            self._open_gate(env)
            self.happens(env, Forced(end_index))

    # --- the small files --------------------------------------------------------------------------------------------

    def _term_changed(self, env: Environment, effect: SaveTerm) -> None:
        self._terms += 1
        self._save_term(env)

    def _save_term(self, env: Environment) -> None:
        terms = self._terms

        def saved(env: Environment) -> None:
            self._terms_saved = max(self._terms_saved, terms)
            self._open_gate(env)

        try:
            self._term_file.save(env, term_text(self.member.term, self.member.voted_for), saved)
        except OSError as error:
            env.note("term_not_saved", term=self.member.term, error=str(error))
            env.set_timer(_SAVE, _SAVE_AGAIN_NS)

    def _save_checkpoint(self, env: Environment, done: mapped_files.Done) -> None:
        state = (self.log.end_index, self.member.committed)
        if state == self._saved_checkpoint:
            done(env)
            return
        try:
            self._checkpoint_file.save(env, checkpoint_text(*state), done)
            self._saved_checkpoint = state
        except OSError as error:
            env.note("checkpoint_not_saved", error=str(error))
            done(env)


def _rests_on_log(effect: Send | Reply) -> bool:
    """An answer that says: these entries are in my log."""
    answer = effect.answer if isinstance(effect, Reply) else None
    return isinstance(answer, PushResponse) and answer.code == Code.SUCCESS and answer.count > 0


def _read(request: Message, answer: Answer) -> Message | None:
    """``None`` for no answer, and for one that is none."""
    if isinstance(answer, CallFailed) or answer.code != Code.SUCCESS:
        return None
    try:
        return decode(ANSWERS[CODE_OF[type(request)]], answer.body)
    except RemoteWireError:
        return None


def _pull(env: Environment, link: Link, command: Command) -> Command:
    """Declared by DLedger, and not implemented: its broker answers with a NullPointerException."""
    return Command(ResponseCode.SYSTEM_ERROR, remark="PULL is not implemented")


def _nothing(env: Environment) -> None:
    """Nobody waits."""


_CARRY_OUT: Final[dict[type, Callable[..., None]]] = {
    Write: Engine._write,
    Cut: Engine._cut,
    Restart: Engine._restart,
    SaveTerm: Engine._term_changed,
    Send: Engine._message,
    Reply: Engine._message,
    SetTimer: Engine._set_timer,
    CancelTimer: Engine._cancel_timer,
    Accepted: Engine._accept,
    Done: Engine._done,
    RoleChanged: Engine._role_changed,
    Committed: Engine._committed,
    Note: Engine._note,
}
