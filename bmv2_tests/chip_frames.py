# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random frames through the chip's model, the executor of the source and the reference: all send the same.

::

                    +-> assembled binary on the model, ModelSwitch -+
    random frames --+-> p4src/tofino as printed, TofinoSwitch      -+-> the same frames
                    +-> the reference model                        -+

``make tofino-model`` runs this for many frames; ``test_chip_model`` for a few.
"""

from __future__ import annotations

import argparse
import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

from lanesum_fabric.program.pipelines import tofino_pipeline
from lanesum_fabric.program.switch_job import HostPort, Role, Station, SwitchJob
from lanesum_switch.tna.switch import TofinoSwitch
from tests.reference.frame import parse
from tests.reference.slots import TofinoSlotTable
from tests.reference.switch import PortFrame

from .chip_model import MODEL_PROFILES, ModelTarget, model_target, obstacle
from .in_process import EmbeddedTarget, embedded_target
from .schedule import Plan, Schedule
from .star import Star
from .test_random_packets import Traffic
from .test_schedules import run_randomly

_FRAMES_OF_JOBS = 60
# Frames that follow each other through the model before it is waited for.
_BATCH = 30


class Trio(Star):
    """The star on the model, with the reference as twin and the executor beside both.

    ``batch``: frames that follow each other through the model before it is waited for. Packets of several passes of
    one frame would meet those of the next, which the reference does not have.
    """

    def __init__(self, target: ModelTarget, executor: EmbeddedTarget, passes: int, batch: int) -> None:
        self.executor = executor
        self.passes = passes
        self.model = target
        self.frames = 0
        self.batch = batch if passes == 1 else 1
        self._sent: list[PortFrame] = []
        self._expected: list[PortFrame] = []
        super().__init__(target)

    def flush(self) -> None:
        """Send the frames of the batch through the model, and compare the frames that leave."""
        sent, expected = self._sent, sorted(self._expected)
        self._sent, self._expected = [], []
        if sent and sorted(self.target.exchange_all(sent)) != expected:
            port, frame = sent[-1]
            behind = f"{len(sent) - 1} others and then " if len(sent) > 1 else ""
            raise AssertionError(
                f"{self.target.name} differs from the reference: frames up to number {self.frames}, "
                f"{behind}on port {port}: {frame.hex()}"
            )

    def set_station(self, station: Station) -> None:
        self.flush()
        super().set_station(station)
        self.executor.control.set_station(station)

    def add_host(self, host: HostPort) -> None:
        self.flush()
        super().add_host(host)
        self.executor.control.add_host(host)

    def admit_job(self, job: SwitchJob) -> None:
        self.flush()
        super().admit_job(job)
        self.executor.control.admit(job)

    def modify_job(self, old: SwitchJob, new: SwitchJob) -> None:
        self.flush()
        super().modify_job(old, new)
        self.executor.control.modify(old, new)

    def remove_job(self, job: SwitchJob) -> None:
        self.flush()
        super().remove_job(job)
        self.executor.control.remove(job)

    def set_congestion(self, port: int, depth: int | None) -> None:
        self.flush()
        super().set_congestion(port, depth)
        self.executor.control.set_congestion(port, depth)

    def all_decisions(self) -> dict[str, int]:
        self.flush()
        return super().all_decisions()

    def exchange(self, port: int, frame: bytes) -> list[PortFrame]:
        """Send one frame into all three, compare the frames that leave, and return them sorted."""
        self.frames += 1
        out = sorted(self.twin.process(port, frame))
        executed = sorted(self.executor.exchange(port, frame))
        assert out == executed, f"the executor differs from the reference on port {port}: {frame.hex()}"
        self._sent.append((port, frame))
        self._expected += out
        if len(self._sent) >= self.batch or any(job.role & Role.SHARED for job in self.jobs):
            self.flush()  # a packet that takes an entry over recirculates: no other one may pass it
        return out


@contextlib.contextmanager
def trio(name: str, batch: int = _BATCH, build: Path | None = None) -> Iterator[Trio]:
    """Start the model of a target and the executor; skip the test, with the reason, where the model cannot run.

    ``build``: folder with another binary and its ``context.json``.
    """
    profile = MODEL_PROFILES[name].name
    with contextlib.ExitStack() as cleanup:
        target = cleanup.enter_context(model_target(name, build))
        pipeline = tofino_pipeline(profile)
        executor = cleanup.enter_context(embedded_target(profile, TofinoSwitch, pipeline, TofinoSlotTable))
        yield Trio(target, executor, MODEL_PROFILES[name].passes, batch)


def compare(star: Trio, seed: int) -> None:
    """Send random frames of a seed, and compare them and the decisions.

    A quarter of the seeds is a job over an unreliable network, the others are unrelated frames of several jobs.
    Profiles of several passes get no damaged frames: the reference detects damage before it sums.
    """
    rng = random.Random(seed)
    for _ in star.scope():
        if seed % 4 == 0:
            rounds = tuple((rng.choice(star.target.ops), rng.randrange(1, 6)) for _ in range(4))
            first = rng.choice((0, 1, (1 << 32) - 2, (1 << 31) - 1))
            schedule = Schedule(star, Plan(rng.randrange(1, 6), rng.randrange(1, 5), rounds, first, seed))
            run_randomly(schedule, rng, loss=0.05, duplication=0.1)
        else:
            traffic = Traffic(star, rng)
            for _ in range(_FRAMES_OF_JOBS):
                port, frame = traffic.packet()
                if star.passes == 1 or not parse(frame, star.accumulator_words).checksum_error:
                    star.exchange(port, frame)
                traffic.disturb()
        star.all_decisions()


def main() -> None:
    """Compare many frames; the first difference ends with an AssertionError that names the frame."""
    models = {profile.name: name for name, profile in MODEL_PROFILES.items()}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", choices=models, default=next(iter(models)))
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument(
        "--batch", type=int, default=_BATCH, help="frames between waits; 1 names the frame that differs"
    )
    arguments = parser.parse_args()
    name = models[arguments.profile]
    reason = obstacle(MODEL_PROFILES[name])
    if reason:
        parser.error(f"{reason}: docs/tofino.md has the requirements.")
    with trio(name, arguments.batch) as star:
        seed = arguments.seed
        while star.frames < arguments.frames:
            compare(star, seed)
            seed += 1
        print(f"{arguments.profile}: {star.frames} frames alike, seeds {arguments.seed} to {seed - 1}")


if __name__ == "__main__":
    main()
