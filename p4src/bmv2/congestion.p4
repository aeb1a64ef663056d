// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Congestion: mark what leaves by a port whose queue is long. Empty tables mark nothing.

const bit<2> IP_ECN_CONGESTED = 3; // RFC 3168

control Congestion(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) congestion_counter;
    direct_counter(CounterType.packets_and_bytes) mark_counter;

    action mark_above(bit<19> depth) { meta.congested = standard_metadata.deq_qdepth >= depth; }
    action never() { meta.congested = false; }

    table congestion {
        key = { standard_metadata.egress_port: exact; }
        actions = { mark_above; never; }
        const default_action = never();
        size = CONGESTION_TABLE_SIZE;
        counters = congestion_counter;
    }

    action mark_answer() {
        bit<8> added = FLAG_ECN & ~hdr.lanesum.flags;
        hdr.lanesum.flags = hdr.lanesum.flags | FLAG_ECN;
        // Of no use to an answer that was made here: that one gets its checksum at the very end.
        hdr.udp.checksum = amended_udp(hdr.udp.checksum, (bit<16>) added);
    }

    // Only where the sender's transport understands it.
    action mark_packet() {
        bit<2> added = ~hdr.ipv4.ecn;
        hdr.ipv4.ecn = IP_ECN_CONGESTED;
        hdr.ipv4.checksum = amended(hdr.ipv4.checksum, (bit<16>) added);
    }

    action leave() { }

    table mark {
        key = {
            meta.is_answer: ternary;
            hdr.ipv4.isValid(): ternary @name("ipv4");
            hdr.ipv4.ecn: ternary @name("ecn");
        }
        actions = { mark_answer; mark_packet; leave; }
        const default_action = leave();
        const entries = {
            (true, _, _): mark_answer();
            (false, true, 1): mark_packet();
            (false, true, 2): mark_packet();
        }
        counters = mark_counter;
    }

    apply {
        congestion.apply();
        if (meta.congested) {
            meta.is_answer = hdr.lanesum.isValid() && hdr.lanesum.version == LANESUM_VERSION
                && hdr.lanesum.kind != KIND_CONTRIBUTION;
            mark.apply();
        }
    }
}
