// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Multicast, ingress and egress clones, resubmission, recirculation, truncation, and the metadata that they set.

#include <core.p4>
#include <v1model.p4>

header order_t { bit<8> what; bit<8> round; bit<16> port; bit<32> type; bit<32> length; bit<16> rid; bit<16> kept; }
struct headers_t { order_t order; }
struct metadata_t {
    @field_list(1) bit<16> kept;
    bit<16> lost;
}

// Drops through a copy of the metadata (copy-in copy-out).
action drop(inout standard_metadata_t metadata) { mark_to_drop(metadata); }

parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start { packet.extract(hdr.order); transition accept; }
}
control V(inout headers_t hdr, inout metadata_t meta) { apply { } }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = (bit<9>) hdr.order.port;
        if (hdr.order.what == 1) {
            standard_metadata.mcast_grp = hdr.order.port;
        } else if (hdr.order.what == 2) {
            meta.kept = 0x1234;
            meta.lost = 0x5678;
            clone_preserving_field_list(CloneType.I2E, 5, 1);
            hdr.order.round = 0xEE;
        } else if (hdr.order.what == 4) {
            if (standard_metadata.instance_type == 0) {
                meta.kept = 0x4321;
                resubmit_preserving_field_list(1);
            }
        } else if (hdr.order.what == 8) {
            drop(standard_metadata);
        } else if (hdr.order.what == 6) {
            truncate(20);
        }
    }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.order.what == 3 && standard_metadata.instance_type == 0) {
            meta.kept = 0x2222;
            clone_preserving_field_list(CloneType.E2E, 5, 1);
            meta.kept = 0x3333;
        } else if (hdr.order.what == 5 && hdr.order.round != 0) {
            hdr.order.round = hdr.order.round - 1;
            meta.kept = 0x5555;
            recirculate_preserving_field_list(1);
        } else if (hdr.order.what == 7) {
            recirculate_preserving_field_list(1);
        }
        hdr.order.port = (bit<16>) standard_metadata.egress_port;
        hdr.order.type = standard_metadata.instance_type;
        hdr.order.length = standard_metadata.packet_length;
        hdr.order.rid = standard_metadata.egress_rid;
        hdr.order.kept = meta.kept + meta.lost;
    }
}
control C(inout headers_t hdr, inout metadata_t meta) { apply { } }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
