# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Limits of what a program may declare.

A controller pushes programs over P4Runtime, so their size is input. Each limit is above what p4c writes for this
repository and for the programs of p4lang/behavioral-model. Together they bound the memory of a push: no program takes
more than 64 MiB until packets fill its registers.
"""

from __future__ import annotations

from lanesum_switch.api import InvalidArgumentError
from lanesum_switch.bmv2 import ir

# Of program text. p4c's JSON of the default program, with references to its source, has 6.3 MiB.
MAX_PROGRAM_BYTES = 8 << 20
MAX_UNICODE_BYTES = 1 << 20  # of text that is not ASCII: Python stores it in up to four bytes a character
MAX_VALUES = 3 << 16  # objects, arrays and their items in JSON: 168,438 in the largest committed program
MAX_WORDS = 1 << 17  # words and signs of a printed program: 76,070 in the largest committed one
MAX_TEXT = 4096  # characters of a name or log message
MAX_BITS = 2048  # width of a field or value, as in p4c
MAX_NUMBER_BITS = 16384  # of a constant: a larger shift leaves no bit in any field
MAX_VARBIT_BYTES = 65535  # of a header with a variable-length field: an IPv4 packet
MAX_LOOKAHEAD_OFFSET = 8 * 65535  # bits: an IPv4 packet
MAX_ID = (1 << 32) - 1  # P4Runtime and BMv2 use 32-bit ids
MAX_ENTRIES = 1 << 24  # of one table or action profile; entries take memory when they are inserted
MAX_STACK = 1024  # elements of a header stack: every access with a computed index compares it with each of them
MAX_CELLS = 3 << 20  # of all registers, counters and meters: 24 MiB of zeros; the largest committed program has 2.5 Mi
MAX_STATE_BYTES = 1 << 27  # of all cells, once packets have written a large value to every one; 110 MiB as committed
_CELL_BYTES = 40  # of a cell: a reference, and a Python int without its digits


def check_text(text: bytes) -> None:
    """Raise InvalidArgumentError for more program text than a program may have."""
    size, limit = len(text), MAX_PROGRAM_BYTES if text.isascii() else MAX_UNICODE_BYTES
    if size > limit:
        what = "" if limit == MAX_PROGRAM_BYTES else ", with characters beyond ASCII"
        raise InvalidArgumentError(
            f"The pipeline has {size} bytes{what}: a program has at most {limit}.",
            "Leave out the references to its source (source_info).",
        )


def check_state(program: ir.Program) -> None:
    """Check the total size of a program's state, before any of it is allocated.

    Raises InvalidArgumentError, which names the object that exceeds a limit.
    """
    cells = octets = 0
    arrays = [("register", a.name, a.size, a.bits) for a in program.registers.values()]
    arrays += [("counter", a.name, a.size, 128) for a in program.counters.values() if a.binding is None]
    arrays += [("meter", a.name, a.size, 512) for a in program.meters.values() if a.binding is None]
    for kind, name, size, bits in arrays:
        cells += size
        octets += size * (_CELL_BYTES + bits // 8)
        if size < 0 or not 0 < bits <= MAX_BITS or cells > MAX_CELLS or octets > MAX_STATE_BYTES:
            raise InvalidArgumentError(
                f"The {kind} {name[:80]!r} has {size} cells of {bits} bits: a program may declare at most {MAX_CELLS} "
                f"cells, {MAX_STATE_BYTES} bytes of state and {MAX_BITS} bits a cell.",
                "Declare smaller arrays.",
            )
