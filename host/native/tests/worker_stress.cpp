// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Rounds of a worker whose peer answers as the server, with random errors; on one socket, or on one for each of several
// threads. The kernel does not steer packets here, so most are taken by a thread of another share. Meanwhile one thread
// reads the counters, one wakes the loop and one closes it at a random moment.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "io/datagrams.hpp"
#include "protocol/header.hpp"
#include "transport/worker_loop.hpp"

namespace {

using namespace lanesum;
using transport::LoopExit;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t SLOTS = 96;
constexpr std::uint32_t PACKET_WORDS = 64;

void expect(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "worker_stress: %s\n", what);
        std::abort();
    }
}

/// Sockets of a worker, connected if it is one, and of its server.
struct Pair {
    std::vector<int> near;
    std::vector<sockaddr_in> servers;  // empty for a connected socket
    int far;

    explicit Pair(std::size_t threads) {
        sockaddr_in ends[2]{};
        for (sockaddr_in &end : ends) {
            end.sin_family = AF_INET;
            end.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        }
        for (std::size_t i = 0; i < threads; ++i) {
            near.push_back(bound(ends[0]));
        }
        far = bound(ends[1]);
        expect(connect(far, reinterpret_cast<sockaddr *>(&ends[0]), sizeof ends[0]) == 0, "cannot connect");
        if (threads == 1) {
            expect(connect(near[0], reinterpret_cast<sockaddr *>(&ends[1]), sizeof ends[1]) == 0, "cannot connect");
        } else {
            servers.push_back(ends[1]);
        }
    }
    ~Pair() {
        std::ranges::for_each(near, close);
        close(far);
    }

private:
    static int bound(sockaddr_in &address) {
        const int fd = socket(AF_INET, SOCK_DGRAM, 0);
        const int on = 1;
        socklen_t size = sizeof address;
        expect(setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0, "cannot share the address");
        expect(bind(fd, reinterpret_cast<sockaddr *>(&address), size) == 0, "cannot bind");
        getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size);
        return fd;
    }
};

/// The server of a job of one worker: what it is told is the sum. It loses some, and says nonsense now and then.
void answer(int fd, const std::atomic<bool> &stop, unsigned seed) {
    std::minstd_rand random(seed);
    io::Receiver receiver(fd, 16, random() % 2 == 0);
    io::Sender sender(fd, random() % 2 == 0);
    std::vector<std::vector<std::byte>> answers;
    while (!stop) {
        pollfd waiting{fd, POLLIN, 0};
        poll(&waiting, 1, 1);
        answers.clear();
        for (const io::Received &one : receiver.receive()) {
            if (random() % 50 == 0) {
                continue;
            }
            std::vector<std::byte> datagram(one.bytes.begin(), one.bytes.end());
            Header header = Header::unpack(datagram.data());
            header.kind = KIND_RESULT;
            header.flags = 0;
            header.workers = 1;
            header.pack(datagram.data());
            if (random() % 50 == 0) {
                datagram[random() % datagram.size()] ^= static_cast<std::byte>(1U << random() % 8);
                header = Header::unpack(datagram.data());
                if (header.kind == KIND_CONFLICT) {
                    continue;  // would be the end of it, rightly
                }
                std::byte packed[HEADER_BYTES];
                header.pack(packed);
                answers.emplace_back(packed, packed + HEADER_BYTES);
                continue;
            }
            answers.push_back(std::move(datagram));
        }
        for (const auto &one : answers) {
            sender.add(nullptr, one);
        }
        expect(sender.flush() == 0, "the answers cannot be sent");
    }
}

void session(std::mt19937 &random) {
    const auto threads = static_cast<std::uint32_t>(1 + random() % 3);
    const Pair pair(threads);
    transport::JobTicket ticket{1, 2, 0, 1, SLOTS, PACKET_WORDS, 0, 0, {}};
    transport::RoundSequence rounds(ticket, SLOTS, "aimd", random() % 2 == 0, threads);
    transport::WorkerLoop loop(rounds, pair.near, pair.servers, random() % 2 == 0, random() % 2 == 0,
                               random() % 2 == 0 ? 0 : 1e-4);
    std::atomic<bool> stop = false;
    std::thread server(answer, pair.far, std::cref(stop), static_cast<unsigned>(random()));
    std::thread reader([&] {
        std::uint64_t seen = 0;
        while (!stop) {
            const std::uint64_t now = rounds.stats().packets_sent;
            expect(now >= seen, "a count went back");
            seen = now;
        }
    });
    std::thread waker([&] {
        while (!stop) {
            loop.wake();
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    });
    std::thread closer([&, after = std::chrono::microseconds(random() % 100'000)] {
        std::this_thread::sleep_for(after);
        loop.close();
        loop.close();
    });
    std::vector<std::uint32_t> words(random() % (threads == 1 ? 20'000 : 200'000));
    for (auto &word : words) {
        word = static_cast<std::uint32_t>(random());
    }
    // A few rounds are in flight. A complete one makes room for the next, unless too many wait behind an incomplete one.
    std::deque<std::shared_ptr<transport::RoundState>> started;
    const std::size_t in_flight = 1 + random() % 3;
    for (bool closed = false; !closed;) {
        while (started.size() < in_flight && rounds.can_start()) {
            started.push_back(rounds.start(LaneOp::ADD32, words));
            started.back()->set_target(started.back()->chunks());
        }
        loop.send();
        loop.begin(60, std::numeric_limits<double>::infinity());
        LoopExit reason = LoopExit::slice;
        while (reason == LoopExit::slice || reason == LoopExit::woken) {
            reason = loop.run(0.01);
        }
        closed = reason == LoopExit::closed;
        expect(closed || reason == LoopExit::reached, "a round ended for another reason");
        for (auto at = started.begin(); !closed && at != started.end();) {
            if ((*at)->complete()) {
                expect(std::ranges::equal((*at)->result(), words), "the sum is wrong");
                rounds.finish(**at);
                at = started.erase(at);
            } else {
                ++at;
            }
        }
        loop.poll();
    }
    stop = true;
    for (std::thread *one : {&server, &reader, &waker, &closer}) {
        one->join();
    }
}

}  // namespace

int main(int count, char **arguments) {
    const auto end = Clock::now() + std::chrono::seconds(count > 1 ? std::atoi(arguments[1]) : 2);
    std::mt19937 random(7);
    int sessions = 0;
    for (; Clock::now() < end; ++sessions) {
        session(random);
    }
    std::printf("worker_stress: %d sessions\n", sessions);
}
