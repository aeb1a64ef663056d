-- SPDX-FileCopyrightText: 2026 the lanesum authors
-- SPDX-License-Identifier: Apache-2.0
-- Wireshark dissector of lanesum packets. Options: wireshark -X lua_script:lanesum.lua
-- `python -m lanesum_lab.generate` writes the packet definition; do not edit that block.

local lanesum = Proto("lanesum", "lanesum aggregation protocol")

-- generated: packet definition
local UDP_PORT = 19539
local VERSION = 2
local UDP_BYTES = 8
local HEADER_BYTES = 32
local WORD_BYTES = 4
local CONTRIBUTION = 1
local UPPER = 0x20
local CERTIFIED = 0x8000000
local SCATTERED = 0x4000000
local GATHERED = 0x10000000
local CHECK_WORDS = {
    [0] = { codes = 1, sums = 1 },
    [1] = { codes = 1, sums = 2 },
    [3] = { codes = 1, sums = 1 },
    [6] = { codes = 1, sums = 4 },
    [7] = { codes = 1, sums = 2 },
    [8] = { codes = 3, sums = 8 },
    [9] = { codes = 5, sums = 8 },
}
local KIND = {
    [1] = "CONTRIBUTION",
    [2] = "RESULT",
    [3] = "PENDING",
    [4] = "CONFLICT",
}
local OP = {
    [0] = "ADD32",
    [1] = "EXPAND8",
    [2] = "TABLE8",
    [3] = "ADD8X4",
    [4] = "OR",
    [5] = "MAX",
    [6] = "EXPAND16",
    [7] = "EXPAND8TO16",
    [8] = "EXPAND3TO8",
    [9] = "EXPAND5TO8",
}
local ANSWERS = {
    [0x22] = true,
    [0x23] = true,
    [0x24] = true,
}
local FLAGS = {
    { name = "RETRANSMISSION", field = "flag_retransmission", bit = 0x01 },
    { name = "COLLISION", field = "flag_collision", bit = 0x02 },
    { name = "ECN", field = "flag_ecn", bit = 0x04 },
    { name = "OVERFLOW", field = "flag_overflow", bit = 0x08 },
    { name = "PARTIAL", field = "flag_partial", bit = 0x10 },
    { name = "UPPER", field = "flag_upper", bit = 0x20 },
    { name = "BYPASS", field = "flag_bypass", bit = 0x40 },
    { name = "GONE", field = "flag_gone", bit = 0x80 },
}
local FLAGS_AT = 1
local RACKS_AT = 24
local HEADER = {
    { name = "version", first = 0, bytes = 1 },
    { name = "kind", first = 0, bytes = 1 },
    { name = "flags", first = 1, bytes = 1 },
    { name = "job", first = 2, bytes = 2 },
    { name = "tag", first = 4, bytes = 4 },
    { name = "epoch", first = 8, bytes = 4 },
    { name = "chunk", first = 12, bytes = 4 },
    { name = "shadow", first = 16, bytes = 1 },
    { name = "slot", first = 16, bytes = 2 },
    { name = "op", first = 18, bytes = 1 },
    { name = "spare", first = 19, bytes = 1 },
    { name = "workers", first = 20, bytes = 4 },
    { name = "racks", first = 24, bytes = 4 },
    { name = "fan_in_workers", first = 28, bytes = 1 },
    { name = "fan_in_racks", first = 29, bytes = 1 },
    { name = "words", first = 30, bytes = 2 },
}
local fields = {
    version = ProtoField.uint8("lanesum.version", "version", base.DEC, nil, 0xf0, "protocol version, 2"),
    kind = ProtoField.uint8("lanesum.kind", "kind", base.DEC, KIND, 0xf, "1 contribution, 2 result, 3 pending, 4 conflict"),
    flags = ProtoField.uint8("lanesum.flags", "flags", base.HEX, nil, nil, "bit set, see below"),
    job = ProtoField.uint16("lanesum.job", "job", base.DEC, nil, nil, "job identifier, given by the controller"),
    tag = ProtoField.uint32("lanesum.tag", "tag", base.HEX, nil, nil, "verification tag: random, new for every incarnation of a job"),
    epoch = ProtoField.uint32("lanesum.epoch", "epoch", base.DEC, nil, nil, "round of the job: grows by one with every round, compared as a serial number"),
    chunk = ProtoField.uint32("lanesum.chunk", "chunk", base.DEC, nil, nil, "packet number inside the round, from 0"),
    shadow = ProtoField.uint8("lanesum.shadow", "shadow", base.DEC, nil, 0x80, "which of the slot's two shadow sets"),
    slot = ProtoField.uint16("lanesum.slot", "slot", base.DEC, nil, 0x7fff, "slot inside the job's slot range, from 0"),
    op = ProtoField.uint8("lanesum.op", "op", base.DEC, OP, nil, "lane operation"),
    spare = ProtoField.uint8("lanesum.spare", "spare", base.DEC, nil, nil, "1 in the opening of a session; owner's number plus 2 in a scattered round; else 0"),
    workers = ProtoField.uint32("lanesum.workers", "workers", base.HEX, nil, nil, "bitmap of workers, by kind of packet"),
    racks = ProtoField.uint32("lanesum.racks", "racks", base.HEX, nil, nil, "contribution: uplink words of the sender's whole round; answers: bitmap of racks, by kind of packet"),
    fan_in_workers = ProtoField.uint8("lanesum.fan_in_workers", "fan_in_workers", base.DEC, nil, nil, "contributions that complete the first level; contribution of a worker: its number"),
    fan_in_racks = ProtoField.uint8("lanesum.fan_in_racks", "fan_in_racks", base.DEC, nil, nil, "contributions that complete the second level; 0 with one level, by kind of packet"),
    words = ProtoField.uint16("lanesum.words", "words", base.DEC, nil, nil, "payload length in 32-bit words"),
    flag_retransmission = ProtoField.bool("lanesum.flags.retransmission", "RETRANSMISSION", 8, nil, 0x01),
    flag_collision = ProtoField.bool("lanesum.flags.collision", "COLLISION", 8, nil, 0x02),
    flag_ecn = ProtoField.bool("lanesum.flags.ecn", "ECN", 8, nil, 0x04),
    flag_overflow = ProtoField.bool("lanesum.flags.overflow", "OVERFLOW", 8, nil, 0x08),
    flag_partial = ProtoField.bool("lanesum.flags.partial", "PARTIAL", 8, nil, 0x10),
    flag_upper = ProtoField.bool("lanesum.flags.upper", "UPPER", 8, nil, 0x20),
    flag_bypass = ProtoField.bool("lanesum.flags.bypass", "BYPASS", 8, nil, 0x40),
    flag_gone = ProtoField.bool("lanesum.flags.gone", "GONE", 8, nil, 0x80),
    word = ProtoField.uint32("lanesum.word", "word", base.HEX),
    check_word = ProtoField.uint32("lanesum.check_word", "check word", base.HEX),
    certified = ProtoField.bool("lanesum.certified", "certified round", 32, nil, CERTIFIED),
    scattered = ProtoField.bool("lanesum.scattered", "scattered round", 32, nil, SCATTERED),
    gathered = ProtoField.bool("lanesum.gathered", "gathered round", 32, nil, GATHERED),
}
lanesum.fields = fields

