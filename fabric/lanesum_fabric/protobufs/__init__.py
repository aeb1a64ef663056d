# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Generated modules of P4Runtime and ``google.rpc``: the only place that imports them.

The modules of P4Runtime are files of the package finsy, loaded below this package. Its own ``__init__`` would import
finsy's client, and its copy of ``google/rpc/status.proto`` cannot be loaded beside that of googleapis-common-protos,
which gRPC and OpenTelemetry use; ``google/rpc`` here takes precedence over that copy.
"""

from importlib.util import find_spec
from pathlib import Path

_FINSY = find_spec("finsy")
if _FINSY is None or not _FINSY.submodule_search_locations:
    raise ModuleNotFoundError("No module named 'finsy'. Run: pip install 'finsy>=0.30'", name="finsy")
__path__ = [*__path__, *(str(Path(folder) / "proto") for folder in _FINSY.submodule_search_locations)]

from google.rpc import code_pb2  # noqa: E402

from lanesum_fabric.protobufs.google.rpc import status_pb2  # noqa: E402
from lanesum_fabric.protobufs.p4.config.v1 import p4info_pb2, p4types_pb2  # noqa: E402
from lanesum_fabric.protobufs.p4.v1 import p4data_pb2, p4runtime_pb2  # noqa: E402

__all__ = ["code_pb2", "p4data_pb2", "p4info_pb2", "p4runtime_pb2", "p4types_pb2", "status_pb2"]
