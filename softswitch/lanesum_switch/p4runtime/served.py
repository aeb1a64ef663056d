# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The pipeline that a device serves: its configuration and the managers of its entities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.dataplane import EmbeddedSwitch
from lanesum_switch.p4runtime.other_programs import OtherEntities, SweepOwner
from lanesum_switch.p4runtime.p4info import P4InfoIndex
from lanesum_switch.p4runtime.packet_io import PacketIo
from lanesum_switch.p4runtime.program import ServedProgram
from lanesum_switch.p4runtime.replication import ReplicationManager


class ServedPipeline:
    """The active configuration, with all objects that belong to it."""

    def __init__(
        self,
        index: P4InfoIndex,
        config: Any,
        owner: SweepOwner,
        switch: EmbeddedSwitch,
        const_priorities: Mapping[str, list[int]] | None = None,
    ) -> None:
        self.config = p4rt.ForwardingPipelineConfig()
        self.config.CopyFrom(config)
        self.program = ServedProgram(index, switch, const_priorities)
        self.replication = ReplicationManager(self.program)
        self.packet_io = PacketIo(index)
        self.others = OtherEntities.of(
            index, self.program.profiles, self.program.store, self.program.target_table, owner
        )

    def close(self) -> None:
        self.others.close()
