# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Attackers beside an honest job: its packets stay the same (INV-5), and counters name each refusal (INV-4).

All packets that the honest workers receive are compared, byte by byte, with a run without attackers. Only job and tag
differ, because a tag serves one session.
"""

from __future__ import annotations

import collections
import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmv2_tests.in_process import ReferenceTarget
from bmv2_tests.star import NON_MEMBER, Job, Star, worker_host
from lanesum.protocol import LaneOp
from lanesum.protocol.spec import DEFAULT_ACCUMULATOR_WORDS, UDP_PORT
from lanesum.server import ServerJob
from lanesum.server.slot_table import ServerDecision
from lanesum_fabric.program.switch_job import NO_ROLE, Role
from tests.attack import kinds as attack
from tests.attack.attacker import Attacker
from tests.attack.kinds import ANY_PORT, ATTACKS, BUSY, FORMER_MEMBER, MEMBER_OF_ANOTHER_JOB

from .world import OneSwitch, Round, World, host_of, random_rounds, tickets_of

VICTIMS, OTHERS, FORMER = (0, 1, 2), (3, 4), 5
SLOTS = 4
FUZZ = tuple(kind for kind in ANY_PORT if ATTACKS[kind].counts is None)
# Of honest frames that went where they should.
_ROUTINE = ("aggregate", "accept", "route", "route_past")
Counts = collections.Counter[str]


@dataclass
class Scene:
    """The victim's job, one of others next to it, and what is left of the victim's last incarnation."""

    star: Star
    victim: Job
    others: Job
    former: Job
    quorum: int

    @classmethod
    def at(cls, star: Star, *, quorum: int = 0, shared: bool = False) -> Scene:
        star.clean_up()
        role = Role.SHARED if shared else NO_ROLE
        if quorum:
            role |= Role.ASCEND | Role.QUORUM
        # All workers send from the server's port number: switches parse answers to such workers too.
        former = star.admit([*VICTIMS, FORMER], slot_count=SLOTS, udp_port=UDP_PORT, role=role, threshold=quorum)
        star.remove(former)
        victim = star.admit(
            VICTIMS, slot_count=SLOTS, job=former.switch_job.job, udp_port=UDP_PORT, role=role, threshold=quorum
        )
        base, count = (0, SLOTS) if shared else (SLOTS, 2)
        others = star.admit(
            OTHERS, slot_base=base, slot_count=count, ops=(LaneOp.ADD32,), udp_port=UDP_PORT,
            role=Role.SHARED if shared else NO_ROLE,
        )  # fmt: skip
        return cls(star, victim, others, former, quorum)

    def world(self, **options: float) -> World:
        tickets = tickets_of(self.victim, quorum=self.quorum)
        jobs = [
            ServerJob.from_tickets(list(tickets), on_switches=bool(self.quorum)),
            ServerJob.from_tickets(list(tickets_of(self.others))),
        ]
        return World(OneSwitch(self.star), tickets, [worker_host(worker) for worker in VICTIMS], jobs, **options)  # type: ignore[arg-type]

    @property
    def sums_everything(self) -> bool:
        """Return True if the switch sums all operations and the job has packets of the default size."""
        usual = self.victim.accumulator_words == DEFAULT_ACCUMULATOR_WORDS
        return usual and set(self.victim.switch_job.ops) == set(LaneOp)

    def rounds(self, number: int) -> list[Round]:
        return random_rounds(tickets_of(self.victim), number, 7, self.victim.switch_job.ops)

    def positions(self, world: World) -> dict[str, tuple[int, Attacker, tuple[str, ...]]]:
        """Return port, attacker and possible kinds of attack, by the role of the attacker."""
        traffic = world.traffic
        other, former = worker_host(OTHERS[0]), worker_host(FORMER)
        return {
            "no member": (NON_MEMBER.port, Attacker(traffic, host_of(NON_MEMBER)), ANY_PORT),
            "another job": (
                other.port, Attacker(traffic, host_of(other), tickets_of(self.others)[0]), MEMBER_OF_ANOTHER_JOB
            ),
            "former member": (
                former.port, Attacker(traffic, host_of(former), tickets_of(self.former)[-1]), FORMER_MEMBER
            ),
        }  # fmt: skip

    def registers(self, slots: range | None = None) -> list[object]:
        """All entries of the twin, or those of some slots."""
        entries = self.star.twin._slots._entries
        return [
            (key, entry.owner, entry.workers, entry.count, entry.done, entry.ecn, entry.collision, entry.touched,
             entry.words.tobytes())
            for key, entry in sorted(entries.items())
            if (slots is None or key[0] in slots) and entry.owner is not None
        ]  # fmt: skip


class Intruder:
    """Sends attack frames between the honest ones, and checks that they change no register.

    Args:
        kinds: kinds of attack; None for all that the attacker's position permits.
        max_frames: number of frames at most.
        burst: number of frames at a time, at most.
    """

    def __init__(
        self, scene: Scene, *, max_frames: int, burst: int, seed: int = 1, kinds: Sequence[str] | None = None
    ) -> None:
        self.sent: list[str] = []
        self._scene = scene
        self._rng = random.Random(seed)
        self._max_frames, self._burst = max_frames, burst
        self._kinds = kinds

    def __call__(self, world: World) -> None:
        positions = list(self._scene.positions(world).values())
        for _ in range(min(self._rng.randrange(2 * self._burst), self._max_frames - len(self.sent))):
            port, attacker, kinds = self._rng.choice(positions)
            kind = self._rng.choice(self._kinds or [kind for kind in kinds if kind not in FUZZ])
            self.strike(world, port, attacker, kind, self._rng.randrange(1 << 30))

    def strike(self, world: World, port: int, attacker: Attacker, kind: str, seed: int) -> None:
        before = self._scene.registers()
        frame = attack.frame(attacker, kind, seed)
        world.attack(port, frame)
        assert self._scene.registers() == before, f"{kind} got through from port {port}: {frame.hex()}"
        self.sent.append(kind)

    @property
    def refusals(self) -> Counts:
        """Return the counts that the switch must have."""
        return collections.Counter(name for kind in self.sent for name in ATTACKS[kind].counts or ())

    @property
    def refusals_at_server(self) -> Counts:
        return collections.Counter(ATTACKS[kind].at_server for kind in self.sent if ATTACKS[kind].at_server)


@dataclass
class Outcome:
    """Observations of a run that are compared with another run."""

    received: list[list[bytes]]
    counts: Counts
    at_server: dict[ServerDecision, int]


def outcome(world: World, star: Star, before: dict[str, int] | None) -> Outcome:
    """Datagrams without job and tag; counts of the switch since ``before``, none where that is None."""
    received = [[one[:2] + one[8:] for one in worker.received] for worker in world.workers]
    counts = collections.Counter({} if before is None else star.decisions())
    counts.subtract(before)
    return Outcome(received, +counts, dict(world.aggregator.decisions))


def under_attack(star: Star) -> dict[str, int] | None:
    """Return the counts of the switch; None with several passes.

    A program of several passes finds a truncated packet late, and counts its other defects before.
    """
    return star.decisions() if star.target.control.capabilities.one_pass else None


def calm_run(star: Star, rounds: int, quorum: int = 0, **options: float) -> Outcome:
    scene = Scene.at(star, quorum=quorum)
    before, world = star.decisions(), scene.world(**options)
    world.run(scene.rounds(rounds))
    world.check(scene.rounds(rounds))
    return outcome(world, star, before)


def how_much(star: Star) -> tuple[int, int]:
    """Return the number of rounds, and of frames at a time."""
    return (16, 12) if star.target.num_schedules > 10 else (6, 4)


@pytest.mark.long
@pytest.mark.parametrize("quorum", [0, 2])
def test_attacked_job_receives_the_same_packets(star: Star, quorum: int) -> None:
    """Attacks with known refusals, from all positions, increment exactly their counters."""
    number, burst = how_much(star)
    calm = calm_run(star, number, quorum)
    scene = Scene.at(star, quorum=quorum)
    before, world = under_attack(star), scene.world()
    intruder = Intruder(scene, max_frames=10_000, burst=burst)
    world.run(scene.rounds(number), intruder)
    world.check(scene.rounds(number))
    attacked = outcome(world, star, before)

    assert len(intruder.sent) > burst * number
    assert attacked.received == calm.received
    if scene.sums_everything:
        assert attacked.counts - calm.counts == intruder.refusals
        assert not calm.counts - attacked.counts
    assert attacked.at_server == calm.at_server
    assert world.aggregator.refused == intruder.refusals_at_server
    if star.target.num_schedules > 10:
        assert set(intruder.sent) == {*ANY_PORT, *MEMBER_OF_ANOTHER_JOB, *FORMER_MEMBER} - {*FUZZ}


@pytest.mark.long
@pytest.mark.parametrize("quorum", [0, 2])
def test_attacked_job_with_loss_receives_the_same_packets(star: Star, quorum: int) -> None:
    """Cover retransmissions, pending answers, replays and bypasses; both runs lose the same packets."""
    number, burst = how_much(star)
    if star.target.clock is None:
        pytest.skip("a switch in real time")
    calm = calm_run(star, number, quorum, loss=0.15, seed=3)
    scene = Scene.at(star, quorum=quorum)
    before, world = under_attack(star), scene.world(loss=0.15, seed=3)
    intruder = Intruder(scene, max_frames=10_000, burst=max(1, burst // 3), seed=2)
    world.run(scene.rounds(number), intruder)
    world.check(scene.rounds(number))
    attacked = outcome(world, star, before)
    assert attacked.received == calm.received
    if scene.sums_everything:
        assert attacked.counts - calm.counts == intruder.refusals
    assert attacked.at_server == calm.at_server
    assert sum(worker.rounds.stats.retransmissions for worker in world.workers) > number


@pytest.mark.long
@pytest.mark.offered("one_pass")
def test_fuzz_of_frames_changes_no_register(star: Star) -> None:
    """A random frame increments some counter, but none of the honest job."""
    number, burst = how_much(star)
    calm = calm_run(star, number)
    scene = Scene.at(star)
    before, world = star.decisions(), scene.world()
    intruder = Intruder(scene, max_frames=10_000, burst=burst, seed=4, kinds=FUZZ)
    world.run(scene.rounds(number), intruder)
    world.check(scene.rounds(number))
    attacked = outcome(world, star, before)
    more = attacked.counts - calm.counts
    classified = (
        "aggregate", "route", "route_past", "route_other_size", "descend_or_route", "answer_arp", "drop_malformed",
        "drop_corrupt", "drop_tagged", "drop_misdirected", "drop_unknown",
    )  # fmt: skip
    assert attacked.received == calm.received
    assert sum(more[name] for name in classified) == len(intruder.sent) > burst * number
    assert more["accept"] == 0
    assert attacked.at_server == calm.at_server
    assert sum(world.aggregator.refused.values()) == world.attack_at_server


@pytest.mark.long
def test_busy_other_job_keeps_to_its_slots(star: Star) -> None:
    """A member of another job claims its own slots with every packet."""
    number, burst = how_much(star)
    calm = calm_run(star, number)
    scene = Scene.at(star)
    world = scene.world()
    rng = random.Random(5)
    busy = 0

    def intrude(world: World) -> None:
        nonlocal busy
        port, attacker, _ = scene.positions(world)["another job"]
        for _ in range(burst):
            before = scene.registers(range(SLOTS))
            world.attack(port, attack.frame(attacker, BUSY, rng.randrange(1 << 30)))
            assert scene.registers(range(SLOTS)) == before
            busy += 1

    before = star.decisions()
    world.run(scene.rounds(number), intrude)
    world.check(scene.rounds(number))
    attacked = outcome(world, star, before)
    assert attacked.received == calm.received
    assert (attacked.counts - calm.counts)["accept"] == busy
    assert {slot for (slot, _), *_ in scene.registers() if slot >= SLOTS} <= set(range(SLOTS, SLOTS + 2))


@pytest.mark.long
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_shared_pool_under_attack_costs_time_only(star: Star, loss: float) -> None:
    """The honest job may fall back to the server, but its sums are exact and its entries stay within the lease."""
    if star.target.clock is None:
        pytest.skip("a switch in real time")
    number, burst = 5, 6
    scene = Scene.at(star, shared=True)
    world = scene.world(loss=loss, seed=6)
    rng = random.Random(6)
    victim = scene.victim.switch_job
    star.target.clock.advance(victim.lease + 1)  # leases of earlier tests have expired
    before = star.decisions()

    def open_entries() -> dict[object, bytes]:
        now = star.target.clock.microseconds() >> 10
        return {
            key: entry.words.tobytes()
            for key, entry in star.twin._slots._entries.items()
            if entry.owner is not None and (entry.owner.job, entry.owner.tag) == (victim.job, victim.tag)
            and not entry.done and now - entry.touched <= victim.lease
        }  # fmt: skip

    def intrude(world: World) -> None:
        port, attacker, _ = scene.positions(world)["another job"]
        for _ in range(rng.randrange(2 * burst)):
            begun = open_entries()
            world.attack(port, attack.frame(attacker, BUSY, rng.randrange(1 << 30)))
            assert open_entries() == begun

    world.run(scene.rounds(number), intrude)
    world.check(scene.rounds(number))
    counts = outcome(world, star, before).counts
    assert counts["collide"] > number
    assert counts["claim"] > number


def test_superseded_session_of_a_member_is_refused(star: Star) -> None:
    """The host is still a member at the right port, but sends the tag of the last incarnation."""
    scene = Scene.at(star)
    world = scene.world()
    rounds = scene.rounds(4)
    host = worker_host(VICTIMS[1])
    attacker = Attacker(world.traffic, host_of(host), tickets_of(scene.former)[1])
    kinds = ("old_tag", "old_tag_past", "old_tag_aggregate")
    rng = random.Random(8)
    intruder = Intruder(scene, max_frames=1000, burst=2)
    before = star.decisions()

    def intrude(world: World) -> None:
        intruder.strike(world, host.port, attacker, rng.choice(kinds), len(intruder.sent))

    world.run(rounds, intrude)
    world.check(rounds)
    counts = outcome(world, star, before).counts
    refused = counts["not_a_member"] + counts["drop_forged"] + counts["route_past"]
    sent = collections.Counter(intruder.sent)
    assert set(sent) == set(kinds)
    assert (counts["not_a_member"], counts["drop_forged"]) == (sent["old_tag"], sent["old_tag_aggregate"])
    assert refused == len(intruder.sent)
    # Its address belongs to a member, so the server names the tag as the reason.
    assert world.aggregator.refused == {"wrong tag": sent["old_tag"] + sent["old_tag_past"]}


STRIKES = st.lists(
    st.tuples(
        st.integers(0, 60),  # before which honest frame
        st.sampled_from(["no member", "another job", "former member"]),
        st.sampled_from([*ATTACKS]),
        st.integers(0, 1 << 20),
    ),
    max_size=60,
)


@pytest.mark.long
@settings(deadline=None, max_examples=25)
@given(strikes=STRIKES, seed=st.integers(0, 5), quorum=st.sampled_from([0, 2]))
def test_random_schedule_of_attacks_changes_no_packet(
    strikes: list[tuple[int, str, str, int]], seed: int, quorum: int
) -> None:
    """Run on the reference switch, so that a failing schedule is shrunk to its shortest form."""
    star = Star(ReferenceTarget(DEFAULT_ACCUMULATOR_WORDS))
    calm = calm_run(star, 2, quorum, loss=0.05, seed=seed)
    scene = Scene.at(star, quorum=quorum)
    world = scene.world(loss=0.05, seed=seed)
    intruder = Intruder(scene, max_frames=0, burst=1)
    at = 0

    def intrude(world: World) -> None:
        nonlocal at
        for when, who, kind, value in strikes:
            port, attacker, kinds = scene.positions(world)[who]
            if when == at and kind in kinds:
                intruder.strike(world, port, attacker, kind, value)
        at += 1

    before = star.decisions()
    world.run(scene.rounds(2), intrude)
    world.check(scene.rounds(2))
    assert outcome(world, star, before).received == calm.received
