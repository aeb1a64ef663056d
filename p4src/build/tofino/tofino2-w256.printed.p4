// Printed by p4c after its front end; do not edit.

error {
    NoError,
    PacketTooShort,
    NoMatch,
    StackOutOfBounds,
    HeaderTooShort,
    ParserTimeout,
    ParserInvalidArgument,
    CounterRange,
    Timeout,
    PhvOwner,
    MultiWrite,
    IbufOverflow,
    IbufUnderflow
}
typedef bit<9> PortId_t;
typedef bit<16> MulticastGroupId_t;
typedef bit<7> QueueId_t;
typedef bit<4> MirrorType_t;
typedef bit<8> MirrorId_t;
typedef bit<3> ResubmitType_t;
typedef bit<3> DigestType_t;
typedef bit<16> L1ExclusionId_t;
typedef bit<9> L2ExclusionId_t;
enum MeterType_t {
    PACKETS,
    BYTES
}
enum bit<8> MeterColor_t {
    GREEN = 8w0,
    YELLOW = 8w1,
    RED = 8w3
}
enum CounterType_t {
    PACKETS,
    BYTES,
    PACKETS_AND_BYTES
}
enum SelectorMode_t {
    FAIR,
    RESILIENT
}
enum HashAlgorithm_t {
    IDENTITY,
    RANDOM,
    XOR8,
    XOR16,
    XOR32,
    CRC8,
    CRC16,
    CRC32,
    CRC64,
    CUSTOM
}
@__intrinsic_metadata header ingress_intrinsic_metadata_t {
    bit<1>   resubmit_flag;
    @padding
    bit<1>   _pad1;
    bit<2>   packet_version;
    @padding
    bit<3>   _pad2;
    PortId_t ingress_port;
    bit<48>  ingress_mac_tstamp;
}
@__intrinsic_metadata struct ingress_intrinsic_metadata_for_tm_t {
    PortId_t           ucast_egress_port;
    bit<1>             bypass_egress;
    bit<1>             deflect_on_drop;
    bit<3>             ingress_cos;
    QueueId_t          qid;
    bit<3>             icos_for_copy_to_cpu;
    bit<1>             copy_to_cpu;
    bit<2>             packet_color;
    bit<1>             disable_ucast_cutthru;
    bit<1>             enable_mcast_cutthru;
    MulticastGroupId_t mcast_grp_a;
    MulticastGroupId_t mcast_grp_b;
    bit<13>            level1_mcast_hash;
    bit<13>            level2_mcast_hash;
    L1ExclusionId_t    level1_exclusion_id;
    L2ExclusionId_t    level2_exclusion_id;
    bit<16>            rid;
}
@__intrinsic_metadata struct ingress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;
    bit<32> global_ver;
    bit<16> parser_err;
}
@__intrinsic_metadata struct ingress_intrinsic_metadata_for_deparser_t {
    bit<3>         drop_ctl;
    DigestType_t   digest_type;
    ResubmitType_t resubmit_type;
    MirrorType_t   mirror_type;
    bit<1>         mirror_io_select;
    bit<13>        mirror_hash;
    bit<3>         mirror_ingress_cos;
    bit<1>         mirror_deflect_on_drop;
    bit<1>         mirror_multicast_ctrl;
    PortId_t       mirror_egress_port;
    QueueId_t      mirror_qid;
    bit<8>         mirror_coalesce_length;
    bit<32>        adv_flow_ctl;
    bit<14>        mtu_trunc_len;
    bit<1>         mtu_trunc_err_f;
    bit<1>         pktgen;
    bit<14>        pktgen_address;
    bit<10>        pktgen_length;
}
@__intrinsic_metadata @__ghost_metadata header ghost_intrinsic_metadata_t {
    bit<1>  ping_pong;
    bit<18> qlength;
    bit<11> qid;
    bit<2>  pipe_id;
}
@__intrinsic_metadata header egress_intrinsic_metadata_t {
    @padding
    bit<7>    _pad0;
    PortId_t  egress_port;
    @padding
    bit<5>    _pad1;
    bit<19>   enq_qdepth;
    @padding
    bit<6>    _pad2;
    bit<2>    enq_congest_stat;
    bit<32>   enq_tstamp;
    @padding
    bit<5>    _pad3;
    bit<19>   deq_qdepth;
    @padding
    bit<6>    _pad4;
    bit<2>    deq_congest_stat;
    bit<8>    app_pool_congest_stat;
    bit<32>   deq_timedelta;
    bit<16>   egress_rid;
    @padding
    bit<7>    _pad5;
    bit<1>    egress_rid_first;
    @padding
    bit<1>    _pad6;
    QueueId_t egress_qid;
    @padding
    bit<5>    _pad7;
    bit<3>    egress_cos;
    @padding
    bit<7>    _pad8;
    bit<1>    deflection_flag;
    bit<16>   pkt_length;
    @padding
    bit<8>    _pad9;
}
@__intrinsic_metadata struct egress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;
    bit<32> global_ver;
    bit<16> parser_err;
}
@__intrinsic_metadata struct egress_intrinsic_metadata_for_deparser_t {
    bit<3>       drop_ctl;
    MirrorType_t mirror_type;
    bit<1>       coalesce_flush;
    bit<7>       coalesce_length;
    bit<1>       mirror_io_select;
    bit<13>      mirror_hash;
    bit<3>       mirror_ingress_cos;
    bit<1>       mirror_deflect_on_drop;
    bit<1>       mirror_multicast_ctrl;
    PortId_t     mirror_egress_port;
    QueueId_t    mirror_qid;
    bit<8>       mirror_coalesce_length;
    bit<32>      adv_flow_ctl;
    bit<14>      mtu_trunc_len;
    bit<1>       mtu_trunc_err_f;
}
@__intrinsic_metadata struct egress_intrinsic_metadata_for_output_port_t {
    bit<1> capture_tstamp_on_tx;
    bit<1> update_delay_on_tx;
}
header pktgen_timer_header_t {
    @padding
    bit<2>  _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding
    bit<8>  _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}
header pktgen_port_down_header_t {
    @padding
    bit<2>   _pad1;
    bit<2>   pipe_id;
    bit<4>   app_id;
    @padding
    bit<15>  _pad2;
    PortId_t port_num;
    bit<16>  packet_id;
}
header pktgen_recirc_header_t {
    @padding
    bit<2>  _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding
    bit<8>  _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}
header pktgen_deparser_header_t {
    @padding
    bit<2>  _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding
    bit<8>  _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}
