// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Forward: where a packet without a next hop goes. The control is ../shared/forward.p4.

// A sum that ascends is no packet of its sender, and is not reported.
#define HOP_SIZE 8
#define HOP_KEY CPU_PORT_DIFFERENCE: ternary; meta.verdict: ternary;
#define ANY_PORT , _, _
#define REDIRECT \
    hdr.bridge.handover = HANDOVER_REDIRECTED; \
    SEND_TO_PORT(CPU_PORT)
#define REDIRECTIONS \
    action redirect_expired() { REDIRECT; COUNT(hop_counter); } \
    action redirect_no_route() { REDIRECT; COUNT(hop_counter); }
#define REDIRECTION_NAMES redirect_expired; redirect_no_route;
#define REDIRECTION_ENTRIES \
    (1, _, 0, _): drop_expired(); \
    (0, 0, 0, _): drop_no_route(); \
    (1, _, _, VERDICT_ROUTE): redirect_expired(); \
    (0, 0, _, VERDICT_ROUTE): redirect_no_route();

#include "../shared/forward.p4"
