# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Notes between the ranks of a process group: JSON in its store, because a pickle could contain code."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import cast

import torch.distributed as dist

from lanesum.errors import LanesumError
from lanesum.joining import NotReadyError

Note = LanesumError | str | None


def exchange(note: Note, group: dist.ProcessGroup | None, of: Iterable[int], wait_s: float) -> list[Note]:
    """Write a note to the other ranks of ``group``; wait for the notes of its ranks ``of``, and return them.

    All ranks of the group must call it in the same order. Raises NotReadyError, which names the ranks without a note
    after ``wait_s`` seconds, or if the store of the group does not answer.
    """
    group = cast(dist.ProcessGroup, group or dist.group.WORLD)
    ranks = dist.get_process_group_ranks(group)
    return exchange_in(group.get_group_store(), dist.get_rank(group), ranks, note, of, wait_s)


def exchange_in(
    store: dist.Store, own: int, ranks: Sequence[int], note: Note, of: Iterable[int], wait_s: float
) -> list[Note]:
    """Exchange notes as :func:`exchange` does, in a ``store``; messages name rank ``n`` of it ``ranks[n]``."""
    try:
        number = store.add(f"lanesum.{own}", 1)
        store.set(f"lanesum.{own}.{number}", encode(note))
        keys = {f"lanesum.{rank}.{number}": ranks[rank] for rank in of}
        try:
            store.wait(list(keys), timedelta(seconds=wait_s))
        except dist.DistStoreError as error:
            if missing := [str(rank) for key, rank in keys.items() if not store.check([key])]:
                raise NotReadyError(
                    f"No note of rank {', '.join(missing)} within {wait_s:g} s: it has not joined, or has ended.",
                    "Read its log, and start all ranks again.",
                ) from error
        return [decode(text) for text in store.multi_get(list(keys))]
    except RuntimeError as error:
        raise NotReadyError(
            f"The store of the process group does not answer: {error}",
            "Read the log of the process that holds it (rank 0, or torchrun), and start all ranks again.",
        ) from error


def encode(note: Note) -> str:
    """Return a note as JSON."""
    if isinstance(note, LanesumError):
        return json.dumps({"class": type(note).__name__, **vars(note)}, default=str)
    return json.dumps(note)


def decode(text: bytes) -> Note:
    """Return a note of ``encode``. Raises ValueError.

    Attributes of an error are plain values; only those are set that are parameters of its class.
    """
    note = json.loads(text)
    if note is None or isinstance(note, str):
        return note
    if not isinstance(note, dict) or "class" not in note:
        raise ValueError(f"A note is {type(note).__name__}: expected null, a string or an error.")
    name, what, next_step = (str(note.pop(key, "")) for key in ("class", "what", "next_step"))
    classes = [LanesumError]
    for one in classes:  # it grows
        classes += one.__subclasses__()
    found = next((one for one in classes if one.__name__ == name), LanesumError)
    error = found.__new__(found)
    LanesumError.__init__(error, what, next_step)
    vars(error).update((key, note[key]) for key in inspect.signature(found).parameters if key in note)
    return error
