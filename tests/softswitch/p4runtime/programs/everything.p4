// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
//
// One of everything that P4Runtime can write, for the tests of the P4Runtime server. A packet-out asks for what shall
// happen to it by its first byte; what comes back to the CPU port shows what the data plane did.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU_PORT = 510;

const bit<8> OP_ECHO = 0;       // back to the CPU port
const bit<8> OP_MULTICAST = 1;  // to multicast group `arg`
const bit<8> OP_CLONE = 2;      // drop, and clone to session `arg`
const bit<8> OP_DIGEST = 3;     // digest of `arg` and the key
const bit<8> OP_COUNT = 4;      // apply the tables, count in cell `arg`, back to the CPU port

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> reason;
    bit<12> tag;
    bit<4> pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> reason;
    bit<12> tag;
    bit<4> pad;
}

header request_t {
    bit<8> op;
    bit<8> arg;
    bit<16> key;
    bit<12> odd;
    bit<4> nibble;
    bit<32> address;
    bit<128> wide;
}

struct sample_t {
    bit<8> arg;
    bit<16> key;
    bit<12> odd;
}

struct headers_t {
    packet_in_t packet_in;
    packet_out_t packet_out;
    request_t request;
}

struct metadata_t {
    bit<2> color;
    bit<16> choice;
}

parser ParserImpl(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        transition select(sm.ingress_port) {
            CPU_PORT: from_cpu;
            default: parse_request;
        }
    }
    state from_cpu {
        packet.extract(hdr.packet_out);
        transition parse_request;
    }
    state parse_request {
        packet.extract(hdr.request);
        transition accept;
    }
}

control NoVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control NoCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control IngressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    counter(8, CounterType.packets_and_bytes) cells;
    counter(4, CounterType.packets) packet_cells;
    counter(4, CounterType.bytes) byte_cells;
    meter(4, MeterType.packets) packet_meter;
    meter(4, MeterType.bytes) byte_meter;
    register<bit<32>>(4) words;
    direct_counter(CounterType.packets_and_bytes) exact_counter;
    direct_counter(CounterType.packets) ternary_counter;
    direct_meter<bit<2>>(MeterType.packets) direct_rates;

    action set_choice(bit<16> choice) {
        meta.choice = choice;
    }
    action set_odd(bit<12> odd, bit<9> port) {
        hdr.request.odd = odd;
        meta.choice = (bit<16>)port;
    }
    action nothing() { }
    action drop_it() {
        mark_to_drop(sm);
    }
    action only_default(bit<16> choice) {
        meta.choice = choice;
    }
    action metered(bit<16> choice) {
        direct_rates.read(meta.color);
        meta.choice = choice;
    }

    table exact_table {
        key = {
            hdr.request.key: exact @name("key");
            hdr.request.nibble: exact @name("nibble");
        }
        actions = {
            set_choice;
            set_odd;
            @defaultonly only_default;
            @tableonly drop_it;
            nothing;
        }
        default_action = only_default(7);
        counters = exact_counter;
        size = 16;
        support_timeout = true;
    }

    table lpm_table {
        key = { hdr.request.address: lpm @name("address"); }
        actions = { set_choice; nothing; }
        default_action = nothing();
        size = 64;
    }

    table odd_lpm_table {
        key = { hdr.request.odd: lpm @name("odd"); }
        actions = { set_choice; nothing; }
        const default_action = nothing();
    }

    table ternary_table {
        key = {
            hdr.request.key: ternary @name("key");
            hdr.request.odd: ternary @name("odd");
        }
        actions = { set_choice; nothing; }
        default_action = nothing();
        counters = ternary_counter;
        size = 64;
    }

    table range_table {
        key = {
            hdr.request.key: range @name("key");
            hdr.request.odd: range @name("odd");
        }
        actions = { set_choice; nothing; }
        default_action = nothing();
    }

    table optional_table {
        key = {
            hdr.request.key: optional @name("key");
            hdr.request.odd: optional @name("odd");
        }
        actions = { set_choice; nothing; }
        default_action = nothing();
    }

    table wide_table {
        key = { hdr.request.wide: exact @name("wide"); }
        actions = { set_choice; nothing; }
        default_action = nothing();
    }

    table meter_table {
        key = { hdr.request.key: exact @name("key"); }
        actions = { metered; nothing; }
        default_action = nothing();
        meters = direct_rates;
    }

    table const_table {
        key = { hdr.request.key: exact @name("key"); }
        actions = { set_choice; nothing; }
        const default_action = nothing();
        const entries = {
            1: set_choice(11);
            2: set_choice(22);
        }
    }

    table const_ternary_table {
        key = { hdr.request.key: ternary @name("key"); }
        actions = { set_choice; nothing; }
        default_action = nothing();
        const entries = {
            16w0x0100 &&& 0xff00: set_choice(1);
            16w0x0000 &&& 0x8000: set_choice(2);
            _: set_choice(3);
        }
    }

    table keyless_table {
        actions = { set_choice; nothing; }
        default_action = nothing();
    }

    action_selector(HashAlgorithm.crc16, 128, 14) selector;
    table selector_table {
        key = {
            hdr.request.key: exact @name("key");
            hdr.request.address: selector;
        }
        actions = { set_choice; set_odd; nothing; }
        implementation = selector;
        size = 32;
    }

    action_profile(32) profile;
    table profile_table {
        key = { hdr.request.key: exact @name("key"); }
        actions = { set_choice; set_odd; nothing; }
        implementation = profile;
    }

    apply {
        if (hdr.request.op == OP_MULTICAST) {
            sm.mcast_grp = (bit<16>)hdr.request.arg;
        } else if (hdr.request.op == OP_CLONE) {
            clone(CloneType.I2E, (bit<32>)hdr.request.arg);
            mark_to_drop(sm);
        } else if (hdr.request.op == OP_DIGEST) {
            digest<sample_t>(1, { hdr.request.arg, hdr.request.key, hdr.request.odd });
            mark_to_drop(sm);
        } else if (hdr.request.op == OP_COUNT) {
            cells.count((bit<32>)hdr.request.arg);
            packet_cells.count((bit<32>)hdr.request.arg);
            byte_cells.count((bit<32>)hdr.request.arg);
            packet_meter.execute_meter((bit<32>)hdr.request.arg, meta.color);
            byte_meter.execute_meter((bit<32>)hdr.request.arg, meta.color);
            words.write((bit<32>)hdr.request.arg, hdr.request.address);
            exact_table.apply();
            lpm_table.apply();
            odd_lpm_table.apply();
            ternary_table.apply();
            range_table.apply();
            optional_table.apply();
            wide_table.apply();
            meter_table.apply();
            const_table.apply();
            const_ternary_table.apply();
            keyless_table.apply();
            selector_table.apply();
            profile_table.apply();
            sm.egress_spec = CPU_PORT;
        } else {
            sm.egress_spec = CPU_PORT;
        }
    }
}

control EgressImpl(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<12> tag = 0;
        if (hdr.packet_out.isValid()) {
            tag = hdr.packet_out.tag;
        }
        hdr.packet_out.setInvalid();
        if (sm.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = sm.ingress_port;
            hdr.packet_in.reason = (bit<7>)sm.egress_rid;
            hdr.packet_in.tag = tag;
            hdr.packet_in.pad = 0;
        }
    }
}

control DeparserImpl(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.request);
    }
}

V1Switch(ParserImpl(), NoVerify(), IngressImpl(), EgressImpl(), NoCompute(), DeparserImpl()) main;
