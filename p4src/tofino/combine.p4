// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Combine: find the pipe that sums the partial sums of a job with members at several pipes.
//
// Each pipe has registers of its own, so the workers of one pipe are a rack. Their sum leaves by the recirculation port
// of the combining pipe, with its bridge header. There it is a member of its own, see membership.p4.

#if PIPES_COMBINE

// In addition to the roles of ../shared/types.p4: a bit for sums that another pipe combines, above that pipe's number.
#define COMBINING_PIPE(role) role[7:5]

control Combine(INGRESS_PARAMETERS) {
    action to_pipe(port_t port) { meta.combined = 1; meta.combining_port = port; }
    action to_server() { meta.combined = 0; }

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

#endif
