// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
// How much a worker may have under way, as in lanesum/transport/congestion.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace lanesum::transport {

/// The link window.
class CongestionControl {
public:
    virtual ~CongestionControl() = default;

    std::int64_t packets() const { return packets_; }
    virtual void result(std::int64_t sent, std::int64_t following, bool marked) = 0;
    virtual void loss(std::int64_t sent, std::int64_t following) = 0;
    virtual void silence(std::int64_t following, std::int64_t under_way) = 0;

protected:
    explicit CongestionControl(std::int64_t packets) : packets_(packets) {}
    std::int64_t packets_;
};

class Fixed final : public CongestionControl {
public:
    explicit Fixed(std::int64_t packets) : CongestionControl(packets) {}
    void result(std::int64_t, std::int64_t, bool) override {}
    void loss(std::int64_t, std::int64_t) override {}
    void silence(std::int64_t, std::int64_t) override {}
};

class Aimd final : public CongestionControl {
public:
    explicit Aimd(std::int64_t most) : CongestionControl(most), most_(most) {}
    void result(std::int64_t sent, std::int64_t following, bool marked) override;
    void loss(std::int64_t sent, std::int64_t following) override;
    void silence(std::int64_t following, std::int64_t under_way) override;

private:
    void halve(std::int64_t following);

    std::int64_t most_;
    std::int64_t clean_ = 0;
    std::int64_t reduced_at_ = 0;
};

/// "aimd" or "fixed"; null for another name.
std::unique_ptr<CongestionControl> congestion_control(std::string_view name, std::int64_t most);

/// Which slots of a shared pool are worth offering to the switch.
class SlotWindow {
public:
    bool bypass(std::uint32_t slot) const { return slot < avoided_.size() && avoided_[slot].left > 0; }
    void result(std::uint32_t slot, bool collided);

private:
    struct Avoided {
        std::uint8_t turns = 0;  // 0: not avoided
        std::uint8_t left = 0;
    };
    std::vector<Avoided> avoided_;  // by slot; as many as ever met another job
};

}  // namespace lanesum::transport
