"""The coordinator: takes what contributors and verifiers post, decides, trains, gates, releases, and keeps the log.

Everything it does is in the log, and what it may log is decided by `verification.state`; so it is one process that may be
killed at any moment and started again.
"""

from collections.abc import Callable
from typing import Any

import trio

from node.coordinator.adjudicator import Adjudicator
from node.coordinator.backlog import Backlog
from node.coordinator.examiner import Examiner
from node.coordinator.filler import Filler
from node.coordinator.gatekeeper import Gatekeeper
from node.coordinator.intake import Intake
from node.coordinator.log_writer import LogWriter
from node.coordinator.notary import Notary
from node.coordinator.overseer import Overseer
from node.coordinator.prosecutor import Prosecutor
from node.coordinator.repeater import Repeater
from node.coordinator.scrutineer import Scrutineer
from node.coordinator.statistician import Statistician
from node.coordinator.training_cycle import TrainingCycle
from node.engine.engine import Engine
from node.gate_player import GatePlayer
from node.member import Member
from node.outbox import Outbox
from node.own_status import status_of
from node.peering.call import serve_calls
from node.peering.post import COSIGN_PROTOCOL, POST_PROTOCOL
from node.role_status import Coordinating, ReleaseState
from node.standing import contributors_of
from node.status import Status
from node.training.errors import TrainingFailed
from node.training.trainer_process import Train
from protocol.ed25519 import SecretKey
from protocol.receipt import Tick
from verification.cycles import WindowInfo

CHECKPOINT_EVERY_S = 1.0
TRAIN_AGAIN_S = 60


class Coordinator:
    """The one coordinating node of a run."""

    DRAINING = "Draining: nothing new is begun; posts are still taken and heads signed until this node is stopped."

    def __init__(
        self,
        member: Member,
        secret: SecretKey,
        log: LogWriter,
        engine: Engine,
        announce: Callable[[bytes], None],
        train: Train,
        device: str,
    ) -> None:
        self._member = member
        self._secret = secret
        self._log = log
        self._announce = announce
        log.on_cosigned = announce
        self.intake = Intake(member, secret, log, engine)
        self.prosecutor = Prosecutor(member, secret, log, engine)
        self.intake.on_proof = self.prosecutor.take
        self._adjudicator = Adjudicator(member, secret, log, self.prosecutor.may_reject)
        self._cycle = TrainingCycle(member, secret, log, train, device)
        self._gatekeeper = Gatekeeper(member, secret, log)
        self._notary = Notary(member, secret, log)
        self._filler = Filler(member, secret, log)
        self._overseer = Overseer(member, secret, log)
        self._outbox = Outbox(member)
        self._player = GatePlayer(member, secret, engine, self._outbox)
        self._examiner = Examiner(member, secret, log, engine, self._outbox, self._player)
        self.prosecutor.is_ringer = self._examiner.is_ringer
        scrutineer = Scrutineer(member, secret, log)
        self._repeater = Repeater(member, engine, self.prosecutor, scrutineer)
        self._statistician = Statistician(member, engine, scrutineer)
        self._backlog = Backlog(member, log)
        self._working = trio.CancelScope()
        self.doing = "starting"

    def quiesce(self) -> None:
        """Begin nothing new: stop training and the own player, but keep taking posts, deciding and signing heads."""
        self._working.cancel()

    async def run(self) -> None:
        """Coordinates until cancelled."""
        serve_calls(self._member.transport, POST_PROTOCOL, self.intake.call)
        serve_calls(self._member.transport, COSIGN_PROTOCOL, self.intake.cosigning)
        async with trio.open_nursery() as nursery:
            keep = self._member.services.keep
            nursery.start_soon(keep, "pulse", self._pulse)
            nursery.start_soon(keep, "outbox", self._outbox.run)
            nursery.start_soon(keep, "prosecutor", self.prosecutor.run)
            with self._working:
                async with trio.open_nursery() as work:
                    work.start_soon(keep, "learning", self._learn)
                    work.start_soon(keep, "gate-player", self._player.run)
                    work.start_soon(keep, "examiner", self._examiner.run)
                    work.start_soon(keep, "repeater", self._repeater.run)
                    work.start_soon(keep, "statistician", self._statistician.run)
            await trio.sleep_forever()

    async def _pulse(self) -> None:
        """Once a second: decisions, slots, fills, orders, a tick if nothing else came, a signed head, which is announced."""
        while True:
            self._backlog.note()
            self._examiner.step(is_draining=self._working.cancel_called)
            if self._adjudicator.decide():
                self._member.wake()
            self.intake.door.step()
            self._filler.step()
            if not self._working.cancel_called:
                self._overseer.step()
            if self._log.idle_s >= self._member.state.manifest.admission.tick_s:
                self._log.append(self._tick().seal(self._secret))
            if self._log.sign_head():
                self._announce(self._log.newest_note)
            await trio.sleep(CHECKPOINT_EVERY_S)

    def _tick(self) -> Tick:
        return Tick(self._member.state.run, self._member.state.size, int(self._member.clock()))

    async def _learn(self) -> None:
        """Trains and gates, cycle after cycle, from wherever the log says that the run is."""
        state = self._member.state
        while True:
            self._notary.step()
            if state.gates.open is not None:
                self.doing = "gating"
                await self._gatekeeper.decide()
            elif (release := state.due_release(self._member.build)) is not None:
                self._gatekeeper.release(release)
            elif (committed := state.untrained_window) is not None:
                self.doing = "training"
                await self._train(committed)
            elif (due := state.due_window()) is not None:
                self._cycle.commit(due.record)
            else:
                self.doing = f"waiting for {state.cycles.rows_missing()} more plies"
                if state.given_up and state.given_up[-1].record.window == state.windows[-1].index:
                    given_up = state.given_up[-1].record
                    self.doing += f"; cycle {given_up.cycle} was given up ({given_up.reason})"
                if not state.verifiers():
                    self.doing += "; no verifier is approved"
                await self._member.change_within(1.0)

    async def _train(self, window: WindowInfo) -> None:
        try:
            await self._cycle.train(window)
        except TrainingFailed as failure:
            if self._cycle.give_up(window, failure):
                return
            self._member.events("training-failed", f"{failure} Next try in {TRAIN_AGAIN_S} s.")
            await trio.sleep(TRAIN_AGAIN_S)

    def status(self) -> Status:
        """What `gonode status` says of a coordinator."""
        state = self._member.state
        queues = [
            *self._backlog.queues,
            self.intake.door.queue,
            self.prosecutor.queue,
            self._filler.queue,
            self._repeater.queue,
        ]
        gate = state.gates.open
        work = Coordinating(
            doing="draining" if self._working.cancel_called else self.doing,
            training=self._cycle.progress,
            faults=(*(fault.reason for fault in state.faults), *self.prosecutor.faults, *self._overseer.faults),
            releases=tuple(ReleaseState(info.name, info.number, info.steps) for info in state.releases.all[1:]),
            gate=None if gate is None else gate.decision.pairs,
            gate_played=None if gate is None else gate.played_pairs,
        )
        witnesses = {peer: key for key, peer in self.intake.witnesses.items()}
        return status_of(self._member, self._secret.public, self._outbox, queues, work, witnesses)

    def contributors(self) -> dict[str, Any]:
        """What `gonode status --contributors` says, with those who wait for a probation slot and what statistics say."""
        answer = contributors_of(self._member.state, self.intake.door.registrations)
        for row in answer["contributors"]:
            row["review"] = self._statistician.report(bytes.fromhex(row["key"]))
        return answer
