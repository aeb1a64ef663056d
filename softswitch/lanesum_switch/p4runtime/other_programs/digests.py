# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Digests (specification, sections 9.9 and 16.2).

Samples pass two buffers, as in simple_switch_grpc: BMv2's learning engine, which fills lists up to ``max_list_size`` or
``max_timeout_ns``, and PI's, which drops samples that the client has not acknowledged yet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import Digest
from lanesum_switch.p4runtime.matches import encode
from lanesum_switch.p4runtime.other_programs.scheduler import ScheduledTask, Scheduler
from lanesum_switch.p4runtime.p4info import DigestInfo, P4InfoIndex
from lanesum_switch.p4runtime.status import Code, StatusError, invalid_type

_Update = p4rt.Update
Sample = tuple[int, ...]

# Minimum period of PI's sweeps, for any timeout.
MIN_SWEEP_SECONDS = 0.1

# Defaults of BMv2's engine, and its list size if a configuration sets none.
INITIAL_LIST_SIZE = 16
INITIAL_TIMEOUT_MS = 1000
DEFAULT_LIST_SIZE = 1024


class _DigestState:
    """Both buffers of one digest. All methods run under the manager's lock."""

    def __init__(self, info: DigestInfo, scheduler: Scheduler, manager: DigestManager) -> None:
        self.info = info
        self.config: Any = None
        self._scheduler = scheduler
        self._manager = manager
        self._engine: dict[Sample, None] = {}
        self._engine_size = INITIAL_LIST_SIZE
        self._engine_timeout_ms = INITIAL_TIMEOUT_MS
        self._generation = 0  # of the engine's buffer: a timer for an older one has no effect
        self._engine_timer: ScheduledTask | None = None
        self._cache: set[Sample] = set()
        self._list: list[Sample] = []
        self._list_cached: list[Sample] = []
        self._list_id = 1
        self._list_seen = False
        self._unacked: dict[int, list[Sample]] = {}
        self._unacked_seen: set[int] = set()
        self._tasks: list[ScheduledTask] = []

    def configure(self, config: Any) -> None:
        self.config = p4rt.DigestEntry()
        self.config.CopyFrom(config)
        self._cancel_tasks()
        for timeout_ns, sweep in (
            (config.config.max_timeout_ns, self._sweep_list),
            (config.config.ack_timeout_ns, self._sweep_unacked),
        ):
            if timeout_ns != 0:
                period = max(MIN_SWEEP_SECONDS, timeout_ns / 1e9)
                self._tasks.append(self._scheduler.every(period, self._manager.locked(sweep)))
        self._engine_size = config.config.max_list_size or DEFAULT_LIST_SIZE
        self._engine_timeout_ms = config.config.max_timeout_ns // 1_000_000
        # Earlier samples count, too, unless the engine has timed out.
        if self._engine and len(self._engine) >= self._engine_size:
            self._flush_engine()

    def clear(self) -> None:
        """Clear all state but the list id, which keeps counting."""
        self._cancel_tasks()
        self.config = None
        self._cache.clear()
        self._unacked.clear()
        self._unacked_seen.clear()
        self._list.clear()
        self._list_cached.clear()
        self._list_seen = False

    def close(self) -> None:
        self.clear()
        self._empty_engine()

    def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    def add(self, sample: Sample) -> None:
        """Add a sample; the engine learns also without a configuration."""
        if sample in self._engine:
            return
        self._engine[sample] = None
        if len(self._engine) >= self._engine_size:
            self._flush_engine()
        elif len(self._engine) == 1 and self._engine_timeout_ms > 0:
            generation = self._generation
            expire = self._manager.locked(lambda: self._expire_engine(generation))
            self._engine_timer = self._scheduler.once(self._engine_timeout_ms / 1000, expire)

    def _expire_engine(self, generation: int) -> None:
        if generation == self._generation and self._engine and self._engine_timeout_ms > 0:
            self._flush_engine()

    def _flush_engine(self) -> None:
        samples = list(self._engine)
        self._empty_engine()
        self._learn(samples)

    def _empty_engine(self) -> None:
        self._engine.clear()
        self._generation += 1
        if self._engine_timer is not None:
            self._engine_timer.cancel()
            self._engine_timer = None

    def _learn(self, samples: list[Sample]) -> None:
        if self.config is None:
            return  # the digest is not configured
        config = self.config.config
        added = False
        for sample in samples:
            # Without an acknowledgement timeout samples are not stored, and do not count towards the list size.
            if config.ack_timeout_ns > 0:
                if sample in self._cache:
                    continue
                self._cache.add(sample)
                self._list_cached.append(sample)
            self._list.append(sample)
            added = True
        full = config.max_list_size != 0 and len(self._list_cached) >= config.max_list_size
        if added and (full or config.max_timeout_ns == 0):
            self._send_list()

    def _sweep_list(self) -> None:
        # PI sends a list at the second sweep that finds it.
        if not self._list:
            return
        if not self._list_seen:
            self._list_seen = True
            return
        self._send_list()

    def _send_list(self) -> None:
        response = p4rt.StreamMessageResponse()
        digest = response.digest
        digest.digest_id = self.info.id
        digest.list_id = self._list_id
        digest.timestamp = time.monotonic_ns()
        for sample in self._list:
            _write_sample(self.info, sample, digest.data.add())
        self._list_seen = False
        if self._list_cached:
            self._unacked[self._list_id] = self._list_cached
        self._list_cached = []
        self._list = []
        self._list_id += 1
        self._manager.send(response)

    def ack(self, list_id: int) -> None:
        self._cache.difference_update(self._unacked.pop(list_id, ()))
        self._unacked_seen.discard(list_id)

    def _sweep_unacked(self) -> None:
        for list_id in list(self._unacked):
            if list_id in self._unacked_seen:
                self.ack(list_id)
            else:
                self._unacked_seen.add(list_id)


