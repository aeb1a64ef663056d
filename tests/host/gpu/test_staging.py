# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Calls of CUDA streams and events, recorded by fake ones; tests/cuda uses those of a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from lanesum.gpu.staging import CudaStaging, Staging  # noqa: E402  needs torch

Log = list[tuple[Any, ...]]

# Not the first device, which a thread uses that has not chosen one.
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
        self.recorded = f"an event in {stream.name}"
        self._log.append(("event", stream.name))

    def query(self) -> bool:
        assert self._chosen == [SECOND], "CUDA would take memory of the first device for the query"
        return False

    def synchronize(self) -> None:
        assert self._chosen == [SECOND], "CUDA would take memory of the first device for the wait"
        assert self.blocking, "a waiting thread would keep a core busy"
        self._log.append(("thread waits for", self.recorded))


class Tensor:
    """The part of a tensor that is used when it changes streams."""

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
        assert chosen == [SECOND], "CUDA would take memory of the first device at the end"
        current.append(stream)
        yield
        current.pop()

    def event(blocking: bool) -> Event:
        return Event(seen, blocking, chosen)

    empty, copy = torch.empty, torch.Tensor.copy_

    def noted_empty(*size: Any, pin_memory: bool = False, device: Any = None, **options: Any) -> torch.Tensor:
        if pin_memory:
            assert torch.device(device).type == "cpu", "only host memory can be pinned"
            seen.append(("pinned",))
        return empty(*size, **options)

    def noted_copy(self: torch.Tensor, source: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
        seen.append(("copy launched in" if non_blocking else "copy on the host", current[-1].name))
        return copy(self, source)

    def made(device: torch.device, priority: int) -> Stream:
        assert priority < 0, "other workers wait for work in this stream"
        return Stream(seen, "lanesum")

    monkeypatch.setattr(torch.cuda, "Stream", made)
    monkeypatch.setattr(torch.cuda, "Event", event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: current[-1])
    monkeypatch.setattr(torch.cuda, "stream", enter)
    monkeypatch.setattr(torch.cuda, "device", choose)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *_: pytest.fail("all streams wait"))
    monkeypatch.setattr(torch, "empty", noted_empty)
    monkeypatch.setattr(torch.Tensor, "copy_", noted_copy)
    return seen


def test_staging_to_host_and_back_orders_streams(log: Log) -> None:
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
        ("event", "caller"),
        ("lanesum", "waits for", "an event in caller"),
        ("in use by", "lanesum"),
        ("pinned",),
        ("copy launched in", "lanesum"),
        ("event", "lanesum"),
        ("thread waits for", "an event in lanesum"),
        ("pinned",),
        ("copy launched in", "lanesum"),
        ("caller", "waits for", "lanesum"),
        ("in use by", "caller"),
    ]


def test_hand_over_within_own_stream_does_nothing(log: Log) -> None:
    own = CudaStaging(SECOND)
    with own.stream():
        own.hand_over(Tensor(log))
    assert log == []


def test_copy_to_host_converts_types_on_device(log: Log) -> None:
    """A copy that converts cannot be asynchronous: it would wait."""
    own = CudaStaging(SECOND)
    pinned = torch.zeros(3)
    with own.stream():
        own.copy_to_host(torch.arange(3, dtype=torch.float64), pinned)
    assert pinned.tolist() == [0, 1, 2] and log[-2:] == [("copy launched in", "lanesum"), ("event", "lanesum")]


def test_copy_to_device_accepts_read_only_words(log: Log) -> None:
    words = np.arange(3, dtype=np.int32)
    words.flags.writeable = False
    for own in (CudaStaging(SECOND), Staging(torch.device("cpu"))):
        assert own.copy_to_device(words).tolist() == [0, 1, 2]
    assert Staging(torch.device("meta")).copy_to_device(words).device.type == "meta"


def test_empty_pinned_ignores_default_device() -> None:
    with torch.device("meta"):
        assert Staging(torch.device("cpu")).empty_pinned(3, torch.float32).device.type == "cpu"


def test_copy_to_device_writes_part_of_tensor(log: Log) -> None:
    own = CudaStaging(SECOND)
    target = torch.zeros(5)
    with own.stream():
        own.copy_to_device(np.ones(2, np.float32), target[1:3])
    assert target.tolist() == [0, 1, 1, 0, 0]
