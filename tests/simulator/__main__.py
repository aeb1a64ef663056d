# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Run random schedules, or one from a file: ``python -m tests.simulator``."""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
from pathlib import Path
from typing import Any

from lanesum._internal.output_file import write_file
from lanesum.errors import LanesumError
from lanesum_lab import targets
from tests.simulator.parts import Parts
from tests.simulator.schedule import Schedule, run
from tests.simulator.shrink import Shrinker
from tests.simulator.soak import Soak, soak

_SHOWN_STEPS = 40


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status: 1 if an invariant was violated."""
    options = _parser().parse_args(arguments)
    try:
        parts = Parts(
            native_server=options.native_server, native_workers=options.native, switch=targets.get(options.switch)
        )
        parts.check()
        if options.replay is not None:
            return _replay(Schedule.from_json(options.replay.read_text()), parts, options.json)
    except (LanesumError, OSError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        return 2
    return _soak(options, parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1000, help="number of schedules (1000)")
    parser.add_argument("--seconds", type=float, help="longest run time")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first schedule; each further one adds one (0)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, help="schedules in parallel (all processors)"
    )
    parser.add_argument("--save", type=Path, help="write the minimal failing schedule there")
    parser.add_argument("--replay", type=Path, help="run the one schedule in this file, and show its last steps")
    parser.add_argument(
        "--certified", action="store_true", help="certified rounds, in which bits of packets and sums flip"
    )
    parser.add_argument("--native", action="store_true", help="use native workers")
    parser.add_argument("--native-server", action="store_true", help="use the native server")
    parser.add_argument(
        "--switch", default="embedded", choices=targets.names(), help="kind of switch whose decisions are simulated"
    )
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    return parser


def _replay(schedule: Schedule, parts: Parts, as_json: bool) -> int:
    steps: collections.deque[str] = collections.deque(maxlen=_SHOWN_STEPS)
    outcome = run(schedule, steps.append, parts)
    violation = outcome.violation
    if as_json:
        found = None if violation is None else {"invariant": violation.invariant.value, "detail": violation.detail}
        print(json.dumps({"violation": found, "virtual_s": outcome.virtual_s, "steps": list(steps)}))
    else:
        print("\n".join(steps))
        print(f"{outcome.virtual_s:12.6f} {violation or 'the end, and every promise was kept'}")
    return 0 if violation is None else 1


def _soak(options: argparse.Namespace, parts: Parts) -> int:
    shown = 0

    def progress(done: Soak) -> None:
        nonlocal shown
        if sys.stderr.isatty() and done.wall_s >= shown + 1:
            shown = int(done.wall_s)
            print(f"\r{done.schedules:,} schedules, {done.per_second:,.0f}/s ", end="", file=sys.stderr, flush=True)

    done = soak(
        schedules=options.schedules,
        seed=options.seed,
        seconds=options.seconds,
        processes=options.processes,
        progress=progress,
        parts=parts,
        certified=options.certified,
    )
    report: dict[str, Any] = {
        "schedules": done.schedules,
        "contributions": done.contributions,
        "wall_s": round(done.wall_s, 3),
        "schedules_per_s": round(done.per_second, 1),
        "million_takes_s": round(1e6 / done.per_second) if done.schedules else None,
        "failed_seed": done.failed,
    }
    if not options.json:
        print(
            f"{done.schedules:,} schedules with {done.contributions:,} contributions in {done.wall_s:.1f} s: "
            f"{done.per_second:,.0f} schedules/s; a million takes {1e6 / max(done.per_second, 1e-9) / 60:,.0f} min"
        )
    if done.failed is not None:
        report |= _failure(done.failed, options, parts)
    if options.json:
        print(json.dumps(report))
    return 0 if done.failed is None else 1


def _failure(seed: int, options: argparse.Namespace, parts: Parts) -> dict[str, Any]:
    """Shrink, print and save the schedule of a failing seed."""
    shrinker = Shrinker(Schedule.draw(seed, certified=options.certified), parts=parts)
    minimal = shrinker.shrink()
    violation = run(minimal, parts=parts).violation
    if options.save is not None:
        options.save.parent.mkdir(parents=True, exist_ok=True)
        write_file(options.save, minimal.to_json(indent=2) + "\n")
    if not options.json:
        print(f"Seed {seed} violates an invariant: {violation}")
        chosen = f" --switch {parts.switch.name}" + " --native" * parts.native_workers
        chosen += " --certified" * options.certified
        chosen += " --native-server" * parts.native_server
        print(f"As it was drawn: python -m tests.simulator{chosen} --schedules 1 --seed {seed}")
        print(f"Made smaller in {shrinker.runs} runs; for --replay:")
        print(minimal.to_json())
    return {"violation": str(violation), "schedule": json.loads(minimal.to_json())}


if __name__ == "__main__":
    sys.exit(main())
