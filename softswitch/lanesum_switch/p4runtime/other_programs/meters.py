# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Configuration of indirect and direct meters (specification, section 9.5)."""

from __future__ import annotations

from typing import Any

from lanesum_fabric.protobufs import p4runtime_pb2 as p4rt
from lanesum_switch.api import MeterRates
from lanesum_switch.p4runtime.status import Code, StatusError, invalid, invalid_type

_Update = p4rt.Update
_MAX_BURST = (1 << 32) - 1


def parse_meter_config(config: Any) -> MeterRates | None:
    """Return the rates of a ``p4.v1.MeterConfig``; None if all four are -1, which means "always green" in PI.

    Raises StatusError: INVALID_ARGUMENT for other negative numbers, UNIMPLEMENTED for bursts beyond 32 bits.
    """
    for name in ("cir", "cburst", "pir", "pburst"):
        if getattr(config, name) < -1:
            raise invalid(f"The {name} of a meter cannot be {getattr(config, name)}: give at least 0")
    for name in ("cburst", "pburst"):
        if getattr(config, name) > _MAX_BURST:
            raise StatusError(
                Code.UNIMPLEMENTED, f"The {name} of a meter is limited to 32 bits, not {getattr(config, name)}"
            )
    if (config.cir, config.cburst, config.pir, config.pburst) == (-1, -1, -1, -1):
        return None
    # In BMv2 a single -1 is the largest number of the field; as a double that is 2^64, which reads back as 0.
    return MeterRates(
        cir=_as_stored(config.cir % (1 << 64)),
        cburst=config.cburst % (1 << 32),
        pir=_as_stored(config.pir % (1 << 64)),
        pburst=config.pburst % (1 << 32),
    )


def check_rates(rates: MeterRates | None) -> None:
    """Raise StatusError UNKNOWN for a committed rate above the peak rate, which BMv2 refuses.

    BMv2 does so after it has applied half of the configuration; here nothing changes.
    """
    if rates is not None and rates.cir > rates.pir:
        raise StatusError(
            Code.UNKNOWN, f"The committed rate of a meter, {rates.cir}, is above its peak rate, {rates.pir}"
        )


def _as_stored(rate: int) -> int:
    """Return a rate as BMv2 reads it back: it stores rates per microsecond in a double."""
    return int(float(rate) / 1000000.0 * 1000000.0)


def write_meter_config(rates: MeterRates, config: Any) -> None:
    """Write the configuration as BMv2 reports it: the largest burst reads -1, the largest rate 0."""
    config.cir = _signed(rates.cir, 64)
    config.cburst = -1 if rates.cburst == _MAX_BURST else rates.cburst
    config.pir = _signed(rates.pir, 64)
    config.pburst = -1 if rates.pburst == _MAX_BURST else rates.pburst


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def check_meter_update(kind: int) -> None:
    """Raise StatusError INVALID_ARGUMENT for any type but MODIFY."""
    if kind == _Update.INSERT:
        raise invalid("A meter cannot be inserted: use MODIFY")
    if kind == _Update.DELETE:
        raise invalid("A meter cannot be deleted: MODIFY it without a configuration to reset it")
    if kind != _Update.MODIFY:
        raise invalid_type(kind)
