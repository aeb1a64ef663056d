# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Network namespaces with veth pairs, raw sockets in them, and limits of the rate at which interfaces send.

A switch process is on one end of each pair, and raw sockets of this process on the other. Both ends are in the
namespace. Deleting it removes all of them, and no packet of the host's kernel or daemons reaches the switch.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from lanesum.errors import MissingToolError
from lanesum.protocol.spec import ETHERNET_BYTES, ETHERNET_MTU

_CLONE_NEWNET = 0x40000000
_ETH_P_ALL = 3
_SOL_PACKET, _PACKET_IGNORE_OUTGOING = 263, 23
_RECEIVE_BUFFER_BYTES = 8 << 20
_GRACE_S = 10.0
_LINK_UP_S = 120.0


def obstacle() -> str:
    """Return the reason why no namespace can be made here; empty if one can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "unshare"):
        if shutil.which(program) is None:
            return f"{program} is not on PATH (apt install iproute2 util-linux)"
    return _namespace_obstacle()


@functools.cache
def _namespace_obstacle() -> str:
    """Try to make a link in a new namespace: root in a container may lack the privilege."""
    probe = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "lsprobe0", "type", "veth", "peer", "name", "lsprobe1"],
        capture_output=True,
        text=True,
        check=False,
    )
    if probe.returncode == 0:
        return ""
    reason = probe.stderr.strip().splitlines()[-1:] or ["no reason given"]
    return f"this root may not make network namespaces with links ({reason[0]})"


def switch_interface(port: int) -> str:
    """Return the name of the switch's end of a link."""
    return f"s{port}"


def inside(namespace: str, command: Sequence[str]) -> list[str]:
    """Return ``command`` with a prefix that runs it in the namespace."""
    return ["ip", "netns", "exec", namespace, *command]


@contextlib.contextmanager
def veth_namespace(name: str, ports: Sequence[int]) -> Iterator[str]:
    """Make a namespace with a veth pair per port (``sN``: switch, ``hN``: this process); remove it at the end.

    Raises MissingToolError without root or ``ip``.
    """
    problem = obstacle()
    if problem:
        raise MissingToolError(f"Cannot make a network namespace: {problem}.")
    _run("ip", "netns", "add", name)
    try:
        # The kernel would greet IPv6 neighbours on every new link.
        _run(*inside(name, ["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"]))
        for port in ports:
            ends = (switch_interface(port), f"h{port}")
            _run("ip", "-n", name, "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for end in ends:
                _run("ip", "-n", name, "link", "set", end, "arp", "off", "up")
        wait_for_links([end for port in ports for end in (switch_interface(port), f"h{port}")], name)
        yield name
    finally:
        _run("ip", "netns", "delete", name)


def wait_for_links(names: Sequence[str], namespace: str | None = None) -> None:
    """Wait until links carry frames.

    The kernel tells a link later that its peer is up, and until then drops, without an error, what is sent.
    Raises TimeoutError where one does not come up.
    """
    where = [] if namespace is None else ["-n", namespace]
    deadline = time.monotonic() + _LINK_UP_S
    for name in names:
        # Unlike the file in /sys, this asks under the lock under which the kernel activates the link.
        while '"operstate":"UP"' not in _run("ip", *where, "-j", "link", "show", "dev", name):
            if time.monotonic() > deadline:
                raise TimeoutError(f"The link {name} is not up after {_LINK_UP_S:g} s.")
            time.sleep(0.01)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a switch process with SIGTERM, then SIGKILL."""
    process.terminate()
    try:
        process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def enter(namespace: str) -> None:
    """Move the calling thread to a network namespace. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    with Path("/run/netns", namespace).open() as handle:
        if libc.setns(handle.fileno(), _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


@contextlib.contextmanager
def raw_sockets(namespace: str, ports: Sequence[int]) -> Iterator[dict[int, socket.socket]]:
    """Open one raw socket per port in the namespace, in a thread that enters it. Raises OSError."""
    sockets: dict[int, socket.socket] = {}
    problems: list[OSError] = []

    def open_all() -> None:
        try:
            enter(namespace)
            for port in ports:
                # With protocol 0 the socket receives nothing until it is bound to its link.
                sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                sockets[port] = sock
                sock.setsockopt(_SOL_PACKET, _PACKET_IGNORE_OUTGOING, 1)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
                sock.bind((f"h{port}", _ETH_P_ALL))
        except OSError as error:
            problems.append(error)

    thread = threading.Thread(target=open_all)
    thread.start()
    thread.join()
    try:
        if problems:
            raise problems[0]
        yield sockets
    finally:
        for sock in sockets.values():
            sock.close()


#: Bytes that leave a link at once after a pause, as Mininet has it: a late timer takes no time of the link.
BURST_BYTES = 15_000
_DEVICE = "lo"  # of the new namespace in which ``rate_obstacle`` tries


def htb_root(interface: str) -> str:
    """Return the order that makes a new interface ready for ``htb_rate``."""
    return f"qdisc add dev {interface} root handle 1: htb default 1"


def htb_rate(interface: str, rate_mbit: float, *, overhead: int = 0, burst: int | None = None) -> str:
    """Return the order that sets the rate, in Mbit/s.

    The quantum is one frame: with that of the default, which grows with the rate, ``tc`` warns.

    Args:
        overhead: bytes that count for every frame, beside the frame from its Ethernet header on.
        burst: bytes that leave at once after a pause; None is the default, about one frame.
    """
    return (
        f"class replace dev {interface} parent 1: classid 1:1 htb rate {rate_mbit:g}mbit "
        f"quantum {ETHERNET_MTU + ETHERNET_BYTES} overhead {overhead}{'' if burst is None else f' burst {burst}'}"
    )


def losses(interface: str, fraction: float) -> Iterator[str]:
    """Yield the commands that drop this fraction of the frames that an interface sends, at random, after ``htb_root``.

    A program of classic BPF moves them to a class whose queue has no space. TCP sends single frames then, so that a
    loss drops one of them.
    """
    whole = 1 << 32
    # A = random number; return the class of the filter if it is below the bound, else 0: no match. See
    # Documentation/networking/filter.rst of Linux.
    program = f"4,32 0 0 {whole - 4096 + 56},53 1 0 {round(fraction * whole)},6 0 0 {whole - 1},6 0 0 0"
    frame = ETHERNET_MTU + ETHERNET_BYTES
    where = f"dev {interface} parent"
    yield f"ip link set {interface} gso_max_segs 1"
    yield f"tc class replace {where} 1: classid 1:2 htb rate 1gbit quantum {frame}"
    yield f"tc qdisc replace {where} 1:2 handle 20: bfifo limit 1"
    yield f'tc filter replace {where} 1: protocol all prio 1 handle 1 bpf bytecode "{program}" classid 1:2'


def rate_obstacle() -> str:
    """Return the reason why rates cannot be limited here; empty if they can. Needs root and network namespaces."""
    orders = f"{htb_root(_DEVICE)}\n{htb_rate(_DEVICE, 1.0)}\n"
    try:
        tried = subprocess.run(
            ["unshare", "--net", "tc", "-batch", "-"], input=orders, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        return f"{error.filename} is not on PATH (apt install iproute2 util-linux)"
    if tried.returncode == 0:
        return ""
    reason = tried.stderr.strip().splitlines()[:1] or ["no reason given"]
    return f"tc cannot limit rates here ({reason[0]})"
