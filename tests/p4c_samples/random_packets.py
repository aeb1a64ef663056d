# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Random packets for any program: they follow its parser, so that most reach its tables."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Length of an Ethernet header: a raw socket sends nothing shorter.
MIN_FRAME_BYTES = 14
_MAX_STATES = 32
_MAX_PAYLOAD_BYTES = 40


class PacketGenerator:
    """Random walks through the parser of a BMv2 JSON."""

    def __init__(self, program: bytes, rng: random.Random) -> None:
        document = json.loads(program)
        self._rng = rng
        self._types = {one["name"]: one["fields"] for one in document["header_types"]}
        self._headers = {one["name"]: one["header_type"] for one in document["headers"]}
        self._stacks = {one["name"]: one["header_type"] for one in document.get("header_stacks", ())}
        parser = document["parsers"][0]
        self._states = {state["name"]: state for state in parser["parse_states"]}
        self._initial = parser["init_state"]
        self.constants = sorted(set(_constants(document)))
        self.matched: deque[int] = deque(maxlen=32)  # values of recent entries, which packets have too

    def value(self, bits: int) -> int:
        """Return a value of a field: an extreme one, one of an entry or the program, or a random one."""
        choice = self._rng.random()
        if choice < 0.3 and self.matched:
            return self._rng.choice(self.matched) & ((1 << bits) - 1)
        if choice < 0.6:
            return self._rng.choice((0, 1, 2, (1 << bits) - 1, 1 << (bits - 1))) & ((1 << bits) - 1)
        if choice < 0.8 and self.constants:
            return self._rng.choice(self.constants) & ((1 << bits) - 1)
        return self._rng.getrandbits(bits)

    def frame(self) -> bytes:
        """Return the next frame; some end within a header."""
        walk = _Walk(self._rng)
        name = self._initial
        for _ in range(_MAX_STATES):
            state = self._states.get(name)
            if state is None:
                break
            for operation in state["parser_ops"]:
                self._extract(walk, operation)
            name = self._follow(walk, state)
        data = walk.packed() + self._rng.randbytes(self._rng.randrange(_MAX_PAYLOAD_BYTES))
        if self._rng.random() < 0.1:
            data = data[: self._rng.randrange(len(data) + 1)]
        return data.ljust(MIN_FRAME_BYTES, b"\0")

    def _extract(self, walk: _Walk, operation: Mapping[str, Any]) -> None:
        if not operation["op"].startswith("extract"):
            return
        parameter = operation["parameters"][0]
        names = {"regular": self._headers, "stack": self._stacks}.get(parameter["type"], {})
        for name, bits, *_ in self._types.get(names.get(str(parameter["value"]), ""), ()):
            if bits == "*":
                walk.append([self._rng.getrandbits(1) for _ in range(8 * self._rng.randrange(8))])
            else:
                walk.places[parameter["value"], name] = (len(walk.bits), bits)
                walk.append(_bits(self.value(bits), bits))

    def _follow(self, walk: _Walk, state: Mapping[str, Any]) -> str:
        """Choose a transition and write its value into the fields of the key; return the next state."""
        transition = self._rng.choice(state["transitions"])
        if transition.get("type", "hexstr") == "hexstr" and transition.get("value", "default") != "default":
            places = [walk.place(key) for key in state["transition_key"]]
            if (-1, 0) in places:
                return str(transition["next_state"])
            widths = [(bits + 7) // 8 for _, bits in places]
            value = int(transition["value"], 16).to_bytes(sum(widths), "big")
            for (offset, bits), width in zip(places, widths, strict=True):
                walk.write(offset, _bits(int.from_bytes(value[:width], "big") & ((1 << bits) - 1), bits))
                value = value[width:]
        return str(transition["next_state"])


class _Walk:
    """Bits of a frame, the places of its fields, and bits that lookahead has written ahead."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.bits: list[int] = []
        self.places: dict[tuple[str, str], tuple[int, int]] = {}
        self._ahead: dict[int, int] = {}

    def append(self, bits: Sequence[int]) -> None:
        start = len(self.bits)
        self.bits += [self._ahead.get(start + index, bit) for index, bit in enumerate(bits)]

    def place(self, key: Mapping[str, Any]) -> tuple[int, int]:
        """Return offset and width of a part of a key; offset -1 for a field that is not of the packet."""
        if key["type"] == "lookahead":
            return len(self.bits) + key["value"][0], key["value"][1]
        return self.places.get(tuple(key["value"][:2]), (-1, 0))

    def write(self, offset: int, bits: Sequence[int]) -> None:
        for index, bit in enumerate(bits, offset):
            if index < len(self.bits):
                self.bits[index] = bit
            else:
                self._ahead[index] = bit

    def packed(self) -> bytes:
        """Return the bits as bytes, with those that were looked at but not extracted."""
        last = max(self._ahead, default=0)
        bits = self.bits + [self._ahead.get(index, 0) for index in range(len(self.bits), last + 1)]
        bits += [0] * (-len(bits) % 8)
        return int("1" + "".join(map(str, bits)), 2).to_bytes(len(bits) // 8 + 1, "big")[1:]


def _bits(value: int, width: int) -> list[int]:
    return [value >> shift & 1 for shift in reversed(range(width))]


def _constants(node: Any) -> Iterator[int]:
    """Yield the constants of a program, wherever they stand."""
    if isinstance(node, dict):
        if node.get("type") == "hexstr" and isinstance(node.get("value"), str):
            yield abs(int(node["value"], 16))
        for child in node.values():
            yield from _constants(child)
    elif isinstance(node, list):
        for child in node:
            yield from _constants(child)
