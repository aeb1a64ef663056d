# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Message classes of BF Runtime, built from ``bfruntime.proto`` without a compiler.

Generated code would tie the package to one version of Protobuf, of which p4runtime-shell requires an old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

from google.protobuf import descriptor_pb2, message_factory

SERVICE = "bfrt_proto.BfRuntime"
#: Targets: all pipes; both directions, or all parsers.
ALL_PIPES, ALL = 0xFFFF, 0xFF

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "float": _Field.TYPE_FLOAT,
    "int32": _Field.TYPE_INT32,
    "string": _Field.TYPE_STRING,
    "uint32": _Field.TYPE_UINT32,
}


def _file(text: str) -> Any:
    """Return the FileDescriptorProto of ``text``."""
    tokens = iter(re.findall(r'"\w+"|[\w.]+|[{}=;]', re.sub(r"//.*", "", text)))
    file = descriptor_pb2.FileDescriptorProto(name="lanesum/bfruntime.proto", syntax="proto3")
    for token in tokens:
        if token == "package":
            file.package = next(tokens)
        elif token == "message":
            _message(tokens, file.message_type.add())
    return file


def _message(tokens: Iterator[str], message: Any, oneof: int | None = None) -> None:
    """Read a message, or the fields of a oneof, to the closing brace."""
    if oneof is None:
        message.name = next(tokens)
        next(tokens)  # {
    for token in iter(tokens.__next__, "}"):
        if token == "enum":
            _enum(tokens, message.enum_type.add(name=next(tokens)))
        elif token == "oneof":
            message.oneof_decl.add(name=next(tokens))
            next(tokens)  # {
            _message(tokens, message, len(message.oneof_decl) - 1)
        else:
            _field(tokens, token, message.field.add(), oneof)


def _enum(tokens: Iterator[str], enum: Any) -> None:
    next(tokens)  # {
    for name in iter(tokens.__next__, "}"):
        enum.value.add(name=name, number=_number(tokens))


def _field(tokens: Iterator[str], first: str, field: Any, oneof: int | None) -> None:
    field.label = _Field.LABEL_REPEATED if first == "repeated" else _Field.LABEL_OPTIONAL
    kind = next(tokens) if first == "repeated" else first
    field.name = next(tokens)
    field.number = _number(tokens)
    if oneof is not None:
        field.oneof_index = oneof
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type_name = kind


def _number(tokens: Iterator[str]) -> int:
    """Read ``= NUMBER ;``."""
    _, number, _ = next(tokens), next(tokens), next(tokens)
    return int(number)


_SOURCE = resources.files(__package__).joinpath("bfruntime.proto")
_MESSAGES = message_factory.GetMessages([_file(_SOURCE.read_text())])


def _class(name: str) -> Any:
    return _MESSAGES[f"bfrt_proto.{name}"]


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
