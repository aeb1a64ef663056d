# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""TNA's externs besides registers.

Counters, meters, checksums, hashes, random numbers, mirror, resubmit, digest.
"""

from __future__ import annotations

from collections.abc import Sequence

from lanesum_switch.api import UnsupportedProgramError
from lanesum_switch.bmv2 import ir
from lanesum_switch.runtime.hashes import CRC8, CRC16, CRC32, Crc
from lanesum_switch.tna import syntax as p4
from lanesum_switch.tna import values
from lanesum_switch.tna.body import Binding, Body, Extern
from lanesum_switch.tna.registers import Register, RegisterAction
from lanesum_switch.tna.storage import Gress, HeaderVar, Leaf, headers, leaves
from lanesum_switch.tna.values import Typed

_MODULUS = 0xFFFF
_SUM = p4.Bits(16)


def word_sum(fields: Sequence[Typed]) -> ir.Expr:
    """Return the sum of the 16-bit words of concatenated fields, not reduced: 2**16 is 1 modulo 65,535."""
    total: ir.Expr = ir.Const(0)
    position = 0
    for field in fields:
        position += field.bits
        shift = -position % 16
        part = values.bit_string(field)
        part = ir.Op("<<", (part, ir.Const(shift))) if shift else part
        total = part if total == ir.Const(0) else ir.Op("+", (total, part))
    return total


class ResidualChecksum(Extern):
    """Ones' complement sum of a parser or deparser; ``residual`` is the variable of the sum after ``deposit``.

    A parser's checksum is a running sum modulo 65,535; adding and subtracting are assignments to it. The result of
    ``get`` and ``subtract_all_and_deposit`` stays open in the chip's parser, which continues to subtract: every later
    extracted header counts, related to the checksum or not.
    """

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        self.sum = gress.storage.temporary(_SUM)
        self.open = gress.storage.temporary(p4.Bits(1))
        self.residual: Leaf | None = None

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        match method:
            case "add":
                self._change(body, "+", body.fields(call.args[0]))
                return None
            case "subtract":
                self._change(body, "-", body.fields(call.args[0]))
                return None
            case "verify":
                # True if the checksum is wrong, as in the chip's parser (bf-p4c writes it to parser_err).
                return Typed(ir.Op("!=", (self.sum.expr, ir.Const(0))), p4.Boolean())
            case "subtract_all_and_deposit":
                place = body.place(call.args[0])
                assert isinstance(place, Leaf)
                self.deposit(body, place)
                return None
            case "update":
                return self._update(body, call)
        return super().call(body, method, call)

    def deposit(self, body: Body, place: Leaf) -> None:
        """Write the sum to ``place``, and update it from here on."""
        self.residual = place
        body.store(self.open, Typed(ir.Const(1), self.open.type))
        body.store(place, Typed(self.sum.expr, _SUM))
        if self not in self.gress.residuals:
            self.gress.residuals.append(self)

    def _change(self, body: Body, op: str, fields: Sequence[Typed]) -> None:
        whole = ir.Op(op, (self.sum.expr, word_sum(fields)))
        body.store(self.sum, Typed(ir.Op("%", (whole, ir.Const(_MODULUS))), _SUM))

    def extracted(self, body: Body, header: HeaderVar) -> None:
        """Update an open residual after an extract."""
        assert self.residual is not None
        fields = [Typed(leaf.expr, leaf.type) for leaf in leaves(header)]
        rest = ir.Op("-", (self.sum.expr, ir.Op("?", (self.open.expr, word_sum(fields), ir.Const(0)))))
        body.store(self.sum, Typed(ir.Op("%", (rest, ir.Const(_MODULUS))), _SUM))
        kept = ir.Op("?", (self.open.expr, self.sum.expr, self.residual.expr))
        body.store(self.residual, Typed(kept, self.residual.type))

    def _update(self, body: Body, call: p4.CallExpression) -> Typed:
        result = body.gress.storage.temporary(_SUM)
        total = word_sum(body.fields(call.args[0]))
        body.emit("ones_complement", result.expr, total)
        if len(call.args) > 1 and call.args[1] == p4.Truth(True):
            zero = ir.Op("==", (result.expr, ir.Const(0)))
            body.store(result, Typed(ir.Op("?", (zero, ir.Const(_MODULUS), result.expr)), _SUM))
        return Typed(result.expr, _SUM)


_RED = 3  # MeterColor_t; the meters of this switch return 2 for it
_COLOR = p4.Bits(8)
_CRC = {"CRC8": CRC8, "CRC16": CRC16, "CRC32": CRC32}


def _label(expr: p4.Expr) -> str:
    """Return ``BYTES`` for ``CounterType_t.BYTES``."""
    return expr.name if isinstance(expr, p4.MemberExpression) else ""


class CounterExtern(Extern):
    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        gress.program.counters[self.name] = ir.CounterArray(self.name, self.size, None)

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "count" or len(call.args) != 1:
            return super().call(body, method, call)
        body.emit("count", ir.Named("counter_array", self.name), body.value(call.args[0]).expr)
        return None


class DirectCounter(Extern):
    """Counter of the actions that call it: the table counts for the actions in ``gress.counted``."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        gress.counted[instance.name] = set()

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "count" or call.args:
            return super().call(body, method, call)
        self.gress.counted[self.instance.name].add(body.where)
        return None


