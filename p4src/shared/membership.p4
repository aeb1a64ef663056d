// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Membership: only a member of the job, on its own port and address and with the job's tag, reaches the slots (INV-5).
//
// The target defines what else identifies a member (MEMBER_KEY), how action admit places the packet (LOCATE_SLOT), and
// how table admission checks slot and operation (ADMISSION_KEY, ADMISSION_ENTRIES).

control Membership(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(member_counter);
    DIRECT_COUNTER(admission_counter);

    action admit(bit<32> worker, bit<16> slot_base, bit<16> slot_count, bit<8> fan_in, bit<16> group,
                 bit<16> allowed_ops, role_t role, bit<16> lease) {
        meta.member = 1;
        meta.worker = worker;
        meta.fan_in = (fan_in_t) fan_in;
        meta.group = group;
        meta.role = role;
        meta.lease = lease;
        LOCATE_SLOT(slot_base, slot_count, allowed_ops);
        COUNT(member_counter);
    }

    action unknown_sender() { meta.member = 0; COUNT(member_counter); }

    // A worker's contribution and its rack's sum come from the same address, but they are different members.
    MEMBER_STAGE
    table member {
        key = {
            INGRESS_PORT: exact @name("ingress_port");
            hdr.ipv4.source: exact @name("source");
            hdr.udp.source_port: exact @name("source_port");
            hdr.lanesum.job: exact @name("job");
            hdr.lanesum.tag: exact @name("tag");
            hdr.lanesum.flags[FLAG_UPPER_BIT:FLAG_UPPER_BIT]: exact @name("aggregate");
            MEMBER_KEY
        }
        actions = { admit; unknown_sender; }
        const default_action = unknown_sender();
        size = MEMBER_TABLE_SIZE;
        counters = member_counter;
    }

    action accept() { COUNT(admission_counter); }
    // Contributions that are refused touch no register: they are routed to the server.
    action not_a_member() { meta.verdict = VERDICT_ROUTE; COUNT(admission_counter); }
    action refuse_slot() { meta.verdict = VERDICT_ROUTE; COUNT(admission_counter); }
    action refuse_op() { meta.verdict = VERDICT_ROUTE; COUNT(admission_counter); }

    table admission {
        key = { ADMISSION_KEY }
        actions = { accept; refuse_slot; refuse_op; not_a_member; }
        const default_action = not_a_member();
        CONST_ENTRIES_SIZE(16)
        counters = admission_counter;
        // All cases are entries: P4Runtime reads the counters of entries, but not of BMv2's default action.
        const entries = { ADMISSION_ENTRIES }
    }

    apply {
        WHERE_FIRST_PASS member.apply();
        if (meta.verdict == VERDICT_AGGREGATE) {
            admission.apply();
        }
    }
}
