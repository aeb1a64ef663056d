# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Notes between the ranks of a process group: JSON in its store, because a pickle could contain code."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import cast

import torch.distributed as dist

from lanesum.errors import LanesumError

Note = LanesumError | str | None


def exchange(note: Note, group: dist.ProcessGroup | None, of: Iterable[int]) -> list[Note]:
    """Write a note to the other ranks of ``group``; wait for the notes of the ranks ``of``, and return them.

    All ranks of the group must call it in the same order.
    """
    store = cast(dist.ProcessGroup, group or dist.group.WORLD).get_group_store()
    own = dist.get_rank(group)
    number = store.add(f"lanesum.{own}", 1)
    store.set(f"lanesum.{own}.{number}", encode(note))
    return [decode(text) for text in store.multi_get([f"lanesum.{rank}.{number}" for rank in of])]


def encode(note: Note) -> str:
    """Return a note as JSON."""
    if isinstance(note, LanesumError):
        return json.dumps({"class": type(note).__name__, **vars(note)}, default=str)
    return json.dumps(note)


def decode(text: bytes) -> Note:
    """Return a note of ``encode``; attributes of an error are plain values. Raises ValueError."""
    note = json.loads(text)
    if not isinstance(note, dict):
        return None if note is None else str(note)
    name, what, next_step = (str(note.pop(key, "")) for key in ("class", "what", "next_step"))
    classes = [LanesumError]
    for one in classes:  # it grows
        classes += one.__subclasses__()
    found = next((one for one in classes if one.__name__ == name), LanesumError)
    error = found.__new__(found)
    LanesumError.__init__(error, what, next_step)
    vars(error).update(note)
    return error
