// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Membership: only a member of the job, on its own port and address, with the job's tag, reaches the slots.

control Membership(inout ingress_headers_t hdr, inout ingress_metadata_t meta) {
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) member_counter;
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) admission_counter;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) owner_hash;

    // 'room' is the number of slots of the job from this one on, less 0x8000 in shadow set 1: shadow and slot are one
    // number, from which no bit can be taken out before the subtraction. Table owner reads it so.
    action admit(bit<32> worker, bit<16> slot_base, bit<16> slot_count, bit<8> fan_in, bit<16> group,
                 bit<16> allowed_ops, role_t role, bit<16> lease) {
        meta.member = 1;
        meta.worker = worker;
        meta.fan_in = (bit<16>) fan_in;
        meta.group = group;
        meta.role = role;
        meta.lease = lease;
        meta.allowed = allowed_ops & meta.operation_bit;
        meta.entry = slot_base + meta.place;
        meta.room = slot_count - meta.place;
        member_counter.count();
    }

    action stranger() { meta.member = 0; member_counter.count(); }

    // Asked of every packet: the registers cannot wait until it is known what else the packet is.
    @stage(0)
    table member {
        key = {
            hdr.bridge.ingress_port: exact @name("standard_metadata.ingress_port");
            hdr.ipv4.source: exact @name("source");
            hdr.udp.source_port: exact @name("source_port");
            hdr.lanesum.job: exact @name("job");
            hdr.lanesum.tag: exact @name("tag");
            hdr.lanesum.flags[5:5]: exact @name("aggregate"); // FLAG_UPPER
        }
        actions = { admit; stranger; }
        const default_action = stranger();
        counters = member_counter;
        size = MEMBER_TABLE_SIZE;
    }

    action accept() { admission_counter.count(); }
    action not_a_member() { meta.verdict = VERDICT_ROUTE; admission_counter.count(); }
    action refuse_slot() { meta.verdict = VERDICT_ROUTE; admission_counter.count(); }
    action refuse_op() { meta.verdict = VERDICT_ROUTE; admission_counter.count(); }

    table admission {
        key = {
            meta.member: ternary;
            meta.room: ternary;
            hdr.lanesum.shadow: ternary @name("shadow");
            meta.allowed: ternary;
        }
        actions = { accept; refuse_slot; refuse_op; not_a_member; }
        const default_action = not_a_member();
        counters = admission_counter;
        size = 16;
        const entries = {
            (0, _, _, _): not_a_member();
            (1, 0, _, _): refuse_slot();
            (1, 0x8000, 1, _): refuse_slot();
            (1, 0x8000 &&& 0x8000, 0, _): refuse_slot();
            (1, 0 &&& 0x8000, 1, _): refuse_slot();
            (1, _, _, 0): refuse_op();
            (1, _, _, _): accept();
        }
    }

    apply {
        // Two jobs never have one owner number at the same time: the controller sees to it (32 bits of 48).
        meta.owner = owner_hash.get({hdr.lanesum.job, hdr.lanesum.tag});
        WHERE_FIRST_PASS member.apply();
        if (meta.verdict == VERDICT_AGGREGATE) {
            admission.apply();
        }
    }
}
