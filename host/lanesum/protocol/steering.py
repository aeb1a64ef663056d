# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Selection of a server's or a worker's socket by the slot in the header of a packet.

Linux runs a classic BPF program for each datagram to sockets that share an address. Neighbouring slots have one thread:
joined datagrams are steered together, by the first of them.
"""

from __future__ import annotations

import ctypes
import socket
import struct
from collections.abc import Sequence

from lanesum.protocol.spec import HEADER, SLOT_RUN, SLOT_SHARES, SLOT_SKEW

_SO_ATTACH_REUSEPORT_CBPF = 51  # asm-generic/socket.h
# linux/bpf_common.h and linux/filter.h. A load past the end of a datagram ends the program with 0, the first socket.
_LOAD_WORD, _AND, _SHIFT_RIGHT, _DIVIDE, _MODULO = 0x20, 0x54, 0x74, 0x34, 0x94
_COPY_TO_X, _ADD_X, _RETURN = 0x07, 0x0C, 0x16
_INSTRUCTION = struct.Struct("=HBBI")  # struct sock_filter

Instruction = tuple[int, int]  # operation and operand


def _load(name: str) -> list[Instruction]:
    """Return the instructions that load a header field."""
    end = sum(field.bits for field in HEADER[: 1 + [field.name for field in HEADER].index(name)])
    bits = next(field.bits for field in HEADER if field.name == name)
    return [(_LOAD_WORD, (end - 1) // 32 * 4), (_SHIFT_RIGHT, -end % 32), (_AND, (1 << bits) - 1)]


def steering_program(threads: int, servers: int = 1, *, jobs: bool = True) -> list[Instruction]:
    """Return the program that selects the share of a datagram's slot, see ``SLOT_SHARES``, modulo ``threads``.

    Args:
        threads: number of sockets.
        servers: servers of the jobs; a server has every ``servers``-th slot.
        jobs: add the number of the job to the share: those of several jobs begin at different sockets.
    """
    return [
        *_load("slot"),
        (_DIVIDE, SLOT_RUN * servers),
        (_COPY_TO_X, 0),
        (_DIVIDE, SLOT_SKEW),
        (_ADD_X, 0),
        (_MODULO, SLOT_SHARES),
        *([(_COPY_TO_X, 0), *_load("job"), (_ADD_X, 0)] if jobs else []),
        (_MODULO, threads),
        (_RETURN, 0),
    ]


def steer(sockets: Sequence[socket.socket], servers: int = 1, *, jobs: bool = True) -> OSError | None:
    """Let the kernel select the socket of each datagram by slot, see ``steering_program``.

    Args:
        sockets: all sockets of an address, in the order in which they were bound with SO_REUSEPORT. None may be
            connected: the kernel finds such a socket first.

    Returns:
        None, or the reason why the kernel refuses. It then selects a socket by the sender, as without a program.
    """
    instructions = steering_program(len(sockets), servers, jobs=jobs)
    program = b"".join(_INSTRUCTION.pack(operation, 0, 0, operand) for operation, operand in instructions)
    memory = ctypes.create_string_buffer(program, len(program))
    number = len(program) // _INSTRUCTION.size
    filter_program = struct.pack("@HP", number, ctypes.addressof(memory))  # struct sock_fprog
    try:
        sockets[0].setsockopt(socket.SOL_SOCKET, _SO_ATTACH_REUSEPORT_CBPF, filter_program)
    except OSError as error:
        return error
    return None
