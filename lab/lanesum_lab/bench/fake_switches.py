# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Process with P4Runtime servers that keep programs and entries, and forward no packet.

``python -m lanesum_lab.bench.fake_switches ADDRESS...``. It writes a line of JSON once all of them listen, and one for
every change of a switch: ``pid``, ``address``, ``time`` (``time.monotonic``) and ``state``, a digest of the contents.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import grpc

from lanesum_control.switches.client import key_of
from lanesum_fabric.protobufs import code_pb2
from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_fabric.protobufs.p4.v1 import p4runtime_pb2_grpc

LISTENING = "listening"


class FakeSwitch(p4runtime_pb2_grpc.P4RuntimeServicer):
    """Contents of one switch, and the streams of its clients by election id."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._config = p4rt.ForwardingPipelineConfig()
        self._entries: dict[bytes, p4rt.Entity] = {}
        self._streams: dict[int, asyncio.Queue[Any]] = {}

    def _changed(self) -> None:
        state = hashlib.sha256(str(self._config.cookie.cookie).encode())
        for entity in sorted(one.SerializeToString(deterministic=True) for one in self._entries.values()):
            state.update(entity)
        say(address=self._address, time=time.monotonic(), state=state.hexdigest())

    async def _check_primary(self, request: Any, context: Any) -> None:
        if _number(request.election_id) != max(self._streams, default=None):
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, "You are not primary")

    async def SetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:
        await self._check_primary(request, context)
        self._config.CopyFrom(request.config)
        self._entries.clear()
        self._changed()
        return p4rt.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:
        answer = p4rt.GetForwardingPipelineConfigResponse()
        answer.config.cookie.CopyFrom(self._config.cookie)
        return answer

    async def Write(self, request: Any, context: Any) -> Any:
        await self._check_primary(request, context)
        for update in request.updates:
            key = key_of(update.entity).SerializeToString(deterministic=True)
            if update.type == p4rt.Update.DELETE:
                self._entries.pop(key, None)
            else:
                self._entries[key] = update.entity
        self._changed()
        return p4rt.WriteResponse()

    async def Read(self, request: Any, context: Any) -> AsyncIterator[Any]:
        answer = p4rt.ReadResponse()
        for wanted in request.entities:
            kind = wanted.WhichOneof("entity")
            for entity in self._entries.values():
                if entity.WhichOneof("entity") == kind and entity.table_entry.table_id == wanted.table_entry.table_id:
                    answer.entities.add().CopyFrom(entity)
        yield answer

    async def StreamChannel(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        first = await anext(aiter(requests))
        number = _number(first.arbitration.election_id)
        if number in self._streams:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "Election id in use")
        news = self._streams[number] = asyncio.Queue[Any]()
        self._notify(news)
        reader = asyncio.create_task(self._drain(requests, news))
        try:
            while (message := await news.get()) is not None:
                yield message
        finally:
            reader.cancel()
            del self._streams[number]
            self._notify()

    @staticmethod
    async def _drain(requests: AsyncIterator[Any], news: asyncio.Queue[Any]) -> None:
        async for _ in requests:
            pass
        news.put_nowait(None)

    def _notify(self, newcomer: asyncio.Queue[Any] | None = None) -> None:
        primary = max(self._streams, default=None)
        for number, news in self._streams.items():
            message = p4rt.StreamMessageResponse()
            message.arbitration.status.code = code_pb2.OK if number == primary else code_pb2.ALREADY_EXISTS
            if newcomer in (None, news) or newcomer is self._streams[max(self._streams)]:
                news.put_nowait(message)


def _number(election_id: Any) -> int:
    return int(election_id.high << 64 | election_id.low)


def say(**fields: Any) -> None:
    """Write a line of JSON."""
    print(json.dumps({"pid": os.getpid(), **fields}), flush=True)


async def serve(addresses: list[str]) -> None:
    """Serve one switch at each address, without end."""
    servers = []
    for address in addresses:
        server = grpc.aio.server()
        p4runtime_pb2_grpc.add_P4RuntimeServicer_to_server(FakeSwitch(address), server)
        server.add_insecure_port(address)
        await server.start()
        servers.append(server)
    say(address=LISTENING, time=time.monotonic(), state="")
    await asyncio.gather(*(server.wait_for_termination() for server in servers))


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1:]))
