# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Message classes of BF Runtime, from ``bfruntime.proto``."""

from __future__ import annotations

from importlib import resources

from lanesum_fabric.protobufs.source import message_classes

SERVICE = "bfrt_proto.BfRuntime"
#: Targets: all pipes; both directions, or all parsers.
ALL_PIPES, ALL = 0xFFFF, 0xFF

_class = message_classes(resources.files(__package__).joinpath("bfruntime.proto"))

DataField = _class("DataField")
Entity = _class("Entity")
Error = _class("Error")
ForwardingPipelineConfig = _class("ForwardingPipelineConfig")
GetForwardingPipelineConfigRequest = _class("GetForwardingPipelineConfigRequest")
GetForwardingPipelineConfigResponse = _class("GetForwardingPipelineConfigResponse")
ReadRequest = _class("ReadRequest")
ReadResponse = _class("ReadResponse")
SetForwardingPipelineConfigRequest = _class("SetForwardingPipelineConfigRequest")
SetForwardingPipelineConfigResponse = _class("SetForwardingPipelineConfigResponse")
StreamMessageRequest = _class("StreamMessageRequest")
StreamMessageResponse = _class("StreamMessageResponse")
TableEntry = _class("TableEntry")
TargetDevice = _class("TargetDevice")
Update = _class("Update")
WriteRequest = _class("WriteRequest")
WriteResponse = _class("WriteResponse")
