# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Flips in the memory of a switch or a server while it holds sums."""

from __future__ import annotations

import ctypes
import dataclasses
import random
import re
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np

from lanesum.protocol.lanes import LaneOp
from lanesum.protocol.spec import HEADER_BYTES
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.tna.switch import TofinoSwitch
from tests.flips.network import SLOTS, FlipNetwork
from tests.reference.switch import ReferenceSwitch
from tests.simulator.truth import expand
from tests.simulator.wire import flipped, read

_WORDS = "words_"
_ENTRIES = 2 * SLOTS  # both shadow sets; the job has the first slots
_OWNER_BITS = {"op": 8, "job": 16, "tag": 32, "epoch": 32, "chunk": 32, "round_words": 32}
_ENTRY_BITS = {"workers": 32, "count": 8, "touched": 16, "done": 1, "ecn": 1, "collision": 1, "retransmission": 1}


def flip_lanes(network: FlipNetwork, rng: random.Random) -> bool:
    """Flip a bit of an accumulator word that the switch holds; return False if it holds none."""
    device = _device(network)
    if isinstance(device, ReferenceSwitch):
        entries = [entry for entry in device._slots._entries.values() if entry.words.size]
        if entries:
            entry = rng.choice(entries)
            entry.words = entry.words.copy()
            entry.words[rng.randrange(entry.words.size)] ^= np.uint32(1 << rng.randrange(32))
        return bool(entries)
    words = [name for name in device._runtime.registers if _WORDS in name]
    return _flip_cell(device, rng.choice(words), rng)


def flip_registers(network: FlipNetwork, rng: random.Random) -> bool:
    """Flip a bit of the state of a slot beside its sum: owner, contributors, size of the round, time or flags."""
    device = _device(network)
    if isinstance(device, ReferenceSwitch):
        entries = [entry for entry in device._slots._entries.values() if entry.owner is not None]
        if not entries:
            return False
        entry = rng.choice(entries)
        name = rng.choice((*_OWNER_BITS, *_ENTRY_BITS))
        owner: Any = entry.owner if name in _OWNER_BITS else entry
        value = int(getattr(owner, name)) ^ 1 << rng.randrange({**_OWNER_BITS, **_ENTRY_BITS}[name])
        if owner is entry:
            setattr(entry, name, type(getattr(entry, name))(value))
        else:
            entry.owner = dataclasses.replace(owner, **{name: value})
        return True
    slots = [name for name in device._runtime.registers if "slot_" in name]
    return _flip_cell(device, rng.choice(slots), rng)


def _device(network: FlipNetwork) -> Any:
    target: Any = network.switch
    return target.switch if hasattr(target, "switch") else target.control


def _flip_cell(device: EmbeddedSwitch, name: str, rng: random.Random) -> bool:
    register = device._runtime.registers[name]
    index = rng.randrange(_ENTRIES)
    if isinstance(device, TofinoSwitch):
        index = index // 2 + index % 2 * register.size // 2  # the second shadow set has the upper half
    device.write_register(name, index, device.read_register(name, index) ^ 1 << rng.randrange(register.bits))
    return True


def flip_server_memory(network: FlipNetwork, rng: random.Random, last: bytes) -> bool:
    """Flip a bit of a partial sum or of a kept result of the server; return False if it holds none.

    ``last``: the contribution that it took last, whose sum is looked for in the memory of a native server.
    """
    server: Any = network.server
    if hasattr(server, "core"):
        return _flip_process_memory(rng, last)
    (served,) = server._served.values()
    return flip_served_job(served, rng)


def flip_served_job(served: Any, rng: random.Random) -> bool:
    """Flip a bit of a partial sum or of a kept result of a job at a Python server; return False if it holds none."""
    entries = list(served._slots._entries.values())
    for entry in rng.sample(entries, len(entries)):
        if entry.result is not None:
            entry.result = flipped(entry.result, rng.randrange(8 * HEADER_BYTES, 8 * len(entry.result)))
            return True
        for workers, words in entry.partial_sums._sums.items():
            changed = words.copy()
            changed[rng.randrange(words.size)] ^= np.uint32(1 << rng.randrange(32))
            entry.partial_sums._sums[workers] = changed
            return True
    return False


def _flip_process_memory(rng: random.Random, last: bytes) -> bool:
    """Flip a bit of the sum that a contribution began, wherever the native extension keeps it."""
    uplink = [word for (word,) in struct.iter_unpack(">I", last[HEADER_BYTES:])]
    # In plain integers: an array would leave the pattern in the heap.
    pattern = b"".join(word.to_bytes(4, sys.byteorder) for word in expand(LaneOp(read(last).op), uplink, b""))
    at, change = rng.randrange(len(pattern)), 1 << rng.randrange(8)
    places = [place for place in _KNOWN if ctypes.string_at(place, len(pattern)) == pattern]
    if not places:
        places = _places(pattern)
        _KNOWN.update(places)
    for place in places:
        ctypes.c_ubyte.from_address(place + at).value ^= change
    return bool(places)


# Places at which sums were found. The pool of the native server uses its arrays again.
_KNOWN: set[int] = set()


def _places(pattern: bytes) -> list[int]:
    """Return the addresses of a pattern in the heap of this process, without the pattern itself."""
    places = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("[heap]"):
            start, end = (int(part, 16) for part in line.split(" ")[0].split("-"))
            heap = ctypes.string_at(start, end - start)
            places += [start + match.start() for match in re.finditer(re.escape(pattern), heap)]
    own = range(id(pattern), id(pattern) + sys.getsizeof(pattern))
    return [place for place in places if place not in own]
