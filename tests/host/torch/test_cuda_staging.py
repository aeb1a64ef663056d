# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""What is asked of CUDA's streams and events, by ones that write it down; tests/cuda has those of a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from lanesum.gpu.staging import CudaStaging, Staging

Log = list[tuple[Any, ...]]

# A thread that has not chosen a device is on the first one.
SECOND = torch.device("cuda", 1)


class Stream:
    def __init__(self, log: Log, name: str) -> None:
        self._log, self.name = log, name

    def wait_event(self, event: Event) -> None:
        self._log.append((self.name, "waits for", event.recorded))

    def wait_stream(self, other: Stream) -> None:
        self._log.append((self.name, "waits for", other.name))


class Event:
    def __init__(self, log: Log, blocking: bool, chosen: list[torch.device]) -> None:
        self._log, self.blocking, self.recorded, self._chosen = log, blocking, "", chosen

    def record(self, stream: Stream) -> None:
        self.recorded = f"a mark in {stream.name}"
        self._log.append(("mark", stream.name))

    def query(self) -> bool:
        assert self._chosen == [SECOND], "CUDA would take memory of the first device to answer"
        return False

    def synchronize(self) -> None:
        assert self._chosen == [SECOND], "CUDA would take memory of the first device to wait"
        assert self.blocking, "a thread that waits would keep a core busy"
        self._log.append(("thread waits for", self.recorded))


class Tensor:
    """As far as it is moved from stream to stream."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def record_stream(self, stream: Stream) -> None:
        self._log.append(("in use by", stream.name))


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    seen: Log = []
    current = [Stream(seen, "caller")]
    chosen: list[torch.device] = []

    @contextlib.contextmanager
    def choose(device: torch.device) -> Iterator[None]:
        chosen.append(device)
        yield
        chosen.pop()

    @contextlib.contextmanager
    def enter(stream: Stream) -> Iterator[None]:
        assert chosen == [SECOND], "CUDA would take memory of the first device on the way back"
        current.append(stream)
        yield
        current.pop()

    def event(blocking: bool) -> Event:
        return Event(seen, blocking, chosen)

    empty, copy = torch.empty, torch.Tensor.copy_

    def noted_empty(*size: Any, pin_memory: bool = False, device: Any = None, **options: Any) -> torch.Tensor:
        if pin_memory:
            assert torch.device(device).type == "cpu", "no other memory can be pinned"
            seen.append(("pinned",))
        return empty(*size, **options)

    def noted_copy(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        seen.append(("copy launched in" if non_blocking else "copy on the host", current[-1].name))
        return copy(self, source)

    def made(device: torch.device, priority: int) -> Stream:
        assert priority < 0, "other workers wait for what is launched there"
        return Stream(seen, "lanesum")

    monkeypatch.setattr(torch.cuda, "Stream", made)
    monkeypatch.setattr(torch.cuda, "Event", event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: current[-1])
    monkeypatch.setattr(torch.cuda, "stream", enter)
    monkeypatch.setattr(torch.cuda, "device", choose)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: pytest.fail("everything waits"))
    monkeypatch.setattr(torch, "empty", noted_empty)
    monkeypatch.setattr(torch.Tensor, "copy_", noted_copy)
    return seen


def test_a_vector_s_way_to_the_host_and_back(log: Log) -> None:
    own = CudaStaging(SECOND)
    made = own.record_event()
    own.wait_event(made, Tensor(log))
    assert not made.query()
    with own.stream():
        pinned = own.empty_pinned(4, torch.float32)
        copied = own.copy_to_host(torch.arange(4.0), pinned)
    copied.synchronize()
    with own.stream():
        back = own.copy_to_device(pinned.numpy())
    own.hand_over(Tensor(log))
    assert back.tolist() == [0, 1, 2, 3]
    assert log == [
        ("mark", "caller"),
        ("lanesum", "waits for", "a mark in caller"),
        ("in use by", "lanesum"),
        ("pinned",),
        ("copy launched in", "lanesum"),
        ("mark", "lanesum"),
        ("thread waits for", "a mark in lanesum"),
        ("pinned",),
        ("copy launched in", "lanesum"),
        ("caller", "waits for", "lanesum"),
        ("in use by", "caller"),
    ]


def test_nothing_is_handed_over_inside_of_lanesum_s_stream(log: Log) -> None:
    own = CudaStaging(SECOND)
    with own.stream():
        own.hand_over(Tensor(log))
    assert log == []


def test_other_types_become_the_host_s_on_the_device(log: Log) -> None:
    """A copy that changes the type could not be launched: it would wait."""
    own = CudaStaging(SECOND)
    pinned = torch.zeros(3)
    with own.stream():
        own.copy_to_host(torch.arange(3, dtype=torch.float64), pinned)
    assert pinned.tolist() == [0, 1, 2] and log[-2:] == [("copy launched in", "lanesum"), ("mark", "lanesum")]


def test_words_that_nobody_may_write_are_put_there(log: Log) -> None:
    words = np.arange(3, dtype=np.int32)
    words.flags.writeable = False
    for own in (CudaStaging(SECOND), Staging(torch.device("cpu"))):
        assert own.copy_to_device(words).tolist() == [0, 1, 2]
    assert Staging(torch.device("meta")).copy_to_device(words).device.type == "meta"


def test_memory_of_the_host_is_the_host_s_whatever_the_default_device_is() -> None:
    with torch.device("meta"):
        assert Staging(torch.device("cpu")).empty_pinned(3, torch.float32).device.type == "cpu"


def test_parts_of_a_tensor_are_put_where_they_belong(log: Log) -> None:
    own = CudaStaging(SECOND)
    target = torch.zeros(5)
    with own.stream():
        own.copy_to_device(np.ones(2, np.float32), target[1:3])
    assert target.tolist() == [0, 1, 1, 0, 0]
