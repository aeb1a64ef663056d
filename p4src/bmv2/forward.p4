// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Forward: packets without a next hop are dropped, and control Icmp reports them. The control is ../shared/forward.p4.

#define HOP_SIZE 4
#define HOP_KEY
#define ANY_PORT
#define REDIRECTIONS
#define REDIRECTION_NAMES
#define REDIRECTION_ENTRIES

#include "../shared/forward.p4"
