# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""CRCs with arbitrary parameters (CRCPolynomial)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Crc:
    """A CRC; ``reflected``: bits are processed from the lowest up; ``final`` is XORed at the end."""

    width: int
    polynomial: int
    reflected: bool = False
    initial: int = 0
    final: int = 0

    @property
    def key(self) -> str:
        """Name of the algorithm."""
        return f"crc{self.width}_{self.polynomial:x}_{self.reflected:d}_{self.initial:x}_{self.final:x}"

    def __call__(self, data: bytes) -> int:
        remainder, top = self.initial, 1 << self.width - 1
        for byte in data:
            if self.reflected:
                byte = int(f"{byte:08b}"[::-1], 2)
            for position in range(7, -1, -1):
                bit = byte >> position & 1
                carry = bool(remainder & top) != bool(bit)
                remainder = (remainder << 1) & (2 * top - 1)
                if carry:
                    remainder ^= self.polynomial
        if self.reflected:
            remainder = int(f"{remainder:0{self.width}b}"[::-1], 2)
        return remainder ^ self.final