-- Return the values of the header's fields.
local function values(buffer)
    return {
        version = bit.rshift(buffer(0, 1):uint(), 4),
        kind = bit.band(buffer(0, 1):uint(), 0xf),
        flags = buffer(1, 1):uint(),
        job = buffer(2, 2):uint(),
        tag = buffer(4, 4):uint(),
        epoch = buffer(8, 4):uint(),
        chunk = buffer(12, 4):uint(),
        shadow = bit.rshift(buffer(16, 1):uint(), 7),
        slot = bit.band(buffer(16, 2):uint(), 0x7fff),
        op = buffer(18, 1):uint(),
        spare = buffer(19, 1):uint(),
        workers = buffer(20, 4):uint(),
        racks = buffer(24, 4):uint(),
        fan_in_workers = buffer(28, 1):uint(),
        fan_in_racks = buffer(29, 1):uint(),
        words = buffer(30, 2):uint(),
    }
end
-- end: packet definition

-- The rules of docs/protocol.md, "Encapsulation", and of `Packet.unpack`.
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
    -- Only contributions say whether their round has check words, and whether their chunk has an owner.
    local is_certified = is_contribution and bit.band(value.racks, CERTIFIED) ~= 0
    if is_contribution then
        items.racks:add(fields.certified, buffer(RACKS_AT, 4))
        items.racks:add(fields.scattered, buffer(RACKS_AT, 4))
        items.racks:add(fields.gathered, buffer(RACKS_AT, 4))
    end
    local info = string.format("%s job %d epoch %d chunk %d slot %d/%d %s workers %s [%s] %d words",
        KIND[value.kind] or "kind " .. value.kind, value.job, value.epoch, value.chunk, value.slot, value.shadow,
        OP[value.op] or "op " .. value.op, members(value.workers), flag_names(value.flags), value.words)
    if is_certified then info = info .. ", certified" end
    if is_contribution and bit.band(value.racks, SCATTERED) ~= 0 then info = info .. ", scattered" end
    if is_contribution and bit.band(value.racks, GATHERED) ~= 0 then info = info .. ", gathered" end
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