header pktgen_pfc_header_t {
    @padding
    bit<2>  _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding
    bit<40> _pad2;
}
header ptp_metadata_t {
    bit<8>  udp_cksum_byte_offset;
    bit<8>  cf_byte_offset;
    bit<48> updated_cf;
}
enum MathOp_t {
    MUL,
    SQR,
    SQRT,
    DIV,
    RSQR,
    RSQRT
}
@pkginfo(arch="T2NA", version="1.0.1") package Switch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1, IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(Pipeline<IH0, IM0, EH0, EM0> pipe0, @optional Pipeline<IH1, IM1, EH1, EM1> pipe1, @optional Pipeline<IH2, IM2, EH2, EM2> pipe2, @optional Pipeline<IH3, IM3, EH3, EM3> pipe3);
header lanesum_t {
    bit<4>  version;
    bit<4>  kind;
    bit<8>  flags;
    bit<16> job;
    bit<32> tag;
    bit<32> epoch;
    bit<32> chunk;
    bit<1>  shadow;
    bit<15> slot;
    bit<8>  op;
    bit<8>  spare;
    bit<32> workers;
    bit<32> racks;
    bit<8>  fan_in_workers;
    bit<8>  fan_in_racks;
    bit<16> words;
}
typedef bit<48> mac_t;
typedef bit<32> ipv4_addr_t;
header ethernet_t {
    mac_t   destination;
    mac_t   source;
    bit<16> ether_type;
}
header arp_t {
    bit<16>     hardware_type;
    bit<16>     protocol_type;
    bit<8>      hardware_length;
    bit<8>      protocol_length;
    bit<16>     operation;
    mac_t       sender_mac;
    ipv4_addr_t sender_ip;
    mac_t       target_mac;
    ipv4_addr_t target_ip;
}
header ipv4_t {
    bit<4>      version;
    bit<4>      ihl;
    bit<6>      dscp;
    bit<2>      ecn;
    bit<16>     total_length;
    bit<16>     identification;
    bit<3>      flags;
    bit<13>     fragment_offset;
    bit<8>      ttl;
    bit<8>      protocol;
    bit<16>     checksum;
    ipv4_addr_t source;
    ipv4_addr_t destination;
}
header udp_t {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length;
    bit<16> checksum;
}
header icmp_t {
    bit<8>  type;
    bit<8>  code;
    bit<16> checksum;
    bit<32> rest;
}
header codes_t {
    bit<32> w0;
    bit<32> w1;
    bit<32> w2;
    bit<32> w3;
    bit<32> w4;
    bit<32> w5;
    bit<32> w6;
    bit<32> w7;
    bit<32> w8;
    bit<32> w9;
    bit<32> w10;
    bit<32> w11;
    bit<32> w12;
    bit<32> w13;
    bit<32> w14;
    bit<32> w15;
    bit<32> w16;
    bit<32> w17;
    bit<32> w18;
    bit<32> w19;
    bit<32> w20;
    bit<32> w21;
    bit<32> w22;
    bit<32> w23;
    bit<32> w24;
    bit<32> w25;
    bit<32> w26;
    bit<32> w27;
    bit<32> w28;
    bit<32> w29;
    bit<32> w30;
    bit<32> w31;
}
header codes16_t {
    bit<32> w0;
    bit<32> w1;
    bit<32> w2;
    bit<32> w3;
    bit<32> w4;
    bit<32> w5;
    bit<32> w6;
    bit<32> w7;
    bit<32> w8;
    bit<32> w9;
    bit<32> w10;
    bit<32> w11;
    bit<32> w12;
    bit<32> w13;
    bit<32> w14;
    bit<32> w15;
}
header planes3_t {
    bit<32> w0;
    bit<32> w1;
    bit<32> w2;
    bit<32> w3;
    bit<32> w4;
    bit<32> w5;
    bit<32> w6;
    bit<32> w7;
    bit<32> w8;
    bit<32> w9;
    bit<32> w10;
    bit<32> w11;
    bit<32> w12;
    bit<32> w13;
    bit<32> w14;
    bit<32> w15;
    bit<32> w16;
    bit<32> w17;
    bit<32> w18;
    bit<32> w19;
    bit<32> w20;
    bit<32> w21;
    bit<32> w22;
    bit<32> w23;
}
header planes5_t {
    bit<32> w0;
    bit<32> w1;
    bit<32> w2;
    bit<32> w3;
    bit<32> w4;
    bit<32> w5;
    bit<32> w6;
    bit<32> w7;
    bit<32> w8;
    bit<32> w9;
    bit<32> w10;
    bit<32> w11;
    bit<32> w12;
    bit<32> w13;
    bit<32> w14;
    bit<32> w15;
    bit<32> w16;
    bit<32> w17;
    bit<32> w18;
    bit<32> w19;
    bit<32> w20;
    bit<32> w21;
    bit<32> w22;
    bit<32> w23;
    bit<32> w24;
    bit<32> w25;
    bit<32> w26;
    bit<32> w27;
    bit<32> w28;
    bit<32> w29;
    bit<32> w30;
    bit<32> w31;
    bit<32> w32;
    bit<32> w33;
    bit<32> w34;
    bit<32> w35;
    bit<32> w36;
    bit<32> w37;
    bit<32> w38;
    bit<32> w39;
}
header lanes_t {
    bit<32> w0;
    bit<32> w1;
    bit<32> w2;
    bit<32> w3;
    bit<32> w4;
    bit<32> w5;
    bit<32> w6;
    bit<32> w7;
    bit<32> w8;
    bit<32> w9;
    bit<32> w10;
    bit<32> w11;
    bit<32> w12;
    bit<32> w13;
    bit<32> w14;
    bit<32> w15;
    bit<32> w16;
    bit<32> w17;
    bit<32> w18;
    bit<32> w19;
    bit<32> w20;
    bit<32> w21;
    bit<32> w22;
    bit<32> w23;
    bit<32> w24;
    bit<32> w25;
    bit<32> w26;
    bit<32> w27;
    bit<32> w28;
    bit<32> w29;
    bit<32> w30;
    bit<32> w31;
    bit<32> w32;
    bit<32> w33;
    bit<32> w34;
    bit<32> w35;
    bit<32> w36;
    bit<32> w37;
    bit<32> w38;
    bit<32> w39;
    bit<32> w40;
    bit<32> w41;
    bit<32> w42;
    bit<32> w43;
    bit<32> w44;
    bit<32> w45;
    bit<32> w46;
    bit<32> w47;
    bit<32> w48;
    bit<32> w49;
    bit<32> w50;
    bit<32> w51;
    bit<32> w52;
    bit<32> w53;
    bit<32> w54;
    bit<32> w55;
    bit<32> w56;
    bit<32> w57;
    bit<32> w58;
    bit<32> w59;
    bit<32> w60;
    bit<32> w61;
    bit<32> w62;
    bit<32> w63;
}
typedef bit<4> verdict_t;
typedef bit<8> role_t;
typedef bit<2> addressee_t;
typedef bit<2> arrival_t;
typedef bit<3> order_t;
typedef bit<2> progress_t;
typedef PortId_t port_t;
typedef bit<16> fan_in_t;
typedef bit<32> queue_depth_t;
typedef bit<2> phase_t;
typedef bit<2> access_t;
typedef bit<2> chunk_order_t;
typedef bit<2> combination_t;
typedef bit<8> handover_t;
header bridge_t {
    handover_t handover;
    bit<1>     partial_sum;
    @padding
    bit<6>     pad;
    PortId_t   ingress_port;
    bit<16>    payload_checksum;
}
typedef bit<8> task_t;
header pass_t {
    task_t  task;
    bit<8>  number;
    bit<8>  verdict;
    bit<8>  progress;
    bit<16> entry;
    bit<16> udp_sum;
    bit<16> fan_in;
    bit<16> group;
    role_t  role;
    bit<32> worker;
    bit<32> workers;
}
struct ingress_headers_t {
    bridge_t   bridge;
    pass_t     pass;
    ethernet_t ethernet;
    arp_t      arp;
    ipv4_t     ipv4;
    udp_t      udp;
    lanesum_t  lanesum;
    codes_t    codes;
    codes16_t  codes16;
    lanes_t    received;
    lanes_t    lanes;
}
struct egress_headers_t {
    bridge_t   bridge;
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
    lanesum_t  lanesum;
}
header place_t {
    bit<128> before;
    bit<16>  place;
}
struct two_words_t {
    bit<32> lo;
    bit<32> hi;
}
struct two_bytes_t {
    bit<8> lo;
    bit<8> hi;
}
struct redirects_t {
    bit<16> packets;
    bit<16> tick;
}
struct ingress_metadata_t {
    verdict_t     verdict;
    arrival_t     arrival;
    bit<1>        bad_header;
    bit<1>        tagged;
    addressee_t   addressee;
    ipv4_addr_t   own_ip;
    bit<6>        answer_dscp;
    bit<3>        answer_queue;
    bit<1>        ipv4_corrupt;
    bit<1>        length_matches;
    bit<1>        parse_failed;
    bit<16>       udp_sum;
    bit<16>       payload_bytes;
    bit<16>       payload_gap;
    bit<16>       datagram_gap;
    bit<2>        pipe;
    bit<1>        takeover;
    bit<1>        known_source;
    bit<1>        attached;
    port_t        port_difference;
    bit<1>        member;
    bit<32>       worker;
    fan_in_t      fan_in;
    bit<16>       group;
    role_t        role;
    bit<16>       lease;
    bit<16>       place;
    bit<16>       slots_left;
    bit<16>       operation_bit;
    bit<16>       allowed;
    bit<16>       entry;
    bit<32>       owner;
    bit<32>       shape;
    combination_t combination;
    bit<1>        wide;
    access_t      access;
    bit<1>        epoch_moved;
    bit<1>        epoch_reached;
    chunk_order_t chunk_order;
    bit<1>        shape_differs;
    bit<32>       seen;
    order_t       order;
    progress_t    progress;
    bit<32>       workers;
    bit<8>        own_state;
    bit<8>        state;
    bit<32>       record;
    bit<32>       now;
    bit<32>       age;
    bit<32>       overdue;
    bit<1>        has_route;
    bit<1>        expired;
    bit<1>        may_recirculate;
    port_t        cpu_port;
    port_t        cpu_port_difference;
    bit<1>        combined;
    port_t        combining_port;
    phase_t       phase;
    bit<32>       generation;
    bit<1>        torn;
    bit<32>       difference;
    bit<16>       later_blocks_sum;
    port_t        recirculation_port;
}
struct egress_metadata_t {
    bit<16>       ipv4_rest;
    bit<16>       udp_rest;
    bit<16>       pseudo_length;
    bit<1>        update_udp;
    queue_depth_t depth;
    queue_depth_t below_threshold;
    bit<1>        watched;
    bit<16>       tick;
    bit<1>        too_many;
}
parser IngressParser(packet_in packet, out ingress_headers_t hdr, out ingress_metadata_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    @name("IngressParser.ipv4_checksum") Checksum() ipv4_checksum_0;
    @name("IngressParser.udp_checksum") Checksum() udp_checksum_0;
    state start {
        packet.extract<ingress_intrinsic_metadata_t>(ig_intr_md);
        packet.advance(32w192);
        transition select(ig_intr_md.ingress_port[6:0]) {
            7w6: parse_bridge;
            default: parse_first;
        }
    }
    state parse_first {
        hdr.bridge.setValid();
        hdr.bridge.partial_sum = 1w0;
        hdr.bridge.ingress_port = ig_intr_md.ingress_port;
        transition parse_ethernet;
    }
    state parse_bridge {
        packet.extract<bridge_t>(hdr.bridge);
        transition select(hdr.bridge.handover) {
            8w5: parse_pass;
            8w2: parse_ethernet;
            default: parse_again;
        }
    }
    state parse_again {
        meta.takeover = 1w1;
        transition parse_ethernet;
    }
    state parse_ethernet {
        packet.extract<ethernet_t>(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            16w0x800: parse_ipv4;
            16w0x806: parse_arp;
            16w0x8100: parse_tag;
            16w0x88a8: parse_tag;
            default: accept;
        }
    }
    state parse_arp {
        packet.extract<arp_t>(hdr.arp);
        transition select(hdr.arp.hardware_type, hdr.arp.protocol_type) {
            (16w1, 16w0x800): check_arp;
            default: refuse_header;
        }
    }
    state check_arp {
        transition select(hdr.arp.hardware_length, hdr.arp.protocol_length, hdr.arp.sender_mac[40:40]) {
            (8w6, 8w4, 1w0): accept;
            default: refuse_header;
        }
    }
    state refuse_header {
        meta.bad_header = 1w1;
        transition accept;
    }
    state parse_tag {
        meta.tagged = 1w1;
        transition accept;
    }
    state parse_ipv4 {
        packet.extract<ipv4_t>(hdr.ipv4);
        ipv4_checksum_0.add<ipv4_t>(hdr.ipv4);
        udp_checksum_0.subtract<tuple<bit<32>, bit<32>>>({ hdr.ipv4.source, hdr.ipv4.destination });
        transition select(hdr.ipv4.version, hdr.ipv4.ihl) {
            (4w4, 4w5): verify_ipv4;
            (4w4, 4w8 &&& 4w8): accept;
            (4w4, 4w6 &&& 4w14): accept;
            default: refuse_header;
        }
    }
    state verify_ipv4 {
        meta.ipv4_corrupt = (bit<1>)ipv4_checksum_0.verify();
        transition select(hdr.ipv4.flags[0:0], hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (1w0, 13w0, 8w17): parse_udp;
            default: accept;
        }
    }
    state parse_udp {
        packet.extract<udp_t>(hdr.udp);
        udp_checksum_0.subtract<tuple<bit<16>, bit<16>, bit<16>, bit<16>>>({ hdr.udp.source_port, hdr.udp.destination_port, hdr.udp.length, hdr.udp.checksum });
        transition select(hdr.udp.destination_port, hdr.udp.source_port) {
            (16w19539, default): parse_lanesum;
            (default, 16w19539): parse_source;
            default: accept;
        }
    }
    state parse_source {
        transition select(hdr.udp.length) {
            16w0x28 &&& 16w0xfff8: parse_answer;
            16w0x30 &&& 16w0xfff0: parse_answer;
            16w0x40 &&& 16w0xffc0: parse_answer;
            16w0x80 &&& 16w0xff80: parse_answer;
            16w0x0 &&& 16w0xff00: accept;
            default: parse_answer;
        }
    }
    state parse_answer {
        transition select(packet.lookahead<bit<8>>()) {
            8w34: parse_lanesum;
            8w35: parse_lanesum;
            8w36: parse_lanesum;
            default: accept;
        }
    }
    state parse_lanesum {
        meta.place = (packet.lookahead<place_t>()).place;
        packet.extract<lanesum_t>(hdr.lanesum);
        udp_checksum_0.subtract<tuple<lanesum_t>>({ hdr.lanesum });
        transition select(hdr.lanesum.version, hdr.lanesum.kind, hdr.lanesum.words) {
            (4w2, 4w1, 16w256): choose_lanes;
            (4w2, 4w1, 16w128): choose_codes;
            (4w2, 4w1, 16w64): choose_codes16;
            default: accept;
        }
    }
    state choose_lanes {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (8w0x20 &&& 8w0x20, 8w1): sum_expanded;
            (8w0x20 &&& 8w0x20, 8w6): sum_expanded16;
            (8w0x20 &&& 8w0x20, 8w7): sum_expanded8to16;
            (default, 8w0): sum_words;
            (default, 8w3): sum_bytes;
            (default, 8w4): or_words;
            (default, 8w5): max_words;
            default: accept;
        }
    }
    state choose_codes {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (8w0 &&& 8w0x20, 8w1): expand8;
            (8w0 &&& 8w0x20, 8w7): expand8to16;
            default: accept;
        }
    }
    state choose_codes16 {
        transition select(hdr.lanesum.flags, hdr.lanesum.op) {
            (8w0 &&& 8w0x20, 8w6): expand16;
            default: accept;
        }
    }
    state sum_words {
        meta.operation_bit = 16w1;
        meta.combination = 2w0;
        transition parse_lanes;
    }
    state sum_bytes {
        meta.operation_bit = 16w8;
        meta.combination = 2w0;
        transition parse_lanes;
    }
    state sum_expanded {
        meta.operation_bit = 16w2;
        meta.combination = 2w0;
        transition parse_lanes;
    }
    state sum_expanded16 {
        meta.operation_bit = 16w64;
        meta.combination = 2w0;
        transition parse_lanes;
    }
    state sum_expanded8to16 {
        meta.operation_bit = 16w128;
        meta.combination = 2w0;
        transition parse_lanes;
    }
    state or_words {
        meta.operation_bit = 16w16;
        meta.combination = 2w1;
        transition parse_lanes;
    }
    state max_words {
        meta.operation_bit = 16w32;
        meta.combination = 2w2;
        transition parse_lanes;
    }
    state expand8 {
        meta.operation_bit = 16w2;
        meta.combination = 2w0;
        transition parse_codes;
    }
    state expand8to16 {
        meta.operation_bit = 16w128;
        meta.combination = 2w0;
        transition parse_codes;
    }
    state expand16 {
        meta.operation_bit = 16w64;
        meta.combination = 2w0;
        transition parse_codes16;
    }
    state parse_codes16 {
        packet.extract<codes16_t>(hdr.codes16);
        hdr.lanes.w0 = hdr.codes16.w0;
        hdr.lanes.w1 = hdr.codes16.w0;
        hdr.lanes.w2 = hdr.codes16.w0;
        hdr.lanes.w3 = hdr.codes16.w0;
        hdr.lanes.w4 = hdr.codes16.w1;
        hdr.lanes.w5 = hdr.codes16.w1;
        hdr.lanes.w6 = hdr.codes16.w1;
        hdr.lanes.w7 = hdr.codes16.w1;
        hdr.lanes.w8 = hdr.codes16.w2;
        hdr.lanes.w9 = hdr.codes16.w2;
        hdr.lanes.w10 = hdr.codes16.w2;
        hdr.lanes.w11 = hdr.codes16.w2;
        hdr.lanes.w12 = hdr.codes16.w3;
        hdr.lanes.w13 = hdr.codes16.w3;
        hdr.lanes.w14 = hdr.codes16.w3;
        hdr.lanes.w15 = hdr.codes16.w3;
        hdr.lanes.w16 = hdr.codes16.w4;
        hdr.lanes.w17 = hdr.codes16.w4;
        hdr.lanes.w18 = hdr.codes16.w4;
        hdr.lanes.w19 = hdr.codes16.w4;
        hdr.lanes.w20 = hdr.codes16.w5;
        hdr.lanes.w21 = hdr.codes16.w5;
        hdr.lanes.w22 = hdr.codes16.w5;
        hdr.lanes.w23 = hdr.codes16.w5;
        hdr.lanes.w24 = hdr.codes16.w6;
        hdr.lanes.w25 = hdr.codes16.w6;
        hdr.lanes.w26 = hdr.codes16.w6;
        hdr.lanes.w27 = hdr.codes16.w6;
        hdr.lanes.w28 = hdr.codes16.w7;
        hdr.lanes.w29 = hdr.codes16.w7;
        hdr.lanes.w30 = hdr.codes16.w7;
        hdr.lanes.w31 = hdr.codes16.w7;
        hdr.lanes.w32 = hdr.codes16.w8;
        hdr.lanes.w33 = hdr.codes16.w8;
        hdr.lanes.w34 = hdr.codes16.w8;
        hdr.lanes.w35 = hdr.codes16.w8;
        hdr.lanes.w36 = hdr.codes16.w9;
        hdr.lanes.w37 = hdr.codes16.w9;
        hdr.lanes.w38 = hdr.codes16.w9;
        hdr.lanes.w39 = hdr.codes16.w9;
        hdr.lanes.w40 = hdr.codes16.w10;
        hdr.lanes.w41 = hdr.codes16.w10;
        hdr.lanes.w42 = hdr.codes16.w10;
        hdr.lanes.w43 = hdr.codes16.w10;
        hdr.lanes.w44 = hdr.codes16.w11;
        hdr.lanes.w45 = hdr.codes16.w11;
        hdr.lanes.w46 = hdr.codes16.w11;
        hdr.lanes.w47 = hdr.codes16.w11;
        hdr.lanes.w48 = hdr.codes16.w12;
        hdr.lanes.w49 = hdr.codes16.w12;
        hdr.lanes.w50 = hdr.codes16.w12;
        hdr.lanes.w51 = hdr.codes16.w12;
        hdr.lanes.w52 = hdr.codes16.w13;
        hdr.lanes.w53 = hdr.codes16.w13;
        hdr.lanes.w54 = hdr.codes16.w13;
        hdr.lanes.w55 = hdr.codes16.w13;
        hdr.lanes.w56 = hdr.codes16.w14;
        hdr.lanes.w57 = hdr.codes16.w14;
        hdr.lanes.w58 = hdr.codes16.w14;
        hdr.lanes.w59 = hdr.codes16.w14;
        hdr.lanes.w60 = hdr.codes16.w15;
        hdr.lanes.w61 = hdr.codes16.w15;
        hdr.lanes.w62 = hdr.codes16.w15;
        hdr.lanes.w63 = hdr.codes16.w15;
        udp_checksum_0.subtract<tuple<codes16_t>>({ hdr.codes16 });
        udp_checksum_0.subtract_all_and_deposit<bit<16>>(meta.udp_sum);
        transition accept;
    }
    state parse_codes {
        packet.extract<codes_t>(hdr.codes);
        hdr.lanes.w0 = hdr.codes.w0;
        hdr.lanes.w1 = hdr.codes.w0;
        hdr.lanes.w2 = hdr.codes.w1;
        hdr.lanes.w3 = hdr.codes.w1;
        hdr.lanes.w4 = hdr.codes.w2;
        hdr.lanes.w5 = hdr.codes.w2;
        hdr.lanes.w6 = hdr.codes.w3;
        hdr.lanes.w7 = hdr.codes.w3;
        hdr.lanes.w8 = hdr.codes.w4;
        hdr.lanes.w9 = hdr.codes.w4;
        hdr.lanes.w10 = hdr.codes.w5;
        hdr.lanes.w11 = hdr.codes.w5;
        hdr.lanes.w12 = hdr.codes.w6;
        hdr.lanes.w13 = hdr.codes.w6;
        hdr.lanes.w14 = hdr.codes.w7;
        hdr.lanes.w15 = hdr.codes.w7;
        hdr.lanes.w16 = hdr.codes.w8;
        hdr.lanes.w17 = hdr.codes.w8;
        hdr.lanes.w18 = hdr.codes.w9;
        hdr.lanes.w19 = hdr.codes.w9;
        hdr.lanes.w20 = hdr.codes.w10;
        hdr.lanes.w21 = hdr.codes.w10;
        hdr.lanes.w22 = hdr.codes.w11;
        hdr.lanes.w23 = hdr.codes.w11;
        hdr.lanes.w24 = hdr.codes.w12;
        hdr.lanes.w25 = hdr.codes.w12;
        hdr.lanes.w26 = hdr.codes.w13;
        hdr.lanes.w27 = hdr.codes.w13;
        hdr.lanes.w28 = hdr.codes.w14;
        hdr.lanes.w29 = hdr.codes.w14;
        hdr.lanes.w30 = hdr.codes.w15;
        hdr.lanes.w31 = hdr.codes.w15;
        hdr.lanes.w32 = hdr.codes.w16;
        hdr.lanes.w33 = hdr.codes.w16;
        hdr.lanes.w34 = hdr.codes.w17;
        hdr.lanes.w35 = hdr.codes.w17;
        hdr.lanes.w36 = hdr.codes.w18;
        hdr.lanes.w37 = hdr.codes.w18;
        hdr.lanes.w38 = hdr.codes.w19;
        hdr.lanes.w39 = hdr.codes.w19;
        hdr.lanes.w40 = hdr.codes.w20;
        hdr.lanes.w41 = hdr.codes.w20;
        hdr.lanes.w42 = hdr.codes.w21;
        hdr.lanes.w43 = hdr.codes.w21;
        hdr.lanes.w44 = hdr.codes.w22;
        hdr.lanes.w45 = hdr.codes.w22;
        hdr.lanes.w46 = hdr.codes.w23;
        hdr.lanes.w47 = hdr.codes.w23;
        hdr.lanes.w48 = hdr.codes.w24;
        hdr.lanes.w49 = hdr.codes.w24;
        hdr.lanes.w50 = hdr.codes.w25;
        hdr.lanes.w51 = hdr.codes.w25;
        hdr.lanes.w52 = hdr.codes.w26;
        hdr.lanes.w53 = hdr.codes.w26;
        hdr.lanes.w54 = hdr.codes.w27;
        hdr.lanes.w55 = hdr.codes.w27;
        hdr.lanes.w56 = hdr.codes.w28;
        hdr.lanes.w57 = hdr.codes.w28;
        hdr.lanes.w58 = hdr.codes.w29;
        hdr.lanes.w59 = hdr.codes.w29;
        hdr.lanes.w60 = hdr.codes.w30;
        hdr.lanes.w61 = hdr.codes.w30;
        hdr.lanes.w62 = hdr.codes.w31;
        hdr.lanes.w63 = hdr.codes.w31;
        udp_checksum_0.subtract<tuple<codes_t>>({ hdr.codes });
        udp_checksum_0.subtract_all_and_deposit<bit<16>>(meta.udp_sum);
        transition accept;
    }
    state parse_lanes {
        packet.extract<lanes_t>(hdr.received);
        hdr.lanes.w0 = hdr.received.w0;
        hdr.lanes.w1 = hdr.received.w1;
        hdr.lanes.w2 = hdr.received.w2;
        hdr.lanes.w3 = hdr.received.w3;
        hdr.lanes.w4 = hdr.received.w4;
        hdr.lanes.w5 = hdr.received.w5;
        hdr.lanes.w6 = hdr.received.w6;
        hdr.lanes.w7 = hdr.received.w7;
        hdr.lanes.w8 = hdr.received.w8;
        hdr.lanes.w9 = hdr.received.w9;
        hdr.lanes.w10 = hdr.received.w10;
        hdr.lanes.w11 = hdr.received.w11;
        hdr.lanes.w12 = hdr.received.w12;
        hdr.lanes.w13 = hdr.received.w13;
        hdr.lanes.w14 = hdr.received.w14;
        hdr.lanes.w15 = hdr.received.w15;
        hdr.lanes.w16 = hdr.received.w16;
        hdr.lanes.w17 = hdr.received.w17;
        hdr.lanes.w18 = hdr.received.w18;
        hdr.lanes.w19 = hdr.received.w19;
        hdr.lanes.w20 = hdr.received.w20;
        hdr.lanes.w21 = hdr.received.w21;
        hdr.lanes.w22 = hdr.received.w22;
        hdr.lanes.w23 = hdr.received.w23;
        hdr.lanes.w24 = hdr.received.w24;
        hdr.lanes.w25 = hdr.received.w25;
        hdr.lanes.w26 = hdr.received.w26;
        hdr.lanes.w27 = hdr.received.w27;
        hdr.lanes.w28 = hdr.received.w28;
        hdr.lanes.w29 = hdr.received.w29;
        hdr.lanes.w30 = hdr.received.w30;
        hdr.lanes.w31 = hdr.received.w31;
        hdr.lanes.w32 = hdr.received.w32;
        hdr.lanes.w33 = hdr.received.w33;
        hdr.lanes.w34 = hdr.received.w34;
        hdr.lanes.w35 = hdr.received.w35;
        hdr.lanes.w36 = hdr.received.w36;
        hdr.lanes.w37 = hdr.received.w37;
        hdr.lanes.w38 = hdr.received.w38;
        hdr.lanes.w39 = hdr.received.w39;
        hdr.lanes.w40 = hdr.received.w40;
        hdr.lanes.w41 = hdr.received.w41;
        hdr.lanes.w42 = hdr.received.w42;
        hdr.lanes.w43 = hdr.received.w43;
        hdr.lanes.w44 = hdr.received.w44;
        hdr.lanes.w45 = hdr.received.w45;
        hdr.lanes.w46 = hdr.received.w46;
        hdr.lanes.w47 = hdr.received.w47;
        hdr.lanes.w48 = hdr.received.w48;
        hdr.lanes.w49 = hdr.received.w49;
        hdr.lanes.w50 = hdr.received.w50;
        hdr.lanes.w51 = hdr.received.w51;
        hdr.lanes.w52 = hdr.received.w52;
        hdr.lanes.w53 = hdr.received.w53;
        hdr.lanes.w54 = hdr.received.w54;
        hdr.lanes.w55 = hdr.received.w55;
        hdr.lanes.w56 = hdr.received.w56;
        hdr.lanes.w57 = hdr.received.w57;
        hdr.lanes.w58 = hdr.received.w58;
        hdr.lanes.w59 = hdr.received.w59;
        hdr.lanes.w60 = hdr.received.w60;
        hdr.lanes.w61 = hdr.received.w61;
        hdr.lanes.w62 = hdr.received.w62;
        hdr.lanes.w63 = hdr.received.w63;
        meta.wide = 1w1;
        udp_checksum_0.subtract<tuple<lanes_t>>({ hdr.received });
        udp_checksum_0.subtract_all_and_deposit<bit<16>>(meta.udp_sum);
        transition accept;
    }
    state parse_pass {
        packet.extract<pass_t>(hdr.pass);
        udp_checksum_0.subtract<tuple<bit<16>>>({ hdr.pass.udp_sum });
        meta.entry = hdr.pass.entry;
        meta.worker = hdr.pass.worker;
        meta.fan_in = hdr.pass.fan_in;
        meta.group = hdr.pass.group;
        meta.role = hdr.pass.role;
        transition select(hdr.pass.task) {
            8w0x10: store_codes;
            8w0x12: store_codes16;
            8w0x11: store_lanes;
            8w0x20: add_codes;
            8w0x22: add_codes16;
            8w0x21: add_lanes;
            8w0x25: or_lanes;
            8w0x29: max_lanes;
            8w0x0: pass_codes;
            8w0x2: pass_codes16;
            8w0x1: pass_lanes;
            8w0x40: read_lanes;
            default: answer;
        }
    }
    state store_codes {
        meta.order = 3w1;
        meta.combination = 2w0;
        transition pass_codes;
    }
    state store_codes16 {
        meta.order = 3w1;
        meta.combination = 2w0;
        transition pass_codes16;
    }
    state store_lanes {
        meta.order = 3w1;
        meta.combination = 2w0;
        transition pass_lanes;
    }
    state add_codes {
        meta.order = 3w2;
        meta.combination = 2w0;
        transition pass_codes;
    }
    state add_codes16 {
        meta.order = 3w2;
        meta.combination = 2w0;
        transition pass_codes16;
    }
    state add_lanes {
        meta.order = 3w2;
        meta.combination = 2w0;
        transition pass_lanes;
    }
    state or_lanes {
        meta.order = 3w2;
        meta.combination = 2w1;
        transition pass_lanes;
    }
    state max_lanes {
        meta.order = 3w2;
        meta.combination = 2w2;
        transition pass_lanes;
    }
    state pass_codes {
        meta.phase = 2w1;
        meta.verdict = 4w12;
        packet.extract<ethernet_t>(hdr.ethernet);
        packet.extract<ipv4_t>(hdr.ipv4);
        packet.extract<udp_t>(hdr.udp);
        packet.extract<lanesum_t>(hdr.lanesum);
        transition parse_codes;
    }
    state pass_codes16 {
        meta.phase = 2w1;
        meta.verdict = 4w12;
        packet.extract<ethernet_t>(hdr.ethernet);
        packet.extract<ipv4_t>(hdr.ipv4);
        packet.extract<udp_t>(hdr.udp);
        packet.extract<lanesum_t>(hdr.lanesum);
        transition parse_codes16;
    }
    state pass_lanes {
        meta.phase = 2w1;
        meta.verdict = 4w12;
        packet.extract<ethernet_t>(hdr.ethernet);
        packet.extract<ipv4_t>(hdr.ipv4);
        packet.extract<udp_t>(hdr.udp);
        packet.extract<lanesum_t>(hdr.lanesum);
        transition parse_lanes;
    }
    state read_lanes {
        meta.phase = 2w1;
        meta.verdict = 4w12;
        meta.order = 3w3;
        meta.progress = 2w2;
        packet.extract<ethernet_t>(hdr.ethernet);
        packet.extract<ipv4_t>(hdr.ipv4);
        packet.extract<udp_t>(hdr.udp);
        packet.extract<lanesum_t>(hdr.lanesum);
        transition accept;
    }
    state answer {
        meta.phase = 2w2;
        meta.verdict = 4w13;
        meta.arrival = 2w3;
        packet.extract<ethernet_t>(hdr.ethernet);
        packet.extract<ipv4_t>(hdr.ipv4);
        packet.extract<udp_t>(hdr.udp);
        packet.extract<lanesum_t>(hdr.lanesum);
        transition accept;
    }
}
parser EgressParser(packet_in packet, out egress_headers_t hdr, out egress_metadata_t meta, out egress_intrinsic_metadata_t eg_intr_md) {
    @name("EgressParser.ipv4_checksum") Checksum() ipv4_checksum_1;
    @name("EgressParser.udp_checksum") Checksum() udp_checksum_1;
    state start {
        packet.extract<egress_intrinsic_metadata_t>(eg_intr_md);
        packet.extract<bridge_t>(hdr.bridge);
        transition select(hdr.bridge.handover) {
            8w4: accept;
            8w5: accept;
            default: parse_ethernet;
        }
    }
    state parse_ethernet {
        packet.extract<ethernet_t>(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            16w0x800: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        transition select(packet.lookahead<bit<8>>()) {
            8w0x45: parse_plain_ipv4;
            default: parse_ipv4_with_options;
        }
    }
    state parse_ipv4_with_options {
        packet.extract<ipv4_t>(hdr.ipv4);
        ipv4_checksum_1.subtract<tuple<ipv4_t>>({ hdr.ipv4 });
        ipv4_checksum_1.subtract_all_and_deposit<bit<16>>(meta.ipv4_rest);
        transition accept;
    }
    state parse_plain_ipv4 {
        packet.extract<ipv4_t>(hdr.ipv4);
        udp_checksum_1.subtract<tuple<bit<32>, bit<32>>>({ hdr.ipv4.source, hdr.ipv4.destination });
        transition select(hdr.ipv4.flags[0:0], hdr.ipv4.fragment_offset, hdr.ipv4.protocol) {
            (1w0, 13w0, 8w17): parse_udp;
            default: accept;
        }
    }
    state parse_udp {
        packet.extract<udp_t>(hdr.udp);
        udp_checksum_1.subtract<tuple<udp_t>>({ hdr.udp });
        transition select(hdr.udp.destination_port, hdr.udp.source_port) {
            (16w19539, default): parse_lanesum;
            (default, 16w19539): parse_source;
            default: accept;
        }
    }
    state parse_source {
        transition select(hdr.udp.length) {
            16w0x28 &&& 16w0xfff8: parse_answer;
            16w0x30 &&& 16w0xfff0: parse_answer;
            16w0x40 &&& 16w0xffc0: parse_answer;
            16w0x80 &&& 16w0xff80: parse_answer;
            16w0x0 &&& 16w0xff00: accept;
            default: parse_answer;
        }
    }
    state parse_answer {
        transition select(packet.lookahead<bit<8>>()) {
            8w34: parse_lanesum;
            8w35: parse_lanesum;
            8w36: parse_lanesum;
            default: accept;
        }
    }
    state parse_lanesum {
        packet.extract<lanesum_t>(hdr.lanesum);
        udp_checksum_1.subtract<tuple<lanesum_t>>({ hdr.lanesum });
        udp_checksum_1.subtract_all_and_deposit<bit<16>>(meta.udp_rest);
        transition accept;
    }
}
typedef bit<13> entry_t;
typedef entry_t chunk_entry_t;
typedef bit<15> lane_entry_t;
control IngressDeparser(packet_out packet, inout ingress_headers_t hdr, in ingress_metadata_t meta, in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    @name("IngressDeparser.payload_checksum") Checksum() payload_checksum_0;
    apply {
        hdr.bridge.payload_checksum = payload_checksum_0.update<tuple<bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<32>, bit<16>>>({ hdr.lanes.w0, hdr.lanes.w1, hdr.lanes.w2, hdr.lanes.w3, hdr.lanes.w4, hdr.lanes.w5, hdr.lanes.w6, hdr.lanes.w7, hdr.lanes.w8, hdr.lanes.w9, hdr.lanes.w10, hdr.lanes.w11, hdr.lanes.w12, hdr.lanes.w13, hdr.lanes.w14, hdr.lanes.w15, hdr.lanes.w16, hdr.lanes.w17, hdr.lanes.w18, hdr.lanes.w19, hdr.lanes.w20, hdr.lanes.w21, hdr.lanes.w22, hdr.lanes.w23, hdr.lanes.w24, hdr.lanes.w25, hdr.lanes.w26, hdr.lanes.w27, hdr.lanes.w28, hdr.lanes.w29, hdr.lanes.w30, hdr.lanes.w31, hdr.lanes.w32, hdr.lanes.w33, hdr.lanes.w34, hdr.lanes.w35, hdr.lanes.w36, hdr.lanes.w37, hdr.lanes.w38, hdr.lanes.w39, hdr.lanes.w40, hdr.lanes.w41, hdr.lanes.w42, hdr.lanes.w43, hdr.lanes.w44, hdr.lanes.w45, hdr.lanes.w46, hdr.lanes.w47, hdr.lanes.w48, hdr.lanes.w49, hdr.lanes.w50, hdr.lanes.w51, hdr.lanes.w52, hdr.lanes.w53, hdr.lanes.w54, hdr.lanes.w55, hdr.lanes.w56, hdr.lanes.w57, hdr.lanes.w58, hdr.lanes.w59, hdr.lanes.w60, hdr.lanes.w61, hdr.lanes.w62, hdr.lanes.w63, meta.later_blocks_sum });
        packet.emit<bridge_t>(hdr.bridge);
        packet.emit<pass_t>(hdr.pass);
        packet.emit<ethernet_t>(hdr.ethernet);
        packet.emit<arp_t>(hdr.arp);
        packet.emit<ipv4_t>(hdr.ipv4);
        packet.emit<udp_t>(hdr.udp);
        packet.emit<lanesum_t>(hdr.lanesum);
        packet.emit<codes_t>(hdr.codes);
        packet.emit<codes16_t>(hdr.codes16);
        packet.emit<lanes_t>(hdr.lanes);
    }
}
control EgressDeparser(packet_out packet, inout egress_headers_t hdr, in egress_metadata_t meta, in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    @name("EgressDeparser.ipv4_checksum") Checksum() ipv4_checksum_2;
    @name("EgressDeparser.udp_checksum") Checksum() udp_checksum_2;
    apply {
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.checksum = ipv4_checksum_2.update<tuple<bit<4>, bit<4>, bit<6>, bit<2>, bit<16>, bit<16>, bit<3>, bit<13>, bit<8>, bit<8>, bit<32>, bit<32>, bit<16>>>({ hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length, hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination, meta.ipv4_rest });
        }
        if (meta.update_udp == 1w1) {
            hdr.udp.checksum = udp_checksum_2.update<tuple<bit<32>, bit<32>, bit<16>, bit<16>, bit<16>, bit<4>, bit<4>, bit<8>, bit<16>, bit<32>, bit<32>, bit<32>, bit<1>, bit<15>, bit<8>, bit<8>, bit<32>, bit<32>, bit<8>, bit<8>, bit<16>, bit<16>, bit<16>>>({ hdr.ipv4.source, hdr.ipv4.destination, hdr.udp.source_port, hdr.udp.destination_port, hdr.udp.length, hdr.lanesum.version, hdr.lanesum.kind, hdr.lanesum.flags, hdr.lanesum.job, hdr.lanesum.tag, hdr.lanesum.epoch, hdr.lanesum.chunk, hdr.lanesum.shadow, hdr.lanesum.slot, hdr.lanesum.op, hdr.lanesum.spare, hdr.lanesum.workers, hdr.lanesum.racks, hdr.lanesum.fan_in_workers, hdr.lanesum.fan_in_racks, hdr.lanesum.words, meta.udp_rest, meta.pseudo_length }, true);
        }
        packet.emit<bridge_t>(hdr.bridge);
        packet.emit<ethernet_t>(hdr.ethernet);
        packet.emit<ipv4_t>(hdr.ipv4);
        packet.emit<udp_t>(hdr.udp);
        packet.emit<lanesum_t>(hdr.lanesum);
    }
}
@pa_container_size("ingress", "ig_intr_md_from_prsr.parser_err", 16) @pa_no_overlay("ingress", "meta.worker") @pa_no_overlay("ingress", "meta.group") @pa_no_overlay("ingress", "meta.access") @pa_no_overlay("ingress", "meta.chunk_order") @pa_no_overlay("ingress", "meta.order") @pa_no_overlay("ingress", "meta.torn") control IngressPipeline(inout ingress_headers_t hdr, inout ingress_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md, in ingress_intrinsic_metadata_from_parser_t ig_prsr_md, inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md, inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    @name("IngressPipeline.result.worker_mac") mac_t result_worker_mac;
    @name("IngressPipeline.result.worker_ip") ipv4_addr_t result_worker_ip;
    @name("IngressPipeline.result.worker_port") bit<16> result_worker_port;
    @name("IngressPipeline.arp.requested_ip") ipv4_addr_t arp_requested_ip;
    @name("IngressPipeline.station.to_switch") action station_to_switch_0(@name("ip") ipv4_addr_t ip, @name("answer_dscp") bit<6> answer_dscp_1, @name("answer_queue") bit<3> answer_queue_1) {
        meta.addressee = 2w1;
        meta.own_ip = ip;
        meta.answer_dscp = answer_dscp_1;
        meta.answer_queue = answer_queue_1;
    }
    @name("IngressPipeline.station.to_all") action station_to_all_0() {
        meta.addressee = 2w2;
    }
    @name("IngressPipeline.station.to_other") action station_to_other_0() {
        meta.addressee = 2w0;
    }
    @stage(0) @name("IngressPipeline.station.station") table station_station {
        key = {
            hdr.ethernet.destination: exact @name("destination");
        }
        actions = {
            station_to_switch_0();
            station_to_all_0();
            station_to_other_0();
        }
        const default_action = station_to_other_0();
        size = 32w4;
    }
    @name("IngressPipeline.arrival.contribution") action arrival_contribution_0() {
        meta.arrival = 2w1;
    }
    @name("IngressPipeline.arrival.other") action arrival_other_0() {
        meta.arrival = 2w0;
    }
    @name("IngressPipeline.arrival.corrupt") action arrival_corrupt_0() {
        meta.arrival = 2w2;
    }
    @stage(0) @name("IngressPipeline.arrival.arrival") table arrival_arrival {
        key = {
            ig_prsr_md.parser_err   : ternary @name("ig_prsr_md.parser_err");
            meta.ipv4_corrupt       : ternary @name("meta.ipv4_corrupt");
            hdr.codes.isValid()     : ternary @name("hdr.codes.$valid$");
            hdr.codes16.isValid()   : ternary @name("hdr.codes16.$valid$");
            meta.wide               : ternary @name("meta.wide");
            hdr.udp.checksum        : ternary @name("hdr.udp.checksum");
            meta.udp_sum            : ternary @name("meta.udp_sum");
            hdr.lanesum.flags       : ternary @name("hdr.lanesum.flags");
            hdr.udp.length          : ternary @name("hdr.udp.length");
            hdr.ipv4.total_length   : ternary @name("hdr.ipv4.total_length");
            hdr.lanesum.racks[31:28]: ternary @name("hdr.lanesum.racks[31:28]");
        }
        actions = {
            arrival_contribution_0();
            arrival_other_0();
            arrival_corrupt_0();
        }
        const default_action = arrival_other_0();
        size = 32;
        const entries = {
                        (default, 1w1, default, default, default, default, default, default, default, default, default) : arrival_corrupt_0();
                        (16w0, 1w0, true, default, default, default, default, 8w0 &&& 8w0x50, 16w552, 16w572, 4w0) : arrival_contribution_0();
                        (16w0, 1w0, default, true, default, default, default, 8w0 &&& 8w0x50, 16w296, 16w316, 4w0) : arrival_contribution_0();
                        (16w0, 1w0, default, default, 1w1, default, default, 8w0 &&& 8w0x50, 16w1064, 16w1084, 4w0) : arrival_contribution_0();
        }
    }
    @name("IngressPipeline.arrival.measure") action arrival_measure_0() {
        meta.payload_bytes = hdr.lanesum.words << 2;
        meta.datagram_gap = hdr.ipv4.total_length - hdr.udp.length;
    }
    @name("IngressPipeline.arrival.compare") action arrival_compare_0() {
        meta.payload_gap = hdr.udp.length - meta.payload_bytes;
    }
    @name("IngressPipeline.arrival.matches") action arrival_matches_0() {
        meta.length_matches = 1w1;
    }
    @name("IngressPipeline.arrival.differs") action arrival_differs_0() {
        meta.length_matches = 1w0;
    }
    @name("IngressPipeline.arrival.lengths") table arrival_lengths {
        key = {
            meta.payload_gap : ternary @name("meta.payload_gap");
            meta.datagram_gap: ternary @name("meta.datagram_gap");
            hdr.lanesum.words: ternary @name("hdr.lanesum.words");
        }
        actions = {
            arrival_matches_0();
            arrival_differs_0();
        }
        const default_action = arrival_differs_0();
        size = 4;
        const entries = {
                        (16w40, 16w20, 16w0x3ff0) : arrival_matches_0();
                        (default, default, 16w0x3ff0 &&& 16w0x3ff0) : arrival_differs_0();
                        (16w40, 16w20, 16w0 &&& 16w0xc000) : arrival_matches_0();
        }
    }
    @name("IngressPipeline.classify.classify_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) classify_classify_counter;
    @name("IngressPipeline.classify.drop_malformed") action classify_drop_malformed_0() {
        meta.verdict = 4w0;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.drop_corrupt") action classify_drop_corrupt_0() {
        meta.verdict = 4w0;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.drop_tagged") action classify_drop_tagged_0() {
        meta.verdict = 4w0;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.drop_misdirected") action classify_drop_misdirected_0() {
        meta.verdict = 4w0;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.drop_unknown") action classify_drop_unknown_0() {
        meta.verdict = 4w0;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.aggregate") action classify_aggregate_0() {
        meta.verdict = 4w2;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.route") action classify_route_0() {
        meta.verdict = 4w1;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.route_other_size") action classify_route_other_size_0() {
        meta.verdict = 4w1;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.route_past") action classify_route_past_0() {
        meta.verdict = 4w1;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.descend_or_route") action classify_descend_or_route_0() {
        meta.verdict = 4w4;
        classify_classify_counter.count();
    }
    @name("IngressPipeline.classify.answer_arp") action classify_answer_arp_0() {
        meta.verdict = 4w3;
        classify_classify_counter.count();
    }
    @stage(4) @name("IngressPipeline.classify.classify") table classify_classify {
        key = {
            meta.parse_failed    : ternary @name("meta.parse_failed");
            meta.bad_header      : ternary @name("meta.bad_header");
            meta.tagged          : ternary @name("meta.tagged");
            meta.addressee       : ternary @name("meta.addressee");
            meta.arrival         : ternary @name("meta.arrival");
            hdr.arp.isValid()    : ternary @name("arp");
            hdr.ipv4.isValid()   : ternary @name("ipv4");
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version  : ternary @name("version");
            hdr.lanesum.kind     : ternary @name("kind");
            hdr.lanesum.flags    : ternary @name("flags");
            meta.length_matches  : ternary @name("meta.length_matches");
        }
        actions = {
            classify_aggregate_0();
            classify_route_0();
            classify_route_past_0();
            classify_route_other_size_0();
            classify_descend_or_route_0();
            classify_answer_arp_0();
            classify_drop_malformed_0();
            classify_drop_corrupt_0();
            classify_drop_tagged_0();
            classify_drop_misdirected_0();
            classify_drop_unknown_0();
        }
        const default_action = classify_drop_unknown_0();
        size = 32;
        counters = classify_classify_counter;
        const entries = {
                        (1w1, default, default, default, default, default, default, default, default, default, default, default) : classify_drop_malformed_0();
                        (default, 1w1, default, default, default, default, default, default, default, default, default, default) : classify_drop_malformed_0();
                        (default, default, 1w1, default, default, default, default, default, default, default, default, default) : classify_drop_tagged_0();
                        (default, default, default, 2w0, default, default, default, default, default, default, default, default) : classify_drop_misdirected_0();
                        (default, default, default, default, 2w2, default, default, default, default, default, default, default) : classify_drop_corrupt_0();
                        (default, default, default, default, default, true, default, default, default, default, default, default) : classify_answer_arp_0();
                        (default, default, default, 2w2, default, default, default, default, default, default, default, default) : classify_drop_misdirected_0();
                        (default, default, default, default, 2w1, default, default, default, default, default, default, default) : classify_aggregate_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w1, 8w0x40 &&& 8w0x40, 1w1) : classify_route_past_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w1, 8w0x10 &&& 8w0x10, 1w1) : classify_route_past_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w1, default, 1w1) : classify_route_other_size_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w2, 8w0x20 &&& 8w0x20, 1w1) : classify_descend_or_route_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w3, 8w0x20 &&& 8w0x20, 1w1) : classify_descend_or_route_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w4, 8w0x20 &&& 8w0x20, 1w1) : classify_descend_or_route_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w2, default, 1w1) : classify_route_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w3, default, 1w1) : classify_route_0();
                        (default, default, default, default, default, default, default, true, 4w2, 4w4, default, 1w1) : classify_route_0();
                        (default, default, default, default, default, default, default, true, 4w2, default, default, default) : classify_drop_malformed_0();
                        (default, default, default, default, default, default, true, default, default, default, default, default) : classify_route_0();
                        (default, default, default, default, default, default, default, default, default, default, default, default) : classify_drop_unknown_0();
        }
    }
    @name("IngressPipeline.origin.origin_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) origin_origin_counter;
    @name("IngressPipeline.origin.provenance_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) origin_provenance_counter;
    @name("IngressPipeline.origin.expect") action origin_expect_0(@name("port") port_t port, @name("attached") bit<1> attached_1) {
        meta.known_source = 1w1;
        meta.port_difference = hdr.bridge.ingress_port ^ port;
        meta.attached = attached_1;
        origin_origin_counter.count();
    }
    @name("IngressPipeline.origin.unknown") action origin_unknown_0() {
        meta.known_source = 1w0;
        origin_origin_counter.count();
    }
    @stage(1) @name("IngressPipeline.origin.origin") table origin_origin {
        key = {
            hdr.ipv4.source: exact @name("source");
        }
        actions = {
            origin_expect_0();
            origin_unknown_0();
        }
        const default_action = origin_unknown_0();
        size = 32w1024;
        counters = origin_origin_counter;
    }
    @name("IngressPipeline.origin.unknown_source") action origin_unknown_source_0() {
        origin_provenance_counter.count();
    }
    @name("IngressPipeline.origin.genuine") action origin_genuine_0() {
        origin_provenance_counter.count();
    }
    @name("IngressPipeline.origin.drop_spoofed") action origin_drop_spoofed_0() {
        meta.verdict = 4w0;
        origin_provenance_counter.count();
    }
    @name("IngressPipeline.origin.drop_forged") action origin_drop_forged_0() {
        meta.verdict = 4w0;
        origin_provenance_counter.count();
    }
    @name("IngressPipeline.origin.provenance") table origin_provenance {
        key = {
            meta.known_source    : ternary @name("meta.known_source");
            meta.port_difference : ternary @name("meta.port_difference");
            meta.attached        : ternary @name("meta.attached");
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version  : ternary @name("version");
            hdr.lanesum.flags    : ternary @name("flags");
        }
        actions = {
            origin_unknown_source_0();
            origin_genuine_0();
            origin_drop_spoofed_0();
            origin_drop_forged_0();
        }
        const default_action = origin_unknown_source_0();
        size = 8;
        counters = origin_provenance_counter;
        const entries = {
                        (1w0, default, default, default, default, default) : origin_unknown_source_0();
                        (1w1, 9w0, 1w1, true, 4w2, 8w0x20 &&& 8w0x20) : origin_drop_forged_0();
                        (1w1, 9w0, default, default, default, default) : origin_genuine_0();
                        (1w1, default, default, default, default, default) : origin_drop_spoofed_0();
        }
    }
    @name("IngressPipeline.membership.member_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) membership_member_counter;
    @name("IngressPipeline.membership.admission_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) membership_admission_counter;
    @name("IngressPipeline.membership.admit") action membership_admit_0(@name("worker") bit<32> worker_1, @name("slot_base") bit<16> slot_base, @name("slot_count") bit<16> slot_count, @name("fan_in") bit<8> fan_in_1, @name("group") bit<16> group_2, @name("allowed_ops") bit<16> allowed_ops, @name("role") role_t role_1, @name("lease") bit<16> lease_1) {
        meta.member = 1w1;
        meta.worker = worker_1;
        meta.fan_in = (fan_in_t)fan_in_1;
        meta.group = group_2;
        meta.role = role_1;
        meta.lease = lease_1;
        meta.allowed = allowed_ops & meta.operation_bit;
        meta.entry = slot_base + meta.place;
        meta.slots_left = slot_count - meta.place;
        membership_member_counter.count();
    }
    @name("IngressPipeline.membership.unknown_sender") action membership_unknown_sender_0() {
        meta.member = 1w0;
        membership_member_counter.count();
    }
    @stage(0) @name("IngressPipeline.membership.member") table membership_member {
        key = {
            hdr.bridge.ingress_port: exact @name("ingress_port");
            hdr.ipv4.source        : exact @name("source");
            hdr.udp.source_port    : exact @name("source_port");
            hdr.lanesum.job        : exact @name("job");
            hdr.lanesum.tag        : exact @name("tag");
            hdr.lanesum.flags[5:5] : exact @name("aggregate");
            hdr.bridge.partial_sum : exact @name("partial_sum");
        }
        actions = {
            membership_admit_0();
            membership_unknown_sender_0();
        }
        const default_action = membership_unknown_sender_0();
        size = 32w1024;
        counters = membership_member_counter;
    }
    @name("IngressPipeline.membership.accept") action membership_accept_0() {
        membership_admission_counter.count();
    }
    @name("IngressPipeline.membership.not_a_member") action membership_not_a_member_0() {
        meta.verdict = 4w1;
        membership_admission_counter.count();
    }
    @name("IngressPipeline.membership.refuse_slot") action membership_refuse_slot_0() {
        meta.verdict = 4w1;
        membership_admission_counter.count();
    }
    @name("IngressPipeline.membership.refuse_op") action membership_refuse_op_0() {
        meta.verdict = 4w1;
        membership_admission_counter.count();
    }
    @name("IngressPipeline.membership.admission") table membership_admission {
        key = {
            meta.member       : ternary @name("meta.member");
            meta.slots_left   : ternary @name("meta.slots_left");
            hdr.lanesum.shadow: ternary @name("shadow");
            meta.allowed      : ternary @name("meta.allowed");
        }
        actions = {
            membership_accept_0();
            membership_refuse_slot_0();
            membership_refuse_op_0();
            membership_not_a_member_0();
        }
        const default_action = membership_not_a_member_0();
        size = 16;
        counters = membership_admission_counter;
        const entries = {
                        (1w0, default, default, default) : membership_not_a_member_0();
                        (1w1, 16w0, default, default) : membership_refuse_slot_0();
                        (1w1, 16w0x8000, 1w1, default) : membership_refuse_slot_0();
                        (1w1, 16w0x8000 &&& 16w0x8000, 1w0, default) : membership_refuse_slot_0();
                        (1w1, 16w0 &&& 16w0x8000, 1w1, default) : membership_refuse_slot_0();
                        (1w1, default, default, 16w0) : membership_refuse_op_0();
                        (1w1, default, default, default) : membership_accept_0();
        }
    }
    @name("IngressPipeline.expand.shift8") action expand_shift8_0() {
        hdr.lanes.w1 = hdr.lanes.w1 >> 4;
        hdr.lanes.w3 = hdr.lanes.w3 >> 4;
        hdr.lanes.w5 = hdr.lanes.w5 >> 4;
        hdr.lanes.w7 = hdr.lanes.w7 >> 4;
        hdr.lanes.w9 = hdr.lanes.w9 >> 4;
        hdr.lanes.w11 = hdr.lanes.w11 >> 4;
        hdr.lanes.w13 = hdr.lanes.w13 >> 4;
        hdr.lanes.w15 = hdr.lanes.w15 >> 4;
        hdr.lanes.w17 = hdr.lanes.w17 >> 4;
        hdr.lanes.w19 = hdr.lanes.w19 >> 4;
        hdr.lanes.w21 = hdr.lanes.w21 >> 4;
        hdr.lanes.w23 = hdr.lanes.w23 >> 4;
        hdr.lanes.w25 = hdr.lanes.w25 >> 4;
        hdr.lanes.w27 = hdr.lanes.w27 >> 4;
        hdr.lanes.w29 = hdr.lanes.w29 >> 4;
        hdr.lanes.w31 = hdr.lanes.w31 >> 4;
        hdr.lanes.w33 = hdr.lanes.w33 >> 4;
        hdr.lanes.w35 = hdr.lanes.w35 >> 4;
        hdr.lanes.w37 = hdr.lanes.w37 >> 4;
        hdr.lanes.w39 = hdr.lanes.w39 >> 4;
        hdr.lanes.w41 = hdr.lanes.w41 >> 4;
        hdr.lanes.w43 = hdr.lanes.w43 >> 4;
        hdr.lanes.w45 = hdr.lanes.w45 >> 4;
        hdr.lanes.w47 = hdr.lanes.w47 >> 4;
        hdr.lanes.w49 = hdr.lanes.w49 >> 4;
        hdr.lanes.w51 = hdr.lanes.w51 >> 4;
        hdr.lanes.w53 = hdr.lanes.w53 >> 4;
        hdr.lanes.w55 = hdr.lanes.w55 >> 4;
        hdr.lanes.w57 = hdr.lanes.w57 >> 4;
        hdr.lanes.w59 = hdr.lanes.w59 >> 4;
        hdr.lanes.w61 = hdr.lanes.w61 >> 4;
        hdr.lanes.w63 = hdr.lanes.w63 >> 4;
    }
    @name("IngressPipeline.expand.shift8to16") action expand_shift8to16_0() {
        hdr.lanes.w1 = hdr.lanes.w1 >> 8;
        hdr.lanes.w3 = hdr.lanes.w3 >> 8;
        hdr.lanes.w5 = hdr.lanes.w5 >> 8;
        hdr.lanes.w7 = hdr.lanes.w7 >> 8;
        hdr.lanes.w9 = hdr.lanes.w9 >> 8;
        hdr.lanes.w11 = hdr.lanes.w11 >> 8;
        hdr.lanes.w13 = hdr.lanes.w13 >> 8;
        hdr.lanes.w15 = hdr.lanes.w15 >> 8;
        hdr.lanes.w17 = hdr.lanes.w17 >> 8;
        hdr.lanes.w19 = hdr.lanes.w19 >> 8;
        hdr.lanes.w21 = hdr.lanes.w21 >> 8;
        hdr.lanes.w23 = hdr.lanes.w23 >> 8;
        hdr.lanes.w25 = hdr.lanes.w25 >> 8;
        hdr.lanes.w27 = hdr.lanes.w27 >> 8;
        hdr.lanes.w29 = hdr.lanes.w29 >> 8;
        hdr.lanes.w31 = hdr.lanes.w31 >> 8;
        hdr.lanes.w33 = hdr.lanes.w33 >> 8;
        hdr.lanes.w35 = hdr.lanes.w35 >> 8;
        hdr.lanes.w37 = hdr.lanes.w37 >> 8;
        hdr.lanes.w39 = hdr.lanes.w39 >> 8;
        hdr.lanes.w41 = hdr.lanes.w41 >> 8;
        hdr.lanes.w43 = hdr.lanes.w43 >> 8;
        hdr.lanes.w45 = hdr.lanes.w45 >> 8;
        hdr.lanes.w47 = hdr.lanes.w47 >> 8;
        hdr.lanes.w49 = hdr.lanes.w49 >> 8;
        hdr.lanes.w51 = hdr.lanes.w51 >> 8;
        hdr.lanes.w53 = hdr.lanes.w53 >> 8;
        hdr.lanes.w55 = hdr.lanes.w55 >> 8;
        hdr.lanes.w57 = hdr.lanes.w57 >> 8;
        hdr.lanes.w59 = hdr.lanes.w59 >> 8;
        hdr.lanes.w61 = hdr.lanes.w61 >> 8;
        hdr.lanes.w63 = hdr.lanes.w63 >> 8;
    }
    @name("IngressPipeline.expand.shift16") action expand_shift16_0() {
        hdr.lanes.w1 = hdr.lanes.w1 >> 4;
        hdr.lanes.w2 = hdr.lanes.w2 >> 8;
        hdr.lanes.w3 = hdr.lanes.w3 >> 12;
        hdr.lanes.w5 = hdr.lanes.w5 >> 4;
        hdr.lanes.w6 = hdr.lanes.w6 >> 8;
        hdr.lanes.w7 = hdr.lanes.w7 >> 12;
        hdr.lanes.w9 = hdr.lanes.w9 >> 4;
        hdr.lanes.w10 = hdr.lanes.w10 >> 8;
        hdr.lanes.w11 = hdr.lanes.w11 >> 12;
        hdr.lanes.w13 = hdr.lanes.w13 >> 4;
        hdr.lanes.w14 = hdr.lanes.w14 >> 8;
        hdr.lanes.w15 = hdr.lanes.w15 >> 12;
        hdr.lanes.w17 = hdr.lanes.w17 >> 4;
        hdr.lanes.w18 = hdr.lanes.w18 >> 8;
        hdr.lanes.w19 = hdr.lanes.w19 >> 12;
        hdr.lanes.w21 = hdr.lanes.w21 >> 4;
        hdr.lanes.w22 = hdr.lanes.w22 >> 8;
        hdr.lanes.w23 = hdr.lanes.w23 >> 12;
        hdr.lanes.w25 = hdr.lanes.w25 >> 4;
        hdr.lanes.w26 = hdr.lanes.w26 >> 8;
        hdr.lanes.w27 = hdr.lanes.w27 >> 12;
        hdr.lanes.w29 = hdr.lanes.w29 >> 4;
        hdr.lanes.w30 = hdr.lanes.w30 >> 8;
        hdr.lanes.w31 = hdr.lanes.w31 >> 12;
        hdr.lanes.w33 = hdr.lanes.w33 >> 4;
        hdr.lanes.w34 = hdr.lanes.w34 >> 8;
        hdr.lanes.w35 = hdr.lanes.w35 >> 12;
        hdr.lanes.w37 = hdr.lanes.w37 >> 4;
        hdr.lanes.w38 = hdr.lanes.w38 >> 8;
        hdr.lanes.w39 = hdr.lanes.w39 >> 12;
        hdr.lanes.w41 = hdr.lanes.w41 >> 4;
        hdr.lanes.w42 = hdr.lanes.w42 >> 8;
        hdr.lanes.w43 = hdr.lanes.w43 >> 12;
        hdr.lanes.w45 = hdr.lanes.w45 >> 4;
        hdr.lanes.w46 = hdr.lanes.w46 >> 8;
        hdr.lanes.w47 = hdr.lanes.w47 >> 12;
        hdr.lanes.w49 = hdr.lanes.w49 >> 4;
        hdr.lanes.w50 = hdr.lanes.w50 >> 8;
        hdr.lanes.w51 = hdr.lanes.w51 >> 12;
        hdr.lanes.w53 = hdr.lanes.w53 >> 4;
        hdr.lanes.w54 = hdr.lanes.w54 >> 8;
        hdr.lanes.w55 = hdr.lanes.w55 >> 12;
        hdr.lanes.w57 = hdr.lanes.w57 >> 4;
        hdr.lanes.w58 = hdr.lanes.w58 >> 8;
        hdr.lanes.w59 = hdr.lanes.w59 >> 12;
        hdr.lanes.w61 = hdr.lanes.w61 >> 4;
        hdr.lanes.w62 = hdr.lanes.w62 >> 8;
        hdr.lanes.w63 = hdr.lanes.w63 >> 12;
    }
    @name("IngressPipeline.expand.mask8") action expand_mask8_0() {
        hdr.lanes.w0 = hdr.lanes.w0 & 32w0xf0f0f0f;
        hdr.lanes.w1 = hdr.lanes.w1 & 32w0xf0f0f0f;
        hdr.lanes.w2 = hdr.lanes.w2 & 32w0xf0f0f0f;
        hdr.lanes.w3 = hdr.lanes.w3 & 32w0xf0f0f0f;
        hdr.lanes.w4 = hdr.lanes.w4 & 32w0xf0f0f0f;
        hdr.lanes.w5 = hdr.lanes.w5 & 32w0xf0f0f0f;
        hdr.lanes.w6 = hdr.lanes.w6 & 32w0xf0f0f0f;
        hdr.lanes.w7 = hdr.lanes.w7 & 32w0xf0f0f0f;
        hdr.lanes.w8 = hdr.lanes.w8 & 32w0xf0f0f0f;
        hdr.lanes.w9 = hdr.lanes.w9 & 32w0xf0f0f0f;
        hdr.lanes.w10 = hdr.lanes.w10 & 32w0xf0f0f0f;
        hdr.lanes.w11 = hdr.lanes.w11 & 32w0xf0f0f0f;
        hdr.lanes.w12 = hdr.lanes.w12 & 32w0xf0f0f0f;
        hdr.lanes.w13 = hdr.lanes.w13 & 32w0xf0f0f0f;
        hdr.lanes.w14 = hdr.lanes.w14 & 32w0xf0f0f0f;
        hdr.lanes.w15 = hdr.lanes.w15 & 32w0xf0f0f0f;
        hdr.lanes.w16 = hdr.lanes.w16 & 32w0xf0f0f0f;
        hdr.lanes.w17 = hdr.lanes.w17 & 32w0xf0f0f0f;
        hdr.lanes.w18 = hdr.lanes.w18 & 32w0xf0f0f0f;
        hdr.lanes.w19 = hdr.lanes.w19 & 32w0xf0f0f0f;
        hdr.lanes.w20 = hdr.lanes.w20 & 32w0xf0f0f0f;
        hdr.lanes.w21 = hdr.lanes.w21 & 32w0xf0f0f0f;
        hdr.lanes.w22 = hdr.lanes.w22 & 32w0xf0f0f0f;
        hdr.lanes.w23 = hdr.lanes.w23 & 32w0xf0f0f0f;
        hdr.lanes.w24 = hdr.lanes.w24 & 32w0xf0f0f0f;
        hdr.lanes.w25 = hdr.lanes.w25 & 32w0xf0f0f0f;
        hdr.lanes.w26 = hdr.lanes.w26 & 32w0xf0f0f0f;
        hdr.lanes.w27 = hdr.lanes.w27 & 32w0xf0f0f0f;
        hdr.lanes.w28 = hdr.lanes.w28 & 32w0xf0f0f0f;
        hdr.lanes.w29 = hdr.lanes.w29 & 32w0xf0f0f0f;
        hdr.lanes.w30 = hdr.lanes.w30 & 32w0xf0f0f0f;
        hdr.lanes.w31 = hdr.lanes.w31 & 32w0xf0f0f0f;
        hdr.lanes.w32 = hdr.lanes.w32 & 32w0xf0f0f0f;
        hdr.lanes.w33 = hdr.lanes.w33 & 32w0xf0f0f0f;
        hdr.lanes.w34 = hdr.lanes.w34 & 32w0xf0f0f0f;
        hdr.lanes.w35 = hdr.lanes.w35 & 32w0xf0f0f0f;
        hdr.lanes.w36 = hdr.lanes.w36 & 32w0xf0f0f0f;
        hdr.lanes.w37 = hdr.lanes.w37 & 32w0xf0f0f0f;
        hdr.lanes.w38 = hdr.lanes.w38 & 32w0xf0f0f0f;
        hdr.lanes.w39 = hdr.lanes.w39 & 32w0xf0f0f0f;
        hdr.lanes.w40 = hdr.lanes.w40 & 32w0xf0f0f0f;
        hdr.lanes.w41 = hdr.lanes.w41 & 32w0xf0f0f0f;
        hdr.lanes.w42 = hdr.lanes.w42 & 32w0xf0f0f0f;
        hdr.lanes.w43 = hdr.lanes.w43 & 32w0xf0f0f0f;
        hdr.lanes.w44 = hdr.lanes.w44 & 32w0xf0f0f0f;
        hdr.lanes.w45 = hdr.lanes.w45 & 32w0xf0f0f0f;
        hdr.lanes.w46 = hdr.lanes.w46 & 32w0xf0f0f0f;
        hdr.lanes.w47 = hdr.lanes.w47 & 32w0xf0f0f0f;
        hdr.lanes.w48 = hdr.lanes.w48 & 32w0xf0f0f0f;
        hdr.lanes.w49 = hdr.lanes.w49 & 32w0xf0f0f0f;
        hdr.lanes.w50 = hdr.lanes.w50 & 32w0xf0f0f0f;
        hdr.lanes.w51 = hdr.lanes.w51 & 32w0xf0f0f0f;
        hdr.lanes.w52 = hdr.lanes.w52 & 32w0xf0f0f0f;
        hdr.lanes.w53 = hdr.lanes.w53 & 32w0xf0f0f0f;
        hdr.lanes.w54 = hdr.lanes.w54 & 32w0xf0f0f0f;
        hdr.lanes.w55 = hdr.lanes.w55 & 32w0xf0f0f0f;
        hdr.lanes.w56 = hdr.lanes.w56 & 32w0xf0f0f0f;
        hdr.lanes.w57 = hdr.lanes.w57 & 32w0xf0f0f0f;
        hdr.lanes.w58 = hdr.lanes.w58 & 32w0xf0f0f0f;
        hdr.lanes.w59 = hdr.lanes.w59 & 32w0xf0f0f0f;
        hdr.lanes.w60 = hdr.lanes.w60 & 32w0xf0f0f0f;
        hdr.lanes.w61 = hdr.lanes.w61 & 32w0xf0f0f0f;
        hdr.lanes.w62 = hdr.lanes.w62 & 32w0xf0f0f0f;
        hdr.lanes.w63 = hdr.lanes.w63 & 32w0xf0f0f0f;
    }
    @name("IngressPipeline.expand.mask8to16") action expand_mask8to16_0() {
        hdr.lanes.w0 = hdr.lanes.w0 & 32w0xff00ff;
        hdr.lanes.w1 = hdr.lanes.w1 & 32w0xff00ff;
        hdr.lanes.w2 = hdr.lanes.w2 & 32w0xff00ff;
        hdr.lanes.w3 = hdr.lanes.w3 & 32w0xff00ff;
        hdr.lanes.w4 = hdr.lanes.w4 & 32w0xff00ff;
        hdr.lanes.w5 = hdr.lanes.w5 & 32w0xff00ff;
        hdr.lanes.w6 = hdr.lanes.w6 & 32w0xff00ff;
        hdr.lanes.w7 = hdr.lanes.w7 & 32w0xff00ff;
        hdr.lanes.w8 = hdr.lanes.w8 & 32w0xff00ff;
        hdr.lanes.w9 = hdr.lanes.w9 & 32w0xff00ff;
        hdr.lanes.w10 = hdr.lanes.w10 & 32w0xff00ff;
        hdr.lanes.w11 = hdr.lanes.w11 & 32w0xff00ff;
        hdr.lanes.w12 = hdr.lanes.w12 & 32w0xff00ff;
        hdr.lanes.w13 = hdr.lanes.w13 & 32w0xff00ff;
        hdr.lanes.w14 = hdr.lanes.w14 & 32w0xff00ff;
        hdr.lanes.w15 = hdr.lanes.w15 & 32w0xff00ff;
        hdr.lanes.w16 = hdr.lanes.w16 & 32w0xff00ff;
        hdr.lanes.w17 = hdr.lanes.w17 & 32w0xff00ff;
        hdr.lanes.w18 = hdr.lanes.w18 & 32w0xff00ff;
        hdr.lanes.w19 = hdr.lanes.w19 & 32w0xff00ff;
        hdr.lanes.w20 = hdr.lanes.w20 & 32w0xff00ff;
        hdr.lanes.w21 = hdr.lanes.w21 & 32w0xff00ff;
        hdr.lanes.w22 = hdr.lanes.w22 & 32w0xff00ff;
        hdr.lanes.w23 = hdr.lanes.w23 & 32w0xff00ff;
        hdr.lanes.w24 = hdr.lanes.w24 & 32w0xff00ff;
        hdr.lanes.w25 = hdr.lanes.w25 & 32w0xff00ff;
        hdr.lanes.w26 = hdr.lanes.w26 & 32w0xff00ff;
        hdr.lanes.w27 = hdr.lanes.w27 & 32w0xff00ff;
        hdr.lanes.w28 = hdr.lanes.w28 & 32w0xff00ff;
        hdr.lanes.w29 = hdr.lanes.w29 & 32w0xff00ff;
        hdr.lanes.w30 = hdr.lanes.w30 & 32w0xff00ff;
        hdr.lanes.w31 = hdr.lanes.w31 & 32w0xff00ff;
        hdr.lanes.w32 = hdr.lanes.w32 & 32w0xff00ff;
        hdr.lanes.w33 = hdr.lanes.w33 & 32w0xff00ff;
        hdr.lanes.w34 = hdr.lanes.w34 & 32w0xff00ff;
        hdr.lanes.w35 = hdr.lanes.w35 & 32w0xff00ff;
        hdr.lanes.w36 = hdr.lanes.w36 & 32w0xff00ff;
        hdr.lanes.w37 = hdr.lanes.w37 & 32w0xff00ff;
        hdr.lanes.w38 = hdr.lanes.w38 & 32w0xff00ff;
        hdr.lanes.w39 = hdr.lanes.w39 & 32w0xff00ff;
        hdr.lanes.w40 = hdr.lanes.w40 & 32w0xff00ff;
        hdr.lanes.w41 = hdr.lanes.w41 & 32w0xff00ff;
        hdr.lanes.w42 = hdr.lanes.w42 & 32w0xff00ff;
        hdr.lanes.w43 = hdr.lanes.w43 & 32w0xff00ff;
        hdr.lanes.w44 = hdr.lanes.w44 & 32w0xff00ff;
        hdr.lanes.w45 = hdr.lanes.w45 & 32w0xff00ff;
        hdr.lanes.w46 = hdr.lanes.w46 & 32w0xff00ff;
        hdr.lanes.w47 = hdr.lanes.w47 & 32w0xff00ff;
        hdr.lanes.w48 = hdr.lanes.w48 & 32w0xff00ff;
        hdr.lanes.w49 = hdr.lanes.w49 & 32w0xff00ff;
        hdr.lanes.w50 = hdr.lanes.w50 & 32w0xff00ff;
        hdr.lanes.w51 = hdr.lanes.w51 & 32w0xff00ff;
        hdr.lanes.w52 = hdr.lanes.w52 & 32w0xff00ff;
        hdr.lanes.w53 = hdr.lanes.w53 & 32w0xff00ff;
        hdr.lanes.w54 = hdr.lanes.w54 & 32w0xff00ff;
        hdr.lanes.w55 = hdr.lanes.w55 & 32w0xff00ff;
        hdr.lanes.w56 = hdr.lanes.w56 & 32w0xff00ff;
        hdr.lanes.w57 = hdr.lanes.w57 & 32w0xff00ff;
        hdr.lanes.w58 = hdr.lanes.w58 & 32w0xff00ff;
        hdr.lanes.w59 = hdr.lanes.w59 & 32w0xff00ff;
        hdr.lanes.w60 = hdr.lanes.w60 & 32w0xff00ff;
        hdr.lanes.w61 = hdr.lanes.w61 & 32w0xff00ff;
        hdr.lanes.w62 = hdr.lanes.w62 & 32w0xff00ff;
        hdr.lanes.w63 = hdr.lanes.w63 & 32w0xff00ff;
    }
    @name("IngressPipeline.expand.mask16") action expand_mask16_0() {
        hdr.lanes.w0 = hdr.lanes.w0 & 32w0xf000f;
        hdr.lanes.w1 = hdr.lanes.w1 & 32w0xf000f;
        hdr.lanes.w2 = hdr.lanes.w2 & 32w0xf000f;
        hdr.lanes.w3 = hdr.lanes.w3 & 32w0xf000f;
        hdr.lanes.w4 = hdr.lanes.w4 & 32w0xf000f;
        hdr.lanes.w5 = hdr.lanes.w5 & 32w0xf000f;
        hdr.lanes.w6 = hdr.lanes.w6 & 32w0xf000f;
        hdr.lanes.w7 = hdr.lanes.w7 & 32w0xf000f;
        hdr.lanes.w8 = hdr.lanes.w8 & 32w0xf000f;
        hdr.lanes.w9 = hdr.lanes.w9 & 32w0xf000f;
        hdr.lanes.w10 = hdr.lanes.w10 & 32w0xf000f;
        hdr.lanes.w11 = hdr.lanes.w11 & 32w0xf000f;
        hdr.lanes.w12 = hdr.lanes.w12 & 32w0xf000f;
        hdr.lanes.w13 = hdr.lanes.w13 & 32w0xf000f;
        hdr.lanes.w14 = hdr.lanes.w14 & 32w0xf000f;
        hdr.lanes.w15 = hdr.lanes.w15 & 32w0xf000f;
        hdr.lanes.w16 = hdr.lanes.w16 & 32w0xf000f;
        hdr.lanes.w17 = hdr.lanes.w17 & 32w0xf000f;
        hdr.lanes.w18 = hdr.lanes.w18 & 32w0xf000f;
        hdr.lanes.w19 = hdr.lanes.w19 & 32w0xf000f;
        hdr.lanes.w20 = hdr.lanes.w20 & 32w0xf000f;
        hdr.lanes.w21 = hdr.lanes.w21 & 32w0xf000f;
        hdr.lanes.w22 = hdr.lanes.w22 & 32w0xf000f;
        hdr.lanes.w23 = hdr.lanes.w23 & 32w0xf000f;
        hdr.lanes.w24 = hdr.lanes.w24 & 32w0xf000f;
        hdr.lanes.w25 = hdr.lanes.w25 & 32w0xf000f;
        hdr.lanes.w26 = hdr.lanes.w26 & 32w0xf000f;
        hdr.lanes.w27 = hdr.lanes.w27 & 32w0xf000f;
        hdr.lanes.w28 = hdr.lanes.w28 & 32w0xf000f;
        hdr.lanes.w29 = hdr.lanes.w29 & 32w0xf000f;
        hdr.lanes.w30 = hdr.lanes.w30 & 32w0xf000f;
        hdr.lanes.w31 = hdr.lanes.w31 & 32w0xf000f;
        hdr.lanes.w32 = hdr.lanes.w32 & 32w0xf000f;
        hdr.lanes.w33 = hdr.lanes.w33 & 32w0xf000f;
        hdr.lanes.w34 = hdr.lanes.w34 & 32w0xf000f;
        hdr.lanes.w35 = hdr.lanes.w35 & 32w0xf000f;
        hdr.lanes.w36 = hdr.lanes.w36 & 32w0xf000f;
        hdr.lanes.w37 = hdr.lanes.w37 & 32w0xf000f;
        hdr.lanes.w38 = hdr.lanes.w38 & 32w0xf000f;
        hdr.lanes.w39 = hdr.lanes.w39 & 32w0xf000f;
        hdr.lanes.w40 = hdr.lanes.w40 & 32w0xf000f;
        hdr.lanes.w41 = hdr.lanes.w41 & 32w0xf000f;
        hdr.lanes.w42 = hdr.lanes.w42 & 32w0xf000f;
        hdr.lanes.w43 = hdr.lanes.w43 & 32w0xf000f;
        hdr.lanes.w44 = hdr.lanes.w44 & 32w0xf000f;
        hdr.lanes.w45 = hdr.lanes.w45 & 32w0xf000f;
        hdr.lanes.w46 = hdr.lanes.w46 & 32w0xf000f;
        hdr.lanes.w47 = hdr.lanes.w47 & 32w0xf000f;
        hdr.lanes.w48 = hdr.lanes.w48 & 32w0xf000f;
        hdr.lanes.w49 = hdr.lanes.w49 & 32w0xf000f;
        hdr.lanes.w50 = hdr.lanes.w50 & 32w0xf000f;
        hdr.lanes.w51 = hdr.lanes.w51 & 32w0xf000f;
        hdr.lanes.w52 = hdr.lanes.w52 & 32w0xf000f;
        hdr.lanes.w53 = hdr.lanes.w53 & 32w0xf000f;
        hdr.lanes.w54 = hdr.lanes.w54 & 32w0xf000f;
        hdr.lanes.w55 = hdr.lanes.w55 & 32w0xf000f;
        hdr.lanes.w56 = hdr.lanes.w56 & 32w0xf000f;
        hdr.lanes.w57 = hdr.lanes.w57 & 32w0xf000f;
        hdr.lanes.w58 = hdr.lanes.w58 & 32w0xf000f;
        hdr.lanes.w59 = hdr.lanes.w59 & 32w0xf000f;
        hdr.lanes.w60 = hdr.lanes.w60 & 32w0xf000f;
        hdr.lanes.w61 = hdr.lanes.w61 & 32w0xf000f;
        hdr.lanes.w62 = hdr.lanes.w62 & 32w0xf000f;
        hdr.lanes.w63 = hdr.lanes.w63 & 32w0xf000f;
    }
    @name("IngressPipeline.expand.nothing") action expand_nothing_0() {
    }
    @name("IngressPipeline.expand.nothing") action expand_nothing_1() {
    }
    @stage(1) @name("IngressPipeline.expand.shift") table expand_shift {
        key = {
            hdr.codes.isValid()  : ternary @name("hdr.codes.$valid$");
            hdr.codes16.isValid(): ternary @name("hdr.codes16.$valid$");
            hdr.lanesum.op[1:1]  : ternary @name("hdr.lanesum.op[1:1]");
        }
        actions = {
            expand_shift8_0();
            expand_shift8to16_0();
            expand_shift16_0();
            expand_nothing_0();
        }
        const default_action = expand_nothing_0();
        size = 4;
        const entries = {
                        (true, false, 1w0) : expand_shift8_0();
                        (true, false, 1w1) : expand_shift8to16_0();
                        (false, true, 1w1) : expand_shift16_0();
        }
    }
    @stage(2) @name("IngressPipeline.expand.mask") table expand_mask {
        key = {
            hdr.codes.isValid()  : ternary @name("hdr.codes.$valid$");
            hdr.codes16.isValid(): ternary @name("hdr.codes16.$valid$");
            hdr.lanesum.op[1:1]  : ternary @name("hdr.lanesum.op[1:1]");
        }
        actions = {
            expand_mask8_0();
            expand_mask8to16_0();
            expand_mask16_0();
            expand_nothing_1();
        }
        const default_action = expand_nothing_1();
        size = 4;
        const entries = {
                        (true, false, 1w0) : expand_mask8_0();
                        (true, false, 1w1) : expand_mask8to16_0();
                        (false, true, 1w1) : expand_mask16_0();
        }
    }
    @name("IngressPipeline.slots.owner_hash") Hash<bit<32>>(HashAlgorithm_t.CRC32) slots_owner_hash;
    @name("IngressPipeline.slots.chunk.slot_chunk") Register<bit<32>, chunk_entry_t>(32w8192) slots_chunk_slot_chunk;
    @name("IngressPipeline.slots.chunk.first_chunk") RegisterAction<bit<32>, chunk_entry_t, chunk_order_t>(slots_chunk_slot_chunk) slots_chunk_first_chunk = {
        void apply(inout bit<32> value, out chunk_order_t order) {
            value = hdr.lanesum.chunk;
            order = 2w1;
        }
    };
    @name("IngressPipeline.slots.chunk.next_chunk") RegisterAction<bit<32>, chunk_entry_t, chunk_order_t>(slots_chunk_slot_chunk) slots_chunk_next_chunk = {
        void apply(inout bit<32> value, out chunk_order_t order) {
            order = 2w0;
            if (hdr.lanesum.chunk > value) {
                order = 2w1;
            } else if (hdr.lanesum.chunk == value) {
                order = 2w2;
            }
            if (hdr.lanesum.chunk > value) {
                value = hdr.lanesum.chunk;
            }
        }
    };
    @name("IngressPipeline.slots.chunk.no_order") action slots_chunk_no_order_0() {
    }
    @name("IngressPipeline.slots.chunk.do_first_chunk") action slots_chunk_do_first_chunk_0() {
        meta.chunk_order = slots_chunk_first_chunk.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.chunk.do_next_chunk") action slots_chunk_do_next_chunk_0() {
        meta.chunk_order = slots_chunk_next_chunk.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.chunk.read_chunk") RegisterAction<bit<32>, chunk_entry_t, chunk_order_t>(slots_chunk_slot_chunk) slots_chunk_read_chunk = {
        void apply(inout bit<32> value, out chunk_order_t order) {
            order = 2w0;
            if (hdr.lanesum.chunk == value) {
                order = 2w2;
            }
        }
    };
    @name("IngressPipeline.slots.chunk.do_read_chunk") action slots_chunk_do_read_chunk_0() {
        meta.chunk_order = slots_chunk_read_chunk.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @stage(2) @name("IngressPipeline.slots.chunk.chunk") table slots_chunk_chunk {
        key = {
            meta.access       : ternary @name("meta.access");
            meta.epoch_moved  : ternary @name("meta.epoch_moved");
            meta.epoch_reached: ternary @name("meta.epoch_reached");
        }
        actions = {
            slots_chunk_do_first_chunk_0();
            slots_chunk_do_next_chunk_0();
            slots_chunk_do_read_chunk_0();
            slots_chunk_no_order_0();
        }
        const default_action = slots_chunk_no_order_0();
        size = 8;
        const entries = {
                        (2w3, 1w0, 1w1) : slots_chunk_do_read_chunk_0();
                        (2w1, 1w1, default) : slots_chunk_do_first_chunk_0();
                        (2w2, 1w1, 1w1) : slots_chunk_do_first_chunk_0();
                        (2w1, 1w0, 1w1) : slots_chunk_do_next_chunk_0();
                        (2w2, 1w0, 1w1) : slots_chunk_do_next_chunk_0();
        }
    }
    @name("IngressPipeline.slots.slot_owner") Register<two_words_t, entry_t>(32w8192) slots_slot_owner;
    @name("IngressPipeline.slots.slot_owner_reached") Register<two_words_t, entry_t>(32w8192) slots_slot_owner_reached;
    @name("IngressPipeline.slots.own") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_owner) slots_own = {
        void apply(inout two_words_t value, out bit<1> moved) {
            moved = 1w0;
            if (value.lo != meta.owner || (int<32>)(hdr.lanesum.epoch - value.hi) > 32s0) {
                moved = 1w1;
                value.lo = meta.owner;
                value.hi = hdr.lanesum.epoch;
            }
        }
    };
    @name("IngressPipeline.slots.own_if_mine") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_owner) slots_own_if_mine = {
        void apply(inout two_words_t value, out bit<1> moved) {
            moved = 1w0;
            if (value.lo != meta.owner || (int<32>)(hdr.lanesum.epoch - value.hi) > 32s0) {
                moved = 1w1;
            }
            if (value.lo == meta.owner && (int<32>)(hdr.lanesum.epoch - value.hi) > 32s0) {
                value.hi = hdr.lanesum.epoch;
            }
        }
    };
    @name("IngressPipeline.slots.reach") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_owner_reached) slots_reach = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 1w0;
            if (value.lo == meta.owner && (int<32>)(hdr.lanesum.epoch - value.hi) >= 32s0) {
                reached = 1w1;
            }
            if (value.lo != meta.owner || (int<32>)(hdr.lanesum.epoch - value.hi) >= 32s0) {
                value.lo = meta.owner;
                value.hi = hdr.lanesum.epoch;
            }
        }
    };
    @name("IngressPipeline.slots.reach_if_mine") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_owner_reached) slots_reach_if_mine = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 1w0;
            if (value.lo == meta.owner && (int<32>)(hdr.lanesum.epoch - value.hi) >= 32s0) {
                reached = 1w1;
                value.hi = hdr.lanesum.epoch;
            }
        }
    };
    @name("IngressPipeline.slots.nothing") action slots_nothing_0() {
    }
    @name("IngressPipeline.slots.nothing") action slots_nothing_1() {
    }
    @name("IngressPipeline.slots.nothing") action slots_nothing_2() {
    }
    @name("IngressPipeline.slots.nothing") action slots_nothing_3() {
    }
    @name("IngressPipeline.slots.nothing") action slots_nothing_4() {
    }
    @name("IngressPipeline.slots.nothing") action slots_nothing_5() {
    }
    @name("IngressPipeline.slots.nothing") action slots_nothing_6() {
    }
    @name("IngressPipeline.slots.do_own") action slots_do_own_0() {
        meta.epoch_moved = slots_own.execute(meta.entry[15:15] ++ meta.entry[11:0]);
        meta.access = 2w1;
    }
    @name("IngressPipeline.slots.do_own_if_mine") action slots_do_own_if_mine_0() {
        meta.epoch_moved = slots_own_if_mine.execute(meta.entry[15:15] ++ meta.entry[11:0]);
        meta.access = 2w2;
    }
    @name("IngressPipeline.slots.do_reach") action slots_do_reach_0() {
        meta.epoch_reached = slots_reach.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_reach_if_mine") action slots_do_reach_if_mine_0() {
        meta.epoch_reached = slots_reach_if_mine.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.read_owner") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_owner) slots_read_owner = {
        void apply(inout two_words_t value, out bit<1> moved) {
            moved = 1w0;
            if (value.lo != meta.owner || (int<32>)(hdr.lanesum.epoch - value.hi) > 32s0) {
                moved = 1w1;
            }
        }
    };
    @name("IngressPipeline.slots.read_owner_reached") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_owner_reached) slots_read_owner_reached = {
        void apply(inout two_words_t value, out bit<1> reached) {
            reached = 1w0;
            if (value.lo == meta.owner && (int<32>)(hdr.lanesum.epoch - value.hi) >= 32s0) {
                reached = 1w1;
            }
        }
    };
    @name("IngressPipeline.slots.do_read_owner") action slots_do_read_owner_0() {
        meta.epoch_moved = slots_read_owner.execute(meta.entry[15:15] ++ meta.entry[11:0]);
        meta.access = 2w3;
    }
    @name("IngressPipeline.slots.do_read_owner_reached") action slots_do_read_owner_reached_0() {
        meta.epoch_reached = slots_read_owner_reached.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @stage(1) @name("IngressPipeline.slots.owner") table slots_owner {
        key = {
            meta.arrival      : ternary @name("meta.arrival");
            meta.addressee    : ternary @name("meta.addressee");
            meta.member       : ternary @name("meta.member");
            meta.slots_left   : ternary @name("meta.slots_left");
            hdr.lanesum.shadow: ternary @name("hdr.lanesum.shadow");
            meta.allowed      : ternary @name("meta.allowed");
            meta.role         : ternary @name("meta.role");
            meta.takeover     : ternary @name("meta.takeover");
        }
        actions = {
            slots_do_own_0();
            slots_do_own_if_mine_0();
            slots_do_read_owner_0();
            slots_nothing_0();
        }
        const default_action = slots_nothing_0();
        size = 8;
        const entries = {
                        (2w3, default, default, default, default, default, default, default) : slots_do_read_owner_0();
                        (2w1, default, 1w1, 16w0, default, default, default, default) : slots_nothing_0();
                        (2w1, default, 1w1, 16w0x8000, 1w1, default, default, default) : slots_nothing_0();
                        (2w1, default, 1w1, default, default, 16w0, default, default) : slots_nothing_0();
                        (2w1, 2w1, 1w1, 16w0 &&& 16w0x8000, 1w0, default, 8w2 &&& 8w2, 1w0) : slots_do_own_if_mine_0();
                        (2w1, 2w1, 1w1, 16w0x8000 &&& 16w0x8000, 1w1, default, 8w2 &&& 8w2, 1w0) : slots_do_own_if_mine_0();
                        (2w1, 2w1, 1w1, 16w0 &&& 16w0x8000, 1w0, default, default, default) : slots_do_own_0();
                        (2w1, 2w1, 1w1, 16w0x8000 &&& 16w0x8000, 1w1, default, default, default) : slots_do_own_0();
        }
    }
    @stage(1) @name("IngressPipeline.slots.owner_reached") table slots_owner_reached {
        key = {
            meta.arrival      : ternary @name("meta.arrival");
            meta.addressee    : ternary @name("meta.addressee");
            meta.member       : ternary @name("meta.member");
            meta.slots_left   : ternary @name("meta.slots_left");
            hdr.lanesum.shadow: ternary @name("hdr.lanesum.shadow");
            meta.allowed      : ternary @name("meta.allowed");
            meta.role         : ternary @name("meta.role");
            meta.takeover     : ternary @name("meta.takeover");
        }
        actions = {
            slots_do_reach_0();
            slots_do_reach_if_mine_0();
            slots_do_read_owner_reached_0();
            slots_nothing_1();
        }
        const default_action = slots_nothing_1();
        size = 8;
        const entries = {
                        (2w3, default, default, default, default, default, default, default) : slots_do_read_owner_reached_0();
                        (2w1, default, 1w1, 16w0, default, default, default, default) : slots_nothing_1();
                        (2w1, default, 1w1, 16w0x8000, 1w1, default, default, default) : slots_nothing_1();
                        (2w1, default, 1w1, default, default, 16w0, default, default) : slots_nothing_1();
                        (2w1, 2w1, 1w1, 16w0 &&& 16w0x8000, 1w0, default, 8w2 &&& 8w2, 1w0) : slots_do_reach_if_mine_0();
                        (2w1, 2w1, 1w1, 16w0x8000 &&& 16w0x8000, 1w1, default, 8w2 &&& 8w2, 1w0) : slots_do_reach_if_mine_0();
                        (2w1, 2w1, 1w1, 16w0 &&& 16w0x8000, 1w0, default, default, default) : slots_do_reach_0();
                        (2w1, 2w1, 1w1, 16w0x8000 &&& 16w0x8000, 1w1, default, default, default) : slots_do_reach_0();
        }
    }
    @name("IngressPipeline.slots.slot_seen") Register<two_words_t, entry_t>(32w8192) slots_slot_seen;
    @name("IngressPipeline.slots.slot_shape") Register<two_words_t, entry_t>(32w8192) slots_slot_shape;
    @name("IngressPipeline.slots.first_seen") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_seen) slots_first_seen = {
        void apply(inout two_words_t value, out bit<32> seen) {
            value.lo = meta.worker;
            value.hi = hdr.lanesum.chunk;
            seen = 32w0;
        }
    };
    @name("IngressPipeline.slots.next_seen") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_seen) slots_next_seen = {
        void apply(inout two_words_t value, out bit<32> seen) {
            seen = value.lo;
            if (hdr.lanesum.chunk == value.hi) {
                value.lo = value.lo | meta.worker;
            }
            if (hdr.lanesum.chunk > value.hi) {
                value.lo = meta.worker;
                value.hi = hdr.lanesum.chunk;
            }
        }
    };
    @name("IngressPipeline.slots.first_shape") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_shape) slots_first_shape = {
        void apply(inout two_words_t value, out bit<1> differs) {
            value.lo = meta.shape;
            value.hi = hdr.lanesum.chunk;
            differs = 1w0;
        }
    };
    @name("IngressPipeline.slots.next_shape") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_shape) slots_next_shape = {
        void apply(inout two_words_t value, out bit<1> differs) {
            differs = 1w0;
            if (hdr.lanesum.chunk <= value.hi && value.lo != meta.shape) {
                differs = 1w1;
            }
            if (hdr.lanesum.chunk > value.hi) {
                value.lo = meta.shape;
                value.hi = hdr.lanesum.chunk;
            }
        }
    };
    @name("IngressPipeline.slots.do_first_seen") action slots_do_first_seen_0() {
        slots_first_seen.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_next_seen") action slots_do_next_seen_0() {
        meta.seen = slots_next_seen.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_first_shape") action slots_do_first_shape_0() {
        slots_first_shape.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_next_shape") action slots_do_next_shape_0() {
        meta.shape_differs = slots_next_shape.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.read_seen") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_seen) slots_read_seen = {
        void apply(inout two_words_t value, out bit<32> seen) {
            seen = value.lo;
        }
    };
    @name("IngressPipeline.slots.read_shape") RegisterAction<two_words_t, entry_t, bit<1>>(slots_slot_shape) slots_read_shape = {
        void apply(inout two_words_t value, out bit<1> differs) {
            differs = 1w0;
            if (value.lo != meta.shape) {
                differs = 1w1;
            }
        }
    };
    @name("IngressPipeline.slots.do_read_seen") action slots_do_read_seen_0() {
        meta.seen = slots_read_seen.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_read_shape") action slots_do_read_shape_0() {
        meta.shape_differs = slots_read_shape.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @stage(2) @name("IngressPipeline.slots.seen") table slots_seen {
        key = {
            meta.access       : ternary @name("meta.access");
            meta.epoch_moved  : ternary @name("meta.epoch_moved");
            meta.epoch_reached: ternary @name("meta.epoch_reached");
        }
        actions = {
            slots_do_first_seen_0();
            slots_do_next_seen_0();
            slots_do_read_seen_0();
            slots_nothing_2();
        }
        const default_action = slots_nothing_2();
        size = 8;
        const entries = {
                        (2w3, 1w0, 1w1) : slots_do_read_seen_0();
                        (2w1, 1w1, default) : slots_do_first_seen_0();
                        (2w2, 1w1, 1w1) : slots_do_first_seen_0();
                        (2w1, 1w0, 1w1) : slots_do_next_seen_0();
                        (2w2, 1w0, 1w1) : slots_do_next_seen_0();
        }
    }
    @stage(2) @name("IngressPipeline.slots.shape") table slots_shape {
        key = {
            meta.access       : ternary @name("meta.access");
            meta.epoch_moved  : ternary @name("meta.epoch_moved");
            meta.epoch_reached: ternary @name("meta.epoch_reached");
        }
        actions = {
            slots_do_first_shape_0();
            slots_do_next_shape_0();
            slots_do_read_shape_0();
            slots_nothing_3();
        }
        const default_action = slots_nothing_3();
        size = 8;
        const entries = {
                        (2w3, 1w0, 1w1) : slots_do_read_shape_0();
                        (2w1, 1w1, default) : slots_do_first_shape_0();
                        (2w2, 1w1, 1w1) : slots_do_first_shape_0();
                        (2w1, 1w0, 1w1) : slots_do_next_shape_0();
                        (2w2, 1w0, 1w1) : slots_do_next_shape_0();
        }
    }
    @name("IngressPipeline.slots.slot_count") Register<bit<16>, entry_t>(32w8192) slots_slot_count;
    @name("IngressPipeline.slots.slot_workers") Register<two_words_t, entry_t>(32w8192) slots_slot_workers;
    @name("IngressPipeline.slots.slot_state") Register<two_bytes_t, entry_t>(32w8192) slots_slot_state;
    @name("IngressPipeline.slots.slot_record") Register<two_words_t, entry_t>(32w8192) slots_slot_record;
    @name("IngressPipeline.slots.count_first") RegisterAction<bit<16>, entry_t, progress_t>(slots_slot_count) slots_count_first = {
        void apply(inout bit<16> value, out progress_t progress) {
            if (meta.fan_in == 16w1) {
                value = 16w0xffff;
                progress = 2w1;
            } else {
                value = 16w1;
                progress = 2w0;
            }
        }
    };
    @name("IngressPipeline.slots.count_next") RegisterAction<bit<16>, entry_t, progress_t>(slots_slot_count) slots_count_next = {
        void apply(inout bit<16> value, out progress_t progress) {
            progress = 2w0;
            if ((int<16>)value < 16s0) {
                progress = 2w2;
            } else if (value + 16w1 >= meta.fan_in) {
                progress = 2w1;
                value = 16w0xffff;
            } else {
                value = value + 16w1;
            }
        }
    };
    @name("IngressPipeline.slots.read_count") RegisterAction<bit<16>, entry_t, progress_t>(slots_slot_count) slots_read_count = {
        void apply(inout bit<16> value, out progress_t progress) {
            progress = 2w0;
            if ((int<16>)value < 16s0) {
                progress = 2w2;
            }
        }
    };
    @name("IngressPipeline.slots.first_worker") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_workers) slots_first_worker = {
        void apply(inout two_words_t value, out bit<32> workers) {
            value.lo = meta.worker;
            workers = value.lo;
            if ((bit<32>)meta.fan_in == 32w1) {
                value.hi = 32w0xffffffff;
            } else {
                value.hi = 32w1;
            }
        }
    };
    @name("IngressPipeline.slots.next_worker") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_workers) slots_next_worker = {
        void apply(inout two_words_t value, out bit<32> workers) {
            if ((int<32>)value.hi >= 32s0) {
                value.lo = value.lo | meta.worker;
            }
            workers = value.lo;
            if ((int<32>)value.hi >= 32s0 && value.hi + 32w1 >= (bit<32>)meta.fan_in) {
                value.hi = 32w0xffffffff;
            } else if ((int<32>)value.hi >= 32s0) {
                value.hi = value.hi + 32w1;
            }
        }
    };
    @name("IngressPipeline.slots.read_workers") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_workers) slots_read_workers = {
        void apply(inout two_words_t value, out bit<32> workers) {
            workers = value.lo;
        }
    };
    @name("IngressPipeline.slots.first_state") RegisterAction<two_bytes_t, entry_t, bit<8>>(slots_slot_state) slots_first_state = {
        void apply(inout two_bytes_t value, out bit<8> state) {
            value.lo = meta.own_state;
            state = value.lo;
            if ((bit<8>)meta.fan_in == 8w1) {
                value.hi = 8w0xff;
            } else {
                value.hi = 8w1;
            }
        }
    };
    @name("IngressPipeline.slots.next_state") RegisterAction<two_bytes_t, entry_t, bit<8>>(slots_slot_state) slots_next_state = {
        void apply(inout two_bytes_t value, out bit<8> state) {
            if ((int<8>)value.hi >= 8s0) {
                value.lo = value.lo | meta.own_state;
            }
            state = value.lo;
            if ((int<8>)value.hi >= 8s0 && value.hi + 8w1 >= (bit<8>)meta.fan_in) {
                value.hi = 8w0xff;
            } else if ((int<8>)value.hi >= 8s0) {
                value.hi = value.hi + 8w1;
            }
        }
    };
    @name("IngressPipeline.slots.read_state") RegisterAction<two_bytes_t, entry_t, bit<8>>(slots_slot_state) slots_read_state = {
        void apply(inout two_bytes_t value, out bit<8> state) {
            state = value.lo;
        }
    };
    @name("IngressPipeline.slots.first_record") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_record) slots_first_record = {
        void apply(inout two_words_t value) {
            value.lo = meta.shape;
            value.hi = meta.now;
        }
    };
    @name("IngressPipeline.slots.touch_record") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_record) slots_touch_record = {
        void apply(inout two_words_t value) {
            value.hi = meta.now;
        }
    };
    @name("IngressPipeline.slots.read_shape_record") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_record) slots_read_shape_record = {
        void apply(inout two_words_t value, out bit<32> recalled) {
            recalled = value.lo;
        }
    };
    @name("IngressPipeline.slots.read_time_record") RegisterAction<two_words_t, entry_t, bit<32>>(slots_slot_record) slots_read_time_record = {
        void apply(inout two_words_t value, out bit<32> recalled) {
            recalled = value.hi;
        }
    };
    @name("IngressPipeline.slots.do_count_first") action slots_do_count_first_0() {
        meta.progress = slots_count_first.execute(meta.entry[15:15] ++ meta.entry[11:0]);
        meta.order = 3w1;
    }
    @name("IngressPipeline.slots.do_count_next") action slots_do_count_next_0() {
        meta.progress = slots_count_next.execute(meta.entry[15:15] ++ meta.entry[11:0]);
        meta.order = 3w2;
    }
    @name("IngressPipeline.slots.do_read_count_seen") action slots_do_read_count_seen_0() {
        meta.progress = slots_read_count.execute(meta.entry[15:15] ++ meta.entry[11:0]);
        meta.order = 3w3;
    }
    @name("IngressPipeline.slots.do_read_count_foreign") action slots_do_read_count_foreign_0() {
        meta.progress = slots_read_count.execute(meta.entry[15:15] ++ meta.entry[11:0]);
        meta.order = 3w5;
    }
    @name("IngressPipeline.slots.set_conflict") action slots_set_conflict_0() {
        meta.order = 3w4;
    }
    @name("IngressPipeline.slots.set_older") action slots_set_older_0() {
        meta.order = 3w0;
    }
    @name("IngressPipeline.slots.no_entry") action slots_no_entry_0() {
    }
    @name("IngressPipeline.slots.do_first_worker") action slots_do_first_worker_0() {
        meta.workers = slots_first_worker.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_next_worker") action slots_do_next_worker_0() {
        meta.workers = slots_next_worker.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_read_workers") action slots_do_read_workers_0() {
        meta.workers = slots_read_workers.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_first_state") action slots_do_first_state_0() {
        meta.state = slots_first_state.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_next_state") action slots_do_next_state_0() {
        meta.state = slots_next_state.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_read_state") action slots_do_read_state_0() {
        meta.state = slots_read_state.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_first_record") action slots_do_first_record_0() {
        slots_first_record.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_touch_record") action slots_do_touch_record_0() {
        slots_touch_record.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_read_shape_record") action slots_do_read_shape_record_0() {
        meta.record = slots_read_shape_record.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @name("IngressPipeline.slots.do_read_time_record") action slots_do_read_time_record_0() {
        meta.record = slots_read_time_record.execute(meta.entry[15:15] ++ meta.entry[11:0]);
    }
    @stage(3) @name("IngressPipeline.slots.count") table slots_count {
        key = {
            meta.access       : ternary @name("meta.access");
            meta.epoch_moved  : ternary @name("meta.epoch_moved");
            meta.epoch_reached: ternary @name("meta.epoch_reached");
            meta.chunk_order  : ternary @name("meta.chunk_order");
            meta.shape_differs: ternary @name("meta.shape_differs");
            meta.seen         : ternary @name("meta.seen");
            meta.worker       : ternary @name("meta.worker");
        }
        actions = {
            slots_do_count_first_0();
            slots_do_count_next_0();
            slots_do_read_count_seen_0();
            slots_do_read_count_foreign_0();
            slots_set_conflict_0();
            slots_set_older_0();
            slots_no_entry_0();
        }
        const default_action = slots_no_entry_0();
        size = 64;
        const entries = {
                        (2w0, default, default, default, default, default, default) : slots_no_entry_0();
                        (default, default, default, 2w1, default, default, default) : slots_do_count_first_0();
                        (2w2, 1w1, 1w0, default, default, default, default) : slots_do_read_count_foreign_0();
                        (default, default, default, 2w2, 1w1, default, default) : slots_set_conflict_0();
                        (default, default, default, 2w2, 1w0, 32w1 &&& 32w1, 32w1 &&& 32w1) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w2 &&& 32w2, 32w2 &&& 32w2) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w4 &&& 32w4, 32w4 &&& 32w4) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w8 &&& 32w8, 32w8 &&& 32w8) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w16 &&& 32w16, 32w16 &&& 32w16) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w32 &&& 32w32, 32w32 &&& 32w32) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w64 &&& 32w64, 32w64 &&& 32w64) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w128 &&& 32w128, 32w128 &&& 32w128) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w256 &&& 32w256, 32w256 &&& 32w256) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w512 &&& 32w512, 32w512 &&& 32w512) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w1024 &&& 32w1024, 32w1024 &&& 32w1024) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w2048 &&& 32w2048, 32w2048 &&& 32w2048) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w4096 &&& 32w4096, 32w4096 &&& 32w4096) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w8192 &&& 32w8192, 32w8192 &&& 32w8192) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w16384 &&& 32w16384, 32w16384 &&& 32w16384) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w32768 &&& 32w32768, 32w32768 &&& 32w32768) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w65536 &&& 32w65536, 32w65536 &&& 32w65536) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w131072 &&& 32w131072, 32w131072 &&& 32w131072) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w262144 &&& 32w262144, 32w262144 &&& 32w262144) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w524288 &&& 32w524288, 32w524288 &&& 32w524288) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w1048576 &&& 32w1048576, 32w1048576 &&& 32w1048576) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w2097152 &&& 32w2097152, 32w2097152 &&& 32w2097152) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w4194304 &&& 32w4194304, 32w4194304 &&& 32w4194304) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w8388608 &&& 32w8388608, 32w8388608 &&& 32w8388608) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w16777216 &&& 32w16777216, 32w16777216 &&& 32w16777216) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w33554432 &&& 32w33554432, 32w33554432 &&& 32w33554432) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w67108864 &&& 32w67108864, 32w67108864 &&& 32w67108864) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w134217728 &&& 32w134217728, 32w134217728 &&& 32w134217728) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w268435456 &&& 32w268435456, 32w268435456 &&& 32w268435456) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w536870912 &&& 32w536870912, 32w536870912 &&& 32w536870912) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w1073741824 &&& 32w1073741824, 32w1073741824 &&& 32w1073741824) : slots_do_read_count_seen_0();
                        (default, default, default, 2w2, 1w0, 32w2147483648 &&& 32w2147483648, 32w2147483648 &&& 32w2147483648) : slots_do_read_count_seen_0();
                        (2w3, default, default, default, default, default, default) : slots_no_entry_0();
                        (default, default, default, 2w2, 1w0, default, default) : slots_do_count_next_0();
                        (default, default, default, default, default, default, default) : slots_set_older_0();
        }
    }
    @stage(3) @name("IngressPipeline.slots.workers") table slots_workers {
        key = {
            meta.access       : ternary @name("meta.access");
            meta.epoch_moved  : ternary @name("meta.epoch_moved");
            meta.epoch_reached: ternary @name("meta.epoch_reached");
            meta.chunk_order  : ternary @name("meta.chunk_order");
            meta.shape_differs: ternary @name("meta.shape_differs");
            meta.seen         : ternary @name("meta.seen");
            meta.worker       : ternary @name("meta.worker");
        }
        actions = {
            slots_do_first_worker_0();
            slots_do_next_worker_0();
            slots_do_read_workers_0();
            slots_nothing_4();
        }
        const default_action = slots_nothing_4();
        size = 64;
        const entries = {
                        (2w0, default, default, default, default, default, default) : slots_nothing_4();
                        (default, default, default, 2w1, default, default, default) : slots_do_first_worker_0();
                        (2w2, 1w1, 1w0, default, default, default, default) : slots_nothing_4();
                        (default, default, default, 2w2, 1w1, default, default) : slots_nothing_4();
                        (default, default, default, 2w2, 1w0, 32w1 &&& 32w1, 32w1 &&& 32w1) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w2 &&& 32w2, 32w2 &&& 32w2) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w4 &&& 32w4, 32w4 &&& 32w4) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w8 &&& 32w8, 32w8 &&& 32w8) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w16 &&& 32w16, 32w16 &&& 32w16) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w32 &&& 32w32, 32w32 &&& 32w32) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w64 &&& 32w64, 32w64 &&& 32w64) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w128 &&& 32w128, 32w128 &&& 32w128) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w256 &&& 32w256, 32w256 &&& 32w256) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w512 &&& 32w512, 32w512 &&& 32w512) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w1024 &&& 32w1024, 32w1024 &&& 32w1024) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w2048 &&& 32w2048, 32w2048 &&& 32w2048) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w4096 &&& 32w4096, 32w4096 &&& 32w4096) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w8192 &&& 32w8192, 32w8192 &&& 32w8192) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w16384 &&& 32w16384, 32w16384 &&& 32w16384) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w32768 &&& 32w32768, 32w32768 &&& 32w32768) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w65536 &&& 32w65536, 32w65536 &&& 32w65536) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w131072 &&& 32w131072, 32w131072 &&& 32w131072) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w262144 &&& 32w262144, 32w262144 &&& 32w262144) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w524288 &&& 32w524288, 32w524288 &&& 32w524288) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w1048576 &&& 32w1048576, 32w1048576 &&& 32w1048576) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w2097152 &&& 32w2097152, 32w2097152 &&& 32w2097152) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w4194304 &&& 32w4194304, 32w4194304 &&& 32w4194304) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w8388608 &&& 32w8388608, 32w8388608 &&& 32w8388608) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w16777216 &&& 32w16777216, 32w16777216 &&& 32w16777216) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w33554432 &&& 32w33554432, 32w33554432 &&& 32w33554432) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w67108864 &&& 32w67108864, 32w67108864 &&& 32w67108864) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w134217728 &&& 32w134217728, 32w134217728 &&& 32w134217728) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w268435456 &&& 32w268435456, 32w268435456 &&& 32w268435456) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w536870912 &&& 32w536870912, 32w536870912 &&& 32w536870912) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w1073741824 &&& 32w1073741824, 32w1073741824 &&& 32w1073741824) : slots_do_read_workers_0();
                        (default, default, default, 2w2, 1w0, 32w2147483648 &&& 32w2147483648, 32w2147483648 &&& 32w2147483648) : slots_do_read_workers_0();
                        (2w3, default, default, default, default, default, default) : slots_nothing_4();
                        (default, default, default, 2w2, 1w0, default, default) : slots_do_next_worker_0();
                        (default, default, default, default, default, default, default) : slots_nothing_4();
        }
    }
    @stage(3) @name("IngressPipeline.slots.state") table slots_state {
        key = {
            meta.access       : ternary @name("meta.access");
            meta.epoch_moved  : ternary @name("meta.epoch_moved");
            meta.epoch_reached: ternary @name("meta.epoch_reached");
            meta.chunk_order  : ternary @name("meta.chunk_order");
            meta.shape_differs: ternary @name("meta.shape_differs");
            meta.seen         : ternary @name("meta.seen");
            meta.worker       : ternary @name("meta.worker");
        }
        actions = {
            slots_do_first_state_0();
            slots_do_next_state_0();
            slots_do_read_state_0();
            slots_nothing_5();
        }
        const default_action = slots_nothing_5();
        size = 64;
        const entries = {
                        (2w0, default, default, default, default, default, default) : slots_nothing_5();
                        (default, default, default, 2w1, default, default, default) : slots_do_first_state_0();
                        (2w2, 1w1, 1w0, default, default, default, default) : slots_nothing_5();
                        (default, default, default, 2w2, 1w1, default, default) : slots_nothing_5();
                        (default, default, default, 2w2, 1w0, 32w1 &&& 32w1, 32w1 &&& 32w1) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w2 &&& 32w2, 32w2 &&& 32w2) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w4 &&& 32w4, 32w4 &&& 32w4) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w8 &&& 32w8, 32w8 &&& 32w8) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w16 &&& 32w16, 32w16 &&& 32w16) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w32 &&& 32w32, 32w32 &&& 32w32) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w64 &&& 32w64, 32w64 &&& 32w64) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w128 &&& 32w128, 32w128 &&& 32w128) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w256 &&& 32w256, 32w256 &&& 32w256) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w512 &&& 32w512, 32w512 &&& 32w512) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w1024 &&& 32w1024, 32w1024 &&& 32w1024) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w2048 &&& 32w2048, 32w2048 &&& 32w2048) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w4096 &&& 32w4096, 32w4096 &&& 32w4096) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w8192 &&& 32w8192, 32w8192 &&& 32w8192) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w16384 &&& 32w16384, 32w16384 &&& 32w16384) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w32768 &&& 32w32768, 32w32768 &&& 32w32768) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w65536 &&& 32w65536, 32w65536 &&& 32w65536) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w131072 &&& 32w131072, 32w131072 &&& 32w131072) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w262144 &&& 32w262144, 32w262144 &&& 32w262144) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w524288 &&& 32w524288, 32w524288 &&& 32w524288) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w1048576 &&& 32w1048576, 32w1048576 &&& 32w1048576) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w2097152 &&& 32w2097152, 32w2097152 &&& 32w2097152) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w4194304 &&& 32w4194304, 32w4194304 &&& 32w4194304) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w8388608 &&& 32w8388608, 32w8388608 &&& 32w8388608) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w16777216 &&& 32w16777216, 32w16777216 &&& 32w16777216) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w33554432 &&& 32w33554432, 32w33554432 &&& 32w33554432) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w67108864 &&& 32w67108864, 32w67108864 &&& 32w67108864) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w134217728 &&& 32w134217728, 32w134217728 &&& 32w134217728) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w268435456 &&& 32w268435456, 32w268435456 &&& 32w268435456) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w536870912 &&& 32w536870912, 32w536870912 &&& 32w536870912) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w1073741824 &&& 32w1073741824, 32w1073741824 &&& 32w1073741824) : slots_do_read_state_0();
                        (default, default, default, 2w2, 1w0, 32w2147483648 &&& 32w2147483648, 32w2147483648 &&& 32w2147483648) : slots_do_read_state_0();
                        (2w3, default, default, default, default, default, default) : slots_nothing_5();
                        (default, default, default, 2w2, 1w0, default, default) : slots_do_next_state_0();
                        (default, default, default, default, default, default, default) : slots_nothing_5();
        }
    }
    @stage(3) @name("IngressPipeline.slots.record") table slots_record {
        key = {
            meta.access       : ternary @name("meta.access");
            meta.epoch_moved  : ternary @name("meta.epoch_moved");
            meta.epoch_reached: ternary @name("meta.epoch_reached");
            meta.chunk_order  : ternary @name("meta.chunk_order");
            meta.shape_differs: ternary @name("meta.shape_differs");
            meta.seen         : ternary @name("meta.seen");
            meta.worker       : ternary @name("meta.worker");
        }
        actions = {
            slots_do_first_record_0();
            slots_do_touch_record_0();
            slots_do_read_shape_record_0();
            slots_do_read_time_record_0();
            slots_nothing_6();
        }
        const default_action = slots_nothing_6();
        size = 64;
        const entries = {
                        (2w0, default, default, default, default, default, default) : slots_nothing_6();
                        (default, default, default, 2w1, default, default, default) : slots_do_first_record_0();
                        (2w2, 1w1, 1w0, default, default, default, default) : slots_do_read_time_record_0();
                        (default, default, default, 2w2, 1w1, default, default) : slots_do_read_shape_record_0();
                        (default, default, default, 2w2, 1w0, 32w1 &&& 32w1, 32w1 &&& 32w1) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w2 &&& 32w2, 32w2 &&& 32w2) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w4 &&& 32w4, 32w4 &&& 32w4) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w8 &&& 32w8, 32w8 &&& 32w8) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w16 &&& 32w16, 32w16 &&& 32w16) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w32 &&& 32w32, 32w32 &&& 32w32) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w64 &&& 32w64, 32w64 &&& 32w64) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w128 &&& 32w128, 32w128 &&& 32w128) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w256 &&& 32w256, 32w256 &&& 32w256) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w512 &&& 32w512, 32w512 &&& 32w512) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w1024 &&& 32w1024, 32w1024 &&& 32w1024) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w2048 &&& 32w2048, 32w2048 &&& 32w2048) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w4096 &&& 32w4096, 32w4096 &&& 32w4096) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w8192 &&& 32w8192, 32w8192 &&& 32w8192) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w16384 &&& 32w16384, 32w16384 &&& 32w16384) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w32768 &&& 32w32768, 32w32768 &&& 32w32768) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w65536 &&& 32w65536, 32w65536 &&& 32w65536) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w131072 &&& 32w131072, 32w131072 &&& 32w131072) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w262144 &&& 32w262144, 32w262144 &&& 32w262144) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w524288 &&& 32w524288, 32w524288 &&& 32w524288) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w1048576 &&& 32w1048576, 32w1048576 &&& 32w1048576) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w2097152 &&& 32w2097152, 32w2097152 &&& 32w2097152) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w4194304 &&& 32w4194304, 32w4194304 &&& 32w4194304) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w8388608 &&& 32w8388608, 32w8388608 &&& 32w8388608) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w16777216 &&& 32w16777216, 32w16777216 &&& 32w16777216) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w33554432 &&& 32w33554432, 32w33554432 &&& 32w33554432) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w67108864 &&& 32w67108864, 32w67108864 &&& 32w67108864) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w134217728 &&& 32w134217728, 32w134217728 &&& 32w134217728) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w268435456 &&& 32w268435456, 32w268435456 &&& 32w268435456) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w536870912 &&& 32w536870912, 32w536870912 &&& 32w536870912) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w1073741824 &&& 32w1073741824, 32w1073741824 &&& 32w1073741824) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, 32w2147483648 &&& 32w2147483648, 32w2147483648 &&& 32w2147483648) : slots_nothing_6();
                        (2w3, default, default, default, default, default, default) : slots_nothing_6();
                        (default, default, default, 2w2, 1w0, default, default) : slots_do_touch_record_0();
                        (default, default, default, default, default, default, default) : slots_nothing_6();
        }
    }
    @name("IngressPipeline.slots.add_words") action slots_add_words_0(@name("operation") bit<32> operation_0) {
        meta.shape = hdr.lanesum.racks | operation_0;
    }
    @name("IngressPipeline.slots.or_words") action slots_or_words_0(@name("operation") bit<32> operation_7) {
        meta.shape = hdr.lanesum.racks | operation_7;
    }
    @name("IngressPipeline.slots.max_words") action slots_max_words_0(@name("operation") bit<32> operation_8) {
        meta.shape = hdr.lanesum.racks | operation_8;
    }
    @name("IngressPipeline.slots.expand8") action slots_expand8_0(@name("operation") bit<32> operation_9) {
        meta.shape = hdr.lanesum.racks | operation_9;
    }
    @name("IngressPipeline.slots.expand16") action slots_expand16_0(@name("operation") bit<32> operation_10) {
        meta.shape = hdr.lanesum.racks | operation_10;
    }
    @name("IngressPipeline.slots.expand8to16") action slots_expand8to16_0(@name("operation") bit<32> operation_11) {
        meta.shape = hdr.lanesum.racks | operation_11;
    }
    @stage(0) @name("IngressPipeline.slots.operation") table slots_operation {
        key = {
            hdr.lanesum.op: exact @name("hdr.lanesum.op");
        }
        actions = {
            slots_add_words_0();
            slots_or_words_0();
            slots_max_words_0();
            slots_expand8_0();
            slots_expand16_0();
            slots_expand8to16_0();
        }
        const default_action = slots_add_words_0(32w0);
        size = 8;
        const entries = {
                        8w1 : slots_expand8_0(32w268435456);
                        8w3 : slots_add_words_0(32w805306368);
                        8w4 : slots_or_words_0(32w1073741824);
                        8w5 : slots_max_words_0(32w1342177280);
                        8w6 : slots_expand16_0(32w1610612736);
                        8w7 : slots_expand8to16_0(32w1879048192);
        }
    }
    @name("IngressPipeline.slots.met_congestion") action slots_met_congestion_0() {
        meta.own_state = meta.own_state | 8w0x4;
    }
    @name("IngressPipeline.slots.slot_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) slots_slot_counter;
    @name("IngressPipeline.slots.claim") action slots_claim_0() {
        meta.verdict = 4w11;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.claim_and_complete") action slots_claim_and_complete_0(@name("verdict") verdict_t verdict_5) {
        meta.verdict = verdict_5;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.contribute") action slots_contribute_0() {
        meta.verdict = 4w11;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.contribute_and_complete") action slots_contribute_and_complete_0(@name("verdict") verdict_t verdict_6) {
        meta.verdict = verdict_6;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.replay") action slots_replay_0() {
        meta.verdict = 4w6;
        meta.state = meta.state | meta.own_state;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.ascend_again") action slots_ascend_again_0() {
        meta.verdict = 4w9;
        meta.state = meta.state | meta.own_state;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.report_pending") action slots_report_pending_0() {
        meta.verdict = 4w7;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.report_conflict") action slots_report_conflict_0() {
        meta.verdict = 4w8;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.take_over") action slots_take_over_0() {
        meta.verdict = 4w10;
        hdr.bridge.handover = 8w4;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.collide") action slots_collide_0() {
        meta.verdict = 4w1;
        hdr.bridge.handover = 8w1;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.pass_late") action slots_pass_late_0() {
        meta.verdict = 4w1;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.drop_late") action slots_drop_late_0() {
        meta.verdict = 4w0;
        slots_slot_counter.count();
    }
    @name("IngressPipeline.slots.slot") table slots_slot {
        key = {
            meta.order          : ternary @name("meta.order");
            meta.progress       : ternary @name("meta.progress");
            meta.role           : ternary @name("meta.role");
            meta.overdue        : ternary @name("meta.overdue");
            meta.may_recirculate: ternary @name("meta.may_recirculate");
        }
        actions = {
            slots_claim_0();
            slots_claim_and_complete_0();
            slots_contribute_0();
            slots_contribute_and_complete_0();
            slots_replay_0();
            slots_ascend_again_0();
            slots_report_pending_0();
            slots_report_conflict_0();
            slots_take_over_0();
            slots_collide_0();
            slots_pass_late_0();
            slots_drop_late_0();
        }
        const default_action = slots_drop_late_0();
        counters = slots_slot_counter;
        size = 32;
        const entries = {
                        (3w5, 2w2, default, default, 1w1) : slots_take_over_0();
                        (3w5, default, default, 32w0, default) : slots_collide_0();
                        (3w5, default, default, default, 1w1) : slots_take_over_0();
                        (3w5, default, default, default, default) : slots_collide_0();
                        (3w1, 2w0, default, default, default) : slots_claim_0();
                        (3w1, default, 8w1 &&& 8w1, default, default) : slots_claim_and_complete_0(4w9);
                        (3w1, default, default, default, default) : slots_claim_and_complete_0(4w5);
                        (3w0, default, 8w8 &&& 8w8, default, default) : slots_pass_late_0();
                        (3w0, default, default, default, default) : slots_drop_late_0();
                        (3w4, default, default, default, default) : slots_report_conflict_0();
                        (3w2, 2w2, 8w1 &&& 8w1, default, default) : slots_pass_late_0();
                        (3w2, 2w2, default, default, default) : slots_replay_0();
                        (3w3, 2w2, 8w1 &&& 8w1, default, default) : slots_ascend_again_0();
                        (3w3, 2w2, default, default, default) : slots_replay_0();
                        (3w3, default, default, default, default) : slots_report_pending_0();
                        (3w2, 2w0, default, default, default) : slots_contribute_0();
                        (3w2, default, 8w1 &&& 8w1, default, default) : slots_contribute_and_complete_0(4w9);
                        (3w2, default, default, default, default) : slots_contribute_and_complete_0(4w5);
        }
    }
    @name("IngressPipeline.slots.recirculate_at") action slots_recirculate_at_0(@name("port") port_t port_6) {
        meta.may_recirculate = 1w1;
        meta.recirculation_port = port_6;
    }
    @name("IngressPipeline.slots.no_port") action slots_no_port_0() {
        meta.may_recirculate = 1w0;
    }
    @stage(6) @name("IngressPipeline.slots.recirculation") table slots_recirculation {
        key = {
            meta.pipe: exact @name("pipe");
        }
        actions = {
            slots_recirculate_at_0();
            slots_no_port_0();
        }
        const default_action = slots_no_port_0();
        size = 4;
    }
    @name("IngressPipeline.slots.measure") action slots_measure_0() {
        meta.age = meta.now - meta.record;
    }
    @name("IngressPipeline.slots.scale") action slots_scale_0() {
        meta.age = meta.age >> 4;
    }
    @name("IngressPipeline.slots.compare") action slots_compare_0() {
        meta.overdue = meta.age |-| (bit<32>)meta.lease;
    }
    @name("IngressPipeline.combine.to_pipe") action combine_to_pipe_0(@name("port") port_t port_7) {
        meta.combined = 1w1;
        meta.combining_port = port_7;
    }
    @name("IngressPipeline.combine.to_server") action combine_to_server_0() {
        meta.combined = 1w0;
    }
    @stage(6) @name("IngressPipeline.combine.combine") table combine_combine {
        key = {
            meta.role[7:5]: exact @name("combining_pipe");
        }
        actions = {
            combine_to_pipe_0();
            combine_to_server_0();
        }
        const default_action = combine_to_server_0();
        size = 8;
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_0() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_1() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_2() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_3() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_4() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_5() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_6() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_7() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_8() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_9() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_10() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_11() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_12() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_13() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_14() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_15() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_16() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_17() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_18() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_19() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_20() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_21() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_22() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_23() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_24() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_25() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_26() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_27() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_28() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_29() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_30() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_31() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_32() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_33() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_34() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_35() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_36() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_37() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_38() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_39() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_40() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_41() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_42() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_43() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_44() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_45() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_46() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_47() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_48() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_49() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_50() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_51() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_52() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_53() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_54() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_55() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_56() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_57() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_58() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_59() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_60() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_61() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_62() {
    }
    @name("IngressPipeline.lanes.keep") action lanes_keep_63() {
    }
    @name("IngressPipeline.lanes.words_0") Register<bit<32>, lane_entry_t>(32w32768) lanes_words;
    @name("IngressPipeline.lanes.store_0") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words) lanes_store = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w0;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_0") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words) lanes_add = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w0;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_0") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words) lanes_or = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w0;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_0") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words) lanes_max = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w0);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_0") action lanes_do_store_63() {
        hdr.lanes.w0 = lanes_store.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_0") action lanes_do_add_63() {
        hdr.lanes.w0 = lanes_add.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_0") action lanes_do_or_63() {
        hdr.lanes.w0 = lanes_or.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_0") action lanes_do_max_63() {
        hdr.lanes.w0 = lanes_max.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(4) @name("IngressPipeline.lanes.lane_0") table lanes_lane {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_63();
            lanes_do_add_63();
            lanes_do_or_63();
            lanes_do_max_63();
            lanes_keep_0();
        }
        const default_action = lanes_keep_0();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_63();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_0();
                        (3w2, 2w2, default, default) : lanes_do_or_63();
                        (3w3, 2w2, default, default) : lanes_do_or_63();
                        (3w2, default, 2w0, default) : lanes_do_add_63();
                        (3w2, default, 2w1, default) : lanes_do_or_63();
                        (3w2, default, 2w2, default) : lanes_do_max_63();
        }
    }
    @name("IngressPipeline.lanes.words_1") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_0;
    @name("IngressPipeline.lanes.store_1") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_0) lanes_store_0 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w1;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_1") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_0) lanes_add_0 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w1;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_1") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_0) lanes_or_0 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w1;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_1") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_0) lanes_max_0 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w1);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_1") action lanes_do_store_64() {
        hdr.lanes.w1 = lanes_store_0.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_1") action lanes_do_add_64() {
        hdr.lanes.w1 = lanes_add_0.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_1") action lanes_do_or_64() {
        hdr.lanes.w1 = lanes_or_0.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_1") action lanes_do_max_64() {
        hdr.lanes.w1 = lanes_max_0.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(4) @name("IngressPipeline.lanes.lane_1") table lanes_lane_0 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_64();
            lanes_do_add_64();
            lanes_do_or_64();
            lanes_do_max_64();
            lanes_keep_1();
        }
        const default_action = lanes_keep_1();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_64();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_1();
                        (3w2, 2w2, default, default) : lanes_do_or_64();
                        (3w3, 2w2, default, default) : lanes_do_or_64();
                        (3w2, default, 2w0, default) : lanes_do_add_64();
                        (3w2, default, 2w1, default) : lanes_do_or_64();
                        (3w2, default, 2w2, default) : lanes_do_max_64();
        }
    }
    @name("IngressPipeline.lanes.words_2") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_1;
    @name("IngressPipeline.lanes.store_2") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_1) lanes_store_1 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w2;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_2") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_1) lanes_add_1 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w2;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_2") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_1) lanes_or_1 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w2;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_2") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_1) lanes_max_1 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w2);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_2") action lanes_do_store_65() {
        hdr.lanes.w2 = lanes_store_1.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_2") action lanes_do_add_65() {
        hdr.lanes.w2 = lanes_add_1.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_2") action lanes_do_or_65() {
        hdr.lanes.w2 = lanes_or_1.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_2") action lanes_do_max_65() {
        hdr.lanes.w2 = lanes_max_1.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(4) @name("IngressPipeline.lanes.lane_2") table lanes_lane_1 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_65();
            lanes_do_add_65();
            lanes_do_or_65();
            lanes_do_max_65();
            lanes_keep_2();
        }
        const default_action = lanes_keep_2();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_65();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_2();
                        (3w2, 2w2, default, default) : lanes_do_or_65();
                        (3w3, 2w2, default, default) : lanes_do_or_65();
                        (3w2, default, 2w0, default) : lanes_do_add_65();
                        (3w2, default, 2w1, default) : lanes_do_or_65();
                        (3w2, default, 2w2, default) : lanes_do_max_65();
        }
    }
    @name("IngressPipeline.lanes.words_3") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_2;
    @name("IngressPipeline.lanes.store_3") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_2) lanes_store_2 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w3;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_3") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_2) lanes_add_2 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w3;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_3") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_2) lanes_or_2 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w3;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_3") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_2) lanes_max_2 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w3);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_3") action lanes_do_store_66() {
        hdr.lanes.w3 = lanes_store_2.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_3") action lanes_do_add_66() {
        hdr.lanes.w3 = lanes_add_2.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_3") action lanes_do_or_66() {
        hdr.lanes.w3 = lanes_or_2.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_3") action lanes_do_max_66() {
        hdr.lanes.w3 = lanes_max_2.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(4) @name("IngressPipeline.lanes.lane_3") table lanes_lane_2 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_66();
            lanes_do_add_66();
            lanes_do_or_66();
            lanes_do_max_66();
            lanes_keep_3();
        }
        const default_action = lanes_keep_3();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_66();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_3();
                        (3w2, 2w2, default, default) : lanes_do_or_66();
                        (3w3, 2w2, default, default) : lanes_do_or_66();
                        (3w2, default, 2w0, default) : lanes_do_add_66();
                        (3w2, default, 2w1, default) : lanes_do_or_66();
                        (3w2, default, 2w2, default) : lanes_do_max_66();
        }
    }
    @name("IngressPipeline.lanes.words_4") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_3;
    @name("IngressPipeline.lanes.store_4") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_3) lanes_store_3 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w4;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_4") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_3) lanes_add_3 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w4;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_4") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_3) lanes_or_3 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w4;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_4") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_3) lanes_max_3 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w4);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_4") action lanes_do_store_67() {
        hdr.lanes.w4 = lanes_store_3.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_4") action lanes_do_add_67() {
        hdr.lanes.w4 = lanes_add_3.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_4") action lanes_do_or_67() {
        hdr.lanes.w4 = lanes_or_3.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_4") action lanes_do_max_67() {
        hdr.lanes.w4 = lanes_max_3.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(5) @name("IngressPipeline.lanes.lane_4") table lanes_lane_3 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_67();
            lanes_do_add_67();
            lanes_do_or_67();
            lanes_do_max_67();
            lanes_keep_4();
        }
        const default_action = lanes_keep_4();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_67();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_4();
                        (3w2, 2w2, default, default) : lanes_do_or_67();
                        (3w3, 2w2, default, default) : lanes_do_or_67();
                        (3w2, default, 2w0, default) : lanes_do_add_67();
                        (3w2, default, 2w1, default) : lanes_do_or_67();
                        (3w2, default, 2w2, default) : lanes_do_max_67();
        }
    }
    @name("IngressPipeline.lanes.words_5") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_4;
    @name("IngressPipeline.lanes.store_5") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_4) lanes_store_4 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w5;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_5") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_4) lanes_add_4 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w5;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_5") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_4) lanes_or_4 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w5;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_5") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_4) lanes_max_4 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w5);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_5") action lanes_do_store_68() {
        hdr.lanes.w5 = lanes_store_4.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_5") action lanes_do_add_68() {
        hdr.lanes.w5 = lanes_add_4.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_5") action lanes_do_or_68() {
        hdr.lanes.w5 = lanes_or_4.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_5") action lanes_do_max_68() {
        hdr.lanes.w5 = lanes_max_4.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(5) @name("IngressPipeline.lanes.lane_5") table lanes_lane_4 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_68();
            lanes_do_add_68();
            lanes_do_or_68();
            lanes_do_max_68();
            lanes_keep_5();
        }
        const default_action = lanes_keep_5();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_68();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_5();
                        (3w2, 2w2, default, default) : lanes_do_or_68();
                        (3w3, 2w2, default, default) : lanes_do_or_68();
                        (3w2, default, 2w0, default) : lanes_do_add_68();
                        (3w2, default, 2w1, default) : lanes_do_or_68();
                        (3w2, default, 2w2, default) : lanes_do_max_68();
        }
    }
    @name("IngressPipeline.lanes.words_6") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_5;
    @name("IngressPipeline.lanes.store_6") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_5) lanes_store_5 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w6;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_6") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_5) lanes_add_5 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w6;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_6") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_5) lanes_or_5 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w6;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_6") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_5) lanes_max_5 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w6);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_6") action lanes_do_store_69() {
        hdr.lanes.w6 = lanes_store_5.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_6") action lanes_do_add_69() {
        hdr.lanes.w6 = lanes_add_5.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_6") action lanes_do_or_69() {
        hdr.lanes.w6 = lanes_or_5.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_6") action lanes_do_max_69() {
        hdr.lanes.w6 = lanes_max_5.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(5) @name("IngressPipeline.lanes.lane_6") table lanes_lane_5 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_69();
            lanes_do_add_69();
            lanes_do_or_69();
            lanes_do_max_69();
            lanes_keep_6();
        }
        const default_action = lanes_keep_6();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_69();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_6();
                        (3w2, 2w2, default, default) : lanes_do_or_69();
                        (3w3, 2w2, default, default) : lanes_do_or_69();
                        (3w2, default, 2w0, default) : lanes_do_add_69();
                        (3w2, default, 2w1, default) : lanes_do_or_69();
                        (3w2, default, 2w2, default) : lanes_do_max_69();
        }
    }
    @name("IngressPipeline.lanes.words_7") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_6;
    @name("IngressPipeline.lanes.store_7") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_6) lanes_store_6 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w7;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_7") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_6) lanes_add_6 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w7;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_7") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_6) lanes_or_6 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w7;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_7") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_6) lanes_max_6 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w7);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_7") action lanes_do_store_70() {
        hdr.lanes.w7 = lanes_store_6.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_7") action lanes_do_add_70() {
        hdr.lanes.w7 = lanes_add_6.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_7") action lanes_do_or_70() {
        hdr.lanes.w7 = lanes_or_6.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_7") action lanes_do_max_70() {
        hdr.lanes.w7 = lanes_max_6.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(5) @name("IngressPipeline.lanes.lane_7") table lanes_lane_6 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_70();
            lanes_do_add_70();
            lanes_do_or_70();
            lanes_do_max_70();
            lanes_keep_7();
        }
        const default_action = lanes_keep_7();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_70();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_7();
                        (3w2, 2w2, default, default) : lanes_do_or_70();
                        (3w3, 2w2, default, default) : lanes_do_or_70();
                        (3w2, default, 2w0, default) : lanes_do_add_70();
                        (3w2, default, 2w1, default) : lanes_do_or_70();
                        (3w2, default, 2w2, default) : lanes_do_max_70();
        }
    }
    @name("IngressPipeline.lanes.words_8") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_7;
    @name("IngressPipeline.lanes.store_8") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_7) lanes_store_7 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w8;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_8") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_7) lanes_add_7 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w8;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_8") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_7) lanes_or_7 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w8;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_8") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_7) lanes_max_7 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w8);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_8") action lanes_do_store_71() {
        hdr.lanes.w8 = lanes_store_7.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_8") action lanes_do_add_71() {
        hdr.lanes.w8 = lanes_add_7.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_8") action lanes_do_or_71() {
        hdr.lanes.w8 = lanes_or_7.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_8") action lanes_do_max_71() {
        hdr.lanes.w8 = lanes_max_7.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(6) @name("IngressPipeline.lanes.lane_8") table lanes_lane_7 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_71();
            lanes_do_add_71();
            lanes_do_or_71();
            lanes_do_max_71();
            lanes_keep_8();
        }
        const default_action = lanes_keep_8();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_71();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_8();
                        (3w2, 2w2, default, default) : lanes_do_or_71();
                        (3w3, 2w2, default, default) : lanes_do_or_71();
                        (3w2, default, 2w0, default) : lanes_do_add_71();
                        (3w2, default, 2w1, default) : lanes_do_or_71();
                        (3w2, default, 2w2, default) : lanes_do_max_71();
        }
    }
    @name("IngressPipeline.lanes.words_9") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_8;
    @name("IngressPipeline.lanes.store_9") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_8) lanes_store_8 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w9;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_9") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_8) lanes_add_8 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w9;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_9") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_8) lanes_or_8 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w9;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_9") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_8) lanes_max_8 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w9);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_9") action lanes_do_store_72() {
        hdr.lanes.w9 = lanes_store_8.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_9") action lanes_do_add_72() {
        hdr.lanes.w9 = lanes_add_8.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_9") action lanes_do_or_72() {
        hdr.lanes.w9 = lanes_or_8.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_9") action lanes_do_max_72() {
        hdr.lanes.w9 = lanes_max_8.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(6) @name("IngressPipeline.lanes.lane_9") table lanes_lane_8 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_72();
            lanes_do_add_72();
            lanes_do_or_72();
            lanes_do_max_72();
            lanes_keep_9();
        }
        const default_action = lanes_keep_9();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_72();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_9();
                        (3w2, 2w2, default, default) : lanes_do_or_72();
                        (3w3, 2w2, default, default) : lanes_do_or_72();
                        (3w2, default, 2w0, default) : lanes_do_add_72();
                        (3w2, default, 2w1, default) : lanes_do_or_72();
                        (3w2, default, 2w2, default) : lanes_do_max_72();
        }
    }
    @name("IngressPipeline.lanes.words_10") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_9;
    @name("IngressPipeline.lanes.store_10") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_9) lanes_store_9 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w10;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_10") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_9) lanes_add_9 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w10;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_10") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_9) lanes_or_9 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w10;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_10") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_9) lanes_max_9 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w10);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_10") action lanes_do_store_73() {
        hdr.lanes.w10 = lanes_store_9.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_10") action lanes_do_add_73() {
        hdr.lanes.w10 = lanes_add_9.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_10") action lanes_do_or_73() {
        hdr.lanes.w10 = lanes_or_9.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_10") action lanes_do_max_73() {
        hdr.lanes.w10 = lanes_max_9.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(6) @name("IngressPipeline.lanes.lane_10") table lanes_lane_9 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_73();
            lanes_do_add_73();
            lanes_do_or_73();
            lanes_do_max_73();
            lanes_keep_10();
        }
        const default_action = lanes_keep_10();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_73();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_10();
                        (3w2, 2w2, default, default) : lanes_do_or_73();
                        (3w3, 2w2, default, default) : lanes_do_or_73();
                        (3w2, default, 2w0, default) : lanes_do_add_73();
                        (3w2, default, 2w1, default) : lanes_do_or_73();
                        (3w2, default, 2w2, default) : lanes_do_max_73();
        }
    }
    @name("IngressPipeline.lanes.words_11") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_10;
    @name("IngressPipeline.lanes.store_11") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_10) lanes_store_10 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w11;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_11") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_10) lanes_add_10 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w11;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_11") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_10) lanes_or_10 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w11;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_11") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_10) lanes_max_10 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w11);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_11") action lanes_do_store_74() {
        hdr.lanes.w11 = lanes_store_10.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_11") action lanes_do_add_74() {
        hdr.lanes.w11 = lanes_add_10.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_11") action lanes_do_or_74() {
        hdr.lanes.w11 = lanes_or_10.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_11") action lanes_do_max_74() {
        hdr.lanes.w11 = lanes_max_10.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(6) @name("IngressPipeline.lanes.lane_11") table lanes_lane_10 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_74();
            lanes_do_add_74();
            lanes_do_or_74();
            lanes_do_max_74();
            lanes_keep_11();
        }
        const default_action = lanes_keep_11();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_74();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_11();
                        (3w2, 2w2, default, default) : lanes_do_or_74();
                        (3w3, 2w2, default, default) : lanes_do_or_74();
                        (3w2, default, 2w0, default) : lanes_do_add_74();
                        (3w2, default, 2w1, default) : lanes_do_or_74();
                        (3w2, default, 2w2, default) : lanes_do_max_74();
        }
    }
    @name("IngressPipeline.lanes.words_12") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_11;
    @name("IngressPipeline.lanes.store_12") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_11) lanes_store_11 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w12;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_12") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_11) lanes_add_11 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w12;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_12") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_11) lanes_or_11 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w12;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_12") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_11) lanes_max_11 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w12);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_12") action lanes_do_store_75() {
        hdr.lanes.w12 = lanes_store_11.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_12") action lanes_do_add_75() {
        hdr.lanes.w12 = lanes_add_11.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_12") action lanes_do_or_75() {
        hdr.lanes.w12 = lanes_or_11.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_12") action lanes_do_max_75() {
        hdr.lanes.w12 = lanes_max_11.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(7) @name("IngressPipeline.lanes.lane_12") table lanes_lane_11 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_75();
            lanes_do_add_75();
            lanes_do_or_75();
            lanes_do_max_75();
            lanes_keep_12();
        }
        const default_action = lanes_keep_12();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_75();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_12();
                        (3w2, 2w2, default, default) : lanes_do_or_75();
                        (3w3, 2w2, default, default) : lanes_do_or_75();
                        (3w2, default, 2w0, default) : lanes_do_add_75();
                        (3w2, default, 2w1, default) : lanes_do_or_75();
                        (3w2, default, 2w2, default) : lanes_do_max_75();
        }
    }
    @name("IngressPipeline.lanes.words_13") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_12;
    @name("IngressPipeline.lanes.store_13") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_12) lanes_store_12 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w13;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_13") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_12) lanes_add_12 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w13;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_13") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_12) lanes_or_12 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w13;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_13") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_12) lanes_max_12 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w13);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_13") action lanes_do_store_76() {
        hdr.lanes.w13 = lanes_store_12.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_13") action lanes_do_add_76() {
        hdr.lanes.w13 = lanes_add_12.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_13") action lanes_do_or_76() {
        hdr.lanes.w13 = lanes_or_12.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_13") action lanes_do_max_76() {
        hdr.lanes.w13 = lanes_max_12.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(7) @name("IngressPipeline.lanes.lane_13") table lanes_lane_12 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_76();
            lanes_do_add_76();
            lanes_do_or_76();
            lanes_do_max_76();
            lanes_keep_13();
        }
        const default_action = lanes_keep_13();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_76();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_13();
                        (3w2, 2w2, default, default) : lanes_do_or_76();
                        (3w3, 2w2, default, default) : lanes_do_or_76();
                        (3w2, default, 2w0, default) : lanes_do_add_76();
                        (3w2, default, 2w1, default) : lanes_do_or_76();
                        (3w2, default, 2w2, default) : lanes_do_max_76();
        }
    }
    @name("IngressPipeline.lanes.words_14") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_13;
    @name("IngressPipeline.lanes.store_14") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_13) lanes_store_13 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w14;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_14") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_13) lanes_add_13 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w14;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_14") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_13) lanes_or_13 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w14;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_14") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_13) lanes_max_13 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w14);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_14") action lanes_do_store_77() {
        hdr.lanes.w14 = lanes_store_13.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_14") action lanes_do_add_77() {
        hdr.lanes.w14 = lanes_add_13.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_14") action lanes_do_or_77() {
        hdr.lanes.w14 = lanes_or_13.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_14") action lanes_do_max_77() {
        hdr.lanes.w14 = lanes_max_13.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(7) @name("IngressPipeline.lanes.lane_14") table lanes_lane_13 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_77();
            lanes_do_add_77();
            lanes_do_or_77();
            lanes_do_max_77();
            lanes_keep_14();
        }
        const default_action = lanes_keep_14();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_77();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_14();
                        (3w2, 2w2, default, default) : lanes_do_or_77();
                        (3w3, 2w2, default, default) : lanes_do_or_77();
                        (3w2, default, 2w0, default) : lanes_do_add_77();
                        (3w2, default, 2w1, default) : lanes_do_or_77();
                        (3w2, default, 2w2, default) : lanes_do_max_77();
        }
    }
    @name("IngressPipeline.lanes.words_15") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_14;
    @name("IngressPipeline.lanes.store_15") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_14) lanes_store_14 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w15;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_15") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_14) lanes_add_14 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w15;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_15") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_14) lanes_or_14 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w15;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_15") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_14) lanes_max_14 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w15);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_15") action lanes_do_store_78() {
        hdr.lanes.w15 = lanes_store_14.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_15") action lanes_do_add_78() {
        hdr.lanes.w15 = lanes_add_14.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_15") action lanes_do_or_78() {
        hdr.lanes.w15 = lanes_or_14.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_15") action lanes_do_max_78() {
        hdr.lanes.w15 = lanes_max_14.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(7) @name("IngressPipeline.lanes.lane_15") table lanes_lane_14 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_78();
            lanes_do_add_78();
            lanes_do_or_78();
            lanes_do_max_78();
            lanes_keep_15();
        }
        const default_action = lanes_keep_15();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_78();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_15();
                        (3w2, 2w2, default, default) : lanes_do_or_78();
                        (3w3, 2w2, default, default) : lanes_do_or_78();
                        (3w2, default, 2w0, default) : lanes_do_add_78();
                        (3w2, default, 2w1, default) : lanes_do_or_78();
                        (3w2, default, 2w2, default) : lanes_do_max_78();
        }
    }
    @name("IngressPipeline.lanes.words_16") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_15;
    @name("IngressPipeline.lanes.store_16") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_15) lanes_store_15 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w16;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_16") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_15) lanes_add_15 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w16;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_16") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_15) lanes_or_15 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w16;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_16") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_15) lanes_max_15 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w16);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_16") action lanes_do_store_79() {
        hdr.lanes.w16 = lanes_store_15.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_16") action lanes_do_add_79() {
        hdr.lanes.w16 = lanes_add_15.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_16") action lanes_do_or_79() {
        hdr.lanes.w16 = lanes_or_15.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_16") action lanes_do_max_79() {
        hdr.lanes.w16 = lanes_max_15.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(8) @name("IngressPipeline.lanes.lane_16") table lanes_lane_15 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_79();
            lanes_do_add_79();
            lanes_do_or_79();
            lanes_do_max_79();
            lanes_keep_16();
        }
        const default_action = lanes_keep_16();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_79();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_16();
                        (3w2, 2w2, default, default) : lanes_do_or_79();
                        (3w3, 2w2, default, default) : lanes_do_or_79();
                        (3w2, default, 2w0, default) : lanes_do_add_79();
                        (3w2, default, 2w1, default) : lanes_do_or_79();
                        (3w2, default, 2w2, default) : lanes_do_max_79();
        }
    }
    @name("IngressPipeline.lanes.words_17") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_16;
    @name("IngressPipeline.lanes.store_17") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_16) lanes_store_16 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w17;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_17") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_16) lanes_add_16 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w17;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_17") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_16) lanes_or_16 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w17;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_17") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_16) lanes_max_16 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w17);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_17") action lanes_do_store_80() {
        hdr.lanes.w17 = lanes_store_16.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_17") action lanes_do_add_80() {
        hdr.lanes.w17 = lanes_add_16.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_17") action lanes_do_or_80() {
        hdr.lanes.w17 = lanes_or_16.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_17") action lanes_do_max_80() {
        hdr.lanes.w17 = lanes_max_16.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(8) @name("IngressPipeline.lanes.lane_17") table lanes_lane_16 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_80();
            lanes_do_add_80();
            lanes_do_or_80();
            lanes_do_max_80();
            lanes_keep_17();
        }
        const default_action = lanes_keep_17();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_80();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_17();
                        (3w2, 2w2, default, default) : lanes_do_or_80();
                        (3w3, 2w2, default, default) : lanes_do_or_80();
                        (3w2, default, 2w0, default) : lanes_do_add_80();
                        (3w2, default, 2w1, default) : lanes_do_or_80();
                        (3w2, default, 2w2, default) : lanes_do_max_80();
        }
    }
    @name("IngressPipeline.lanes.words_18") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_17;
    @name("IngressPipeline.lanes.store_18") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_17) lanes_store_17 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w18;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_18") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_17) lanes_add_17 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w18;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_18") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_17) lanes_or_17 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w18;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_18") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_17) lanes_max_17 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w18);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_18") action lanes_do_store_81() {
        hdr.lanes.w18 = lanes_store_17.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_18") action lanes_do_add_81() {
        hdr.lanes.w18 = lanes_add_17.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_18") action lanes_do_or_81() {
        hdr.lanes.w18 = lanes_or_17.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_18") action lanes_do_max_81() {
        hdr.lanes.w18 = lanes_max_17.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(8) @name("IngressPipeline.lanes.lane_18") table lanes_lane_17 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_81();
            lanes_do_add_81();
            lanes_do_or_81();
            lanes_do_max_81();
            lanes_keep_18();
        }
        const default_action = lanes_keep_18();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_81();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_18();
                        (3w2, 2w2, default, default) : lanes_do_or_81();
                        (3w3, 2w2, default, default) : lanes_do_or_81();
                        (3w2, default, 2w0, default) : lanes_do_add_81();
                        (3w2, default, 2w1, default) : lanes_do_or_81();
                        (3w2, default, 2w2, default) : lanes_do_max_81();
        }
    }
    @name("IngressPipeline.lanes.words_19") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_18;
    @name("IngressPipeline.lanes.store_19") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_18) lanes_store_18 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w19;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_19") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_18) lanes_add_18 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w19;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_19") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_18) lanes_or_18 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w19;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_19") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_18) lanes_max_18 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w19);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_19") action lanes_do_store_82() {
        hdr.lanes.w19 = lanes_store_18.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_19") action lanes_do_add_82() {
        hdr.lanes.w19 = lanes_add_18.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_19") action lanes_do_or_82() {
        hdr.lanes.w19 = lanes_or_18.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_19") action lanes_do_max_82() {
        hdr.lanes.w19 = lanes_max_18.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(8) @name("IngressPipeline.lanes.lane_19") table lanes_lane_18 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_82();
            lanes_do_add_82();
            lanes_do_or_82();
            lanes_do_max_82();
            lanes_keep_19();
        }
        const default_action = lanes_keep_19();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_82();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_19();
                        (3w2, 2w2, default, default) : lanes_do_or_82();
                        (3w3, 2w2, default, default) : lanes_do_or_82();
                        (3w2, default, 2w0, default) : lanes_do_add_82();
                        (3w2, default, 2w1, default) : lanes_do_or_82();
                        (3w2, default, 2w2, default) : lanes_do_max_82();
        }
    }
    @name("IngressPipeline.lanes.words_20") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_19;
    @name("IngressPipeline.lanes.store_20") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_19) lanes_store_19 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w20;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_20") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_19) lanes_add_19 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w20;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_20") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_19) lanes_or_19 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w20;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_20") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_19) lanes_max_19 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w20);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_20") action lanes_do_store_83() {
        hdr.lanes.w20 = lanes_store_19.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_20") action lanes_do_add_83() {
        hdr.lanes.w20 = lanes_add_19.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_20") action lanes_do_or_83() {
        hdr.lanes.w20 = lanes_or_19.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_20") action lanes_do_max_83() {
        hdr.lanes.w20 = lanes_max_19.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(9) @name("IngressPipeline.lanes.lane_20") table lanes_lane_19 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_83();
            lanes_do_add_83();
            lanes_do_or_83();
            lanes_do_max_83();
            lanes_keep_20();
        }
        const default_action = lanes_keep_20();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_83();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_20();
                        (3w2, 2w2, default, default) : lanes_do_or_83();
                        (3w3, 2w2, default, default) : lanes_do_or_83();
                        (3w2, default, 2w0, default) : lanes_do_add_83();
                        (3w2, default, 2w1, default) : lanes_do_or_83();
                        (3w2, default, 2w2, default) : lanes_do_max_83();
        }
    }
    @name("IngressPipeline.lanes.words_21") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_20;
    @name("IngressPipeline.lanes.store_21") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_20) lanes_store_20 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w21;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_21") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_20) lanes_add_20 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w21;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_21") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_20) lanes_or_20 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w21;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_21") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_20) lanes_max_20 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w21);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_21") action lanes_do_store_84() {
        hdr.lanes.w21 = lanes_store_20.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_21") action lanes_do_add_84() {
        hdr.lanes.w21 = lanes_add_20.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_21") action lanes_do_or_84() {
        hdr.lanes.w21 = lanes_or_20.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_21") action lanes_do_max_84() {
        hdr.lanes.w21 = lanes_max_20.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(9) @name("IngressPipeline.lanes.lane_21") table lanes_lane_20 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_84();
            lanes_do_add_84();
            lanes_do_or_84();
            lanes_do_max_84();
            lanes_keep_21();
        }
        const default_action = lanes_keep_21();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_84();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_21();
                        (3w2, 2w2, default, default) : lanes_do_or_84();
                        (3w3, 2w2, default, default) : lanes_do_or_84();
                        (3w2, default, 2w0, default) : lanes_do_add_84();
                        (3w2, default, 2w1, default) : lanes_do_or_84();
                        (3w2, default, 2w2, default) : lanes_do_max_84();
        }
    }
    @name("IngressPipeline.lanes.words_22") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_21;
    @name("IngressPipeline.lanes.store_22") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_21) lanes_store_21 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w22;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_22") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_21) lanes_add_21 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w22;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_22") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_21) lanes_or_21 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w22;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_22") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_21) lanes_max_21 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w22);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_22") action lanes_do_store_85() {
        hdr.lanes.w22 = lanes_store_21.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_22") action lanes_do_add_85() {
        hdr.lanes.w22 = lanes_add_21.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_22") action lanes_do_or_85() {
        hdr.lanes.w22 = lanes_or_21.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_22") action lanes_do_max_85() {
        hdr.lanes.w22 = lanes_max_21.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(9) @name("IngressPipeline.lanes.lane_22") table lanes_lane_21 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_85();
            lanes_do_add_85();
            lanes_do_or_85();
            lanes_do_max_85();
            lanes_keep_22();
        }
        const default_action = lanes_keep_22();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_85();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_22();
                        (3w2, 2w2, default, default) : lanes_do_or_85();
                        (3w3, 2w2, default, default) : lanes_do_or_85();
                        (3w2, default, 2w0, default) : lanes_do_add_85();
                        (3w2, default, 2w1, default) : lanes_do_or_85();
                        (3w2, default, 2w2, default) : lanes_do_max_85();
        }
    }
    @name("IngressPipeline.lanes.words_23") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_22;
    @name("IngressPipeline.lanes.store_23") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_22) lanes_store_22 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w23;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_23") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_22) lanes_add_22 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w23;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_23") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_22) lanes_or_22 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w23;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_23") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_22) lanes_max_22 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w23);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_23") action lanes_do_store_86() {
        hdr.lanes.w23 = lanes_store_22.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_23") action lanes_do_add_86() {
        hdr.lanes.w23 = lanes_add_22.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_23") action lanes_do_or_86() {
        hdr.lanes.w23 = lanes_or_22.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_23") action lanes_do_max_86() {
        hdr.lanes.w23 = lanes_max_22.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(9) @name("IngressPipeline.lanes.lane_23") table lanes_lane_22 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_86();
            lanes_do_add_86();
            lanes_do_or_86();
            lanes_do_max_86();
            lanes_keep_23();
        }
        const default_action = lanes_keep_23();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_86();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_23();
                        (3w2, 2w2, default, default) : lanes_do_or_86();
                        (3w3, 2w2, default, default) : lanes_do_or_86();
                        (3w2, default, 2w0, default) : lanes_do_add_86();
                        (3w2, default, 2w1, default) : lanes_do_or_86();
                        (3w2, default, 2w2, default) : lanes_do_max_86();
        }
    }
    @name("IngressPipeline.lanes.words_24") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_23;
    @name("IngressPipeline.lanes.store_24") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_23) lanes_store_23 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w24;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_24") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_23) lanes_add_23 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w24;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_24") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_23) lanes_or_23 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w24;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_24") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_23) lanes_max_23 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w24);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_24") action lanes_do_store_87() {
        hdr.lanes.w24 = lanes_store_23.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_24") action lanes_do_add_87() {
        hdr.lanes.w24 = lanes_add_23.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_24") action lanes_do_or_87() {
        hdr.lanes.w24 = lanes_or_23.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_24") action lanes_do_max_87() {
        hdr.lanes.w24 = lanes_max_23.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(10) @name("IngressPipeline.lanes.lane_24") table lanes_lane_23 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_87();
            lanes_do_add_87();
            lanes_do_or_87();
            lanes_do_max_87();
            lanes_keep_24();
        }
        const default_action = lanes_keep_24();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_87();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_24();
                        (3w2, 2w2, default, default) : lanes_do_or_87();
                        (3w3, 2w2, default, default) : lanes_do_or_87();
                        (3w2, default, 2w0, default) : lanes_do_add_87();
                        (3w2, default, 2w1, default) : lanes_do_or_87();
                        (3w2, default, 2w2, default) : lanes_do_max_87();
        }
    }
    @name("IngressPipeline.lanes.words_25") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_24;
    @name("IngressPipeline.lanes.store_25") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_24) lanes_store_24 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w25;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_25") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_24) lanes_add_24 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w25;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_25") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_24) lanes_or_24 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w25;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_25") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_24) lanes_max_24 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w25);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_25") action lanes_do_store_88() {
        hdr.lanes.w25 = lanes_store_24.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_25") action lanes_do_add_88() {
        hdr.lanes.w25 = lanes_add_24.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_25") action lanes_do_or_88() {
        hdr.lanes.w25 = lanes_or_24.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_25") action lanes_do_max_88() {
        hdr.lanes.w25 = lanes_max_24.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(10) @name("IngressPipeline.lanes.lane_25") table lanes_lane_24 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_88();
            lanes_do_add_88();
            lanes_do_or_88();
            lanes_do_max_88();
            lanes_keep_25();
        }
        const default_action = lanes_keep_25();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_88();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_25();
                        (3w2, 2w2, default, default) : lanes_do_or_88();
                        (3w3, 2w2, default, default) : lanes_do_or_88();
                        (3w2, default, 2w0, default) : lanes_do_add_88();
                        (3w2, default, 2w1, default) : lanes_do_or_88();
                        (3w2, default, 2w2, default) : lanes_do_max_88();
        }
    }
    @name("IngressPipeline.lanes.words_26") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_25;
    @name("IngressPipeline.lanes.store_26") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_25) lanes_store_25 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w26;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_26") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_25) lanes_add_25 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w26;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_26") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_25) lanes_or_25 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w26;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_26") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_25) lanes_max_25 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w26);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_26") action lanes_do_store_89() {
        hdr.lanes.w26 = lanes_store_25.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_26") action lanes_do_add_89() {
        hdr.lanes.w26 = lanes_add_25.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_26") action lanes_do_or_89() {
        hdr.lanes.w26 = lanes_or_25.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_26") action lanes_do_max_89() {
        hdr.lanes.w26 = lanes_max_25.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(10) @name("IngressPipeline.lanes.lane_26") table lanes_lane_25 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_89();
            lanes_do_add_89();
            lanes_do_or_89();
            lanes_do_max_89();
            lanes_keep_26();
        }
        const default_action = lanes_keep_26();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_89();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_26();
                        (3w2, 2w2, default, default) : lanes_do_or_89();
                        (3w3, 2w2, default, default) : lanes_do_or_89();
                        (3w2, default, 2w0, default) : lanes_do_add_89();
                        (3w2, default, 2w1, default) : lanes_do_or_89();
                        (3w2, default, 2w2, default) : lanes_do_max_89();
        }
    }
    @name("IngressPipeline.lanes.words_27") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_26;
    @name("IngressPipeline.lanes.store_27") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_26) lanes_store_26 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w27;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_27") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_26) lanes_add_26 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w27;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_27") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_26) lanes_or_26 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w27;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_27") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_26) lanes_max_26 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w27);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_27") action lanes_do_store_90() {
        hdr.lanes.w27 = lanes_store_26.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_27") action lanes_do_add_90() {
        hdr.lanes.w27 = lanes_add_26.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_27") action lanes_do_or_90() {
        hdr.lanes.w27 = lanes_or_26.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_27") action lanes_do_max_90() {
        hdr.lanes.w27 = lanes_max_26.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(10) @name("IngressPipeline.lanes.lane_27") table lanes_lane_26 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_90();
            lanes_do_add_90();
            lanes_do_or_90();
            lanes_do_max_90();
            lanes_keep_27();
        }
        const default_action = lanes_keep_27();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_90();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_27();
                        (3w2, 2w2, default, default) : lanes_do_or_90();
                        (3w3, 2w2, default, default) : lanes_do_or_90();
                        (3w2, default, 2w0, default) : lanes_do_add_90();
                        (3w2, default, 2w1, default) : lanes_do_or_90();
                        (3w2, default, 2w2, default) : lanes_do_max_90();
        }
    }
    @name("IngressPipeline.lanes.words_28") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_27;
    @name("IngressPipeline.lanes.store_28") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_27) lanes_store_27 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w28;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_28") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_27) lanes_add_27 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w28;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_28") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_27) lanes_or_27 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w28;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_28") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_27) lanes_max_27 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w28);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_28") action lanes_do_store_91() {
        hdr.lanes.w28 = lanes_store_27.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_28") action lanes_do_add_91() {
        hdr.lanes.w28 = lanes_add_27.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_28") action lanes_do_or_91() {
        hdr.lanes.w28 = lanes_or_27.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_28") action lanes_do_max_91() {
        hdr.lanes.w28 = lanes_max_27.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(11) @name("IngressPipeline.lanes.lane_28") table lanes_lane_27 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_91();
            lanes_do_add_91();
            lanes_do_or_91();
            lanes_do_max_91();
            lanes_keep_28();
        }
        const default_action = lanes_keep_28();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_91();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_28();
                        (3w2, 2w2, default, default) : lanes_do_or_91();
                        (3w3, 2w2, default, default) : lanes_do_or_91();
                        (3w2, default, 2w0, default) : lanes_do_add_91();
                        (3w2, default, 2w1, default) : lanes_do_or_91();
                        (3w2, default, 2w2, default) : lanes_do_max_91();
        }
    }
    @name("IngressPipeline.lanes.words_29") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_28;
    @name("IngressPipeline.lanes.store_29") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_28) lanes_store_28 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w29;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_29") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_28) lanes_add_28 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w29;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_29") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_28) lanes_or_28 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w29;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_29") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_28) lanes_max_28 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w29);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_29") action lanes_do_store_92() {
        hdr.lanes.w29 = lanes_store_28.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_29") action lanes_do_add_92() {
        hdr.lanes.w29 = lanes_add_28.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_29") action lanes_do_or_92() {
        hdr.lanes.w29 = lanes_or_28.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_29") action lanes_do_max_92() {
        hdr.lanes.w29 = lanes_max_28.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(11) @name("IngressPipeline.lanes.lane_29") table lanes_lane_28 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_92();
            lanes_do_add_92();
            lanes_do_or_92();
            lanes_do_max_92();
            lanes_keep_29();
        }
        const default_action = lanes_keep_29();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_92();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_29();
                        (3w2, 2w2, default, default) : lanes_do_or_92();
                        (3w3, 2w2, default, default) : lanes_do_or_92();
                        (3w2, default, 2w0, default) : lanes_do_add_92();
                        (3w2, default, 2w1, default) : lanes_do_or_92();
                        (3w2, default, 2w2, default) : lanes_do_max_92();
        }
    }
    @name("IngressPipeline.lanes.words_30") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_29;
    @name("IngressPipeline.lanes.store_30") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_29) lanes_store_29 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w30;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_30") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_29) lanes_add_29 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w30;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_30") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_29) lanes_or_29 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w30;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_30") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_29) lanes_max_29 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w30);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_30") action lanes_do_store_93() {
        hdr.lanes.w30 = lanes_store_29.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_30") action lanes_do_add_93() {
        hdr.lanes.w30 = lanes_add_29.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_30") action lanes_do_or_93() {
        hdr.lanes.w30 = lanes_or_29.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_30") action lanes_do_max_93() {
        hdr.lanes.w30 = lanes_max_29.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(11) @name("IngressPipeline.lanes.lane_30") table lanes_lane_29 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_93();
            lanes_do_add_93();
            lanes_do_or_93();
            lanes_do_max_93();
            lanes_keep_30();
        }
        const default_action = lanes_keep_30();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_93();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_30();
                        (3w2, 2w2, default, default) : lanes_do_or_93();
                        (3w3, 2w2, default, default) : lanes_do_or_93();
                        (3w2, default, 2w0, default) : lanes_do_add_93();
                        (3w2, default, 2w1, default) : lanes_do_or_93();
                        (3w2, default, 2w2, default) : lanes_do_max_93();
        }
    }
    @name("IngressPipeline.lanes.words_31") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_30;
    @name("IngressPipeline.lanes.store_31") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_30) lanes_store_30 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w31;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_31") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_30) lanes_add_30 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w31;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_31") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_30) lanes_or_30 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w31;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_31") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_30) lanes_max_30 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w31);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_31") action lanes_do_store_94() {
        hdr.lanes.w31 = lanes_store_30.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_31") action lanes_do_add_94() {
        hdr.lanes.w31 = lanes_add_30.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_31") action lanes_do_or_94() {
        hdr.lanes.w31 = lanes_or_30.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_31") action lanes_do_max_94() {
        hdr.lanes.w31 = lanes_max_30.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(11) @name("IngressPipeline.lanes.lane_31") table lanes_lane_30 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_94();
            lanes_do_add_94();
            lanes_do_or_94();
            lanes_do_max_94();
            lanes_keep_31();
        }
        const default_action = lanes_keep_31();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_94();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_31();
                        (3w2, 2w2, default, default) : lanes_do_or_94();
                        (3w3, 2w2, default, default) : lanes_do_or_94();
                        (3w2, default, 2w0, default) : lanes_do_add_94();
                        (3w2, default, 2w1, default) : lanes_do_or_94();
                        (3w2, default, 2w2, default) : lanes_do_max_94();
        }
    }
    @name("IngressPipeline.lanes.words_32") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_31;
    @name("IngressPipeline.lanes.store_32") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_31) lanes_store_31 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w32;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_32") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_31) lanes_add_31 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w32;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_32") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_31) lanes_or_31 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w32;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_32") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_31) lanes_max_31 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w32);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_32") action lanes_do_store_95() {
        hdr.lanes.w32 = lanes_store_31.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_32") action lanes_do_add_95() {
        hdr.lanes.w32 = lanes_add_31.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_32") action lanes_do_or_95() {
        hdr.lanes.w32 = lanes_or_31.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_32") action lanes_do_max_95() {
        hdr.lanes.w32 = lanes_max_31.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(12) @name("IngressPipeline.lanes.lane_32") table lanes_lane_31 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_95();
            lanes_do_add_95();
            lanes_do_or_95();
            lanes_do_max_95();
            lanes_keep_32();
        }
        const default_action = lanes_keep_32();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_95();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_32();
                        (3w2, 2w2, default, default) : lanes_do_or_95();
                        (3w3, 2w2, default, default) : lanes_do_or_95();
                        (3w2, default, 2w0, default) : lanes_do_add_95();
                        (3w2, default, 2w1, default) : lanes_do_or_95();
                        (3w2, default, 2w2, default) : lanes_do_max_95();
        }
    }
    @name("IngressPipeline.lanes.words_33") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_32;
    @name("IngressPipeline.lanes.store_33") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_32) lanes_store_32 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w33;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_33") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_32) lanes_add_32 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w33;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_33") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_32) lanes_or_32 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w33;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_33") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_32) lanes_max_32 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w33);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_33") action lanes_do_store_96() {
        hdr.lanes.w33 = lanes_store_32.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_33") action lanes_do_add_96() {
        hdr.lanes.w33 = lanes_add_32.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_33") action lanes_do_or_96() {
        hdr.lanes.w33 = lanes_or_32.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_33") action lanes_do_max_96() {
        hdr.lanes.w33 = lanes_max_32.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(12) @name("IngressPipeline.lanes.lane_33") table lanes_lane_32 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_96();
            lanes_do_add_96();
            lanes_do_or_96();
            lanes_do_max_96();
            lanes_keep_33();
        }
        const default_action = lanes_keep_33();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_96();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_33();
                        (3w2, 2w2, default, default) : lanes_do_or_96();
                        (3w3, 2w2, default, default) : lanes_do_or_96();
                        (3w2, default, 2w0, default) : lanes_do_add_96();
                        (3w2, default, 2w1, default) : lanes_do_or_96();
                        (3w2, default, 2w2, default) : lanes_do_max_96();
        }
    }
    @name("IngressPipeline.lanes.words_34") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_33;
    @name("IngressPipeline.lanes.store_34") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_33) lanes_store_33 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w34;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_34") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_33) lanes_add_33 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w34;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_34") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_33) lanes_or_33 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w34;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_34") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_33) lanes_max_33 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w34);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_34") action lanes_do_store_97() {
        hdr.lanes.w34 = lanes_store_33.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_34") action lanes_do_add_97() {
        hdr.lanes.w34 = lanes_add_33.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_34") action lanes_do_or_97() {
        hdr.lanes.w34 = lanes_or_33.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_34") action lanes_do_max_97() {
        hdr.lanes.w34 = lanes_max_33.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(12) @name("IngressPipeline.lanes.lane_34") table lanes_lane_33 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_97();
            lanes_do_add_97();
            lanes_do_or_97();
            lanes_do_max_97();
            lanes_keep_34();
        }
        const default_action = lanes_keep_34();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_97();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_34();
                        (3w2, 2w2, default, default) : lanes_do_or_97();
                        (3w3, 2w2, default, default) : lanes_do_or_97();
                        (3w2, default, 2w0, default) : lanes_do_add_97();
                        (3w2, default, 2w1, default) : lanes_do_or_97();
                        (3w2, default, 2w2, default) : lanes_do_max_97();
        }
    }
    @name("IngressPipeline.lanes.words_35") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_34;
    @name("IngressPipeline.lanes.store_35") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_34) lanes_store_34 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w35;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_35") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_34) lanes_add_34 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w35;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_35") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_34) lanes_or_34 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w35;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_35") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_34) lanes_max_34 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w35);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_35") action lanes_do_store_98() {
        hdr.lanes.w35 = lanes_store_34.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_35") action lanes_do_add_98() {
        hdr.lanes.w35 = lanes_add_34.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_35") action lanes_do_or_98() {
        hdr.lanes.w35 = lanes_or_34.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_35") action lanes_do_max_98() {
        hdr.lanes.w35 = lanes_max_34.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(12) @name("IngressPipeline.lanes.lane_35") table lanes_lane_34 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_98();
            lanes_do_add_98();
            lanes_do_or_98();
            lanes_do_max_98();
            lanes_keep_35();
        }
        const default_action = lanes_keep_35();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_98();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_35();
                        (3w2, 2w2, default, default) : lanes_do_or_98();
                        (3w3, 2w2, default, default) : lanes_do_or_98();
                        (3w2, default, 2w0, default) : lanes_do_add_98();
                        (3w2, default, 2w1, default) : lanes_do_or_98();
                        (3w2, default, 2w2, default) : lanes_do_max_98();
        }
    }
    @name("IngressPipeline.lanes.words_36") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_35;
    @name("IngressPipeline.lanes.store_36") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_35) lanes_store_35 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w36;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_36") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_35) lanes_add_35 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w36;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_36") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_35) lanes_or_35 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w36;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_36") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_35) lanes_max_35 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w36);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_36") action lanes_do_store_99() {
        hdr.lanes.w36 = lanes_store_35.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_36") action lanes_do_add_99() {
        hdr.lanes.w36 = lanes_add_35.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_36") action lanes_do_or_99() {
        hdr.lanes.w36 = lanes_or_35.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_36") action lanes_do_max_99() {
        hdr.lanes.w36 = lanes_max_35.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(13) @name("IngressPipeline.lanes.lane_36") table lanes_lane_35 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_99();
            lanes_do_add_99();
            lanes_do_or_99();
            lanes_do_max_99();
            lanes_keep_36();
        }
        const default_action = lanes_keep_36();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_99();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_36();
                        (3w2, 2w2, default, default) : lanes_do_or_99();
                        (3w3, 2w2, default, default) : lanes_do_or_99();
                        (3w2, default, 2w0, default) : lanes_do_add_99();
                        (3w2, default, 2w1, default) : lanes_do_or_99();
                        (3w2, default, 2w2, default) : lanes_do_max_99();
        }
    }
    @name("IngressPipeline.lanes.words_37") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_36;
    @name("IngressPipeline.lanes.store_37") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_36) lanes_store_36 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w37;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_37") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_36) lanes_add_36 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w37;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_37") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_36) lanes_or_36 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w37;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_37") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_36) lanes_max_36 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w37);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_37") action lanes_do_store_100() {
        hdr.lanes.w37 = lanes_store_36.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_37") action lanes_do_add_100() {
        hdr.lanes.w37 = lanes_add_36.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_37") action lanes_do_or_100() {
        hdr.lanes.w37 = lanes_or_36.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_37") action lanes_do_max_100() {
        hdr.lanes.w37 = lanes_max_36.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(13) @name("IngressPipeline.lanes.lane_37") table lanes_lane_36 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_100();
            lanes_do_add_100();
            lanes_do_or_100();
            lanes_do_max_100();
            lanes_keep_37();
        }
        const default_action = lanes_keep_37();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_100();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_37();
                        (3w2, 2w2, default, default) : lanes_do_or_100();
                        (3w3, 2w2, default, default) : lanes_do_or_100();
                        (3w2, default, 2w0, default) : lanes_do_add_100();
                        (3w2, default, 2w1, default) : lanes_do_or_100();
                        (3w2, default, 2w2, default) : lanes_do_max_100();
        }
    }
    @name("IngressPipeline.lanes.words_38") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_37;
    @name("IngressPipeline.lanes.store_38") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_37) lanes_store_37 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w38;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_38") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_37) lanes_add_37 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w38;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_38") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_37) lanes_or_37 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w38;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_38") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_37) lanes_max_37 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w38);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_38") action lanes_do_store_101() {
        hdr.lanes.w38 = lanes_store_37.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_38") action lanes_do_add_101() {
        hdr.lanes.w38 = lanes_add_37.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_38") action lanes_do_or_101() {
        hdr.lanes.w38 = lanes_or_37.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_38") action lanes_do_max_101() {
        hdr.lanes.w38 = lanes_max_37.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(13) @name("IngressPipeline.lanes.lane_38") table lanes_lane_37 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_101();
            lanes_do_add_101();
            lanes_do_or_101();
            lanes_do_max_101();
            lanes_keep_38();
        }
        const default_action = lanes_keep_38();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_101();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_38();
                        (3w2, 2w2, default, default) : lanes_do_or_101();
                        (3w3, 2w2, default, default) : lanes_do_or_101();
                        (3w2, default, 2w0, default) : lanes_do_add_101();
                        (3w2, default, 2w1, default) : lanes_do_or_101();
                        (3w2, default, 2w2, default) : lanes_do_max_101();
        }
    }
    @name("IngressPipeline.lanes.words_39") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_38;
    @name("IngressPipeline.lanes.store_39") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_38) lanes_store_38 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w39;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_39") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_38) lanes_add_38 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w39;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_39") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_38) lanes_or_38 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w39;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_39") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_38) lanes_max_38 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w39);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_39") action lanes_do_store_102() {
        hdr.lanes.w39 = lanes_store_38.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_39") action lanes_do_add_102() {
        hdr.lanes.w39 = lanes_add_38.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_39") action lanes_do_or_102() {
        hdr.lanes.w39 = lanes_or_38.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_39") action lanes_do_max_102() {
        hdr.lanes.w39 = lanes_max_38.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(13) @name("IngressPipeline.lanes.lane_39") table lanes_lane_38 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_102();
            lanes_do_add_102();
            lanes_do_or_102();
            lanes_do_max_102();
            lanes_keep_39();
        }
        const default_action = lanes_keep_39();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_102();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_39();
                        (3w2, 2w2, default, default) : lanes_do_or_102();
                        (3w3, 2w2, default, default) : lanes_do_or_102();
                        (3w2, default, 2w0, default) : lanes_do_add_102();
                        (3w2, default, 2w1, default) : lanes_do_or_102();
                        (3w2, default, 2w2, default) : lanes_do_max_102();
        }
    }
    @name("IngressPipeline.lanes.words_40") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_39;
    @name("IngressPipeline.lanes.store_40") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_39) lanes_store_39 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w40;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_40") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_39) lanes_add_39 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w40;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_40") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_39) lanes_or_39 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w40;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_40") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_39) lanes_max_39 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w40);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_40") action lanes_do_store_103() {
        hdr.lanes.w40 = lanes_store_39.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_40") action lanes_do_add_103() {
        hdr.lanes.w40 = lanes_add_39.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_40") action lanes_do_or_103() {
        hdr.lanes.w40 = lanes_or_39.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_40") action lanes_do_max_103() {
        hdr.lanes.w40 = lanes_max_39.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(14) @name("IngressPipeline.lanes.lane_40") table lanes_lane_39 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_103();
            lanes_do_add_103();
            lanes_do_or_103();
            lanes_do_max_103();
            lanes_keep_40();
        }
        const default_action = lanes_keep_40();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_103();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_40();
                        (3w2, 2w2, default, default) : lanes_do_or_103();
                        (3w3, 2w2, default, default) : lanes_do_or_103();
                        (3w2, default, 2w0, default) : lanes_do_add_103();
                        (3w2, default, 2w1, default) : lanes_do_or_103();
                        (3w2, default, 2w2, default) : lanes_do_max_103();
        }
    }
    @name("IngressPipeline.lanes.words_41") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_40;
    @name("IngressPipeline.lanes.store_41") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_40) lanes_store_40 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w41;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_41") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_40) lanes_add_40 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w41;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_41") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_40) lanes_or_40 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w41;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_41") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_40) lanes_max_40 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w41);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_41") action lanes_do_store_104() {
        hdr.lanes.w41 = lanes_store_40.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_41") action lanes_do_add_104() {
        hdr.lanes.w41 = lanes_add_40.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_41") action lanes_do_or_104() {
        hdr.lanes.w41 = lanes_or_40.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_41") action lanes_do_max_104() {
        hdr.lanes.w41 = lanes_max_40.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(14) @name("IngressPipeline.lanes.lane_41") table lanes_lane_40 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_104();
            lanes_do_add_104();
            lanes_do_or_104();
            lanes_do_max_104();
            lanes_keep_41();
        }
        const default_action = lanes_keep_41();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_104();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_41();
                        (3w2, 2w2, default, default) : lanes_do_or_104();
                        (3w3, 2w2, default, default) : lanes_do_or_104();
                        (3w2, default, 2w0, default) : lanes_do_add_104();
                        (3w2, default, 2w1, default) : lanes_do_or_104();
                        (3w2, default, 2w2, default) : lanes_do_max_104();
        }
    }
    @name("IngressPipeline.lanes.words_42") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_41;
    @name("IngressPipeline.lanes.store_42") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_41) lanes_store_41 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w42;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_42") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_41) lanes_add_41 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w42;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_42") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_41) lanes_or_41 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w42;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_42") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_41) lanes_max_41 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w42);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_42") action lanes_do_store_105() {
        hdr.lanes.w42 = lanes_store_41.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_42") action lanes_do_add_105() {
        hdr.lanes.w42 = lanes_add_41.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_42") action lanes_do_or_105() {
        hdr.lanes.w42 = lanes_or_41.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_42") action lanes_do_max_105() {
        hdr.lanes.w42 = lanes_max_41.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(14) @name("IngressPipeline.lanes.lane_42") table lanes_lane_41 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_105();
            lanes_do_add_105();
            lanes_do_or_105();
            lanes_do_max_105();
            lanes_keep_42();
        }
        const default_action = lanes_keep_42();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_105();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_42();
                        (3w2, 2w2, default, default) : lanes_do_or_105();
                        (3w3, 2w2, default, default) : lanes_do_or_105();
                        (3w2, default, 2w0, default) : lanes_do_add_105();
                        (3w2, default, 2w1, default) : lanes_do_or_105();
                        (3w2, default, 2w2, default) : lanes_do_max_105();
        }
    }
    @name("IngressPipeline.lanes.words_43") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_42;
    @name("IngressPipeline.lanes.store_43") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_42) lanes_store_42 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w43;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_43") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_42) lanes_add_42 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w43;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_43") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_42) lanes_or_42 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w43;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_43") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_42) lanes_max_42 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w43);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_43") action lanes_do_store_106() {
        hdr.lanes.w43 = lanes_store_42.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_43") action lanes_do_add_106() {
        hdr.lanes.w43 = lanes_add_42.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_43") action lanes_do_or_106() {
        hdr.lanes.w43 = lanes_or_42.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_43") action lanes_do_max_106() {
        hdr.lanes.w43 = lanes_max_42.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(14) @name("IngressPipeline.lanes.lane_43") table lanes_lane_42 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_106();
            lanes_do_add_106();
            lanes_do_or_106();
            lanes_do_max_106();
            lanes_keep_43();
        }
        const default_action = lanes_keep_43();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_106();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_43();
                        (3w2, 2w2, default, default) : lanes_do_or_106();
                        (3w3, 2w2, default, default) : lanes_do_or_106();
                        (3w2, default, 2w0, default) : lanes_do_add_106();
                        (3w2, default, 2w1, default) : lanes_do_or_106();
                        (3w2, default, 2w2, default) : lanes_do_max_106();
        }
    }
    @name("IngressPipeline.lanes.words_44") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_43;
    @name("IngressPipeline.lanes.store_44") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_43) lanes_store_43 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w44;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_44") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_43) lanes_add_43 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w44;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_44") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_43) lanes_or_43 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w44;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_44") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_43) lanes_max_43 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w44);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_44") action lanes_do_store_107() {
        hdr.lanes.w44 = lanes_store_43.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_44") action lanes_do_add_107() {
        hdr.lanes.w44 = lanes_add_43.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_44") action lanes_do_or_107() {
        hdr.lanes.w44 = lanes_or_43.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_44") action lanes_do_max_107() {
        hdr.lanes.w44 = lanes_max_43.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(15) @name("IngressPipeline.lanes.lane_44") table lanes_lane_43 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_107();
            lanes_do_add_107();
            lanes_do_or_107();
            lanes_do_max_107();
            lanes_keep_44();
        }
        const default_action = lanes_keep_44();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_107();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_44();
                        (3w2, 2w2, default, default) : lanes_do_or_107();
                        (3w3, 2w2, default, default) : lanes_do_or_107();
                        (3w2, default, 2w0, default) : lanes_do_add_107();
                        (3w2, default, 2w1, default) : lanes_do_or_107();
                        (3w2, default, 2w2, default) : lanes_do_max_107();
        }
    }
    @name("IngressPipeline.lanes.words_45") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_44;
    @name("IngressPipeline.lanes.store_45") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_44) lanes_store_44 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w45;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_45") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_44) lanes_add_44 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w45;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_45") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_44) lanes_or_44 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w45;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_45") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_44) lanes_max_44 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w45);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_45") action lanes_do_store_108() {
        hdr.lanes.w45 = lanes_store_44.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_45") action lanes_do_add_108() {
        hdr.lanes.w45 = lanes_add_44.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_45") action lanes_do_or_108() {
        hdr.lanes.w45 = lanes_or_44.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_45") action lanes_do_max_108() {
        hdr.lanes.w45 = lanes_max_44.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(15) @name("IngressPipeline.lanes.lane_45") table lanes_lane_44 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_108();
            lanes_do_add_108();
            lanes_do_or_108();
            lanes_do_max_108();
            lanes_keep_45();
        }
        const default_action = lanes_keep_45();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_108();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_45();
                        (3w2, 2w2, default, default) : lanes_do_or_108();
                        (3w3, 2w2, default, default) : lanes_do_or_108();
                        (3w2, default, 2w0, default) : lanes_do_add_108();
                        (3w2, default, 2w1, default) : lanes_do_or_108();
                        (3w2, default, 2w2, default) : lanes_do_max_108();
        }
    }
    @name("IngressPipeline.lanes.words_46") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_45;
    @name("IngressPipeline.lanes.store_46") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_45) lanes_store_45 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w46;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_46") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_45) lanes_add_45 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w46;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_46") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_45) lanes_or_45 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w46;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_46") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_45) lanes_max_45 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w46);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_46") action lanes_do_store_109() {
        hdr.lanes.w46 = lanes_store_45.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_46") action lanes_do_add_109() {
        hdr.lanes.w46 = lanes_add_45.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_46") action lanes_do_or_109() {
        hdr.lanes.w46 = lanes_or_45.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_46") action lanes_do_max_109() {
        hdr.lanes.w46 = lanes_max_45.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(15) @name("IngressPipeline.lanes.lane_46") table lanes_lane_45 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_109();
            lanes_do_add_109();
            lanes_do_or_109();
            lanes_do_max_109();
            lanes_keep_46();
        }
        const default_action = lanes_keep_46();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_109();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_46();
                        (3w2, 2w2, default, default) : lanes_do_or_109();
                        (3w3, 2w2, default, default) : lanes_do_or_109();
                        (3w2, default, 2w0, default) : lanes_do_add_109();
                        (3w2, default, 2w1, default) : lanes_do_or_109();
                        (3w2, default, 2w2, default) : lanes_do_max_109();
        }
    }
    @name("IngressPipeline.lanes.words_47") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_46;
    @name("IngressPipeline.lanes.store_47") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_46) lanes_store_46 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w47;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_47") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_46) lanes_add_46 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w47;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_47") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_46) lanes_or_46 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w47;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_47") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_46) lanes_max_46 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w47);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_47") action lanes_do_store_110() {
        hdr.lanes.w47 = lanes_store_46.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_47") action lanes_do_add_110() {
        hdr.lanes.w47 = lanes_add_46.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_47") action lanes_do_or_110() {
        hdr.lanes.w47 = lanes_or_46.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_47") action lanes_do_max_110() {
        hdr.lanes.w47 = lanes_max_46.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(15) @name("IngressPipeline.lanes.lane_47") table lanes_lane_46 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_110();
            lanes_do_add_110();
            lanes_do_or_110();
            lanes_do_max_110();
            lanes_keep_47();
        }
        const default_action = lanes_keep_47();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_110();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_47();
                        (3w2, 2w2, default, default) : lanes_do_or_110();
                        (3w3, 2w2, default, default) : lanes_do_or_110();
                        (3w2, default, 2w0, default) : lanes_do_add_110();
                        (3w2, default, 2w1, default) : lanes_do_or_110();
                        (3w2, default, 2w2, default) : lanes_do_max_110();
        }
    }
    @name("IngressPipeline.lanes.words_48") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_47;
    @name("IngressPipeline.lanes.store_48") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_47) lanes_store_47 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w48;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_48") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_47) lanes_add_47 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w48;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_48") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_47) lanes_or_47 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w48;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_48") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_47) lanes_max_47 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w48);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_48") action lanes_do_store_111() {
        hdr.lanes.w48 = lanes_store_47.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_48") action lanes_do_add_111() {
        hdr.lanes.w48 = lanes_add_47.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_48") action lanes_do_or_111() {
        hdr.lanes.w48 = lanes_or_47.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_48") action lanes_do_max_111() {
        hdr.lanes.w48 = lanes_max_47.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(16) @name("IngressPipeline.lanes.lane_48") table lanes_lane_47 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_111();
            lanes_do_add_111();
            lanes_do_or_111();
            lanes_do_max_111();
            lanes_keep_48();
        }
        const default_action = lanes_keep_48();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_111();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_48();
                        (3w2, 2w2, default, default) : lanes_do_or_111();
                        (3w3, 2w2, default, default) : lanes_do_or_111();
                        (3w2, default, 2w0, default) : lanes_do_add_111();
                        (3w2, default, 2w1, default) : lanes_do_or_111();
                        (3w2, default, 2w2, default) : lanes_do_max_111();
        }
    }
    @name("IngressPipeline.lanes.words_49") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_48;
    @name("IngressPipeline.lanes.store_49") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_48) lanes_store_48 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w49;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_49") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_48) lanes_add_48 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w49;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_49") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_48) lanes_or_48 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w49;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_49") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_48) lanes_max_48 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w49);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_49") action lanes_do_store_112() {
        hdr.lanes.w49 = lanes_store_48.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_49") action lanes_do_add_112() {
        hdr.lanes.w49 = lanes_add_48.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_49") action lanes_do_or_112() {
        hdr.lanes.w49 = lanes_or_48.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_49") action lanes_do_max_112() {
        hdr.lanes.w49 = lanes_max_48.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(16) @name("IngressPipeline.lanes.lane_49") table lanes_lane_48 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_112();
            lanes_do_add_112();
            lanes_do_or_112();
            lanes_do_max_112();
            lanes_keep_49();
        }
        const default_action = lanes_keep_49();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_112();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_49();
                        (3w2, 2w2, default, default) : lanes_do_or_112();
                        (3w3, 2w2, default, default) : lanes_do_or_112();
                        (3w2, default, 2w0, default) : lanes_do_add_112();
                        (3w2, default, 2w1, default) : lanes_do_or_112();
                        (3w2, default, 2w2, default) : lanes_do_max_112();
        }
    }
    @name("IngressPipeline.lanes.words_50") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_49;
    @name("IngressPipeline.lanes.store_50") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_49) lanes_store_49 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w50;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_50") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_49) lanes_add_49 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w50;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_50") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_49) lanes_or_49 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w50;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_50") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_49) lanes_max_49 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w50);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_50") action lanes_do_store_113() {
        hdr.lanes.w50 = lanes_store_49.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_50") action lanes_do_add_113() {
        hdr.lanes.w50 = lanes_add_49.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_50") action lanes_do_or_113() {
        hdr.lanes.w50 = lanes_or_49.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_50") action lanes_do_max_113() {
        hdr.lanes.w50 = lanes_max_49.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(16) @name("IngressPipeline.lanes.lane_50") table lanes_lane_49 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_113();
            lanes_do_add_113();
            lanes_do_or_113();
            lanes_do_max_113();
            lanes_keep_50();
        }
        const default_action = lanes_keep_50();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_113();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_50();
                        (3w2, 2w2, default, default) : lanes_do_or_113();
                        (3w3, 2w2, default, default) : lanes_do_or_113();
                        (3w2, default, 2w0, default) : lanes_do_add_113();
                        (3w2, default, 2w1, default) : lanes_do_or_113();
                        (3w2, default, 2w2, default) : lanes_do_max_113();
        }
    }
    @name("IngressPipeline.lanes.words_51") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_50;
    @name("IngressPipeline.lanes.store_51") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_50) lanes_store_50 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w51;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_51") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_50) lanes_add_50 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w51;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_51") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_50) lanes_or_50 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w51;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_51") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_50) lanes_max_50 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w51);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_51") action lanes_do_store_114() {
        hdr.lanes.w51 = lanes_store_50.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_51") action lanes_do_add_114() {
        hdr.lanes.w51 = lanes_add_50.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_51") action lanes_do_or_114() {
        hdr.lanes.w51 = lanes_or_50.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_51") action lanes_do_max_114() {
        hdr.lanes.w51 = lanes_max_50.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(16) @name("IngressPipeline.lanes.lane_51") table lanes_lane_50 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_114();
            lanes_do_add_114();
            lanes_do_or_114();
            lanes_do_max_114();
            lanes_keep_51();
        }
        const default_action = lanes_keep_51();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_114();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_51();
                        (3w2, 2w2, default, default) : lanes_do_or_114();
                        (3w3, 2w2, default, default) : lanes_do_or_114();
                        (3w2, default, 2w0, default) : lanes_do_add_114();
                        (3w2, default, 2w1, default) : lanes_do_or_114();
                        (3w2, default, 2w2, default) : lanes_do_max_114();
        }
    }
    @name("IngressPipeline.lanes.words_52") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_51;
    @name("IngressPipeline.lanes.store_52") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_51) lanes_store_51 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w52;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_52") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_51) lanes_add_51 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w52;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_52") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_51) lanes_or_51 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w52;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_52") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_51) lanes_max_51 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w52);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_52") action lanes_do_store_115() {
        hdr.lanes.w52 = lanes_store_51.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_52") action lanes_do_add_115() {
        hdr.lanes.w52 = lanes_add_51.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_52") action lanes_do_or_115() {
        hdr.lanes.w52 = lanes_or_51.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_52") action lanes_do_max_115() {
        hdr.lanes.w52 = lanes_max_51.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(17) @name("IngressPipeline.lanes.lane_52") table lanes_lane_51 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_115();
            lanes_do_add_115();
            lanes_do_or_115();
            lanes_do_max_115();
            lanes_keep_52();
        }
        const default_action = lanes_keep_52();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_115();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_52();
                        (3w2, 2w2, default, default) : lanes_do_or_115();
                        (3w3, 2w2, default, default) : lanes_do_or_115();
                        (3w2, default, 2w0, default) : lanes_do_add_115();
                        (3w2, default, 2w1, default) : lanes_do_or_115();
                        (3w2, default, 2w2, default) : lanes_do_max_115();
        }
    }
    @name("IngressPipeline.lanes.words_53") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_52;
    @name("IngressPipeline.lanes.store_53") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_52) lanes_store_52 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w53;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_53") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_52) lanes_add_52 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w53;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_53") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_52) lanes_or_52 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w53;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_53") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_52) lanes_max_52 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w53);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_53") action lanes_do_store_116() {
        hdr.lanes.w53 = lanes_store_52.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_53") action lanes_do_add_116() {
        hdr.lanes.w53 = lanes_add_52.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_53") action lanes_do_or_116() {
        hdr.lanes.w53 = lanes_or_52.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_53") action lanes_do_max_116() {
        hdr.lanes.w53 = lanes_max_52.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(17) @name("IngressPipeline.lanes.lane_53") table lanes_lane_52 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_116();
            lanes_do_add_116();
            lanes_do_or_116();
            lanes_do_max_116();
            lanes_keep_53();
        }
        const default_action = lanes_keep_53();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_116();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_53();
                        (3w2, 2w2, default, default) : lanes_do_or_116();
                        (3w3, 2w2, default, default) : lanes_do_or_116();
                        (3w2, default, 2w0, default) : lanes_do_add_116();
                        (3w2, default, 2w1, default) : lanes_do_or_116();
                        (3w2, default, 2w2, default) : lanes_do_max_116();
        }
    }
    @name("IngressPipeline.lanes.words_54") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_53;
    @name("IngressPipeline.lanes.store_54") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_53) lanes_store_53 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w54;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_54") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_53) lanes_add_53 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w54;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_54") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_53) lanes_or_53 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w54;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_54") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_53) lanes_max_53 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w54);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_54") action lanes_do_store_117() {
        hdr.lanes.w54 = lanes_store_53.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_54") action lanes_do_add_117() {
        hdr.lanes.w54 = lanes_add_53.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_54") action lanes_do_or_117() {
        hdr.lanes.w54 = lanes_or_53.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_54") action lanes_do_max_117() {
        hdr.lanes.w54 = lanes_max_53.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(17) @name("IngressPipeline.lanes.lane_54") table lanes_lane_53 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_117();
            lanes_do_add_117();
            lanes_do_or_117();
            lanes_do_max_117();
            lanes_keep_54();
        }
        const default_action = lanes_keep_54();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_117();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_54();
                        (3w2, 2w2, default, default) : lanes_do_or_117();
                        (3w3, 2w2, default, default) : lanes_do_or_117();
                        (3w2, default, 2w0, default) : lanes_do_add_117();
                        (3w2, default, 2w1, default) : lanes_do_or_117();
                        (3w2, default, 2w2, default) : lanes_do_max_117();
        }
    }
    @name("IngressPipeline.lanes.words_55") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_54;
    @name("IngressPipeline.lanes.store_55") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_54) lanes_store_54 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w55;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_55") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_54) lanes_add_54 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w55;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_55") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_54) lanes_or_54 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w55;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_55") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_54) lanes_max_54 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w55);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_55") action lanes_do_store_118() {
        hdr.lanes.w55 = lanes_store_54.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_55") action lanes_do_add_118() {
        hdr.lanes.w55 = lanes_add_54.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_55") action lanes_do_or_118() {
        hdr.lanes.w55 = lanes_or_54.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_55") action lanes_do_max_118() {
        hdr.lanes.w55 = lanes_max_54.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(17) @name("IngressPipeline.lanes.lane_55") table lanes_lane_54 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_118();
            lanes_do_add_118();
            lanes_do_or_118();
            lanes_do_max_118();
            lanes_keep_55();
        }
        const default_action = lanes_keep_55();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_118();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_55();
                        (3w2, 2w2, default, default) : lanes_do_or_118();
                        (3w3, 2w2, default, default) : lanes_do_or_118();
                        (3w2, default, 2w0, default) : lanes_do_add_118();
                        (3w2, default, 2w1, default) : lanes_do_or_118();
                        (3w2, default, 2w2, default) : lanes_do_max_118();
        }
    }
    @name("IngressPipeline.lanes.words_56") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_55;
    @name("IngressPipeline.lanes.store_56") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_55) lanes_store_55 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w56;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_56") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_55) lanes_add_55 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w56;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_56") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_55) lanes_or_55 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w56;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_56") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_55) lanes_max_55 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w56);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_56") action lanes_do_store_119() {
        hdr.lanes.w56 = lanes_store_55.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_56") action lanes_do_add_119() {
        hdr.lanes.w56 = lanes_add_55.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_56") action lanes_do_or_119() {
        hdr.lanes.w56 = lanes_or_55.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_56") action lanes_do_max_119() {
        hdr.lanes.w56 = lanes_max_55.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(18) @name("IngressPipeline.lanes.lane_56") table lanes_lane_55 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_119();
            lanes_do_add_119();
            lanes_do_or_119();
            lanes_do_max_119();
            lanes_keep_56();
        }
        const default_action = lanes_keep_56();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_119();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_56();
                        (3w2, 2w2, default, default) : lanes_do_or_119();
                        (3w3, 2w2, default, default) : lanes_do_or_119();
                        (3w2, default, 2w0, default) : lanes_do_add_119();
                        (3w2, default, 2w1, default) : lanes_do_or_119();
                        (3w2, default, 2w2, default) : lanes_do_max_119();
        }
    }
    @name("IngressPipeline.lanes.words_57") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_56;
    @name("IngressPipeline.lanes.store_57") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_56) lanes_store_56 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w57;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_57") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_56) lanes_add_56 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w57;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_57") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_56) lanes_or_56 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w57;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_57") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_56) lanes_max_56 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w57);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_57") action lanes_do_store_120() {
        hdr.lanes.w57 = lanes_store_56.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_57") action lanes_do_add_120() {
        hdr.lanes.w57 = lanes_add_56.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_57") action lanes_do_or_120() {
        hdr.lanes.w57 = lanes_or_56.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_57") action lanes_do_max_120() {
        hdr.lanes.w57 = lanes_max_56.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(18) @name("IngressPipeline.lanes.lane_57") table lanes_lane_56 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_120();
            lanes_do_add_120();
            lanes_do_or_120();
            lanes_do_max_120();
            lanes_keep_57();
        }
        const default_action = lanes_keep_57();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_120();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_57();
                        (3w2, 2w2, default, default) : lanes_do_or_120();
                        (3w3, 2w2, default, default) : lanes_do_or_120();
                        (3w2, default, 2w0, default) : lanes_do_add_120();
                        (3w2, default, 2w1, default) : lanes_do_or_120();
                        (3w2, default, 2w2, default) : lanes_do_max_120();
        }
    }
    @name("IngressPipeline.lanes.words_58") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_57;
    @name("IngressPipeline.lanes.store_58") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_57) lanes_store_57 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w58;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_58") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_57) lanes_add_57 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w58;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_58") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_57) lanes_or_57 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w58;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_58") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_57) lanes_max_57 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w58);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_58") action lanes_do_store_121() {
        hdr.lanes.w58 = lanes_store_57.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_58") action lanes_do_add_121() {
        hdr.lanes.w58 = lanes_add_57.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_58") action lanes_do_or_121() {
        hdr.lanes.w58 = lanes_or_57.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_58") action lanes_do_max_121() {
        hdr.lanes.w58 = lanes_max_57.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(18) @name("IngressPipeline.lanes.lane_58") table lanes_lane_57 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_121();
            lanes_do_add_121();
            lanes_do_or_121();
            lanes_do_max_121();
            lanes_keep_58();
        }
        const default_action = lanes_keep_58();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_121();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_58();
                        (3w2, 2w2, default, default) : lanes_do_or_121();
                        (3w3, 2w2, default, default) : lanes_do_or_121();
                        (3w2, default, 2w0, default) : lanes_do_add_121();
                        (3w2, default, 2w1, default) : lanes_do_or_121();
                        (3w2, default, 2w2, default) : lanes_do_max_121();
        }
    }
    @name("IngressPipeline.lanes.words_59") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_58;
    @name("IngressPipeline.lanes.store_59") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_58) lanes_store_58 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w59;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_59") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_58) lanes_add_58 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w59;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_59") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_58) lanes_or_58 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w59;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_59") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_58) lanes_max_58 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w59);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_59") action lanes_do_store_122() {
        hdr.lanes.w59 = lanes_store_58.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_59") action lanes_do_add_122() {
        hdr.lanes.w59 = lanes_add_58.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_59") action lanes_do_or_122() {
        hdr.lanes.w59 = lanes_or_58.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_59") action lanes_do_max_122() {
        hdr.lanes.w59 = lanes_max_58.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(18) @name("IngressPipeline.lanes.lane_59") table lanes_lane_58 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_122();
            lanes_do_add_122();
            lanes_do_or_122();
            lanes_do_max_122();
            lanes_keep_59();
        }
        const default_action = lanes_keep_59();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_122();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_59();
                        (3w2, 2w2, default, default) : lanes_do_or_122();
                        (3w3, 2w2, default, default) : lanes_do_or_122();
                        (3w2, default, 2w0, default) : lanes_do_add_122();
                        (3w2, default, 2w1, default) : lanes_do_or_122();
                        (3w2, default, 2w2, default) : lanes_do_max_122();
        }
    }
    @name("IngressPipeline.lanes.words_60") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_59;
    @name("IngressPipeline.lanes.store_60") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_59) lanes_store_59 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w60;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_60") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_59) lanes_add_59 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w60;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_60") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_59) lanes_or_59 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w60;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_60") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_59) lanes_max_59 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w60);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_60") action lanes_do_store_123() {
        hdr.lanes.w60 = lanes_store_59.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_60") action lanes_do_add_123() {
        hdr.lanes.w60 = lanes_add_59.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_60") action lanes_do_or_123() {
        hdr.lanes.w60 = lanes_or_59.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_60") action lanes_do_max_123() {
        hdr.lanes.w60 = lanes_max_59.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(19) @name("IngressPipeline.lanes.lane_60") table lanes_lane_59 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_123();
            lanes_do_add_123();
            lanes_do_or_123();
            lanes_do_max_123();
            lanes_keep_60();
        }
        const default_action = lanes_keep_60();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_123();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_60();
                        (3w2, 2w2, default, default) : lanes_do_or_123();
                        (3w3, 2w2, default, default) : lanes_do_or_123();
                        (3w2, default, 2w0, default) : lanes_do_add_123();
                        (3w2, default, 2w1, default) : lanes_do_or_123();
                        (3w2, default, 2w2, default) : lanes_do_max_123();
        }
    }
    @name("IngressPipeline.lanes.words_61") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_60;
    @name("IngressPipeline.lanes.store_61") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_60) lanes_store_60 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w61;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_61") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_60) lanes_add_60 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w61;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_61") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_60) lanes_or_60 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w61;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_61") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_60) lanes_max_60 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w61);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_61") action lanes_do_store_124() {
        hdr.lanes.w61 = lanes_store_60.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_61") action lanes_do_add_124() {
        hdr.lanes.w61 = lanes_add_60.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_61") action lanes_do_or_124() {
        hdr.lanes.w61 = lanes_or_60.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_61") action lanes_do_max_124() {
        hdr.lanes.w61 = lanes_max_60.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(19) @name("IngressPipeline.lanes.lane_61") table lanes_lane_60 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_124();
            lanes_do_add_124();
            lanes_do_or_124();
            lanes_do_max_124();
            lanes_keep_61();
        }
        const default_action = lanes_keep_61();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_124();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_61();
                        (3w2, 2w2, default, default) : lanes_do_or_124();
                        (3w3, 2w2, default, default) : lanes_do_or_124();
                        (3w2, default, 2w0, default) : lanes_do_add_124();
                        (3w2, default, 2w1, default) : lanes_do_or_124();
                        (3w2, default, 2w2, default) : lanes_do_max_124();
        }
    }
    @name("IngressPipeline.lanes.words_62") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_61;
    @name("IngressPipeline.lanes.store_62") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_61) lanes_store_61 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w62;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_62") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_61) lanes_add_61 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w62;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_62") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_61) lanes_or_61 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w62;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_62") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_61) lanes_max_61 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w62);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_62") action lanes_do_store_125() {
        hdr.lanes.w62 = lanes_store_61.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_62") action lanes_do_add_125() {
        hdr.lanes.w62 = lanes_add_61.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_62") action lanes_do_or_125() {
        hdr.lanes.w62 = lanes_or_61.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_62") action lanes_do_max_125() {
        hdr.lanes.w62 = lanes_max_61.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(19) @name("IngressPipeline.lanes.lane_62") table lanes_lane_61 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_125();
            lanes_do_add_125();
            lanes_do_or_125();
            lanes_do_max_125();
            lanes_keep_62();
        }
        const default_action = lanes_keep_62();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_125();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_62();
                        (3w2, 2w2, default, default) : lanes_do_or_125();
                        (3w3, 2w2, default, default) : lanes_do_or_125();
                        (3w2, default, 2w0, default) : lanes_do_add_125();
                        (3w2, default, 2w1, default) : lanes_do_or_125();
                        (3w2, default, 2w2, default) : lanes_do_max_125();
        }
    }
    @name("IngressPipeline.lanes.words_63") Register<bit<32>, lane_entry_t>(32w32768) lanes_words_62;
    @name("IngressPipeline.lanes.store_63") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_62) lanes_store_62 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = hdr.lanes.w63;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.add_63") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_62) lanes_add_62 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = value + hdr.lanes.w63;
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.or_63") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_62) lanes_or_62 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            if (meta.progress != 2w2) {
                value = value | hdr.lanes.w63;
            }
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.max_63") RegisterAction<bit<32>, lane_entry_t, bit<32>>(lanes_words_62) lanes_max_62 = {
        void apply(inout bit<32> value, out bit<32> sum) {
            value = max<bit<32>>(value, hdr.lanes.w63);
            sum = value;
        }
    };
    @name("IngressPipeline.lanes.do_store_63") action lanes_do_store_126() {
        hdr.lanes.w63 = lanes_store_62.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_add_63") action lanes_do_add_126() {
        hdr.lanes.w63 = lanes_add_62.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_or_63") action lanes_do_or_126() {
        hdr.lanes.w63 = lanes_or_62.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.lanes.do_max_63") action lanes_do_max_126() {
        hdr.lanes.w63 = lanes_max_62.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @stage(19) @name("IngressPipeline.lanes.lane_63") table lanes_lane_62 {
        key = {
            meta.order      : ternary @name("meta.order");
            meta.progress   : ternary @name("meta.progress");
            meta.combination: ternary @name("meta.combination");
            meta.role       : ternary @name("meta.role");
        }
        actions = {
            lanes_do_store_126();
            lanes_do_add_126();
            lanes_do_or_126();
            lanes_do_max_126();
            lanes_keep_63();
        }
        const default_action = lanes_keep_63();
        size = 8;
        const entries = {
                        (3w1, default, default, default) : lanes_do_store_126();
                        (3w2, 2w2, default, 8w1 &&& 8w1) : lanes_keep_63();
                        (3w2, 2w2, default, default) : lanes_do_or_126();
                        (3w3, 2w2, default, default) : lanes_do_or_126();
                        (3w2, default, 2w0, default) : lanes_do_add_126();
                        (3w2, default, 2w1, default) : lanes_do_or_126();
                        (3w2, default, 2w2, default) : lanes_do_max_126();
        }
    }
    @name("IngressPipeline.result.result_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) result_result_counter;
    @name("IngressPipeline.result.conflict_owner.name_operation") action result_conflict_owner_name_operation_0(@name("op") bit<8> op_1) {
        hdr.lanesum.op = op_1;
    }
    @name("IngressPipeline.result.conflict_owner.conflict_owner") table result_conflict_owner_conflict_owner {
        key = {
            meta.record[31:28]: exact @name("operation");
        }
        actions = {
            result_conflict_owner_name_operation_0();
        }
        const default_action = result_conflict_owner_name_operation_0(8w0);
        size = 8;
        const entries = {
                        4w1 : result_conflict_owner_name_operation_0(8w1);
                        4w3 : result_conflict_owner_name_operation_0(8w3);
                        4w4 : result_conflict_owner_name_operation_0(8w4);
                        4w5 : result_conflict_owner_name_operation_0(8w5);
                        4w6 : result_conflict_owner_name_operation_0(8w6);
                        4w7 : result_conflict_owner_name_operation_0(8w7);
        }
    }
    @name("IngressPipeline.result.multicast_result") action result_multicast_result_0() {
        result_worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = result_worker_mac;
        result_worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = result_worker_ip;
        hdr.ipv4.ttl = 8w64;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        result_worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = result_worker_port;
        hdr.ipv4.total_length = 16w1084;
        hdr.udp.length = 16w1064;
        hdr.lanesum.words = 16w256;
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w2;
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.racks = 32w0;
        hdr.lanesum.fan_in_workers = (bit<8>)meta.fan_in;
        hdr.lanesum.fan_in_racks = 8w0;
        hdr.lanesum.kind = 4w2;
        hdr.lanesum.flags = meta.state;
        ig_tm_md.mcast_grp_a = meta.group;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.multicast_result_of_racks") action result_multicast_result_of_racks_0() {
        result_worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = result_worker_mac;
        result_worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = result_worker_ip;
        hdr.ipv4.ttl = 8w64;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        result_worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = result_worker_port;
        hdr.ipv4.total_length = 16w1084;
        hdr.udp.length = 16w1064;
        hdr.lanesum.words = 16w256;
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w2;
        hdr.lanesum.workers = 32w0;
        hdr.lanesum.racks = meta.workers;
        hdr.lanesum.fan_in_workers = 8w0;
        hdr.lanesum.fan_in_racks = (bit<8>)meta.fan_in;
        hdr.lanesum.kind = 4w2;
        hdr.lanesum.flags = meta.state | 8w0x20;
        ig_tm_md.mcast_grp_a = meta.group;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.unicast_result") action result_unicast_result_0() {
        result_worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = result_worker_mac;
        result_worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = result_worker_ip;
        hdr.ipv4.ttl = 8w64;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        result_worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = result_worker_port;
        hdr.ipv4.total_length = 16w1084;
        hdr.udp.length = 16w1064;
        hdr.lanesum.words = 16w256;
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w2;
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.racks = 32w0;
        hdr.lanesum.fan_in_workers = (bit<8>)meta.fan_in;
        hdr.lanesum.fan_in_racks = 8w0;
        hdr.lanesum.kind = 4w2;
        hdr.lanesum.flags = meta.state | 8w0x1;
        ig_tm_md.ucast_egress_port = hdr.bridge.ingress_port;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.unicast_result_of_racks") action result_unicast_result_of_racks_0() {
        result_worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = result_worker_mac;
        result_worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = result_worker_ip;
        hdr.ipv4.ttl = 8w64;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        result_worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = result_worker_port;
        hdr.ipv4.total_length = 16w1084;
        hdr.udp.length = 16w1064;
        hdr.lanesum.words = 16w256;
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w2;
        hdr.lanesum.workers = 32w0;
        hdr.lanesum.racks = meta.workers;
        hdr.lanesum.fan_in_workers = 8w0;
        hdr.lanesum.fan_in_racks = (bit<8>)meta.fan_in;
        hdr.lanesum.kind = 4w2;
        hdr.lanesum.flags = meta.state | 8w0x21;
        ig_tm_md.ucast_egress_port = hdr.bridge.ingress_port;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.multicast_pending") action result_multicast_pending_0() {
        result_worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = result_worker_mac;
        result_worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = result_worker_ip;
        hdr.ipv4.ttl = 8w64;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        result_worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = result_worker_port;
        hdr.ipv4.total_length = 16w60;
        hdr.udp.length = 16w40;
        hdr.lanesum.words = 16w0;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w3;
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.racks = 32w0;
        hdr.lanesum.fan_in_workers = (bit<8>)meta.fan_in;
        hdr.lanesum.fan_in_racks = 8w0;
        hdr.lanesum.kind = 4w3;
        hdr.lanesum.flags = 8w0x1;
        ig_tm_md.mcast_grp_a = meta.group;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.multicast_pending_of_racks") action result_multicast_pending_of_racks_0() {
        result_worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = result_worker_mac;
        result_worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = result_worker_ip;
        hdr.ipv4.ttl = 8w64;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        result_worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = result_worker_port;
        hdr.ipv4.total_length = 16w60;
        hdr.udp.length = 16w40;
        hdr.lanesum.words = 16w0;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w3;
        hdr.lanesum.workers = 32w0;
        hdr.lanesum.racks = meta.workers;
        hdr.lanesum.fan_in_workers = 8w0;
        hdr.lanesum.fan_in_racks = (bit<8>)meta.fan_in;
        hdr.lanesum.kind = 4w3;
        hdr.lanesum.flags = 8w0x21;
        ig_tm_md.mcast_grp_a = meta.group;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.multicast_conflict") action result_multicast_conflict_0(@name("flags") bit<8> flags_3) {
        result_worker_mac = hdr.ethernet.source;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = result_worker_mac;
        result_worker_ip = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = result_worker_ip;
        hdr.ipv4.ttl = 8w64;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        result_worker_port = hdr.udp.source_port;
        hdr.udp.source_port = hdr.udp.destination_port;
        hdr.udp.destination_port = result_worker_port;
        hdr.ipv4.total_length = 16w60;
        hdr.udp.length = 16w40;
        hdr.lanesum.words = 16w0;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w3;
        hdr.lanesum.workers = hdr.lanesum.racks;
        hdr.lanesum.racks = meta.record & 32w0xfffffff;
        hdr.lanesum.fan_in_racks = hdr.lanesum.op;
        hdr.lanesum.kind = 4w4;
        hdr.lanesum.flags = flags_3;
        ig_tm_md.mcast_grp_a = meta.group;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.ascend_workers") action result_ascend_workers_0(@name("flags") bit<8> flags_4) {
        hdr.ipv4.total_length = 16w1084;
        hdr.udp.length = 16w1064;
        hdr.lanesum.words = 16w256;
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w2;
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = (bit<8>)meta.fan_in;
        hdr.lanesum.fan_in_racks = 8w0;
        hdr.lanesum.flags = meta.state | flags_4;
        hdr.ipv4.ttl = hdr.ipv4.ttl + 8w255;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.ascend_racks") action result_ascend_racks_0(@name("flags") bit<8> flags_5) {
        hdr.ipv4.total_length = 16w1084;
        hdr.udp.length = 16w1064;
        hdr.lanesum.words = 16w256;
        hdr.lanes.setValid();
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        hdr.bridge.handover = 8w2;
        hdr.lanesum.workers = meta.workers;
        hdr.lanesum.fan_in_workers = 8w0;
        hdr.lanesum.fan_in_racks = (bit<8>)meta.fan_in;
        hdr.lanesum.flags = meta.state | flags_5;
        hdr.ipv4.ttl = hdr.ipv4.ttl + 8w255;
        result_result_counter.count();
    }
    @name("IngressPipeline.result.nothing") action result_nothing_0() {
        result_result_counter.count();
    }
    @name("IngressPipeline.result.result") table result_result {
        key = {
            meta.verdict     : ternary @name("meta.verdict");
            meta.role        : ternary @name("meta.role");
            hdr.pass.progress: ternary @name("progress");
        }
        actions = {
            result_multicast_result_0();
            result_multicast_result_of_racks_0();
            result_unicast_result_0();
            result_unicast_result_of_racks_0();
            result_multicast_pending_0();
            result_multicast_pending_of_racks_0();
            result_multicast_conflict_0();
            result_ascend_workers_0();
            result_ascend_racks_0();
            result_nothing_0();
        }
        const default_action = result_nothing_0();
        size = 32;
        counters = result_result_counter;
        const entries = {
                        (4w5, 8w0 &&& 8w4, default) : result_multicast_result_0();
                        (4w5, default, default) : result_multicast_result_of_racks_0();
                        (4w6, 8w0 &&& 8w4, default) : result_unicast_result_0();
                        (4w6, default, default) : result_unicast_result_of_racks_0();
                        (4w7, 8w0 &&& 8w4, default) : result_multicast_pending_0();
                        (4w7, default, default) : result_multicast_pending_of_racks_0();
                        (4w8, 8w0 &&& 8w4, default) : result_multicast_conflict_0(8w0);
                        (4w8, default, default) : result_multicast_conflict_0(8w0x20);
                        (4w9, 8w0 &&& 8w20, 8w1) : result_ascend_workers_0(8w0x20);
                        (4w9, 8w0 &&& 8w20, default) : result_ascend_workers_0(8w0x21);
                        (4w9, 8w0 &&& 8w4, 8w1) : result_ascend_workers_0(8w0x30);
                        (4w9, 8w0 &&& 8w4, default) : result_ascend_workers_0(8w0x31);
                        (4w9, 8w0 &&& 8w16, 8w1) : result_ascend_racks_0(8w0x20);
                        (4w9, 8w0 &&& 8w16, default) : result_ascend_racks_0(8w0x21);
                        (4w9, default, 8w1) : result_ascend_racks_0(8w0x30);
                        (4w9, default, default) : result_ascend_racks_0(8w0x31);
        }
    }
    @name("IngressPipeline.blocks.generation_hash") Hash<bit<32>>(HashAlgorithm_t.CRC32) blocks_generation_hash;
    @name("IngressPipeline.blocks.slot_block") Register<two_words_t, lane_entry_t>(32w32768) blocks_slot_block;
    @name("IngressPipeline.blocks.first_block") RegisterAction<two_words_t, lane_entry_t, bit<1>>(blocks_slot_block) blocks_first_block = {
        void apply(inout two_words_t value) {
            value.lo = hdr.pass.worker;
            value.hi = meta.generation;
        }
    };
    @name("IngressPipeline.blocks.next_block") RegisterAction<two_words_t, lane_entry_t, bit<1>>(blocks_slot_block) blocks_next_block = {
        void apply(inout two_words_t value) {
            if (value.hi == meta.generation) {
                value.lo = value.lo | hdr.pass.worker;
            } else {
                value.lo = 32w0;
            }
            value.hi = meta.generation;
        }
    };
    @name("IngressPipeline.blocks.compare_block") RegisterAction<two_words_t, lane_entry_t, bit<1>>(blocks_slot_block) blocks_compare_block = {
        void apply(inout two_words_t value, out bit<1> torn) {
            torn = 1w0;
            if (value.hi != meta.generation || value.lo != hdr.pass.worker) {
                torn = 1w1;
            }
        }
    };
    @name("IngressPipeline.blocks.do_first_block") action blocks_do_first_block_0() {
        blocks_first_block.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.blocks.do_next_block") action blocks_do_next_block_0() {
        blocks_next_block.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.blocks.do_compare_block") action blocks_do_compare_block_0() {
        meta.torn = blocks_compare_block.execute(meta.entry[15:15] ++ meta.entry[13:0]);
    }
    @name("IngressPipeline.blocks.nothing") action blocks_nothing_0() {
    }
    @stage(1) @name("IngressPipeline.blocks.block") table blocks_block {
        key = {
            hdr.pass.task   : ternary @name("hdr.pass.task");
            hdr.pass.number : ternary @name("hdr.pass.number");
            hdr.udp.checksum: ternary @name("hdr.udp.checksum");
            meta.udp_sum    : ternary @name("meta.udp_sum");
        }
        actions = {
            blocks_do_first_block_0();
            blocks_do_next_block_0();
            blocks_do_compare_block_0();
            blocks_nothing_0();
        }
        const default_action = blocks_nothing_0();
        size = 16;
        const entries = {
                        (8w0x10 &&& 8w0x10, 8w3, 16w0, default) : blocks_do_first_block_0();
                        (8w0x11 &&& 8w0x13, 8w3, default, 16w1081) : blocks_do_first_block_0();
                        (8w0x12 &&& 8w0x13, 8w3, default, 16w313) : blocks_do_first_block_0();
                        (8w0x10 &&& 8w0x13, 8w3, default, 16w569) : blocks_do_first_block_0();
                        (8w0x10 &&& 8w0x10, 8w3, default, default) : blocks_nothing_0();
                        (8w0x10 &&& 8w0x10, default, default, default) : blocks_do_first_block_0();
                        (8w0x20 &&& 8w0x20, 8w3, 16w0, default) : blocks_do_next_block_0();
                        (8w0x21 &&& 8w0x23, 8w3, default, 16w1081) : blocks_do_next_block_0();
                        (8w0x22 &&& 8w0x23, 8w3, default, 16w313) : blocks_do_next_block_0();
                        (8w0x20 &&& 8w0x23, 8w3, default, 16w569) : blocks_do_next_block_0();
                        (8w0x20 &&& 8w0x20, 8w3, default, default) : blocks_nothing_0();
                        (8w0x20 &&& 8w0x20, default, default, default) : blocks_do_next_block_0();
                        (8w0x40, default, default, default) : blocks_do_compare_block_0();
        }
    }
    @name("IngressPipeline.passes.next_pass_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) passes_next_pass_counter;
    @name("IngressPipeline.passes.set_task") action passes_set_task_0(@name("task") task_t task_4) {
        hdr.pass.task = task_4;
    }
    @name("IngressPipeline.passes.pass_task") table passes_pass_task {
        key = {
            meta.order           : ternary @name("meta.order");
            meta.progress        : ternary @name("meta.progress");
            meta.combination     : ternary @name("meta.combination");
            hdr.codes.isValid()  : ternary @name("hdr.codes.$valid$");
            hdr.codes16.isValid(): ternary @name("hdr.codes16.$valid$");
        }
        actions = {
            passes_set_task_0();
        }
        const default_action = passes_set_task_0(8w0x1);
        size = 16;
        const entries = {
                        (3w1, default, default, true, default) : passes_set_task_0(8w0x10);
                        (3w1, default, default, default, true) : passes_set_task_0(8w0x12);
                        (3w1, default, default, default, default) : passes_set_task_0(8w0x11);
                        (3w2, 2w0 &&& 2w2, 2w0, true, default) : passes_set_task_0(8w0x20);
                        (3w2, 2w0 &&& 2w2, 2w0, default, true) : passes_set_task_0(8w0x22);
                        (3w2, 2w0 &&& 2w2, 2w0, default, default) : passes_set_task_0(8w0x21);
                        (3w2, 2w0 &&& 2w2, 2w1, default, default) : passes_set_task_0(8w0x25);
                        (3w2, 2w0 &&& 2w2, 2w2, default, default) : passes_set_task_0(8w0x29);
                        (default, default, default, true, default) : passes_set_task_0(8w0x0);
                        (default, default, default, default, true) : passes_set_task_0(8w0x2);
        }
    }
    @name("IngressPipeline.passes.begin") action passes_begin_0(@name("verdict") bit<8> verdict_7, @name("progress") bit<8> progress_1) {
        hdr.bridge.handover = 8w5;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        meta.verdict = 4w12;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        hdr.pass.setValid();
        hdr.pass.number = 8w1;
        hdr.pass.verdict = verdict_7;
        hdr.pass.progress = progress_1;
        hdr.pass.entry = meta.entry + 16w4096;
        hdr.pass.udp_sum = ~meta.udp_sum;
        hdr.pass.worker = meta.worker;
        hdr.pass.workers = meta.workers;
        hdr.pass.fan_in = meta.fan_in;
        hdr.pass.group = meta.group;
        hdr.pass.role = meta.role;
    }
    @name("IngressPipeline.passes.nothing") action passes_nothing_0() {
    }
    @name("IngressPipeline.passes.first_pass") table passes_first_pass {
        key = {
            meta.verdict : exact @name("meta.verdict");
            meta.progress: ternary @name("meta.progress");
        }
        actions = {
            passes_begin_0();
            passes_nothing_0();
        }
        const default_action = passes_nothing_0();
        size = 8;
        const entries = {
                        (4w11, default) : passes_begin_0(8w0, 8w0);
                        (4w5, default) : passes_begin_0(8w5, 8w0);
                        (4w6, default) : passes_begin_0(8w6, 8w0);
                        (4w7, default) : passes_begin_0(8w7, 8w0);
                        (4w8, default) : passes_begin_0(8w8, 8w0);
                        (4w9, 2w1) : passes_begin_0(8w9, 8w1);
                        (4w9, default) : passes_begin_0(8w9, 8w2);
        }
    }
    @name("IngressPipeline.passes.take_next") action passes_take_next_0() {
        hdr.bridge.handover = 8w5;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        meta.verdict = 4w12;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        hdr.pass.number = hdr.pass.number + 8w1;
        hdr.pass.entry = meta.entry + 16w4096;
        hdr.pass.udp_sum = ~meta.udp_sum;
        passes_next_pass_counter.count();
    }
    @name("IngressPipeline.passes.all_taken") action passes_all_taken_0() {
        meta.verdict = 4w0;
        passes_next_pass_counter.count();
    }
    @name("IngressPipeline.passes.take_no_more") action passes_take_no_more_0(@name("task") task_t task_5, @name("pass") bit<8> pass_1) {
        hdr.bridge.handover = 8w5;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        meta.verdict = 4w12;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        hdr.pass.worker = hdr.pass.workers;
        hdr.pass.task = task_5;
        hdr.pass.number = pass_1;
        passes_next_pass_counter.count();
    }
    @name("IngressPipeline.passes.read_first") action passes_read_first_0(@name("task") task_t task_6) {
        hdr.bridge.handover = 8w5;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        meta.verdict = 4w12;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        hdr.lanes.setValid();
        hdr.pass.task = task_6;
        hdr.pass.number = hdr.pass.number + 8w1;
        hdr.pass.entry = meta.entry + 16w61440;
        passes_next_pass_counter.count();
    }
    @name("IngressPipeline.passes.read_next") action passes_read_next_0(@name("task") task_t task_7) {
        hdr.bridge.handover = 8w5;
        hdr.codes.setInvalid();
        hdr.codes16.setInvalid();
        meta.verdict = 4w12;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        hdr.lanes.setValid();
        hdr.pass.task = task_7;
        hdr.pass.number = hdr.pass.number + 8w1;
        hdr.pass.entry = meta.entry + 16w61440;
        meta.later_blocks_sum = ~hdr.bridge.payload_checksum;
        passes_next_pass_counter.count();
    }
    @name("IngressPipeline.passes.drop_torn") action passes_drop_torn_0() {
        meta.verdict = 4w0;
        passes_next_pass_counter.count();
    }
    @name("IngressPipeline.passes.next_pass") table passes_next_pass {
        key = {
            hdr.pass.number : ternary @name("hdr.pass.number");
            hdr.pass.verdict: ternary @name("hdr.pass.verdict");
            meta.torn       : ternary @name("meta.torn");
        }
        actions = {
            passes_take_next_0();
            passes_all_taken_0();
            passes_take_no_more_0();
            passes_read_first_0();
            passes_read_next_0();
            passes_drop_torn_0();
        }
        const default_action = passes_take_next_0();
        counters = passes_next_pass_counter;
        size = 16;
        const entries = {
                        (8w3, 8w0, default) : passes_all_taken_0();
                        (8w3, 8w7, default) : passes_take_no_more_0(8w0x80, 8w7);
                        (8w3, 8w8, default) : passes_take_no_more_0(8w0x80, 8w7);
                        (8w3, default, default) : passes_take_no_more_0(8w0x40, 8w4);
                        (default, default, 1w1) : passes_drop_torn_0();
                        (8w4, default, default) : passes_read_first_0(8w0x40);
                        (8w6, default, default) : passes_read_next_0(8w0x80);
                        (8w4 &&& 8w4, default, default) : passes_read_next_0(8w0x40);
        }
    }
    @name("IngressPipeline.passes.last_pass_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) passes_last_pass_counter;
    @name("IngressPipeline.passes.compare") action passes_compare_0() {
        meta.difference = meta.workers ^ hdr.pass.workers;
    }
    @name("IngressPipeline.passes.answer") action passes_answer_0(@name("verdict") verdict_t verdict_8) {
        hdr.pass.setInvalid();
        meta.verdict = verdict_8;
        meta.later_blocks_sum = ~hdr.bridge.payload_checksum;
        passes_last_pass_counter.count();
    }
    @name("IngressPipeline.passes.answer_again") action passes_answer_again_0(@name("verdict") verdict_t verdict_9) {
        hdr.pass.setInvalid();
        meta.verdict = verdict_9;
        meta.state = meta.state | meta.own_state;
        meta.later_blocks_sum = ~hdr.bridge.payload_checksum;
        passes_last_pass_counter.count();
    }
    @name("IngressPipeline.passes.drop_changed") action passes_drop_changed_0() {
        hdr.pass.setInvalid();
        meta.verdict = 4w0;
        passes_last_pass_counter.count();
    }
    @name("IngressPipeline.passes.last_pass") table passes_last_pass {
        key = {
            hdr.pass.verdict : ternary @name("hdr.pass.verdict");
            hdr.pass.progress: ternary @name("hdr.pass.progress");
            meta.order       : ternary @name("meta.order");
            meta.progress    : ternary @name("meta.progress");
            meta.difference  : ternary @name("meta.difference");
        }
        actions = {
            passes_answer_0();
            passes_answer_again_0();
            passes_drop_changed_0();
        }
        const default_action = passes_drop_changed_0();
        counters = passes_last_pass_counter;
        size = 8;
        const entries = {
                        (8w5, default, 3w3, 2w2, 32w0) : passes_answer_0(4w5);
                        (8w6, default, 3w3, 2w2, 32w0) : passes_answer_again_0(4w6);
                        (8w9, 8w1, 3w3, 2w2, 32w0) : passes_answer_0(4w9);
                        (8w9, default, 3w3, 2w2, 32w0) : passes_answer_again_0(4w9);
                        (8w7, default, 3w3, 2w0, default) : passes_answer_0(4w7);
                        (8w8, default, 3w4, default, default) : passes_answer_0(4w8);
        }
    }
    @name("IngressPipeline.descend.descend_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) descend_descend_counter;
    @name("IngressPipeline.descend.hand_down") action descend_hand_down_0(@name("group") bit<16> group_3) {
        ig_tm_md.mcast_grp_a = group_3;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ipv4.dscp = meta.answer_dscp;
        ig_tm_md.qid = (QueueId_t)meta.answer_queue;
        descend_descend_counter.count();
    }
    @name("IngressPipeline.descend.route") action descend_route_0() {
        meta.verdict = 4w1;
        descend_descend_counter.count();
    }
    @name("IngressPipeline.descend.descend") table descend_descend {
        key = {
            hdr.bridge.ingress_port: exact @name("ingress_port");
            hdr.lanesum.job        : exact @name("job");
            hdr.lanesum.tag        : exact @name("tag");
        }
        actions = {
            descend_hand_down_0();
            descend_route_0();
        }
        const default_action = descend_route_0();
        size = 32w32;
        counters = descend_descend_counter;
    }
    @name("IngressPipeline.redirect.redirect_to") action redirect_redirect_to_0(@name("port") port_t port_8) {
        meta.recirculation_port = port_8;
        meta.port_difference = hdr.bridge.ingress_port ^ port_8;
    }
    @name("IngressPipeline.redirect.no_port") action redirect_no_port_0() {
        meta.port_difference = 9w0;
    }
    @stage(4) @name("IngressPipeline.redirect.cpu_port") table redirect_cpu_port {
        key = {
            meta.addressee: exact @name("addressee");
        }
        actions = {
            redirect_redirect_to_0();
            redirect_no_port_0();
        }
        const default_action = redirect_no_port_0();
        size = 32w4;
    }
    @name("IngressPipeline.forward.forward_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) forward_forward_counter;
    @name("IngressPipeline.forward.hop_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) forward_hop_counter;
    @name("IngressPipeline.forward.unknown") action forward_unknown_0() {
        meta.has_route = 1w0;
        forward_forward_counter.count();
    }
    @name("IngressPipeline.forward.route") action forward_route_0(@name("port") port_t port_9, @name("source") mac_t source_1, @name("destination") mac_t destination_1) {
        meta.has_route = 1w1;
        ig_tm_md.ucast_egress_port = port_9;
        hdr.ethernet.source = source_1;
        hdr.ethernet.destination = destination_1;
        forward_forward_counter.count();
    }
    @name("IngressPipeline.forward.forward") table forward_forward {
        key = {
            hdr.ipv4.destination: lpm @name("destination");
        }
        actions = {
            forward_route_0();
            forward_unknown_0();
        }
        const default_action = forward_unknown_0();
        size = 32w1024;
        counters = forward_forward_counter;
    }
    @name("IngressPipeline.forward.forwarded") action forward_forwarded_0() {
        forward_hop_counter.count();
    }
    @name("IngressPipeline.forward.drop_expired") action forward_drop_expired_0() {
        ig_dprsr_md.drop_ctl = 3w1;
        forward_hop_counter.count();
    }
    @name("IngressPipeline.forward.drop_no_route") action forward_drop_no_route_0() {
        ig_dprsr_md.drop_ctl = 3w1;
        forward_hop_counter.count();
    }
    @name("IngressPipeline.forward.redirect_expired") action forward_redirect_expired_0() {
        hdr.bridge.handover = 8w6;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        forward_hop_counter.count();
    }
    @name("IngressPipeline.forward.redirect_no_route") action forward_redirect_no_route_0() {
        hdr.bridge.handover = 8w6;
        ig_tm_md.ucast_egress_port = meta.recirculation_port;
        forward_hop_counter.count();
    }
    @no_gateway_conversion @name("IngressPipeline.forward.hop") table forward_hop {
        key = {
            meta.expired        : ternary @name("meta.expired");
            meta.has_route      : ternary @name("meta.has_route");
            meta.port_difference: ternary @name("meta.port_difference");
            meta.verdict        : ternary @name("meta.verdict");
        }
        actions = {
            forward_forwarded_0();
            forward_drop_expired_0();
            forward_drop_no_route_0();
            forward_redirect_expired_0();
            forward_redirect_no_route_0();
        }
        const default_action = forward_drop_no_route_0();
        size = 8;
        counters = forward_hop_counter;
        const entries = {
                        (1w1, default, 9w0, default) : forward_drop_expired_0();
                        (1w0, 1w0, 9w0, default) : forward_drop_no_route_0();
                        (1w1, default, default, 4w1) : forward_redirect_expired_0();
                        (1w0, 1w0, default, 4w1) : forward_redirect_no_route_0();
                        (1w1, default, default, default) : forward_drop_expired_0();
                        (1w0, 1w1, default, default) : forward_forwarded_0();
                        (1w0, 1w0, default, default) : forward_drop_no_route_0();
        }
    }
    @name("IngressPipeline.arp.arp_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) arp_arp_counter;
    @name("IngressPipeline.arp.answer_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) arp_answer_counter;
    @name("IngressPipeline.arp.unknown") action arp_unknown_0() {
        meta.has_route = 1w0;
        arp_arp_counter.count();
    }
    @name("IngressPipeline.arp.reply") action arp_reply_0(@name("port") port_t port_10, @name("mac") mac_t mac) {
        meta.has_route = 1w1;
        meta.port_difference = hdr.bridge.ingress_port ^ port_10;
        hdr.ethernet.destination = hdr.arp.sender_mac;
        hdr.ethernet.source = mac;
        hdr.arp.operation = 16w2;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.sender_mac = mac;
        arp_requested_ip = hdr.arp.target_ip;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_ip = arp_requested_ip;
        ig_tm_md.ucast_egress_port = hdr.bridge.ingress_port;
        arp_arp_counter.count();
    }
    @name("IngressPipeline.arp.arp") table arp_arp {
        key = {
            hdr.arp.operation: exact @name("operation");
            hdr.arp.target_ip: exact @name("target");
        }
        actions = {
            arp_reply_0();
            arp_unknown_0();
        }
        const default_action = arp_unknown_0();
        size = 32w1024;
        counters = arp_arp_counter;
    }
    @name("IngressPipeline.arp.replied") action arp_replied_0() {
        arp_answer_counter.count();
    }
    @name("IngressPipeline.arp.drop_unknown_host") action arp_drop_unknown_host_0() {
        ig_dprsr_md.drop_ctl = 3w1;
        arp_answer_counter.count();
    }
    @name("IngressPipeline.arp.drop_same_port") action arp_drop_same_port_0() {
        ig_dprsr_md.drop_ctl = 3w1;
        arp_answer_counter.count();
    }
    @no_gateway_conversion @name("IngressPipeline.arp.answer") table arp_answer {
        key = {
            meta.has_route      : ternary @name("meta.has_route");
            meta.port_difference: ternary @name("meta.port_difference");
        }
        actions = {
            arp_replied_0();
            arp_drop_same_port_0();
            arp_drop_unknown_host_0();
        }
        const default_action = arp_drop_unknown_host_0();
        size = 4;
        counters = arp_answer_counter;
        const entries = {
                        (1w0, default) : arp_drop_unknown_host_0();
                        (1w1, 9w0) : arp_drop_same_port_0();
                        (1w1, default) : arp_replied_0();
        }
    }
    apply {
        hdr.bridge.handover = 8w0;
        meta.pipe = ig_intr_md.ingress_port[8:7];
        if (hdr.ipv4.ttl <= 8w1) {
            meta.expired = 1w1;
        }
        station_station.apply();
        if (meta.phase == 2w0) {
            arrival_arrival.apply();
        }
        if (ig_prsr_md.parser_err != 16w0) {
            meta.parse_failed = 1w1;
        }
        arrival_measure_0();
        arrival_compare_0();
        arrival_lengths.apply();
        if (meta.phase == 2w0) {
            classify_classify.apply();
        }
        if (hdr.ipv4.isValid() && meta.takeover == 1w0 && hdr.bridge.partial_sum == 1w0 && meta.phase == 2w0) {
            origin_origin.apply();
            if (meta.verdict != 4w0) {
                origin_provenance.apply();
            }
        }
        if (meta.phase == 2w0) {
            membership_member.apply();
        }
        if (meta.verdict == 4w2) {
            membership_admission.apply();
        }
        expand_shift.apply();
        expand_mask.apply();
        meta.owner = slots_owner_hash.get<tuple<bit<16>, bit<32>>>({ hdr.lanesum.job, hdr.lanesum.tag });
        slots_operation.apply();
        meta.now = ig_prsr_md.global_tstamp[47:16];
        meta.own_state = hdr.lanesum.flags & 8w0x7;
        if (hdr.ipv4.ecn == 2w3) {
            slots_met_congestion_0();
        }
        slots_owner.apply();
        slots_owner_reached.apply();
        slots_chunk_chunk.apply();
        slots_seen.apply();
        slots_shape.apply();
        slots_workers.apply();
        slots_state.apply();
        slots_record.apply();
        slots_count.apply();
        slots_recirculation.apply();
        slots_measure_0();
        slots_scale_0();
        slots_compare_0();
        if (meta.verdict == 4w2) {
            slots_slot.apply();
        }
        combine_combine.apply();
        meta.generation = blocks_generation_hash.get<tuple<bit<16>, bit<32>, bit<32>, bit<32>>>({ hdr.lanesum.job, hdr.lanesum.tag, hdr.lanesum.epoch, hdr.lanesum.chunk });
        if (meta.phase == 2w1 && ig_prsr_md.parser_err == 16w0) {
            blocks_block.apply();
        }
        if (meta.phase == 2w0) {
            passes_pass_task.apply();
        }
        passes_compare_0();
        if (meta.phase == 2w0) {
            passes_first_pass.apply();
        } else if (meta.phase == 2w1) {
            passes_next_pass.apply();
        } else {
            passes_last_pass.apply();
        }
        lanes_lane.apply();
        lanes_lane_0.apply();
        lanes_lane_1.apply();
        lanes_lane_2.apply();
        lanes_lane_3.apply();
        lanes_lane_4.apply();
        lanes_lane_5.apply();
        lanes_lane_6.apply();
        lanes_lane_7.apply();
        lanes_lane_8.apply();
        lanes_lane_9.apply();
        lanes_lane_10.apply();
        lanes_lane_11.apply();
        lanes_lane_12.apply();
        lanes_lane_13.apply();
        lanes_lane_14.apply();
        lanes_lane_15.apply();
        lanes_lane_16.apply();
        lanes_lane_17.apply();
        lanes_lane_18.apply();
        lanes_lane_19.apply();
        lanes_lane_20.apply();
        lanes_lane_21.apply();
        lanes_lane_22.apply();
        lanes_lane_23.apply();
        lanes_lane_24.apply();
        lanes_lane_25.apply();
        lanes_lane_26.apply();
        lanes_lane_27.apply();
        lanes_lane_28.apply();
        lanes_lane_29.apply();
        lanes_lane_30.apply();
        lanes_lane_31.apply();
        lanes_lane_32.apply();
        lanes_lane_33.apply();
        lanes_lane_34.apply();
        lanes_lane_35.apply();
        lanes_lane_36.apply();
        lanes_lane_37.apply();
        lanes_lane_38.apply();
        lanes_lane_39.apply();
        lanes_lane_40.apply();
        lanes_lane_41.apply();
        lanes_lane_42.apply();
        lanes_lane_43.apply();
        lanes_lane_44.apply();
        lanes_lane_45.apply();
        lanes_lane_46.apply();
        lanes_lane_47.apply();
        lanes_lane_48.apply();
        lanes_lane_49.apply();
        lanes_lane_50.apply();
        lanes_lane_51.apply();
        lanes_lane_52.apply();
        lanes_lane_53.apply();
        lanes_lane_54.apply();
        lanes_lane_55.apply();
        lanes_lane_56.apply();
        lanes_lane_57.apply();
        lanes_lane_58.apply();
        lanes_lane_59.apply();
        lanes_lane_60.apply();
        lanes_lane_61.apply();
        lanes_lane_62.apply();
        if (meta.verdict == 4w4) {
            if (hdr.ipv4.ttl > 8w1) {
                descend_descend.apply();
            } else {
                meta.verdict = 4w1;
            }
        } else {
            result_result.apply();
            if (meta.verdict == 4w8) {
                result_conflict_owner_conflict_owner.apply();
            }
        }
        if (meta.wide == 1w1 && (meta.verdict == 4w1 || meta.verdict == 4w10)) {
            hdr.lanes.setValid();
        }
        if (meta.verdict == 4w9 && meta.combined == 1w1) {
            hdr.bridge.partial_sum = 1w1;
            ig_tm_md.ucast_egress_port = meta.combining_port;
        } else if (meta.verdict == 4w1 || meta.verdict == 4w9) {
            redirect_cpu_port.apply();
            if (meta.expired == 1w0) {
                forward_forward.apply();
            }
            forward_hop.apply();
        } else if (meta.verdict == 4w3) {
            arp_arp.apply();
            arp_answer.apply();
        } else if (meta.verdict == 4w0) {
            ig_dprsr_md.drop_ctl = 3w1;
        }
    }
}
control EgressPipeline(inout egress_headers_t hdr, inout egress_metadata_t meta, in egress_intrinsic_metadata_t eg_intr_md, in egress_intrinsic_metadata_from_parser_t eg_prsr_md, inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md, inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    @name("EgressPipeline.rest.sum_of_lanes") action rest_sum_of_lanes_0() {
        meta.ipv4_rest = 16w0;
        meta.udp_rest = ~hdr.bridge.payload_checksum;
        meta.pseudo_length = 16w1081;
        meta.update_udp = 1w1;
    }
    @name("EgressPipeline.rest.nothing_else") action rest_nothing_else_0() {
        meta.ipv4_rest = 16w0;
        meta.udp_rest = 16w0;
        meta.pseudo_length = 16w57;
        meta.update_udp = 1w1;
    }
    @name("EgressPipeline.rest.no_checksum") action rest_no_checksum_0() {
        meta.update_udp = 1w0;
        hdr.ipv4.ttl = hdr.ipv4.ttl + 8w255;
    }
    @name("EgressPipeline.rest.passed_on") action rest_passed_on_0() {
        meta.update_udp = 1w1;
        hdr.ipv4.ttl = hdr.ipv4.ttl + 8w255;
    }
    @name("EgressPipeline.rest.collided") action rest_collided_0() {
        meta.update_udp = 1w1;
        hdr.ipv4.ttl = hdr.ipv4.ttl + 8w255;
        hdr.lanesum.flags = hdr.lanesum.flags | 8w0x2;
    }
    @name("EgressPipeline.rest.collided_without_checksum") action rest_collided_without_checksum_0() {
        meta.update_udp = 1w0;
        hdr.ipv4.ttl = hdr.ipv4.ttl + 8w255;
        hdr.lanesum.flags = hdr.lanesum.flags | 8w0x2;
    }
    @name("EgressPipeline.rest.other") action rest_other_0() {
        meta.update_udp = 1w0;
    }
    @name("EgressPipeline.rest.rest") table rest_rest {
        key = {
            hdr.bridge.handover  : ternary @name("handover");
            hdr.ipv4.isValid()   : ternary @name("ipv4");
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.udp.checksum     : ternary @name("checksum");
        }
        actions = {
            rest_sum_of_lanes_0();
            rest_nothing_else_0();
            rest_passed_on_0();
            rest_no_checksum_0();
            rest_collided_0();
            rest_collided_without_checksum_0();
            rest_other_0();
        }
        const default_action = rest_other_0();
        size = 8;
        const entries = {
                        (8w2, default, default, default) : rest_sum_of_lanes_0();
                        (8w3, default, default, default) : rest_nothing_else_0();
                        (8w1, default, default, 16w0) : rest_collided_without_checksum_0();
                        (8w1, default, default, default) : rest_collided_0();
                        (default, true, false, default) : rest_no_checksum_0();
                        (default, true, true, 16w0) : rest_no_checksum_0();
                        (default, true, true, default) : rest_passed_on_0();
        }
    }
    @name("EgressPipeline.receiver.receiver_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) receiver_receiver_counter;
    @name("EgressPipeline.receiver.address") action receiver_address_0(@name("mac") mac_t mac_2, @name("ip") ipv4_addr_t ip_2, @name("udp_port") bit<16> udp_port) {
        hdr.ethernet.destination = mac_2;
        hdr.ipv4.destination = ip_2;
        hdr.udp.destination_port = udp_port;
        receiver_receiver_counter.count();
    }
    @name("EgressPipeline.receiver.drop_unknown_receiver") action receiver_drop_unknown_receiver_0() {
        eg_dprsr_md.drop_ctl = 3w1;
        receiver_receiver_counter.count();
    }
    @name("EgressPipeline.receiver.receiver") table receiver_receiver {
        key = {
            hdr.lanesum.job      : exact @name("job");
            eg_intr_md.egress_rid: exact @name("replica");
        }
        actions = {
            receiver_address_0();
            receiver_drop_unknown_receiver_0();
        }
        const default_action = receiver_drop_unknown_receiver_0();
        size = 32w1024;
        counters = receiver_receiver_counter;
    }
    @name("EgressPipeline.congestion.congestion_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) congestion_congestion_counter;
    @name("EgressPipeline.congestion.mark_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) congestion_mark_counter;
    @name("EgressPipeline.congestion.mark_above") action congestion_mark_above_0(@name("depth") queue_depth_t depth_1) {
        meta.watched = 1w1;
        meta.below_threshold = depth_1 |-| meta.depth;
        congestion_congestion_counter.count();
    }
    @name("EgressPipeline.congestion.never") action congestion_never_0() {
        meta.watched = 1w0;
        congestion_congestion_counter.count();
    }
    @name("EgressPipeline.congestion.congestion") table congestion_congestion {
        key = {
            eg_intr_md.egress_port: exact @name("egress_port");
        }
        actions = {
            congestion_mark_above_0();
            congestion_never_0();
        }
        const default_action = congestion_never_0();
        size = 32w512;
        counters = congestion_congestion_counter;
    }
    @name("EgressPipeline.congestion.mark_answer") action congestion_mark_answer_0() {
        hdr.lanesum.flags = hdr.lanesum.flags | 8w0x4;
        congestion_mark_counter.count();
    }
    @name("EgressPipeline.congestion.mark_packet") action congestion_mark_packet_0() {
        hdr.ipv4.ecn = 2w3;
        congestion_mark_counter.count();
    }
    @name("EgressPipeline.congestion.leave") action congestion_leave_0() {
        congestion_mark_counter.count();
    }
    @name("EgressPipeline.congestion.mark") table congestion_mark {
        key = {
            hdr.lanesum.isValid(): ternary @name("lanesum");
            hdr.lanesum.version  : ternary @name("version");
            hdr.lanesum.kind     : ternary @name("kind");
            hdr.ipv4.isValid()   : ternary @name("ipv4");
            hdr.ipv4.ecn         : ternary @name("ecn");
        }
        actions = {
            congestion_mark_answer_0();
            congestion_mark_packet_0();
            congestion_leave_0();
        }
        const default_action = congestion_leave_0();
        size = 8;
        counters = congestion_mark_counter;
        const entries = {
                        (true, 4w2, 4w2, default, default) : congestion_mark_answer_0();
                        (true, 4w2, 4w3, default, default) : congestion_mark_answer_0();
                        (true, 4w2, 4w4, default, default) : congestion_mark_answer_0();
                        (default, default, default, true, 2w1) : congestion_mark_packet_0();
                        (default, default, default, true, 2w2) : congestion_mark_packet_0();
        }
    }
    @name("EgressPipeline.redirected.redirects") Register<redirects_t, PortId_t>(32w512) redirected_redirects;
    @name("EgressPipeline.redirected.redirected_counter") DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) redirected_redirected_counter;
    @name("EgressPipeline.redirected.note") RegisterAction<redirects_t, PortId_t, bit<1>>(redirected_redirects) redirected_note = {
        void apply(inout redirects_t value, out bit<1> too_many) {
            too_many = 1w0;
            if (value.tick == meta.tick && value.packets >= 16w16) {
                too_many = 1w1;
            }
            if (value.tick != meta.tick) {
                value.packets = 16w1;
            } else if (value.packets < 16w16) {
                value.packets = value.packets + 16w1;
            }
            value.tick = meta.tick;
        }
    };
    @name("EgressPipeline.redirected.redirected") action redirected_redirected_0() {
        redirected_redirected_counter.count();
    }
    @name("EgressPipeline.redirected.drop_too_soon") action redirected_drop_too_soon_0() {
        eg_dprsr_md.drop_ctl = 3w1;
        redirected_redirected_counter.count();
    }
    @no_gateway_conversion @name("EgressPipeline.redirected.bound") table redirected_bound {
        key = {
            meta.too_many: ternary @name("meta.too_many");
        }
        actions = {
            redirected_redirected_0();
            redirected_drop_too_soon_0();
        }
        const default_action = redirected_redirected_0();
        size = 2;
        counters = redirected_redirected_counter;
        const entries = {
                        1w0 : redirected_redirected_0();
                        1w1 : redirected_drop_too_soon_0();
        }
    }
    apply {
        meta.tick = eg_prsr_md.global_tstamp[39:24];
        if (hdr.bridge.handover == 8w6) {
            meta.too_many = redirected_note.execute(hdr.bridge.ingress_port);
            redirected_bound.apply();
            hdr.bridge.setInvalid();
        } else if (hdr.bridge.handover != 8w4 && hdr.bridge.handover != 8w5) {
            rest_rest.apply();
            if (eg_intr_md.egress_rid != 16w0) {
                receiver_receiver.apply();
            }
            meta.depth = (queue_depth_t)eg_intr_md.deq_qdepth;
            congestion_congestion.apply();
            if (meta.watched == 1w1 && meta.below_threshold == 32w0) {
                congestion_mark.apply();
            }
            if (eg_intr_md.egress_port[6:0] != 7w6) {
                hdr.bridge.setInvalid();
            }
        }
    }
}
Pipeline<ingress_headers_t, ingress_metadata_t, egress_headers_t, egress_metadata_t>(IngressParser(), IngressPipeline(), IngressDeparser(), EgressParser(), EgressPipeline(), EgressDeparser()) pipe;
Switch<ingress_headers_t, ingress_metadata_t, egress_headers_t, egress_metadata_t, _, _, _, _, _, _, _, _, _, _, _, _>(pipe) main;