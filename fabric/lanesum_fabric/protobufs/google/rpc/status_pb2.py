# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Status of a call with its details, ``google/rpc/status.proto``.

A process has one definition of a file: that of finsy if its client was imported before.
"""

from importlib import import_module

from google.protobuf import descriptor_pool, message_factory

try:
    _file = descriptor_pool.Default().FindFileByName("google/rpc/status.proto")
except KeyError:
    _file = import_module("google.rpc.status_pb2").DESCRIPTOR

Status = message_factory.GetMessageClass(_file.message_types_by_name["Status"])
