# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Connections of a gRPC server to hosts that are dead or cut off."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time

import pytest

from lanesum.rpc.connections import HOST_DEAD_S, PROBE_AFTER_S
from lanesum_lab.bench.places import HUB, limited_links
from lanesum_lab.veth import obstacle

# Answers every stream with one message, and prints when the stream has ended.
SERVER = """
import sys
from lanesum.rpc.serving import JsonService

class Once:
    ended = False
    sent = False

    def poll(self):
        self.sent, before = True, self.sent
        return None if before else {"opened": True}

    def close(self, is_cut_off):
        print(f"closed {is_cut_off}", flush=True)

streams = {"Watch": lambda message, caller, wake: Once()}
with JsonService(sys.argv[1], "lanesum.Test", {}, owner="test", streams=streams):
    print("serving", flush=True)
    sys.stdin.readline()
"""
CLIENT = """
import sys
from lanesum.rpc.json_grpc import ReplyStream

for answer in ReplyStream(sys.argv[1], "lanesum.Test", "Watch", {}):
    print("opened", flush=True)
"""


@pytest.mark.long
@pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "-")
def test_stream_of_unreachable_host_ends_soon() -> None:
    """TCP has to find the host: gRPC's pings wait for minutes."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with limited_links(1) as links, contextlib.ExitStack() as stack:
        worker, address = links.worker(0), f"{links.address(HUB)}:5000"
        processes = []
        for node, script, said in ((HUB, SERVER, "serving"), (worker, CLIENT, "opened")):
            command = links.command(node, [sys.executable, "-c", script, address])
            processes.append(stack.enter_context(subprocess.Popen(command, **pipes)))  # type: ignore[call-overload]
            stack.callback(processes[-1].kill)
            assert processes[-1].stdout.readline() == f"{said}\n"
        subprocess.run(links.command(worker, ["ip", "link", "set", "eth0", "down"]), check=True)
        begun = time.monotonic()
        assert processes[0].stdout.readline() == "closed True\n"
        assert time.monotonic() - begun > HOST_DEAD_S - PROBE_AFTER_S, "a short loss must not end it"
