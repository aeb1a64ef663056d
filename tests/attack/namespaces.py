# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""A topology in network namespaces: one for the switch's ends of all cables, one for every host."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from lanesum_fabric.topology import Topology
from lanesum_lab.run.offloads import offloads_off
from lanesum_lab.veth import switch_interface

T = TypeVar("T")

INTERFACE = "eth0"  # of every host
_CLONE_NEWNET = 0x40000000


def within(namespace: str, function: Callable[[], T]) -> T:
    """``function()`` in a thread that has entered the namespace: the sockets that it opens stay there."""
    results: list[T] = []
    problems: list[BaseException] = []

    def enter_and_call() -> None:
        try:
            with Path("/run/netns", namespace).open() as handle:
                if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), _CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            results.append(function())
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=enter_and_call)
    thread.start()
    thread.join()
    if problems:
        raise problems[0]
    return results[0]


@contextlib.contextmanager
def namespaces(topology: Topology) -> Iterator[dict[str, str]]:
    """Namespace of every node of a topology with one switch; gone afterwards, with all cables."""
    names = {node: f"lanesum-a{os.getpid()}-{node}" for node in topology.nodes}
    try:
        for name in names.values():
            _ip("netns", "add", name)
            _ip("netns", "exec", name, "sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
        for host, port in topology.ports().items():
            node = topology.nodes[host]
            near, far = names[topology.switch], names[host]
            end = switch_interface(port)
            _ip("link", "add", end, "netns", near, "type", "veth", "peer", "name", INTERFACE, "netns", far)
            _ip("-n", near, "link", "set", end, "arp", "off", "up")
            _ip("-n", far, "link", "set", INTERFACE, "address", node.mac_text, "up")
            _ip("-n", far, "address", "add", f"{node.ip}/24", "dev", INTERFACE)
            within(far, lambda: offloads_off(INTERFACE))
            within(near, lambda end=end: offloads_off(end))
        yield names
    finally:
        for name in names.values():
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)
