# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Mutation of program files: hostile variants of valid BMv2 JSON.

Run ``python -m tests.softswitch.bmv2.mutants --seconds 60`` to load mutants for a time (``make fuzz-programs``).
"""

from __future__ import annotations

import copy
import json
import logging
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lanesum_switch.api import InvalidArgumentError, UnsupportedProgramError
from lanesum_switch.bmv2.loader import load_program
from lanesum_switch.dataplane import EmbeddedSwitch
from tests.fuzz.running import Budget, options, report
from tests.softswitch.conftest import PROGRAMS

BUILD = Path(__file__).parents[3] / "p4src" / "build"
Place = tuple[Any, Any]  # an object or array, and the key of one of its items


def payloads(marker: Path) -> list[str]:
    """Return strings that create a file where they become code: at load, or when a packet runs the code."""
    touch = f"open({str(marker)!r}, 'w')"
    return [
        f"0\n{touch}\ndef run(port, frame, out, effects, origin):\n frame_length = 0",
        touch,
        f"0, {touch}",
        f"'+{touch}+'",
        f'"+{touch}+"',
        f"0); {touch}; (0",
        f"__import__('pathlib').Path({str(marker)!r}).touch()",
    ]


def with_item(name: str, path: list[Any], value: Any) -> bytes:
    """Return a committed test program with one item replaced."""
    program = json.loads((PROGRAMS / f"{name}.json").read_text())
    place = program
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(program).encode()


def places(root: Any, pattern: str = "") -> Iterator[tuple[str, Place]]:
    """Yield all items of a JSON value with their pattern: the path without positions."""
    items = root.items() if isinstance(root, dict) else enumerate(root)
    for key, value in items:
        step = f"{pattern}.{key}" if isinstance(root, dict) else f"{pattern}[]"
        yield step, (root, key)
        if isinstance(value, dict | list):
            yield from places(value, step)


class Mutator:
    """Source of mutants of one program."""

    def __init__(self, text: bytes, rng: random.Random, texts: list[str]) -> None:
        self.rng = rng
        self.texts = texts
        self.root = json.loads(text)
        self.places: list[Place] = []
        by_pattern: dict[str, list[int]] = {}
        for number, (pattern, place) in enumerate(places(self.root)):
            self.places.append(place)
            by_pattern.setdefault(pattern, []).append(number)
        self.patterns = list(by_pattern.values())

    def mutant(self) -> bytes:
        """Return the program with one to three items replaced, removed or repeated."""
        before: list[tuple[Any, Any]] = []
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            holder, key = self._place()
            before.append((holder, copy.copy(holder)))
            self._change(holder, key)
        mutant = json.dumps(self.root).encode()
        for holder, items in reversed(before):
            holder.clear()
            if isinstance(holder, dict):
                holder.update(items)
            else:
                holder.extend(items)
        return mutant

    def _place(self) -> Place:
        return self.places[self.rng.choice(self.rng.choice(self.patterns))]

    def _change(self, holder: Any, key: Any) -> None:
        choice = self.rng.random()
        try:
            old = holder[key]
        except LookupError:  # an earlier change removed it
            return
        if choice < 0.1:
            del holder[key]
        elif choice < 0.2:
            other, other_key = self._place()
            try:
                holder[key] = copy.deepcopy(other[other_key])
            except (KeyError, IndexError):
                return
        elif choice < 0.25 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(old))
        else:
            holder[key] = self.rng.choice(self._values(old))

    def _values(self, old: Any) -> list[Any]:
        rng = self.rng
        values: list[Any] = [*self.texts, *self.texts, -1, 0, 1, 2, 255, 1 << 20, 1 << 31, 600_000_000, 1 << 70]
        values += [
            -(1 << 40),
            1.5,
            1e300,
            None,
            True,
            False,
            [],
            {},
            [0],
            "",
            "0x",
            "-0x1",
            "0x" + "f" * 5000,
            "nowhere",
        ]
        values += ["a\u00b2", "\ud800", "x" * 10_000, [[[[]]]], {"type": "hexstr", "value": "0x1"}]
        if type(old) is int:
            values += [old + 1, old - 1, -old, str(old), old * 1000] * 3
        if isinstance(old, str):
            values += [old + "'", old[::-1], old.upper(), "$valid$", f"0x{rng.getrandbits(70):x}"] * 3
        return values


def load(text: bytes, run: bool = True) -> str:
    """Load a mutant, send packets through it and return the outcome; any other error than the typed ones propagates."""
    try:
        if not run:
            load_program(text)
            return "loaded"
        switch = EmbeddedSwitch()
        switch.load(text)
    except InvalidArgumentError:
        return "invalid"
    except UnsupportedProgramError as error:
        return "not compiled" if error.what.startswith("The program cannot be compiled") else "unsupported"
    for frame in (b"", bytes(14), bytes(range(200))):
        switch.process(1, frame)
    return "loaded"


def fuzz(names: list[str], budget: Budget, seed: int) -> Counter[str]:
    """Load mutants of programs; raise AssertionError if a payload was executed."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        marker = Path(folder) / "executed"
        for number in budget:
            rng = random.Random(seed + number // 50)
            if number % 50 == 0:
                path = Path(names[number // 50 % len(names)])
                mutator = Mutator(path.read_bytes(), rng, payloads(marker))
            mutant = mutator.mutant()
            try:
                outcomes[load(mutant, run=path.stat().st_size < 1 << 18 or number % 10 == 0)] += 1
            except Exception:
                target = Path(tempfile.gettempdir()) / "lanesum-hostile-program.json"
                target.write_bytes(mutant)
                print(f"An untyped error: the mutant of {path.name} is in {target}.", file=sys.stderr)
                raise
            assert not marker.exists(), f"A mutant of {path.name} was executed."
    return outcomes


def main() -> int:
    """Load mutants under a memory limit and print how many had which outcome."""
    parser = options(__doc__)
    parser.add_argument("programs", nargs="*", help="program files; default: all committed ones")
    args = parser.parse_args()
    logging.disable()
    names = args.programs or [str(p) for p in (*sorted(PROGRAMS.glob("*.json")), BUILD / "bmv2-w32.json")]
    budget = Budget(args.count, args.seconds)
    outcomes = fuzz(names, budget, args.seed)
    return report(outcomes, budget)


if __name__ == "__main__":
    sys.exit(main())
