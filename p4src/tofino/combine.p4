// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Combine: find the pipe that sums the partial sums of a job with members at several pipes.
//
// Each pipe has registers of its own, so the workers of one pipe are a rack. Their sum leaves by the recirculation port
// of the combining pipe, with its bridge header. There it is a member of its own, see membership.p4.

// In addition to the roles of ../shared/types.p4: a bit for sums that another pipe combines, above that pipe's number.
#define COMBINING_PIPE(role) role[7:5]

// With several passes a sum leaves in its last pass, in which nothing else recirculates: on Tofino 1, where header
// containers are scarce, it takes the fields of table recirculation.
#if COMBINE_IN_LAST_PASS
#define COMBINED meta.may_recirculate
#define COMBINING_PORT meta.recirculation_port
#else
#define COMBINED meta.combined
#define COMBINING_PORT meta.combining_port
#endif

control Combine(INGRESS_PARAMETERS) {
    action to_pipe(port_t port) { COMBINED = 1; COMBINING_PORT = port; }
    action to_server() { COMBINED = 0; }

    WAITS_UNTIL(6)
    table combine {
        key = { COMBINING_PIPE(meta.role): exact @name("combining_pipe"); }
        actions = { to_pipe; to_server; }
        const default_action = to_server();
        size = 8;
    }

    apply {
        combine.apply();
    }
}
