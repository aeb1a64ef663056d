// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Every match kind, direct and indirect counters, a meter, hashes, and the results of apply().

#include <core.p4>
#include <v1model.p4>

// The packet has the number of the table to apply; `result` has the value of its action.
header query_t { bit<8> which; bit<8> a; bit<16> b; bit<32> c; int<16> signed; bit<16> spare; bit<32> result; }
struct headers_t { query_t query; }
struct metadata_t { bit<2> color; bit<2> direct_color; }
struct report_t { bit<8> a; bit<16> b; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start { packet.extract(hdr.query); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(16, CounterType.packets_and_bytes) seen;
    direct_counter(CounterType.packets_and_bytes) exact_counter;
    meter(4, MeterType.packets) limit;
    direct_meter<bit<2>>(MeterType.bytes) direct_limit;
    bit<32> drawn;

    action answer(bit<32> value) { hdr.query.result = value; }
    action add(bit<32> value, bit<8> more) { hdr.query.result = hdr.query.c + value + (bit<32>) more; }
    action nothing() { }
    action metered(bit<32> value) { direct_limit.read(meta.direct_color); hdr.query.result = value + (bit<32>) meta.direct_color; }

    table exact_table {
        key = { hdr.query.a: exact; hdr.query.b: exact; }
        actions = { answer; add; nothing; }
        default_action = answer(404);
        counters = exact_counter;
        size = 3;
    }
    table lpm_table {
        key = { hdr.query.c: lpm; }
        actions = { answer; nothing; }
        default_action = nothing();
    }
    table ternary_table {
        key = { hdr.query.a: ternary; hdr.query.b: exact; hdr.query.c: lpm; }
        actions = { answer; nothing; }
        default_action = nothing();
    }
    table range_table {
        key = { hdr.query.b: range; hdr.query.a: optional; }
        actions = { answer; nothing; }
        const default_action = nothing();
    }
    table const_table {
        key = { hdr.query.a: ternary; hdr.query.b: range; }
        actions = { answer; nothing; }
        const default_action = answer(7);
        const entries = {
            (0x10 &&& 0xF0, 0 .. 9): answer(1);
            (_, 5 .. 20): answer(2);
            (0x33, _): answer(3);
        }
    }
    table timed_table {
        key = { hdr.query.a: exact; }
        actions = { answer; nothing; }
        default_action = nothing();
        support_timeout = true;
    }
    table metered_table {
        key = { hdr.query.a: exact; }
        actions = { metered; nothing; }
        default_action = nothing();
        meters = direct_limit;
    }
    apply {
        seen.count((bit<32>) hdr.query.which);
        standard_metadata.egress_spec = 1;
        if (hdr.query.which == 0) {
            switch (exact_table.apply().action_run) {
                add: { hdr.query.spare = 0xADD; }
                nothing: { hdr.query.spare = 0; }
                default: { hdr.query.spare = 0xFFFF; }
            }
        } else if (hdr.query.which == 1) {
            if (lpm_table.apply().hit) { hdr.query.spare = 1; } else { hdr.query.spare = 2; }
        } else if (hdr.query.which == 2) {
            ternary_table.apply();
        } else if (hdr.query.which == 3) {
            range_table.apply();
        } else if (hdr.query.which == 4) {
            const_table.apply();
        } else if (hdr.query.which == 5) {
            timed_table.apply();
        } else if (hdr.query.which == 6) {
            limit.execute_meter((bit<32>) hdr.query.a, meta.color);
            hdr.query.result = (bit<32>) meta.color;
        } else if (hdr.query.which == 7) {
            metered_table.apply();
        } else if (hdr.query.which == 8) {
            hash(hdr.query.result, HashAlgorithm.crc32, (bit<32>) 0, { hdr.query.a, hdr.query.b, hdr.query.c }, 64w0x100000000);
        } else if (hdr.query.which == 9) {
            hash(hdr.query.result, HashAlgorithm.crc16, (bit<32>) 100, { hdr.query.c }, 32w1000);
        } else if (hdr.query.which == 10) {
            random(drawn, 10, 20);
            hdr.query.result = drawn;
        } else if (hdr.query.which == 11) {
            hdr.query.result = (bit<32>) (hdr.query.a |+| 8w200);
            hdr.query.spare = (bit<16>) (hdr.query.signed >> 2);
        } else if (hdr.query.which == 12) {
            hdr.query.result = hdr.query.c << hdr.query.a;
            hdr.query.spare = (bit<16>) (bit<1>) (hdr.query.signed < -5 ? 1w1 : 1w0);
        } else if (hdr.query.which == 13) {
            digest<report_t>(1, { hdr.query.a, hdr.query.b });
        } else if (hdr.query.which == 14) {
            assert(hdr.query.a != 0);
        } else if (hdr.query.which == 15) {
            if (hdr.query.a == 1) { exit; }
            hdr.query.result = 15;
        } else {
            mark_to_drop(standard_metadata);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) { apply { } }
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
