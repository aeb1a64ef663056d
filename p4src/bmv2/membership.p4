// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Membership: only a member of the job, on its own port and address, with the job's tag, reaches the slots.

control Membership(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) member_counter;
    direct_counter(CounterType.packets_and_bytes) admission_counter;

    action admit(bit<32> worker, bit<16> slot_base, bit<16> slot_count, bit<8> fan_in, bit<16> group,
                 bit<16> allowed_ops, role_t role, bit<16> lease) {
        meta.member = true;
        meta.worker = worker;
        meta.slot_base = slot_base;
        meta.slot_count = slot_count;
        meta.fan_in = fan_in;
        meta.group = group;
        meta.ascend = role & ROLE_ASCEND != 0;
        meta.shared = role & ROLE_SHARED != 0;
        meta.upper = role & ROLE_UPPER != 0;
        meta.quorum = role & ROLE_QUORUM != 0;
        meta.partial = role & ROLE_PARTIAL != 0;
        meta.lease = lease;
        meta.slot_in_range = (bit<16>) hdr.lanesum.slot < slot_count;
        meta.op_allowed = (allowed_ops >> hdr.lanesum.op)[0:0] == 1;
        meta.entry = ((bit<32>) (slot_base + (bit<16>) hdr.lanesum.slot) << 1) | (bit<32>) hdr.lanesum.shadow;
    }

    action stranger() { meta.member = false; }

    // What a worker sends and what a rack's switch has summed are different members, whoever's address it carries.
    table member {
        key = {
            standard_metadata.ingress_port: exact;
            hdr.ipv4.source: exact @name("source");
            hdr.udp.source_port: exact @name("source_port");
            hdr.lanesum.job: exact @name("job");
            hdr.lanesum.tag: exact @name("tag");
            hdr.lanesum.flags[5:5]: exact @name("aggregate"); // FLAG_UPPER
        }
        actions = { admit; stranger; }
        const default_action = stranger();
        size = MEMBER_TABLE_SIZE;
        counters = member_counter;
    }

    action accept() { }
    // Strangers are routed like anybody's packets and touch no register.
    action not_a_member() { meta.verdict = VERDICT_ROUTE; }
    action refuse_slot() { meta.verdict = VERDICT_ROUTE; }
    action refuse_op() { meta.verdict = VERDICT_ROUTE; }

    table admission {
        key = {
            meta.member: ternary;
            meta.slot_in_range: ternary;
            meta.op_allowed: ternary;
        }
        actions = { accept; refuse_slot; refuse_op; not_a_member; }
        const default_action = not_a_member();
        // Spelled out, because P4Runtime reads the counters of entries but not of BMv2's default action.
        const entries = {
            (false, _, _): not_a_member();
            (true, false, _): refuse_slot();
            (true, true, false): refuse_op();
            (true, true, true): accept();
        }
        counters = admission_counter;
    }

    apply {
        member.apply();
        admission.apply();
    }
}
