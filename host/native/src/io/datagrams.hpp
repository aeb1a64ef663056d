// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Datagrams in batches: many per system call, and, where the kernel joins and splits them (GRO, GSO), many per pass
// through its network stack, which costs most of a datagram's time.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace lanesum::io {

struct Received {
    std::span<const std::byte> bytes;
    sockaddr_in sender;
    bool congested;  ///< both ECN bits are set (RFC 3168); only where the socket has IP_RECVTOS
};

/// Receives datagrams from a socket that the caller owns. For one thread at a time.
class Receiver {
public:
    /// @param batch messages per call; with ``gro`` each may be up to 64 datagrams.
    /// @param gro have the kernel join datagrams, if it supports that.
    Receiver(int fd, std::size_t batch, bool gro);

    /// Returns the waiting datagrams, up to one batch, and never blocks; valid until the next call. Empty without any, or
    /// after an error that is not an ICMP message's: see ``error``.
    std::span<const Received> receive();

    /// errno of the last ``receive``; 0 without an error.
    int error() const { return error_; }

    /// The kernel joins datagrams.
    bool gro() const { return gro_; }

    /// The last ``receive`` filled its batch: more datagrams may wait.
    bool full() const { return taken_ == messages_.size(); }

private:
    struct alignas(cmsghdr) Control {
        std::byte bytes[64];  // a TOS byte and a segment size
    };

    void prepare(std::size_t message);
    void split(const mmsghdr &message, const std::byte *buffer);

    int fd_;
    bool gro_ = false;
    int error_ = 0;
    std::size_t taken_ = 0;
    std::unique_ptr<std::byte[]> buffers_;
    std::vector<iovec> iovecs_;
    std::vector<sockaddr_in> senders_;
    std::vector<Control> controls_;
    std::vector<mmsghdr> messages_;
    std::vector<Received> received_;
};

/// Sends datagrams through a socket that the caller owns. For one thread at a time.
class Sender {
public:
    /// @param gso join datagrams of one size to one receiver, as long as the kernel accepts that.
    Sender(int fd, bool gso);

    /// Queues a datagram.
    ///
    /// @param to receiver; null on a connected socket. Copied.
    /// @param bytes not copied: they have to exist until ``flush``.
    /// @param joined it may be joined with others of the same ``run``.
    void add(const sockaddr_in *to, std::span<const std::byte> bytes, bool joined = true, std::uint32_t run = 0);

    /// Sends all queued datagrams, in order, and never blocks. A datagram for which the kernel has no buffer, or that an
    /// ICMP message's error keeps from leaving, is lost without a report. Any other error loses one too, or all left if
    /// the socket is closed.
    ///
    /// @return the first errno of any other error, else 0.
    int flush();

    /// Datagrams are joined: requested, and not refused by the kernel so far.
    bool gso() const { return gso_; }

    bool empty() const { return queue_.empty(); }

private:
    struct Datagram {
        sockaddr_in to;
        std::span<const std::byte> bytes;
        bool joined;
        std::uint32_t run;
    };
    struct alignas(cmsghdr) Control {
        std::byte bytes[CMSG_SPACE(sizeof(std::uint16_t))];
    };
    /// Datagrams ``first`` up to, not including, ``first + count``.
    struct Run {
        std::size_t first;
        std::size_t count;
    };

    void build(std::size_t first);
    std::size_t run_length(std::size_t first) const;

    int fd_;
    bool gso_;
    std::vector<Datagram> queue_;
    std::vector<Run> runs_;  // one per message
    std::vector<iovec> iovecs_;
    std::vector<Control> controls_;
    std::vector<mmsghdr> messages_;
};

}  // namespace lanesum::io
