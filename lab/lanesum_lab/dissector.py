# SPDX-FileCopyrightText: 2026 the lanesum authors
# SPDX-License-Identifier: Apache-2.0
"""Wireshark dissector in Lua, generated from the packet definition.

``python -m lanesum_lab.generate`` writes it to ``wireshark/lanesum.lua``.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from lanesum.protocol import spec
from lanesum.protocol.lanes import Combine, LaneOp

_NAMES: dict[str, type[IntEnum]] = {"kind": spec.Kind, "op": LaneOp}
_IN_HEX = ("tag",)
_BITMAPS = ("workers", "racks")

# The rules of docs/protocol.md, "Encapsulation", and of ``Packet.unpack``.
_CODE = """
-- Expert information about datagrams that no party accepts.
local experts = {
    truncated = ProtoExpert.new("lanesum.truncated", "The frame or the capture ends inside the datagram",
        expert.group.MALFORMED, expert.severity.WARN),
    short = ProtoExpert.new("lanesum.short", "The datagram ends inside the lanesum header",
        expert.group.MALFORMED, expert.severity.ERROR),
    length = ProtoExpert.new("lanesum.length", "The header announces another length than the datagram has",
        expert.group.MALFORMED, expert.severity.ERROR),
    version = ProtoExpert.new("lanesum.other_version", "Other protocol version",
        expert.group.UNDECODED, expert.severity.WARN),
    kind = ProtoExpert.new("lanesum.unknown_kind", "Unknown kind of packet",
        expert.group.PROTOCOL, expert.severity.WARN),
    op = ProtoExpert.new("lanesum.unknown_op", "Unknown lane operation",
        expert.group.PROTOCOL, expert.severity.WARN),
}
lanesum.experts = {
    experts.truncated, experts.short, experts.length, experts.version, experts.kind, experts.op
}
local udp_length = Field.new("udp.length")

