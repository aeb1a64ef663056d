// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// A small aggregation: 16 registers at one index; the packet of the last of four workers is multicast with the sum.

#include <core.p4>
#include <v1model.p4>

#define EACH_8(M, d) M(d##0) M(d##1) M(d##2) M(d##3) M(d##4) M(d##5) M(d##6) M(d##7)
#define EACH(M) EACH_8(M, 1) EACH_8(M, 2)

#define FIELD(i) bit<32> w##i;
#define REGISTER(i) register<bit<32>>(1024) r##i;
#define VARIABLE(i) bit<32> t##i;
#define UPDATE(i, value) r##i.read(t##i, meta.entry); hdr.words.w##i = value; r##i.write(meta.entry, hdr.words.w##i);

#define STORE(i) r##i.write(meta.entry, hdr.words.w##i);
#define ADD(i) UPDATE(i, hdr.words.w##i + t##i)
#define SUB(i) UPDATE(i, t##i - hdr.words.w##i)
#define ANY(i) UPDATE(i, hdr.words.w##i | t##i)
#define BOTH(i) r##i.read(t##i, meta.entry); t##i = t##i & hdr.words.w##i; r##i.write(meta.entry, t##i); \
    hdr.words.w##i = ~t##i ^ 0x00FF00FF;
#define LARGEST(i) UPDATE(i, hdr.words.w##i > t##i ? hdr.words.w##i : t##i)
#define SMALLEST(i) UPDATE(i, hdr.words.w##i <= t##i ? hdr.words.w##i : t##i)
#define RECALL(i) r##i.read(hdr.words.w##i, meta.entry);
#define HALVE(i) hdr.words.w##i = (hdr.words.w##i >> 4) & 0x0F0F0F0F;

const bit<16> ETHERTYPE_SUM = 0x88B5;

header ethernet_t { bit<48> destination; bit<48> source; bit<16> ether_type; }
header sum_t { bit<8> op; bit<8> worker; bit<8> job; bit<8> spare; bit<32> slot; }
header words_t { EACH(FIELD) }
struct headers_t { ethernet_t ethernet; sum_t sum; words_t words; }
struct metadata_t { bit<32> seen; bit<32> bitmap; bit<16> group; bit<32> entry; bit<8> fan_in; bit<8> count; bit<8> next; }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { ETHERTYPE_SUM: sum; default: accept; }
    }
    state sum {
        packet.extract(hdr.sum);
        packet.extract(hdr.words);
        transition accept;
    }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<32>>(1024) bitmaps;
    register<bit<8>>(1024) counts;
    EACH(REGISTER)
    EACH(VARIABLE)
    bit<32> old_bitmap; bit<8> old_count;
    action store() { EACH(STORE) }
    action add() { EACH(ADD) }
    action sub() { EACH(SUB) }
    action any() { EACH(ANY) }
    action both() { EACH(BOTH) }
    action largest() { EACH(LARGEST) }
    action smallest() { EACH(SMALLEST) }
    action recall() { EACH(RECALL) }
    action halve() { EACH(HALVE) }
    action one_word() { hdr.words.w15 = hdr.words.w15 + hdr.words.w16; r17.write(0, hdr.words.w17); }
    action admit(bit<16> group, bit<8> fan_in) { meta.group = group; meta.fan_in = fan_in; }
    action refuse() { mark_to_drop(standard_metadata); }
    action forward(bit<9> port) { standard_metadata.egress_spec = port; }
    action nothing() { }
    table member {
        key = { standard_metadata.ingress_port: exact; hdr.sum.job: exact; hdr.sum.worker: exact; }
        actions = { admit; refuse; }
        default_action = refuse();
        size = 1024;
    }
    table forwarding {
        key = { hdr.ethernet.destination: exact; }
        actions = { forward; refuse; }
        default_action = refuse();
        size = 1024;
    }
    table combine {
        key = { hdr.sum.op: ternary; meta.seen: ternary; }
        actions = { store; add; sub; any; both; largest; smallest; recall; halve; one_word; nothing; }
        const default_action = nothing();
        const entries = {
            (7, _): recall();
            (8, _): halve();
            (9, _): one_word();
            (_, 0): store();
            (0, _): add();
            (1, _): any();
            (2, _): both();
            (3, _): largest();
            (4, _): smallest();
            (5, _): sub();
        }
    }
    apply {
        if (hdr.sum.isValid()) {
            if (member.apply().hit) {
                meta.entry = hdr.sum.slot;
                bitmaps.read(old_bitmap, meta.entry);
                counts.read(old_count, meta.entry);
                meta.bitmap = (bit<32>) 1 << hdr.sum.worker;
                meta.seen = old_bitmap;
                meta.count = old_count + 1;
                combine.apply();
                if (meta.count == meta.fan_in) {
                    bitmaps.write(meta.entry, 0);
                    counts.write(meta.entry, 0);
                    standard_metadata.mcast_grp = meta.group;
                } else {
                    bitmaps.write(meta.entry, old_bitmap | meta.bitmap);
                    counts.write(meta.entry, meta.count);
                    mark_to_drop(standard_metadata);
                }
            }
        } else {
            forwarding.apply();
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action address(bit<48> mac) { hdr.ethernet.destination = mac; }
    action keep() { }
    table receiver {
        key = { standard_metadata.egress_rid: exact; }
        actions = { address; keep; }
        const default_action = keep();
        size = 64;
    }
    apply { if (hdr.sum.isValid()) { receiver.apply(); } }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
