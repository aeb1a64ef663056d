// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// Congestion control, as in lanesum/transport/congestion.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace lanesum::transport {

class CongestionControl {
public:
    virtual ~CongestionControl() = default;

    std::int64_t congestion_window() const { return congestion_window_; }
    virtual void on_packet_acked(std::int64_t sent, std::int64_t next_sequence, bool marked) = 0;
    virtual void on_packet_lost(std::int64_t sent, std::int64_t next_sequence) = 0;
    virtual void on_persistent_congestion(std::int64_t next_sequence, std::int64_t in_flight) = 0;

protected:
    explicit CongestionControl(std::int64_t packets) : congestion_window_(packets) {}
    std::int64_t congestion_window_;
};

class FixedWindow final : public CongestionControl {
public:
    explicit FixedWindow(std::int64_t packets) : CongestionControl(packets) {}
    void on_packet_acked(std::int64_t, std::int64_t, bool) override {}
    void on_packet_lost(std::int64_t, std::int64_t) override {}
    void on_persistent_congestion(std::int64_t, std::int64_t) override {}
};

class Aimd final : public CongestionControl {
public:
    explicit Aimd(std::int64_t max_window) : CongestionControl(max_window), max_window_(max_window) {}
    void on_packet_acked(std::int64_t sent, std::int64_t next_sequence, bool marked) override;
    void on_packet_lost(std::int64_t sent, std::int64_t next_sequence) override;
    void on_persistent_congestion(std::int64_t next_sequence, std::int64_t in_flight) override;

private:
    void halve(std::int64_t next_sequence);

    std::int64_t max_window_;
    std::int64_t clean_ = 0;
    std::int64_t reduced_at_ = 0;
};

/// Returns "aimd" or "fixed"; null for another name.
std::unique_ptr<CongestionControl> congestion_control(std::string_view name, std::int64_t max_window);

}  // namespace lanesum::transport
