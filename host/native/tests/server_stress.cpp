// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Stress test of the server for the sanitizers: server threads and many workers on loopback, for some seconds. Every
// sum is checked, while jobs are admitted and removed, contributions are duplicated, switches send aggregates, and random
// datagrams arrive.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lanes/lanes.hpp"
#include "protocol/header.hpp"
#include "server/udp_server.hpp"

using namespace lanesum;
using namespace lanesum::server;

namespace {

constexpr std::size_t THREADS = 4;
constexpr std::uint32_t RACK_WORKERS = 3;
constexpr int TIMEOUT_US = 20'000;
constexpr double SPIN_S = 20e-6;
constexpr std::uint32_t DELEGATED_JOB = 99;
constexpr std::uint32_t ROUND_WORDS = 40;

using Clock = std::chrono::steady_clock;

Clock::time_point deadline;
std::atomic<std::uint64_t> completed = 0;
std::atomic<std::uint64_t> wrong = 0;

void expect(bool holds, const char *what) {
    if (!holds) {
        wrong.fetch_add(1);
        std::fprintf(stderr, "%s\n", what);
    }
}

void must(bool holds, const char *what) {
    if (!holds) {
        std::perror(what);
        std::exit(2);
    }
}

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
}

class Socket {
public:
    Socket(std::uint16_t port, bool shared) : fd_(socket(AF_INET, SOCK_DGRAM, 0)) {
        must(fd_ >= 0, "socket");
        const int on = 1, bytes = 4 << 20;
        setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
        setsockopt(fd_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        must(!shared || setsockopt(fd_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0, "SO_REUSEPORT");
        const sockaddr_in address = loopback(port);
        must(bind(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address) == 0, "bind");
    }
    ~Socket() { close(fd_); }
    Socket(const Socket &) = delete;
    Socket &operator=(const Socket &) = delete;

    int fd() const { return fd_; }

    sockaddr_in address() const {
        sockaddr_in address;
        socklen_t size = sizeof address;
        must(getsockname(fd_, reinterpret_cast<sockaddr *>(&address), &size) == 0, "getsockname");
        return address;
    }

    void connect_to(const sockaddr_in &server) const {
        must(connect(fd_, reinterpret_cast<const sockaddr *>(&server), sizeof server) == 0, "connect");
        const timeval timeout{0, TIMEOUT_US};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    }

private:
    int fd_;
};

/// Return a word of worker 0's contribution; worker n contributes n + 1 times this value.
std::uint32_t value(std::uint32_t position, std::size_t word) {
    return (position * 2654435761u) ^ static_cast<std::uint32_t>(word * 40503u + 7);
}

/// A job with the sockets of its workers.
struct Site {
    Site(std::uint32_t number, std::uint32_t workers, std::size_t words, std::uint32_t slots, bool racks) {
        job.job = number;
        job.tag = 0xC0FFEE00 + number;
        job.slots = slots;
        job.ops = 1;  // ADD32
        job.accumulator_words = words;
        job.two_levels = job.on_switches = racks;
        for (std::uint32_t worker = 0; worker < workers; ++worker) {
            sockets.push_back(std::make_unique<Socket>(0, false));
            const MemberIndex index = racks ? MemberIndex{worker, worker / RACK_WORKERS, worker % RACK_WORKERS + 4}
                                            : MemberIndex{worker, 0, worker};
            job.members.push_back({sockets.back()->address(), index});
        }
    }

    std::uint32_t workers() const { return static_cast<std::uint32_t>(job.members.size()); }

    ServerJob job;
    std::vector<std::unique_ptr<Socket>> sockets;
};

class Client {
public:
    Client(const Site &site, std::uint32_t worker, const sockaddr_in &server)
        : site_(site), worker_(worker), rng_(worker * 1000 + site.job.job), fd_(site.sockets[worker]->fd()) {
        site.sockets[worker]->connect_to(server);
    }

    void run() {
        const std::uint32_t slots = site_.job.slots;
        done_.assign(slots, 0);
        for (std::uint32_t slot = 0; slot < slots; ++slot) {
            contribute(slot, 0);
        }
        std::vector<std::byte> buffer(65536);
        while (Clock::now() < deadline) {
            const ssize_t size = recv(fd_, buffer.data(), buffer.size(), 0);
            if (size < 0) {
                std::uint32_t slowest = 0;  // the slot with the fewest completed turns
                for (std::uint32_t slot = 1; slot < slots; ++slot) {
                    slowest = done_[slot] < done_[slowest] ? slot : slowest;
                }
                const std::uint32_t bypass = chance_below(2) != 0 ? FLAG_BYPASS : 0u;
                contribute(slowest + done_[slowest] * slots, FLAG_RETRANSMISSION | bypass);
                continue;
            }
            take({buffer.data(), static_cast<std::size_t>(size)});
        }
    }

private:
    void take(std::span<const std::byte> datagram) {
        expect(datagram.size() >= HEADER_BYTES, "an answer is too short");
        const Header header = Header::unpack(datagram.data());
        expect(header.job == site_.job.job && header.tag == site_.job.tag, "an answer of another job");
        const std::uint32_t turn = done_[header.slot];
        const bool outstanding = header.chunk == header.slot + turn * site_.job.slots;
        if (header.kind == KIND_RESULT) {
            check(header, datagram);
            if (outstanding) {
                ++done_[header.slot];
                completed.fetch_add(1, std::memory_order_relaxed);
                contribute(header.chunk + site_.job.slots, 0);
            }
        } else {
            expect(header.kind == KIND_PENDING && datagram.size() == HEADER_BYTES, "neither result nor pending");
            if (outstanding && (header.workers >> site_.job.members[worker_].index.bit & 1) == 0) {
                contribute(header.chunk, FLAG_RETRANSMISSION | FLAG_BYPASS);
            }
        }
    }

    void check(const Header &header, std::span<const std::byte> datagram) const {
        const std::uint32_t times = site_.workers() * (site_.workers() + 1) / 2;
        expect(datagram.size() == HEADER_BYTES + site_.job.accumulator_words * WORD_BYTES, "a result of another size");
        for (std::size_t i = 0; i < site_.job.accumulator_words; ++i) {
            if (load_be32(datagram.data() + HEADER_BYTES + i * WORD_BYTES) != times * value(header.chunk, i)) {
                expect(false, "a wrong sum");
                return;
            }
        }
    }

    void contribute(std::uint32_t position, std::uint32_t flags) {
        const std::uint32_t slots = site_.job.slots;
        Header header;
        header.flags = flags;
        header.job = site_.job.job;
        header.tag = site_.job.tag;
        header.chunk = position;
        header.slot = position % slots;
        header.shadow = position / slots % 2;
        header.racks = ROUND_WORDS;
        header.words = static_cast<std::uint32_t>(site_.job.accumulator_words);
        const std::uint32_t chance = chance_below(64);
        if (site_.job.on_switches && worker_ % RACK_WORKERS == 0 && chance % 4 == 0) {
            send_aggregate(header);  // instead of its own contribution
            return;
        }
        send_words(header, worker_ + 1);
        if (chance == 0) {
            send_words(header, worker_ + 1);
        } else if (chance == 1) {
            std::uint32_t garbage[HEADER_BYTES / WORD_BYTES];
            for (std::uint32_t &word : garbage) {
                word = chance_below(0xFFFFFFFF);
            }
            send(fd_, garbage, chance_below(sizeof garbage + 1), 0);
        } else if (chance == 2 && header.chunk >= 2 * slots) {
            header.chunk -= 2 * slots;  // a packet that was in flight for two turns
            send_words(header, worker_ + 1);
        }
    }

    /// Send the aggregate of the rack, as a switch would, from the address of its first worker.
    void send_aggregate(Header header) {
        header.flags |= FLAG_UPPER;
        std::uint32_t times = 0;
        for (std::uint32_t i = 0; i < RACK_WORKERS; ++i) {
            header.workers |= 1u << site_.job.members[worker_ + i].index.bit;
            times += worker_ + i + 1;
        }
        send_words(header, times);
    }

    std::uint32_t chance_below(std::uint32_t limit) { return static_cast<std::uint32_t>(rng_() % limit); }

    void send_words(const Header &header, std::uint32_t times) {
        std::vector<std::byte> &packet = packet_;
        packet.resize(HEADER_BYTES + header.words * WORD_BYTES);
        header.pack(packet.data());
        for (std::size_t i = 0; i < header.words; ++i) {
            store_be32(packet.data() + HEADER_BYTES + i * WORD_BYTES, times * value(header.chunk, i));
        }
        send(fd_, packet.data(), packet.size(), 0);
    }

    const Site &site_;
    std::uint32_t worker_;
    std::mt19937 rng_;
    int fd_;
    std::vector<std::uint32_t> done_;  // completed turns of each slot
    std::vector<std::byte> packet_;
};

/// Change jobs all the time, as a busy controller.
void change_jobs(Aggregator &aggregator, UdpServer &server, const Site &racks) {
    const Site other(50, 4, 64, 16, false);
    const ServerJob changing = other.job;
    for (std::uint32_t i = 0; Clock::now() < deadline; ++i) {
        aggregator.admit(changing);
        aggregator.set_on_switches(racks.job.job, i % 8 != 0);
        aggregator.delegate(changing.job);
        aggregator.remove(changing.job);
        std::uint64_t counted = server.broken();
        for (std::size_t j = 0; j < DECISION_NAMES.size(); ++j) {
            counted += aggregator.decisions(j);
        }
        std::this_thread::sleep_for(std::chrono::microseconds(500 + counted % 2));
    }
}

/// Send contributions to a delegated job.
void contribute_to_delegated(const sockaddr_in &server) {
    const Socket socket(0, false);
    socket.connect_to(server);
    std::byte packet[HEADER_BYTES], answer[HEADER_BYTES];
    Header header;
    header.job = DELEGATED_JOB;
    for (; Clock::now() < deadline; ++header.chunk) {
        header.pack(packet);
        send(socket.fd(), packet, sizeof packet, 0);
        const ssize_t size = recv(socket.fd(), answer, sizeof answer, 0);
        expect(size < 0 || Header::unpack(answer).job == DELEGATED_JOB, "an answer not of the delegate");
    }
}

}  // namespace

int main(int arguments, char **texts) {
    const double seconds = arguments > 1 ? std::atof(texts[1]) : 3.0;
    deadline = Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));

    std::vector<std::unique_ptr<Socket>> sockets;
    std::vector<int> descriptors;
    for (std::size_t i = 0; i < THREADS; ++i) {
        const std::uint16_t port = sockets.empty() ? 0 : ntohs(sockets.front()->address().sin_port);
        sockets.push_back(std::make_unique<Socket>(port, true));
        descriptors.push_back(sockets.back()->fd());
    }
    const sockaddr_in address = sockets.front()->address();

    Aggregator aggregator;
    UdpServer server(descriptors, aggregator, true, false, true, SPIN_S,
                     [](const sockaddr_in &sender, std::span<const std::byte> datagram, bool, Answers &answers) {
                         const std::span<std::byte> copy = answers.allocate(HEADER_BYTES);
                         Header::unpack(datagram.data()).pack(copy.data());
                         answers.add(sender, copy);
                     });
    const Site flat(1, 6, 256, 32, false), racks(2, 2 * RACK_WORKERS, 1024, 8, true);
    aggregator.admit(flat.job);
    aggregator.admit(racks.job);
    aggregator.delegate(DELEGATED_JOB);
    server.start();
    {
        std::vector<std::jthread> threads;
        for (const Site *site : {&flat, &racks}) {
            for (std::uint32_t worker = 0; worker < site->workers(); ++worker) {
                threads.emplace_back([site, worker, &address] { Client(*site, worker, address).run(); });
            }
        }
        threads.emplace_back([&] { change_jobs(aggregator, server, racks); });
        threads.emplace_back([&] { contribute_to_delegated(address); });
    }
    server.stop();
    expect(server.broken() == 0, "datagrams could not be handled");
    expect(completed.load() > 0, "nothing was completed");
    std::printf("%llu results were right in %.1f s\n", static_cast<unsigned long long>(completed.load()), seconds);
    for (std::size_t i = 0; i < DECISION_NAMES.size(); ++i) {
        std::printf("  %s %llu\n", DECISION_NAMES[i], static_cast<unsigned long long>(aggregator.decisions(i)));
    }
    return wrong.load() == 0 ? 0 : 1;
}
