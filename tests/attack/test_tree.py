# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Attackers in the racks of a tree of switches, and next to its server; the controller has placed the jobs.

::

    w1 w2   honest --[ s1 ]--[    ]-- server
    w5 w6   honest --[ s2 ]--[ s0 ]-- controller   attacks
    w9   other job --[ s3 ]--[    ]
    w3 former, w4, w8, w13   attack from the racks of the honest job and from one without it
"""

from __future__ import annotations

import collections
import itertools
import random
from collections.abc import Callable, Iterator

import pytest

from bmv2_tests.target import Clock
from lanesum.protocol import Header, LaneOp
from lanesum.server import ServerJob
from lanesum.transport import JobTicket
from lanesum_control.controller.controller import AdmittedJob, Controller, JobRequest
from lanesum_control.planner.network import Network
from lanesum_control.servers.controlled_server import NoServer
from lanesum_control.switches.managed import ManagedSwitch
from lanesum_fabric.program.switch_job import HostPort
from lanesum_fabric.topology import load
from tests.attack import kinds as attack
from tests.attack.attacker import Attacker
from tests.attack.kinds import ANY_PORT, FORMER_MEMBER, MEMBER_OF_ANOTHER_JOB
from tests.reference.switch import PortFrame, ReferenceSwitch

from .world import Round, World, host_of, random_rounds

HONEST = ("w1", "w2", "w5", "w6")
NON_MEMBERS = ("w4", "w8", "w13", "controller")
FORMER, OTHER = "w3", "w9"
SLOTS = 4
ROUNDS = 6


class Tree:
    """Reference switches and the links between them. A host's port is its index in the topology file."""

    def __init__(self) -> None:
        self.topology = load("tree4x4")
        self.clock = Clock()
        self.switches = {name: ReferenceSwitch(clock=self.clock.microseconds) for name in self.topology.switches()}
        network = Network.of(self.topology, loopback=False)
        self.controller = Controller(
            network, NoServer(), {name: ManagedSwitch(switch) for name, switch in self.switches.items()}
        )
        self._cables: dict[tuple[str, int], tuple[str, int]] = {}
        for one, port, other, other_port in self.topology.links_between_switches():
            self._cables[one, port] = other, other_port
            self._cables[other, other_port] = one, port
        self.hosts: dict[str, HostPort] = {}
        self._entrances: list[tuple[str, int]] = []
        for name in network.at:
            seen = network.host(name)
            self.hosts[name] = HostPort(len(self._entrances), seen.ip, seen.mac)
            self._entrances.append((network.at[name], seen.port))

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        arriving = collections.deque([(*self._entrances[port], frame)])
        leaving: list[PortFrame] = []
        while arriving:
            switch, in_port, data = arriving.popleft()
            for out_port, out in self.switches[switch].process(in_port, data):
                if (switch, out_port) in self._cables:
                    arriving.append((*self._cables[switch, out_port], out))
                else:
                    leaving.append((self._entrances.index((switch, out_port)), out))
        return sorted(leaving)

    def registers(self) -> list[object]:
        return [
            (name, key, entry.owner, entry.workers, entry.count, entry.done, entry.touched, entry.words.tobytes())
            for name, switch in self.switches.items()
            for key, entry in sorted(switch._slots._entries.items())
            if entry.owner is not None
        ]

    def counts(self) -> collections.Counter[str]:
        total: collections.Counter[str] = collections.Counter()
        for switch in self.switches.values():
            total.update(switch.decisions())
        return total