class _AnyMeter(Extern):
    def unit(self, label: str) -> str:
        return "bytes" if label == "BYTES" else "packets"

    def color(self, body: Body, raw: ir.Expr) -> Typed:
        found = body.gress.storage.temporary(_COLOR)
        red = ir.Op("==", (raw, ir.Const(2)))
        body.store(found, Typed(ir.Op("?", (red, ir.Const(_RED), raw)), _COLOR))
        return Typed(found.expr, _COLOR)


class MeterExtern(_AnyMeter):
    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        if len(instance.args) != 2:
            raise UnsupportedProgramError(f"Unsupported: meter {self.name} with colors of its own.")
        unit = self.unit(_label(instance.args[1]))
        gress.program.meters[self.name] = ir.MeterArray(self.name, self.size, unit, None, None)

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "execute" or len(call.args) != 1:
            return super().call(body, method, call)
        raw = body.gress.storage.temporary(_COLOR)
        index = body.value(call.args[0]).expr
        body.emit("assign", raw.expr, ir.Const(0))
        body.emit("execute_meter", ir.Named("meter_array", self.name), index, raw.expr)
        return self.color(body, raw.expr)


class DirectMeter(_AnyMeter):
    """Meter that the table executes at each hit; ``execute`` in the action returns the color."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        self.raw = gress.storage.temporary(_COLOR)
        assert isinstance(self.raw.expr, ir.FieldRef)
        unit = self.unit(_label(instance.args[0]))
        gress.program.meters[self.name] = ir.MeterArray(self.name, 0, unit, self.name, self.raw.expr)
        gress.direct_meters[instance.name] = self.name

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "execute" or call.args:
            return super().call(body, method, call)
        return self.color(body, self.raw.expr)


class CrcPolynomial(Extern):
    """``crc``: the algorithm with the constructor's parameters."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        coefficients, reflected, _, extended, initial, final = instance.args
        numbers = [arg.value for arg in (coefficients, initial, final) if isinstance(arg, p4.Number)]
        width = coefficients.width if isinstance(coefficients, p4.Number) else None
        if extended != p4.Truth(False) or width is None or len(numbers) != 3:
            raise UnsupportedProgramError(f"Unsupported: polynomial {self.name} in this form.")
        self.crc = Crc(width, numbers[0], reflected == p4.Truth(True), numbers[1], numbers[2])


class _OfType(Extern):
    """Extern whose results have the type of its first type argument."""

    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        kind = gress.storage.resolve(instance.type.args[0])
        assert isinstance(kind, p4.Bits)
        self.type = kind


