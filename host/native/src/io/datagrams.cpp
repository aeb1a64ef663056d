// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "io/datagrams.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "io/errors.hpp"

namespace lanesum::io {
namespace {

constexpr std::size_t MAX_BYTES = 65536;
// With buffers a power of two apart, the headers of all datagrams would map to the same few cache lines.
constexpr std::size_t STRIDE_BYTES = MAX_BYTES + 17 * 64;
// linux/udp.h: UDP_MAX_SEGMENTS, before kernels raised it.
constexpr std::size_t MAX_SEGMENTS = 64;
constexpr std::size_t MAX_PAYLOAD_BYTES = 65507;
constexpr std::uint8_t ECN_BITS = 0x03;

bool same(const sockaddr_in &one, const sockaddr_in &other) {
    return one.sin_addr.s_addr == other.sin_addr.s_addr && one.sin_port == other.sin_port;
}

}  // namespace

Receiver::Receiver(int fd, std::size_t batch, bool gro)
    : fd_(fd),
      buffers_(std::make_unique_for_overwrite<std::byte[]>(batch * STRIDE_BYTES)),
      iovecs_(batch),
      senders_(batch),
      controls_(batch),
      messages_(batch) {
    const int on = 1;
    gro_ = gro && setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0;
    received_.reserve(batch * (gro_ ? MAX_SEGMENTS : 1));
    for (std::size_t i = 0; i < batch; ++i) {
        iovecs_[i] = {buffers_.get() + i * STRIDE_BYTES, MAX_BYTES};
        prepare(i);
    }
}

/// Resets the lengths, which the kernel has overwritten.
void Receiver::prepare(std::size_t message) {
    msghdr &header = messages_[message].msg_hdr;
    header = {};
    header.msg_name = &senders_[message];
    header.msg_namelen = sizeof senders_[message];
    header.msg_iov = &iovecs_[message];
    header.msg_iovlen = 1;
    header.msg_control = controls_[message].bytes;
    header.msg_controllen = sizeof controls_[message].bytes;
}

std::span<const Received> Receiver::receive() {
    for (std::size_t i = 0; i < taken_; ++i) {
        prepare(i);
    }
    taken_ = 0;
    received_.clear();
    error_ = 0;
    int count = -1;
    // The report of an ICMP message takes the place of one datagram.
    for (std::size_t tries = messages_.size(); count < 0 && tries > 0; --tries) {
        count = recvmmsg(fd_, messages_.data(), static_cast<unsigned>(messages_.size()), MSG_DONTWAIT, nullptr);
        if (count < 0 && !is_icmp(errno) && errno != EINTR) {
            error_ = errno == EAGAIN ? 0 : errno;
            break;
        }
    }
    if (count > 0) {
        taken_ = static_cast<std::size_t>(count);
        for (std::size_t i = 0; i < taken_; ++i) {
            split(messages_[i], buffers_.get() + i * STRIDE_BYTES);
        }
    }
    return received_;
}

void Receiver::split(const mmsghdr &message, const std::byte *buffer) {
    if (message.msg_hdr.msg_flags & MSG_TRUNC) {
        return;  // longer than any datagram
    }
    std::size_t segment = message.msg_len;
    bool congested = false;
    // CMSG_NXTHDR takes no pointer to const.
    auto *header = const_cast<msghdr *>(&message.msg_hdr);
    for (cmsghdr *control = CMSG_FIRSTHDR(header); control != nullptr; control = CMSG_NXTHDR(header, control)) {
        if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_TOS) {
            std::uint8_t tos;
            std::memcpy(&tos, CMSG_DATA(control), sizeof tos);
            congested = (tos & ECN_BITS) == ECN_BITS;
        } else if (control->cmsg_level == IPPROTO_UDP && control->cmsg_type == UDP_GRO) {
            int size;
            std::memcpy(&size, CMSG_DATA(control), sizeof size);
            segment = size > 0 ? static_cast<std::size_t>(size) : segment;
        }
    }
    const sockaddr_in &sender = senders_[static_cast<std::size_t>(&message - messages_.data())];
    std::span<const std::byte> left(buffer, message.msg_len);
    do {  // an empty datagram counts, too
        const auto bytes = left.first(std::min(segment, left.size()));
        received_.push_back({bytes, sender, congested});
        left = left.subspan(bytes.size());
    } while (!left.empty());
}