class Scene:
    """The honest job after one of its workers has left, and another job."""

    def __init__(self, quorum: int) -> None:
        self.tree = Tree()
        controller = self.tree.controller
        options = {"slots": SLOTS, "seed": 1}
        self.former = controller.admit(JobRequest("honest", (*HONEST, FORMER), quorum=quorum, **options)).tickets[-1]
        self.honest = controller.leave("honest", FORMER)
        ops = (LaneOp.ADD32,)
        self.other = controller.admit(JobRequest("other", (OTHER, "w10"), codec=None, ops=ops, **options))
        assert {"s0", "s1", "s2"} <= set(self.honest.switch_jobs) or quorum

    def world(self, **options: float) -> World:
        tickets = self.honest.tickets
        hosts = [self.tree.hosts[name] for name in HONEST]
        jobs = [self._served(self.honest), self._served(self.other)]
        return World(self.tree, tickets, hosts, jobs, server=self.tree.hosts["server"], **options)  # type: ignore[arg-type]

    @staticmethod
    def _served(job: AdmittedJob) -> ServerJob:
        return ServerJob.from_tickets(list(job.tickets), on_switches=True)

    def rounds(self, number: int) -> list[Round]:
        return random_rounds(self.honest.tickets, number, 5, (LaneOp.ADD32, LaneOp.EXPAND8, LaneOp.MAX))

    def positions(self, world: World) -> list[tuple[int, Attacker, tuple[str, ...]]]:
        def position(name: str, kinds: tuple[str, ...], ticket: JobTicket | None = None) -> tuple:  # type: ignore[type-arg]
            host = self.tree.hosts[name]
            return host.port, Attacker(world.traffic, host_of(host), ticket), kinds

        return [
            *(position(name, ANY_PORT) for name in NON_MEMBERS),
            position(OTHER, MEMBER_OF_ANOTHER_JOB, self.other.tickets[0]),
            position(FORMER, FORMER_MEMBER, self.former),
        ]


def run(quorum: int, loss: float, rounds: int, intruder: Callable[[Scene], Callable[[World], None]] | None = None):  # type: ignore[no-untyped-def]
    scene = Scene(quorum)
    world = scene.world(loss=loss, seed=4)
    world.run(scene.rounds(rounds), None if intruder is None else intruder(scene))
    world.check(scene.rounds(rounds))
    return (
        scene,
        world,
        [[(one[:2], epochs(one, worker.ticket), one[12:]) for one in worker.received] for worker in world.workers],
    )


def epochs(datagram: bytes, ticket: JobTicket) -> int:
    """Return the number of rounds since the job's first one: every incarnation starts at another epoch."""
    return (Header.unpack(datagram).epoch - ticket.epoch) % (1 << 32)


@pytest.mark.parametrize("quorum", [0, 3])
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_attacked_job_over_racks_receives_the_same_packets(quorum: int, loss: float) -> None:
    """No attack changes a register of any switch, and the workers receive the same packets."""
    sent: list[str] = []

    def intruder(scene: Scene) -> Callable[[World], None]:
        rng = random.Random(9)
        turns: dict[int, Iterator[str]] = {}

        def intrude(world: World) -> None:
            positions = scene.positions(world)
            for _ in range(rng.randrange(8)):
                port, attacker, kinds = rng.choice(positions)
                kind = next(turns.setdefault(port, itertools.cycle(reversed(kinds))))
                seed = rng.randrange(1 << 30)
                frame = attack.frame(attacker, kind, seed)
                before = scene.tree.registers()
                world.attack(port, frame)
                assert scene.tree.registers() == before, f"{kind} got through from port {port}: {frame.hex()}"
                sent.append(kind)

        return intrude

    calm_scene, calm_world, calm = run(quorum, loss, ROUNDS)
    scene, world, received = run(quorum, loss, ROUNDS, intruder)
    assert set(sent) == {*ANY_PORT, *MEMBER_OF_ANOTHER_JOB, *FORMER_MEMBER}, "everything was tried"
    assert received == calm
    assert world.aggregator.decisions == calm_world.aggregator.decisions
    assert sum(world.aggregator.refused.values()) == world.attack_at_server > 0
    more = scene.tree.counts() - calm_scene.tree.counts()
    assert more["accept"] == 0
    for name in ("drop_spoofed", "drop_forged", "not_a_member", "refuse_slot", "refuse_op", "drop_corrupt"):
        assert more[name] > 0, name
