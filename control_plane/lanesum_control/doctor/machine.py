# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of this machine for ``lanesum doctor``: kernel, processor and network interfaces, as /sys has them."""

from __future__ import annotations

import array
import fcntl
import platform
import socket
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lanesum.doctor.finding import Finding, note, ok

_NET = Path("/sys/class/net")
_CPUS = Path("/sys/devices/system/cpu")
_MAX_INTERFACES = 16
_LOST_SHARE = 0.001
_LOST = ("rx_dropped", "rx_missed_errors", "rx_fifo_errors", "rx_errors")
_SIOCETHTOOL = 0x8946  # linux/sockios.h
_OFFLOADS = {"tx": 0x16, "tso": 0x1E, "gso": 0x23, "gro": 0x2B}  # linux/ethtool.h: ETHTOOL_GTXCSUM and so on


def checks(net: Path = _NET, cpus: Path = _CPUS) -> Iterator[Finding]:
    """Check kernel, governors and network interfaces; ``net`` and ``cpus`` are folders of sysfs."""
    yield ok("kernel", f"{platform.system()} {platform.release()}.")
    yield governor(cpus)
    up = [path for path in sorted(net.glob("*")) if _text(path / "operstate") == "up"]
    for path in up[:_MAX_INTERFACES]:
        yield interface(path)


def governor(cpus: Path) -> Finding:
    """Report the frequency governors of the processors."""
    governors = Counter(_text(path) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    slow = {name: count for name, count in governors.items() if name != "performance"}
    if not governors:
        return ok("CPU governor", "None: the frequency is fixed, or chosen by the hypervisor.")
    if slow:
        what = ", ".join(f"{count} of {governors.total()} processors have {name!r}" for name, count in slow.items())
        return note(
            "CPU governor",
            f"{what}: a waiting worker may wake up at a low frequency.",
            "As root: cpupower frequency-set -g performance",
        )
    return ok("CPU governor", f"{governors.total()} processors have 'performance'.")


def interface(path: Path) -> Finding:
    """Report an interface of sysfs: MTU, rate, driver, VLAN tag, offloads and lost packets."""
    name = path.name
    driver = (path / "device" / "driver").resolve().name if (path / "device" / "driver").exists() else "virtual"
    speed = _number(path / "speed")
    rate = f"{speed:,} Mbit/s" if speed > 0 else "no rate"
    offloads = [one for one in _OFFLOADS if _has_offload(name, one)]
    tag = ", with a VLAN tag" if "DEVTYPE=vlan" in _text(path / "uevent") else ""
    what = f"MTU {_number(path / 'mtu'):,}, {rate}, {driver}{tag}; offloads: {' '.join(offloads) or 'none'}."
    received = _number(path / "statistics" / "rx_packets")
    lost = {one: count for one in _LOST if (count := _number(path / "statistics" / one)) > 0}
    if sum(lost.values()) > max(1, received) * _LOST_SHARE:
        counts = ", ".join(f"{one} {count:,}" for one, count in lost.items())
        return note(
            name,
            f"{what} Of {received:,} received packets some were lost here ({counts}), and were retransmitted.",
            f"As root: ethtool -G {name} rx 4096 and sysctl -w net.core.netdev_max_backlog=10000.",
        )
    return ok(name, what)


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _number(path: Path) -> int:
    text = _text(path)
    return int(text) if text.lstrip("-").isdecimal() else 0


def _has_offload(name: str, offload: str) -> bool:
    value = array.array("B", struct.pack("=II", _OFFLOADS[offload], 0))
    request = struct.pack("16sP16x", name.encode(), value.buffer_info()[0])  # struct ifreq
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            fcntl.ioctl(control, _SIOCETHTOOL, request)
    except OSError:
        return False
    return bool(struct.unpack("=II", value.tobytes())[1])