Sender::Sender(int fd, bool gso) : fd_(fd), gso_(gso) {}

void Sender::add(const sockaddr_in *to, std::span<const std::byte> bytes, bool joined, std::uint32_t run) {
    // No address family means the socket's own peer.
    queue_.push_back({to == nullptr ? sockaddr_in{} : *to, bytes, joined, run});
}

/// Returns the number of datagrams from ``first`` on that fit into one message: of equal size, receiver and run; the
/// last one may be shorter.
std::size_t Sender::run_length(std::size_t first) const {
    const Datagram &head = queue_[first];
    const std::size_t size = head.bytes.size();
    if (!gso_ || !head.joined || size == 0) {
        return 1;
    }
    const std::size_t limit = std::min({queue_.size() - first, MAX_SEGMENTS, MAX_PAYLOAD_BYTES / size});
    std::size_t count = 1;
    while (count < limit) {
        const Datagram &next = queue_[first + count];
        if (!next.joined || next.run != head.run || next.bytes.empty() || next.bytes.size() > size ||
            !same(next.to, head.to)) {
            break;
        }
        ++count;
        if (next.bytes.size() < size) {
            break;
        }
    }
    return std::max<std::size_t>(count, 1);
}

/// Makes one message for each run of datagrams from ``first`` on.
void Sender::build(std::size_t first) {
    runs_.clear();
    for (std::size_t at = first; at < queue_.size(); at += runs_.back().count) {
        runs_.push_back({at, run_length(at)});
    }
    // Messages point into these vectors: none may grow from here on.
    messages_.resize(runs_.size());
    controls_.resize(runs_.size());
    iovecs_.resize(queue_.size());
    std::size_t used = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        const Run &run = runs_[i];
        Datagram &head = queue_[run.first];
        msghdr &header = messages_[i].msg_hdr;
        header = {};
        header.msg_iov = &iovecs_[used];
        for (std::size_t j = run.first; j < run.first + run.count; ++j) {
            const auto bytes = queue_[j].bytes;
            // The kernel only reads it.
            auto *base = const_cast<std::byte *>(bytes.data());
            if (j > run.first &&
                static_cast<std::byte *>(iovecs_[used - 1].iov_base) + iovecs_[used - 1].iov_len == base) {
                iovecs_[used - 1].iov_len += bytes.size();
            } else {
                iovecs_[used++] = {base, bytes.size()};
            }
        }
        header.msg_iovlen = static_cast<std::size_t>(&iovecs_[0] + used - header.msg_iov);
        if (head.to.sin_family != 0) {
            header.msg_name = &head.to;
            header.msg_namelen = sizeof head.to;
        }
        if (run.count > 1) {
            header.msg_control = controls_[i].bytes;
            header.msg_controllen = sizeof controls_[i].bytes;
            cmsghdr *control = CMSG_FIRSTHDR(&header);
            control->cmsg_level = IPPROTO_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
            const auto segment = static_cast<std::uint16_t>(head.bytes.size());
            std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
        }
    }
}

int Sender::flush() {
    int error = 0;
    int tries = transport::MAX_SEND_TRIES;
    std::size_t at = 0;
    build(0);
    while (at < runs_.size()) {
        const int sent = sendmmsg(fd_, &messages_[at], static_cast<unsigned>(runs_.size() - at), MSG_DONTWAIT);
        if (sent > 0) {
            at += static_cast<std::size_t>(sent);
            tries = transport::MAX_SEND_TRIES;
            continue;
        }
        const int why = errno;
        if (why == EINTR || (is_icmp(why) && --tries > 0)) {
            continue;
        }
        // Segments longer than the path MTU, no checksum offload, or a kernel without GSO.
        const bool refused = why == EINVAL || why == EIO || why == EMSGSIZE || why == EOPNOTSUPP;
        if (refused && runs_[at].count > 1) {
            gso_ = false;
            build(runs_[at].first);
            at = 0;
            tries = transport::MAX_SEND_TRIES;
            continue;
        }
        if (why == EBADF || why == ENOTSOCK) {
            error = error == 0 ? why : error;
            break;
        }
        if (!is_unsent(why) && !is_icmp(why)) {
            error = error == 0 ? why : error;
        }
        tries = transport::MAX_SEND_TRIES;
        ++at;
    }
    queue_.clear();
    return error;
}

}  // namespace lanesum::io
