// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Two words summed over the members of a group; the sum goes to all of them, with headers of their own.
#include <core.p4>
#if __TARGET_TOFINO__ == 2
#include <t2na.p4>
#else
#include <tna.p4>
#endif

const bit<16> TYPE_SUM = 0x88b5;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> kind;
}

header sum_t {
    bit<8> op;
    bit<8> member;
    bit<16> slot;
}

header words_t {
    bit<32> w0;
    bit<32> w1;
}

// From ingress to egress.
header bridge_t {
    bit<7> unused;
    bit<1> result;
}

struct headers_t {
    bridge_t bridge;
    ethernet_t ethernet;
    sum_t sum;
    words_t words;
}

struct metadata_t {
    bit<32> bit_;
    bit<32> seen;
    bit<32> known;
    bit<8> fan_in;
    bit<8> count;
    bit<16> group;
}

struct no_metadata_t {}

parser IngressParser(
    packet_in packet, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t intrinsic
) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        md = {0, 0, 0, 0, 0, 0};
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            TYPE_SUM: parse_sum;
            default: accept;
        }
    }

    state parse_sum {
        packet.extract(hdr.sum);
        packet.extract(hdr.words);
        transition accept;
    }
}

control Slots(inout headers_t hdr, inout metadata_t md) {
    Register<bit<32>, bit<8>>(256) bitmap;
    RegisterAction<bit<32>, bit<8>, bit<32>>(bitmap) set_bit = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = value | md.bit_;
        }
    };
    Register<bit<8>, bit<8>>(256, 1) count;
    RegisterAction<bit<8>, bit<8>, bit<8>>(count) count_up = {
        void apply(inout bit<8> value, out bit<8> before) {
            before = value;
            if (value == md.fan_in) {
                value = 1;
            } else {
                value = value + 1;
            }
        }
    };

    action find_known() {
        md.known = md.seen & md.bit_;
    }

    apply {
        md.seen = set_bit.execute((bit<8>)hdr.sum.slot);
        find_known();
        if (md.known == 0) {
            md.count = count_up.execute((bit<8>)hdr.sum.slot);
        }
    }
}

control Lane(in bit<8> op, in bit<8> count, in bit<16> slot, inout bit<32> word) {
    Register<bit<32>, bit<8>>(256) cells;
    RegisterAction<bit<32>, bit<8>, bit<32>>(cells) add = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = value + word;
            after = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(cells) write = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = word;
            after = value;
        }
    };
    RegisterAction<bit<32>, bit<8>, bit<32>>(cells) max_of = {
        void apply(inout bit<32> value, out bit<32> after) {
            value = max(value, word);
            after = value;
        }
    };

    action sum() {
        word = add.execute((bit<8>)slot);
    }

    action first() {
        word = write.execute((bit<8>)slot);
    }

    action largest() {
        word = max_of.execute((bit<8>)slot);
    }

    table lane {
        key = {
            op: ternary;
            count: ternary;
        }
        actions = { sum; first; largest; @defaultonly NoAction; }
        const entries = {
            (0, 1): first();
            (0, _): sum();
            (1, _): largest();
        }
        const default_action = NoAction();
        size = 8;
    }

    apply {
        lane.apply();
    }
}

control Ingress(
    inout headers_t hdr,
    inout metadata_t md,
    in ingress_intrinsic_metadata_t intrinsic,
    in ingress_intrinsic_metadata_from_parser_t from_parser,
    inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
    inout ingress_intrinsic_metadata_for_tm_t for_tm
) {
    Slots() slots;
    Lane() lane0;
    Lane() lane1;
    DirectCounter<bit<64>>(CounterType_t.PACKETS_AND_BYTES) admitted;

    action drop() {
        for_deparser.drop_ctl = 1;
    }

    action admit(bit<32> bit_, bit<8> fan_in, bit<16> group) {
        md.bit_ = bit_;
        md.fan_in = fan_in;
        md.group = group;
        admitted.count();
    }

    table member {
        key = {
            intrinsic.ingress_port: exact @name("port");
            hdr.sum.member: exact @name("member");
        }
        actions = { admit; @defaultonly drop; }
        const default_action = drop();
        counters = admitted;
        size = 64;
    }

    action to(PortId_t port) {
        for_tm.ucast_egress_port = port;
    }

    table forward {
        key = { hdr.ethernet.destination: exact; }
        actions = { to; @defaultonly drop; }
        const default_action = drop();
        size = 16;
    }

    apply {
        if (hdr.sum.isValid()) {
            if (member.apply().hit) {
                slots.apply(hdr, md);
                if (md.known == 0) {
                    lane0.apply(hdr.sum.op, md.count, hdr.sum.slot, hdr.words.w0);
                    lane1.apply(hdr.sum.op, md.count, hdr.sum.slot, hdr.words.w1);
                    hdr.bridge.setValid();
                    hdr.bridge.unused = 0;
                    hdr.bridge.result = 1;
                    if (md.count == md.fan_in) {
                        for_tm.mcast_grp_a = md.group;
                    } else {
                        drop();
                    }
                } else {
                    drop();
                }
            }
        } else {
            hdr.bridge.setValid();
            hdr.bridge.unused = 0;
            hdr.bridge.result = 0;
            forward.apply();
        }
    }
}

control IngressDeparser(
    packet_out packet, inout headers_t hdr, in metadata_t md, in ingress_intrinsic_metadata_for_deparser_t for_deparser
) {
    apply {
        packet.emit(hdr);
    }
}

parser EgressParser(
    packet_in packet, out headers_t hdr, out no_metadata_t md, out egress_intrinsic_metadata_t intrinsic
) {
    state start {
        packet.extract(intrinsic);
        packet.extract(hdr.bridge);
        transition select(hdr.bridge.result) {
            1: parse_ethernet;
            default: accept;
        }
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control Egress(
    inout headers_t hdr,
    inout no_metadata_t md,
    in egress_intrinsic_metadata_t intrinsic,
    in egress_intrinsic_metadata_from_parser_t from_parser,
    inout egress_intrinsic_metadata_for_deparser_t for_deparser,
    inout egress_intrinsic_metadata_for_output_port_t for_port
) {
    action address(bit<48> destination) {
        hdr.ethernet.destination = destination;
    }

    table receiver {
        key = {
            intrinsic.egress_port: exact @name("port");
            intrinsic.egress_rid: exact @name("replica");
        }
        actions = { address; @defaultonly NoAction; }
        const default_action = NoAction();
        size = 64;
    }

    apply {
        if (hdr.ethernet.isValid()) {
            receiver.apply();
        }
        hdr.bridge.setInvalid();
    }
}

control EgressDeparser(
    packet_out packet, inout headers_t hdr, in no_metadata_t md, in egress_intrinsic_metadata_for_deparser_t for_deparser
) {
    apply {
        packet.emit(hdr);
    }
}

Pipeline(IngressParser(), Ingress(), IngressDeparser(), EgressParser(), Egress(), EgressDeparser()) pipe;

Switch(pipe) main;
