// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Forward: route all other IPv4 traffic, as any router does. The target defines what else table hop does with packets
// that have no next hop.

control Forward(INGRESS_PARAMETERS) {
    DIRECT_COUNTER(forward_counter);
    DIRECT_COUNTER(hop_counter);

    action unknown() { meta.has_route = 0; COUNT(forward_counter); }

    action route(port_t port, mac_t source, mac_t destination) {
        meta.has_route = 1;
        SEND_TO_PORT(port);
        hdr.ethernet.source = source;
        hdr.ethernet.destination = destination;
        DECREMENT_TTL;
        COUNT(forward_counter);
    }

    table forward {
        key = { hdr.ipv4.destination: lpm @name("destination"); }
        actions = { route; unknown; }
        const default_action = unknown();
        size = FORWARD_TABLE_SIZE;
        counters = forward_counter;
    }

    action forwarded() { COUNT(hop_counter); }
    action drop_expired() { DROP_AT_INGRESS; REPORT(CAUSE_EXPIRED); COUNT(hop_counter); }
    action drop_no_route() { DROP_AT_INGRESS; REPORT(CAUSE_NO_ROUTE); COUNT(hop_counter); }
    REDIRECTIONS

    COUNT_EACH_ENTRY
    table hop {
        key = {
            meta.expired: ternary;
            meta.has_route: ternary;
            HOP_KEY
        }
        actions = { forwarded; drop_expired; drop_no_route; REDIRECTION_NAMES }
        const default_action = drop_no_route();
        CONST_ENTRIES_SIZE(HOP_SIZE)
        counters = hop_counter;
        const entries = {
            REDIRECTION_ENTRIES
            (1, _ ANY_PORT): drop_expired();
            (0, 1 ANY_PORT): forwarded();
            (0, 0 ANY_PORT): drop_no_route();
        }
    }

    apply {
        if (meta.expired == 0) {
            forward.apply();
        }
        hop.apply();
    }
}