class Hash(_OfType):
    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance, scope)
        label = _label(instance.args[0])
        self.crc = _CRC.get(label)
        if label == "CUSTOM" and len(instance.args) == 2 and isinstance(instance.args[1], p4.Path):
            polynomial = scope.get(instance.args[1].name)
            assert isinstance(polynomial, CrcPolynomial)
            self.crc = polynomial.crc
        if self.crc is None and label != "IDENTITY":
            raise UnsupportedProgramError(f"Unsupported: hash algorithm {label} of {self.name}.")

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "get" or len(call.args) != 1:
            return super().call(body, method, call)
        data = values.concatenate(body.fields(call.args[0]))
        result = body.gress.storage.temporary(self.type)
        if self.crc is None:
            body.store(result, Typed(values.cut(data.expr, self.type), self.type))
        else:
            if data.bits % 8:
                raise body.unsupported(f"CRC {self.name} over {data.bits} bits, which are no whole bytes", call.line)
            body.gress.hashes[self.crc.key] = self.crc
            body.emit("hash_bytes", result.expr, ir.Text(self.crc.key), data.expr, ir.Const(data.bits // 8))
        return Typed(result.expr, self.type)


class Random(_OfType):
    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "get":
            return super().call(body, method, call)
        result = body.gress.storage.temporary(self.type)
        body.emit("modify_field_rng_uniform", result.expr, ir.Const(0), values.mask_of(self.type.width))
        return Typed(result.expr, self.type)


class _Emitter(Extern):
    """Mirror, Resubmit and Digest: each sends fields besides the packet."""

    def packed(self, body: Body, call: p4.CallExpression, position: int) -> tuple[ir.Expr, ir.Const]:
        """Return (the fields as one number, their bytes) of an optional argument."""
        if len(call.args) <= position:
            return ir.Const(0), ir.Const(0)
        data = values.concatenate(body.fields(call.args[position]))
        if data.bits % 8:
            raise body.unsupported(f"{data.bits} bits to send by {self.name}, which are no whole bytes", call.line)
        return data.expr, ir.Const(data.bits // 8)


class Mirror(_Emitter):
    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "emit":
            return super().call(body, method, call)
        data, size = self.packed(body, call, 1)
        body.emit("mirror", body.value(call.args[0]).expr, data, size)
        return None


class Resubmit(_Emitter):
    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "emit":
            return super().call(body, method, call)
        data, size = self.packed(body, call, 0)
        if size.value > self.gress.chip.port_metadata_bytes:
            raise body.unsupported(
                f"{size.value} bytes to resubmit, {self.gress.chip.title} has {self.gress.chip.port_metadata_bytes}",
                call.line,
            )
        body.emit("resubmit_packet", data, size)
        return None


class DigestExtern(Extern):
    def __init__(self, gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> None:
        super().__init__(gress, instance)
        gress.program.digests[self.name] = ()

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "pack":
            return super().call(body, method, call)
        fields = body.fields(call.args[0])
        self.gress.program.digests[self.name] = tuple(field.bits for field in fields)
        body.emit("digest", ir.Text(self.name), *(values.bit_string(field) for field in fields))
        return None


class PacketOutExtern(Extern):
    """The deparser's packet: ``emit`` of a header, or of all headers of a struct."""

    def call(self, body: Body, method: str, call: p4.CallExpression) -> Typed | None:
        if method != "emit":
            return super().call(body, method, call)
        for header in headers(body.place(call.args[0])):
            body.emit("emit", ir.HeaderRef(header.name))
        return None


EXTERNS = {
    "Checksum": ResidualChecksum,
    "Counter": CounterExtern,
    "CRCPolynomial": CrcPolynomial,
    "Digest": DigestExtern,
    "DirectCounter": DirectCounter,
    "DirectMeter": DirectMeter,
    "Hash": Hash,
    "Meter": MeterExtern,
    "Mirror": Mirror,
    "Random": Random,
    "Register": Register,
    "RegisterAction": RegisterAction,
    "RegisterAction2": RegisterAction,
    "RegisterAction3": RegisterAction,
    "RegisterAction4": RegisterAction,
    "Resubmit": Resubmit,
}


def instantiate(gress: Gress, instance: p4.Instantiation, scope: dict[str, Binding]) -> Extern:
    """Return the extern object of an instantiation. Raises UnsupportedProgramError."""
    make = EXTERNS.get(instance.type.name)
    if make is None:
        raise UnsupportedProgramError(
            f"Unsupported: extern {instance.type} ({instance.control_name}) in line {instance.line}."
        )
    return make(gress, instance, scope)
