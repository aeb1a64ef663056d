// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Shorten: take the words out of copies of a result that are not for the chunk's owner. Runs in egress, behind Receiver.
//
// In a scattered round each contribution names the owner, and its answers repeat the name. The replica of a worker is
// the name of its own chunks. Copies for racks stay whole: the switch of the rack shortens them.

// Names of owners, in field spare, and replicas of workers begin here; host/lanesum/protocol/spec.py has it, too.
const bit<8> FIRST_OWNER = 2;
// Replicas of racks begin here; fabric/lanesum_fabric/program/switch_job.py has it, too.
const bit<16> FIRST_RACK = 2048;

control Shorten(EGRESS_PARAMETERS) {
    DIRECT_COUNTER(shorten_counter);
    bit<16> from_owner;

    action keep_words() { COUNT(shorten_counter); }

    action shorten() {
        hdr.lanes.setInvalid();
        hdr.lanesum.words = 0;
        hdr.udp.length = EMPTY_UDP_BYTES;
        hdr.ipv4.total_length = EMPTY_UDP_BYTES + IPV4_HEADER_BYTES;
        meta.built = 1;
        COUNT(shorten_counter);
    }

    table owner {
        key = { from_owner: ternary @name("from_owner"); }
        actions = { keep_words; shorten; }
        const default_action = keep_words();
        counters = shorten_counter;
        const entries = {
            0: keep_words();
            _: shorten();
        }
    }

    apply {
        // A header whose checksum was not verified gets no new one: its words stay.
        if (hdr.lanes.isValid() && hdr.lanesum.kind == KIND_RESULT && hdr.lanesum.spare >= FIRST_OWNER
            && REPLICA < FIRST_RACK && (meta.built == 1 || hdr.udp.checksum != 0)) {
            from_owner = REPLICA - (bit<16>) hdr.lanesum.spare;
            owner.apply();
        }
    }
}
