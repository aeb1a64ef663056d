# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Many P4Runtime targets in one process: they keep program and entries, answer at once, and pass no packets.

Run as ``python answering_switches.py FOLDER COUNT SILENT``: switch ``sN`` listens at ``FOLDER/sN``. The last SILENT
ones accept connections and answer nothing.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt

_SERVICE = "p4.v1.P4Runtime"


class AnsweringSwitch:
    """Program and entries of one target, by their keys."""

    def __init__(self) -> None:
        self._cookie: int | None = None
        self._groups: dict[int, Any] = {}
        self._tables: dict[int, dict[bytes, Any]] = {}

    async def stream(self, requests: AsyncIterator[Any], _context: Any) -> AsyncIterator[Any]:
        """Make every client the primary."""
        async for request in requests:
            answer = p4rt.StreamMessageResponse()
            answer.arbitration.CopyFrom(request.arbitration)
            answer.arbitration.status.code = 0
            yield answer

    async def set_program(self, request: Any, _context: Any) -> Any:
        """Keep the cookie, and forget all entries."""
        self._cookie = request.config.cookie.cookie
        self._groups, self._tables = {}, {}
        return p4rt.SetForwardingPipelineConfigResponse()

    async def program(self, _request: Any, context: Any) -> Any:
        """Return the cookie."""
        if self._cookie is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "no program")
        answer = p4rt.GetForwardingPipelineConfigResponse()
        answer.config.cookie.cookie = self._cookie or 0
        return answer

    async def write(self, request: Any, _context: Any) -> Any:
        """Apply all updates."""
        for update in request.updates:
            kind = update.entity.WhichOneof("entity")
            if kind == "table_entry":
                entry = update.entity.table_entry
                held: Any = self._tables.setdefault(entry.table_id, {})
                key: Any = b"".join(field.SerializeToString() for field in entry.match)
            else:
                held = self._groups
                key = update.entity.packet_replication_engine_entry.multicast_group_entry.multicast_group_id
            if update.type == p4rt.Update.DELETE:
                held.pop(key, None)
            else:
                held[key] = update.entity
        return p4rt.WriteResponse()

    async def read(self, request: Any, _context: Any) -> AsyncIterator[Any]:
        """Return the entries of whole tables, and all groups."""
        answer = p4rt.ReadResponse()
        for entity in request.entities:
            if entity.WhichOneof("entity") == "table_entry":
                answer.entities.extend(self._tables.get(entity.table_entry.table_id, {}).values())
            else:
                answer.entities.extend(self._groups.values())
        yield answer

    def handler(self) -> grpc.GenericRpcHandler:
        """Return the service."""
        methods = {
            "StreamChannel": (grpc.stream_stream_rpc_method_handler, self.stream, p4rt.StreamMessageRequest),
            "SetForwardingPipelineConfig": (
                grpc.unary_unary_rpc_method_handler,
                self.set_program,
                p4rt.SetForwardingPipelineConfigRequest,
            ),
            "GetForwardingPipelineConfig": (
                grpc.unary_unary_rpc_method_handler,
                self.program,
                p4rt.GetForwardingPipelineConfigRequest,
            ),
            "Write": (grpc.unary_unary_rpc_method_handler, self.write, p4rt.WriteRequest),
            "Read": (grpc.unary_stream_rpc_method_handler, self.read, p4rt.ReadRequest),
        }
        return grpc.method_handlers_generic_handler(
            _SERVICE,
            {
                name: kind(method, request.FromString, lambda answer: answer.SerializeToString())
                for name, (kind, method, request) in methods.items()
            },
        )


async def serve(folder: Path, count: int, silent: int) -> None:
    """Serve until the process ends; say so when all of them listen."""
    quiet, servers = [], []
    for number in range(count):
        path = str(folder / f"s{number}")
        if number >= count - silent:
            quiet.append(socket.socket(socket.AF_UNIX))
            quiet[-1].bind(path)
            quiet[-1].listen(50)
            continue
        server = grpc.aio.server()
        server.add_generic_rpc_handlers([AnsweringSwitch().handler()])
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        servers.append(server)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
