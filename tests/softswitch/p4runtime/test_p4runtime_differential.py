# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""The same random updates on the embedded switch and on simple_switch_grpc: every code and every read must agree."""

from __future__ import annotations

import os
from typing import Any

import pytest

from .client import OK, Client, Program
from .fuzz import Fuzzer, all_reads
from .targets import BMV2, running

# LANESUM_FUZZ_SEEDS=20 tries more.
SEEDS = range(int(os.environ.get("LANESUM_FUZZ_SEEDS", "2")))
ROUNDS = 12
UPDATES_PER_ROUND = 40


def comparable(entities: list[Any]) -> list[Any]:
    """Groups, sessions and replicas come in no particular order from BMv2; all else must agree in order."""
    for entity in entities:
        replicated = entity.packet_replication_engine_entry
        kind = replicated.WhichOneof("type")
        if kind is not None:
            entry = getattr(replicated, kind)
            replicas = sorted(entry.replicas, key=lambda r: r.SerializeToString(deterministic=True))
            del entry.replicas[:]
            entry.replicas.extend(replicas)
    if entities and entities[0].HasField("packet_replication_engine_entry"):
        return sorted(entities, key=lambda e: e.SerializeToString(deterministic=True))
    return entities


@pytest.mark.parametrize("ours", ["fake", "embedded"])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_updates(ours: str, seed: int, everything: Program) -> None:
    with running(BMV2) as theirs, running(ours) as address:
        clients = [Client(address), Client(theirs)]
        try:
            for client in clients:
                assert client.push(everything.config()) == OK
            compare(clients, Fuzzer(everything, seed), everything)
        finally:
            for client in clients:
                client.close()


def compare(clients: list[Client], fuzzer: Fuzzer, program: Program) -> None:
    reads = all_reads(program)
    for _ in range(ROUNDS):
        for _ in range(UPDATES_PER_ROUND):
            kind, entity = fuzzer.update()
            mine, theirs = (client.update(kind, entity) for client in clients)
            assert mine == theirs, f"update type {kind} of\n{entity}"
            single = [client.read(entity) for client in clients]
            assert single[0][1] == single[1][1], f"read of\n{entity}"
            assert comparable(single[0][0]) == comparable(single[1][0]), f"read of\n{entity}"
        for request in reads:
            both = [client.read(request) for client in clients]
            assert both[0][1] == both[1][1], f"read of\n{request}"
            assert comparable(both[0][0]) == comparable(both[1][0]), f"read of\n{request}"
