# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Device configs are what the agents' own definitions say, and the controller pushes them as they are."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lanesum.errors import ConfigurationError
from lanesum_control.device_config import Compiled
from lanesum_control.pipelines import tofino_pipeline

COMPILED = Compiled("lanesum", b'{"schema": 1}', b"{}" * 100, bytes(range(256)) * 80, pipes=(0, 1))


def pipeline_config() -> Any:
    """The message of Stratum's bf.proto, made here from its description."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="bf.proto", package="stratum.hal.barefoot", syntax="proto3")
    message = file.message_type.add(name="BfPipelineConfig")
    profile = message.nested_type.add(name="Profile")
    for number, (name, kind) in enumerate(
        [("profile_name", field.TYPE_STRING), ("context", field.TYPE_BYTES), ("binary", field.TYPE_BYTES)], start=1
    ):
        profile.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL)
    profile.field.add(name="pipe_scope", number=4, type=field.TYPE_UINT32, label=field.LABEL_REPEATED)
    message.field.add(name="p4_name", number=1, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    message.field.add(name="bfruntime_info", number=2, type=field.TYPE_BYTES, label=field.LABEL_OPTIONAL)
    message.field.add(
        name="profiles", number=3, type=field.TYPE_MESSAGE, label=field.LABEL_REPEATED,
        type_name=".stratum.hal.barefoot.BfPipelineConfig.Profile",
    )  # fmt: skip
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("stratum.hal.barefoot.BfPipelineConfig")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)()
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)()


def test_stratum_s_format_is_its_message() -> None:
    read = pipeline_config()
    read.ParseFromString(COMPILED.for_stratum())
    assert (read.p4_name, read.bfruntime_info) == ("lanesum", COMPILED.bfrt)
    (profile,) = read.profiles
    assert (profile.profile_name, profile.context, profile.binary) == ("pipe", COMPILED.context, COMPILED.binary)
    assert list(profile.pipe_scope) == [0, 1]
    assert read.SerializeToString() == COMPILED.for_stratum()


def test_pi_s_format_is_three_parts_after_their_lengths() -> None:
    data, parts = COMPILED.for_pi(), []
    while data:
        (size,) = struct.unpack_from("<i", data)
        parts.append(data[4 : 4 + size])
        data = data[4 + size :]
    assert parts == [b"lanesum", COMPILED.binary, COMPILED.context]


def test_a_device_config_takes_the_print_out_s_place(tmp_path: Path) -> None:
    """What is pushed is the file; names, slots and chip are the committed P4Info's."""
    packed = tmp_path / "tofino1-w32.stratum.bin"
    packed.write_bytes(COMPILED.for_stratum())
    built, printed = tofino_pipeline("tofino1-w32", packed), tofino_pipeline("tofino1-w32")
    assert built.program == COMPILED.for_stratum()
    assert (built.p4info, built.slots, built.chip) == (printed.p4info, printed.slots, printed.chip)
    assert built.cookie() != printed.cookie()


def test_a_device_config_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"no device config .*absent\.bin\. Build it: make tofino"):
        tofino_pipeline("tofino1-w32", tmp_path / "absent.bin")
