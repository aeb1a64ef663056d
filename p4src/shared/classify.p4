// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Classify: sort packets into contributions, answers, other traffic and those that a router does not accept. The direct
// counters say how many of each there were. Control Arrival has checked lengths and checksums, control Station the
// destination MAC address.

control Classify(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(classify_counter);

    action drop_malformed() { meta.verdict = VERDICT_DROP; COUNT(classify_counter); }
    action drop_corrupt() { meta.verdict = VERDICT_DROP; COUNT(classify_counter); }
    // The tag names another network, and routing would carry the packet out of it.
    action drop_tagged() { meta.verdict = VERDICT_DROP; COUNT(classify_counter); }
    // To another station, or to all stations and no ARP.
    action drop_misdirected() { meta.verdict = VERDICT_DROP; COUNT(classify_counter); }
    action drop_unknown() { meta.verdict = VERDICT_DROP; COUNT(classify_counter); }
    action aggregate() { meta.verdict = VERDICT_AGGREGATE; COUNT(classify_counter); }
    action route() { meta.verdict = VERDICT_ROUTE; COUNT(classify_counter); }
    // A contribution of a packet size or operation that this program does not sum: the server sums it.
    action route_other_size() { meta.verdict = VERDICT_ROUTE; COUNT(classify_counter); }
    // A contribution whose sender asks switches to pass it on, or that no further switch may add to.
    action route_past() { meta.verdict = VERDICT_ROUTE; COUNT(classify_counter); }
    action descend_or_route() { meta.verdict = VERDICT_DESCEND; COUNT(classify_counter); }
    action answer_arp() { meta.verdict = VERDICT_ARP; COUNT(classify_counter); }

    WAITS_UNTIL(4)
    table classify {
        key = {
            meta.parse_failed: ternary;
            meta.bad_header: ternary;
            meta.tagged: ternary;
            meta.addressee: ternary;
            meta.arrival: ternary;
            hdr.arp.isValid(): ternary @name("arp");
            hdr.ipv4.isValid(): ternary @name("ipv4");
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version: ternary @name("version");
            hdr.lanesum.kind: ternary @name("kind");
            hdr.lanesum.flags: ternary @name("flags");
            meta.length_matches: ternary;
        }
        actions = {
            aggregate; route; route_past; route_other_size; descend_or_route; answer_arp; drop_malformed; drop_corrupt;
            drop_tagged; drop_misdirected; drop_unknown;
        }
        const default_action = drop_unknown();
        CONST_ENTRIES_SIZE(32)
        counters = classify_counter;
        const entries = {
            // Too short for a header that it announced, or another header than its ether type says.
            (1, _, _, _, _, _, _, _, _, _, _, _): drop_malformed();
            (_, 1, _, _, _, _, _, _, _, _, _, _): drop_malformed();
            (_, _, 1, _, _, _, _, _, _, _, _, _): drop_tagged();
            (_, _, _, ADDRESSEE_OTHER, _, _, _, _, _, _, _, _): drop_misdirected();
            // A wrong checksum of IPv4, or of UDP where it was present and the payload was read.
            (_, _, _, _, ARRIVAL_CORRUPT, _, _, _, _, _, _, _): drop_corrupt();
            (_, _, _, _, _, true, _, _, _, _, _, _): answer_arp();
            (_, _, _, ADDRESSEE_ALL, _, _, _, _, _, _, _, _): drop_misdirected();
            (_, _, _, _, ARRIVAL_CONTRIBUTION, _, _, _, _, _, _, _): aggregate();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, HAS(FLAG_BYPASS), 1): route_past();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, HAS(FLAG_PARTIAL), 1): route_past();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_CONTRIBUTION, _, 1): route_other_size();
            // Answers: those of an upper switch may be for all workers below this switch; others pass through.
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_RESULT, HAS(FLAG_UPPER), 1): descend_or_route();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_PENDING, HAS(FLAG_UPPER), 1): descend_or_route();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_CONFLICT, HAS(FLAG_UPPER), 1): descend_or_route();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_RESULT, _, 1): route();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_PENDING, _, 1): route();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, KIND_CONFLICT, _, 1): route();
            (_, _, _, _, _, _, _, true, LANESUM_VERSION, _, _, _): drop_malformed();
            // All other IPv4, other protocol versions included.
            (_, _, _, _, _, _, true, _, _, _, _, _): route();
            // Neither IPv4 nor ARP.
            (_, _, _, _, _, _, _, _, _, _, _, _): drop_unknown();
        }
    }

    apply {
        WHERE_FIRST_PASS {
            classify.apply();
        }
    }
}