class DigestManager:
    """All digests of one program."""

    def __init__(self, index: P4InfoIndex, scheduler: Scheduler, send: Callable[[Any], None]) -> None:
        self._lock = threading.RLock()
        self.send = send
        self._digests = {info.id: _DigestState(info, scheduler, self) for info in index.digests.values()}
        self._by_name = {state.info.name: state for state in self._digests.values()}

    def locked(self, action: Callable[[], None]) -> Callable[[], None]:
        """Wrap an action so that it runs under the lock."""

        def run() -> None:
            with self._lock:
                action()

        return run

    def close(self) -> None:
        with self._lock:
            for state in self._digests.values():
                state.close()

    def on_digest(self, digest: Digest) -> None:
        """Handle a sample from the data plane."""
        state = self._by_name.get(digest.name)
        if state is not None:
            with self._lock:
                state.add(digest.values)

    def write(self, kind: int, message: Any) -> None:
        """Apply one update of a ``p4.v1.DigestEntry``.

        Raises StatusError: NOT_FOUND (not INVALID_ARGUMENT) for an id that is not a digest's.
        """
        state = self._state(message.digest_id)
        with self._lock:
            if kind == _Update.INSERT:
                if state.config is not None:
                    raise StatusError(
                        Code.ALREADY_EXISTS, f"Digest {state.info.name} is configured already: use MODIFY"
                    )
                state.configure(message)
            elif kind in (_Update.MODIFY, _Update.DELETE):
                if state.config is None:
                    raise StatusError(Code.NOT_FOUND, f"Digest {state.info.name} is not configured: INSERT it first")
                if kind == _Update.MODIFY:
                    state.configure(message)
                else:
                    state.clear()
            else:
                raise invalid_type(kind)

    def read(self, request: Any, response: Any) -> None:
        """Answer one ``p4.v1.DigestEntry``.

        Raises StatusError: UNIMPLEMENTED for id 0, NOT_FOUND for a digest that is not configured.
        """
        if request.digest_id == 0:
            raise StatusError(
                Code.UNIMPLEMENTED, "Reading the configuration of all digests is not supported: give a digest_id"
            )
        state = self._state(request.digest_id)
        with self._lock:
            if state.config is None:
                raise StatusError(Code.NOT_FOUND, f"Digest {state.info.name} is not configured: INSERT it first")
            response.entities.add().digest_entry.CopyFrom(state.config)

    def ack(self, message: Any) -> None:
        """Handle a ``p4.v1.DigestListAck``; ignore one for an unknown digest or list."""
        state = self._digests.get(message.digest_id)
        if state is not None:
            with self._lock:
                state.ack(message.list_id)

    def _state(self, digest_id: int) -> _DigestState:
        state = self._digests.get(digest_id)
        if state is None:
            raise StatusError(Code.NOT_FOUND, f"{digest_id:#x} is not the id of a digest of this program")
        return state


def _write_sample(info: DigestInfo, sample: Sample, data: Any) -> None:
    if info.shape == "bitstring":
        data.bitstring = encode(sample[0])
        return
    members = data.struct.members if info.shape == "struct" else data.tuple.members
    for value in sample:
        members.add().bitstring = encode(value)
