// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Redirect: send expired and unroutable packets to the CPU port, as they came. The operating system there reports them
// to their senders (ICMP). Without a CPU port they are dropped. The decision itself is in table hop of forward.p4.

// Packets of an ingress port that are redirected in a tick of 2^24 ns, about 16.8 ms.
const bit<16> REDIRECTS_PER_TICK = 16;
#define REDIRECT_TICK(time) time[39:24]
// CPU_PORT_DIFFERENCE is 0 for packets from the CPU port, and without one. With several passes there are no header
// containers left for two fields: those of a packet whose origin was checked, and that is not recirculated, are free.
#if PASSES > 1
#define CPU_PORT meta.recirculation_port
#define CPU_PORT_DIFFERENCE meta.port_difference
#define FIND_CPU_PORT
#define FIND_CPU_PORT_OF_ROUTED redirect.apply(INGRESS_ARGUMENTS);
#else
#define CPU_PORT meta.cpu_port
#define CPU_PORT_DIFFERENCE meta.cpu_port_difference
#define FIND_CPU_PORT redirect.apply(INGRESS_ARGUMENTS);
#define FIND_CPU_PORT_OF_ROUTED
#endif
const bit<32> NUM_PORTS = 512;

control CpuPort(INGRESS_PARAMETERS) {
    // Packets from the CPU port itself are never redirected: they would come back.
    action redirect_to(port_t port) { CPU_PORT = port; CPU_PORT_DIFFERENCE = INGRESS_PORT ^ port; }
    action no_port() { CPU_PORT_DIFFERENCE = 0; }

    // The controller writes the entry of frames to the switch; no others are routed.
    WAITS_UNTIL(4)
    table cpu_port {
        key = { meta.addressee: exact @name("addressee"); }
        actions = { redirect_to; no_port; }
        const default_action = no_port();
        size = CPU_PORT_TABLE_SIZE;
    }

    apply {
        cpu_port.apply();
    }
}

// Bound the redirected packets of each ingress port. In egress, because in the stages behind table hop the lanes take
// all stateful ALUs.
control Redirected(EGRESS_PARAMETERS) {
    Register<redirects_t, PortId_t>(NUM_PORTS) redirects;
    DIRECT_COUNTER(redirected_counter);

    RegisterAction<redirects_t, PortId_t, bit<1>>(redirects) note = {
        void apply(inout redirects_t value, out bit<1> too_many) {
            too_many = 0;
            if (value.tick == meta.tick && value.packets >= REDIRECTS_PER_TICK) {
                too_many = 1;
            }
            if (value.tick != meta.tick) {
                value.packets = 1;
            } else if (value.packets < REDIRECTS_PER_TICK) {
                value.packets = value.packets + 1;
            }
            value.tick = meta.tick;
        }
    };

    action redirected() { COUNT(redirected_counter); }
    action drop_too_soon() { DROP_AT_EGRESS; COUNT(redirected_counter); }

    COUNT_EACH_ENTRY
    table bound {
        key = { meta.too_many: ternary; }
        actions = { redirected; drop_too_soon; }
        const default_action = redirected();
        size = 2;
        counters = redirected_counter;
        const entries = {
            0: redirected();
            1: drop_too_soon();
        }
    }

    apply {
        meta.too_many = note.execute(hdr.bridge.ingress_port);
        bound.apply();
    }
}
