# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Devices by id.

A server accepts any device id, as simple_switch_grpc does: controllers may arbitrate for each, but only the id of the
switch ever gets a pipeline.
"""

from __future__ import annotations

import collections
import threading
from typing import Any

from lanesum_switch.p4runtime.arbitration import Arbitration
from lanesum_switch.p4runtime.pipeline import PipelineManager, no_pipeline
from lanesum_switch.p4runtime.status import UNKNOWN, StatusError


class P4RuntimeDevice:
    """One device id: its controllers and, for the id of the switch, its pipeline."""

    def __init__(self, device_id: int) -> None:
        self.device_id = device_id
        self.arbitration = Arbitration(device_id)
        self._manager: PipelineManager | None = None

    def attach(self, manager: PipelineManager) -> None:
        self._manager = manager

    @property
    def manager(self) -> PipelineManager:
        """Return the pipeline manager. Raises StatusError FAILED_PRECONDITION for a device id without a switch."""
        if self._manager is None:
            raise no_pipeline()
        return self._manager

    def set_pipeline(self, action: int, config: Any) -> None:
        """Install a configuration; see ``PipelineManager.set``. Raises StatusError."""
        if self._manager is None:
            raise StatusError(UNKNOWN, f"This switch is not device {self.device_id}: check the device id")
        self._manager.set(action, config)

    def packet_out(self, packet: Any) -> None:
        if self._manager is not None:
            self._manager.packet_out(packet)

    def digest_ack(self, ack: Any) -> None:
        if self._manager is not None:
            self._manager.digest_ack(ack)


class Devices:
    """The switch's device, and those for which streams arbitrate."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._devices: dict[int, P4RuntimeDevice] = {}
        self._streams: collections.Counter[int] = collections.Counter()

    def get(self, device_id: int) -> P4RuntimeDevice:
        """Return a device; a new one, which is not kept, for an unknown id."""
        with self._lock:
            return self._devices.get(device_id) or P4RuntimeDevice(device_id)

    def hold(self, device_id: int) -> P4RuntimeDevice:
        """Return a device, and keep it until its ``release``."""
        with self._lock:
            self._streams[device_id] += 1
            return self._devices.setdefault(device_id, P4RuntimeDevice(device_id))

    def release(self, device: P4RuntimeDevice) -> None:
        """Forget a device once no stream holds it."""
        with self._lock:
            self._streams[device.device_id] -= 1
            if self._streams[device.device_id] == 0:
                del self._streams[device.device_id], self._devices[device.device_id]