-- Return the numbers of the bits of a bitmap, as text.
local function members(bitmap)
    local found = {}
    for number = 0, 31 do
        if bit.band(bitmap, bit.lshift(1, number)) ~= 0 then found[#found + 1] = number end
    end
    return #found == 0 and "none" or table.concat(found, ", ")
end

-- Return the names of the flags that are set.
local function flag_names(flags)
    local found = {}
    for _, flag in ipairs(FLAGS) do
        if bit.band(flags, flag.bit) ~= 0 then found[#found + 1] = flag.name end
    end
    return table.concat(found, " ")
end

function lanesum.dissector(buffer, pinfo, tree)
    local udp = { udp_length() }
    local length = udp[#udp].value - UDP_BYTES
    local captured = buffer:len()
    -- Packets are addressed to the port. Answers come from it, and are told by their first byte.
    if pinfo.dst_port ~= pinfo.match_uint and (captured < HEADER_BYTES or not ANSWERS[buffer(0, 1):uint()]) then
        return 0
    end
    pinfo.cols.protocol = "lanesum"
    local item = tree:add(lanesum, buffer())
    if captured < length then item:add_proto_expert_info(experts.truncated) end
    if length < HEADER_BYTES then
        item:add_proto_expert_info(experts.short)
        pinfo.cols.info = "Datagram of " .. length .. " bytes, shorter than a header"
        return captured
    end
    if captured < HEADER_BYTES then
        pinfo.cols.info = "Ends inside the header"
        return captured
    end
    local version = bit.rshift(buffer(0, 1):uint(), 4)
    if version ~= VERSION then
        item:add(fields.version, buffer(0, 1))
        item:add_proto_expert_info(experts.version)
        pinfo.cols.info = "Protocol version " .. version
        return captured
    end
    local items = {}
    for _, one in ipairs(HEADER) do
        items[one.name] = item:add(fields[one.name], buffer(one.first, one.bytes))
    end
    for _, flag in ipairs(FLAGS) do items.flags:add(fields[flag.field], buffer(FLAGS_AT, 1)) end
    local value = values(buffer)
    items.flags:append_text(" " .. flag_names(value.flags))
    if not KIND[value.kind] then item:add_proto_expert_info(experts.kind) end
    if not OP[value.op] then item:add_proto_expert_info(experts.op) end
    local is_contribution = value.kind == CONTRIBUTION
    if not is_contribution then
        items.racks:append_text(" (" .. members(value.racks) .. ")")
    end
    items.workers:append_text(" (" .. members(value.workers) .. ")")
    -- Only contributions say whether their round has check words, and whether each sum goes to its owner alone.
    local is_certified = is_contribution and bit.band(value.racks, CERTIFIED) ~= 0
    if is_contribution then
        items.racks:add(fields.certified, buffer(RACKS_AT, 4))
        items.racks:add(fields.scattered, buffer(RACKS_AT, 4))
    end
    local info = string.format("%s job %d epoch %d chunk %d slot %d/%d %s workers %s [%s] %d words",
        KIND[value.kind] or "kind " .. value.kind, value.job, value.epoch, value.chunk, value.slot, value.shadow,
        OP[value.op] or "op " .. value.op, members(value.workers), flag_names(value.flags), value.words)
    if is_certified then info = info .. ", certified" end
    if is_contribution and bit.band(value.racks, SCATTERED) ~= 0 then info = info .. ", scattered" end
    pinfo.cols.info = info
    item:append_text(", " .. info)
    if length ~= HEADER_BYTES + WORD_BYTES * value.words then
        item:add_proto_expert_info(experts.length)
        return captured
    end
    local words = math.min(value.words, math.floor((captured - HEADER_BYTES) / WORD_BYTES))
    if words > 0 then
        -- Workers send codes, switches and servers send sums of them.
        local sums = not is_contribution or bit.band(value.flags, UPPER) ~= 0
        local payload = item:add(lanesum, buffer(HEADER_BYTES, WORD_BYTES * words),
            words .. (sums and " accumulator words" or " uplink words"))
        local group = is_certified and CHECK_WORDS[value.op]
        local first_check = group and value.words - (sums and group.sums or group.codes) or value.words
        for number = 0, words - 1 do
            local word = buffer(HEADER_BYTES + WORD_BYTES * number, WORD_BYTES)
            local shown = payload:add(fields.word, word)
            if number >= first_check then shown:add(fields.check_word, word) end
        end
    end
    return captured
end

DissectorTable.get("udp.port"):add(UDP_PORT, lanesum)
"""


def wireshark_lua() -> str:
    """Return the dissector."""
    lines = [
        "-- SPDX-FileCopyrightText: 2026 the lanesum authors",
        "-- SPDX-License-Identifier: Apache-2.0",
        "-- Generated by `python -m lanesum_lab.generate`; do not edit.",
        "-- Wireshark dissector of lanesum packets. Options: wireshark -X lua_script:lanesum.lua",
        "",
        'local lanesum = Proto("lanesum", "lanesum aggregation protocol")',
        "",
    ]
    for name in ("UDP_PORT", "VERSION", "UDP_BYTES", "HEADER_BYTES", "WORD_BYTES"):
        lines.append(f"local {name} = {getattr(spec, name)}")
    lines.append(f"local CONTRIBUTION = {spec.Kind.CONTRIBUTION:d}")
    lines.append(f"local UPPER = {spec.Flag.UPPER:#04x}")
    lines.append(f"local CERTIFIED = {spec.CERTIFIED:#x}")
    lines.append(f"local SCATTERED = {spec.SCATTERED:#x}")
    sums = [op for op in LaneOp if op.shape.combine is Combine.ADD and not op.shape.lookup]
    groups = ((op, op.shape.uplink_words_per_group, op.shape.accumulator_words_per_group) for op in sums)
    lines.append(_table("CHECK_WORDS", (f"[{op:d}] = {{ codes = {own}, sums = {wide} }}" for op, own, wide in groups)))
    for name, kinds in _NAMES.items():
        lines.append(_table(name.upper(), (f"[{one.value}] = {_quoted(one.name)}" for one in kinds)))
    answers = (f"[{spec.VERSION << 4 | kind:#04x}] = true" for kind in spec.Kind if kind != spec.Kind.CONTRIBUTION)
    lines.append(_table("ANSWERS", answers))
    lines.append(
        _table(
            "FLAGS",
            (
                f'{{ name = "{flag.name}", field = "flag_{str(flag.name).lower()}", bit = {flag.value:#04x} }}'
                for flag in spec.Flag
            ),
        )
    )
    header, fields, values = [], [], []
    offset = 0
    for field in spec.HEADER:
        first, last = offset // 8, (offset + field.bits - 1) // 8
        bits = 8 * (last - first + 1)
        shift = bits - field.bits - offset % 8
        mask = f"{((1 << field.bits) - 1) << shift:#x}" if field.bits < bits else "nil"
        header.append(f'{{ name = "{field.name}", first = {first}, bytes = {bits // 8} }}')
        base = "HEX" if field.name in (*_IN_HEX, *_BITMAPS, "flags") else "DEC"
        names = field.name.upper() if field.name in _NAMES else "nil"
        about = f'"lanesum.{field.name}", "{field.name}", base.{base}, {names}, {mask}, {_quoted(field.meaning)}'
        fields.append(f"{field.name} = ProtoField.uint{bits}({about})")
        values.append(f"{field.name} = {_value(first, bits, shift, field.bits)}")
        offset += field.bits
    names_of_fields = [field.name for field in spec.HEADER]
    for name in ("flags", "racks"):
        before = spec.HEADER[: names_of_fields.index(name)]
        lines.append(f"local {name.upper()}_AT = {sum(field.bits for field in before) // 8}")
    for flag in spec.Flag:
        name = str(flag.name).lower()
        about = f'"lanesum.flags.{name}", "{flag.name}", 8, nil, {flag.value:#04x}'
        fields.append(f"flag_{name} = ProtoField.bool({about})")
    fields.append('word = ProtoField.uint32("lanesum.word", "word", base.HEX)')
    fields.append('check_word = ProtoField.uint32("lanesum.check_word", "check word", base.HEX)')
    fields.append('certified = ProtoField.bool("lanesum.certified", "certified round", 32, nil, CERTIFIED)')
    fields.append('scattered = ProtoField.bool("lanesum.scattered", "scattered round", 32, nil, SCATTERED)')
    lines += [_table("HEADER", header), _table("fields", fields), "lanesum.fields = fields", ""]
    lines += ["-- Return the values of the header's fields.", "local function values(buffer)"]
    lines += ["    return {", *(f"        {value}," for value in values), "    }", "end"]
    return "\n".join(lines) + "\n" + _CODE


def _table(name: str, rows: Iterable[str]) -> str:
    return "\n".join([f"local {name} = {{", *(f"    {row}," for row in rows), "}"])


def _value(first: int, bits: int, shift: int, width: int) -> str:
    read = f"buffer({first}, {bits // 8}):uint()"
    if shift:
        read = f"bit.rshift({read}, {shift})"
    return f"bit.band({read}, {(1 << width) - 1:#x})" if shift + width < bits else read


def _quoted(text: str) -> str:
    assert '"' not in text and "\\" not in text
    return f'"{text}"'
