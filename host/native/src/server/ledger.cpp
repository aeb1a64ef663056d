// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/ledger.hpp"

namespace lanesum::server {

Order order_of(const Header &header, const Owner &owner) {
    const std::uint32_t epochs_ahead = header.epoch - owner.epoch;
    if (epochs_ahead >= std::uint32_t{1} << 31) {
        return Order::OLDER;
    }
    if (epochs_ahead != 0 || header.chunk > owner.chunk) {
        return Order::NEWER;
    }
    if (header.chunk < owner.chunk) {
        return Order::OLDER;
    }
    return header.op == owner.op && header.racks == owner.round_words ? Order::SAME : Order::CONFLICT;
}

Ledger::Ledger(std::uint32_t slots, std::uint32_t workers, std::size_t accumulator_words)
    : workers_(workers), accumulator_words_(accumulator_words), entries_(std::size_t{slots} * 2) {}

template <typename Workers>
std::pair<Decision, Entry *> Ledger::take(const Header &header, const Workers &workers, const Payload &payload,
                                          std::uint32_t flags, bool single) {
    std::unique_ptr<Entry> &place = entries_[header.slot * 2 + header.shadow];
    PieceStore &store = stripe(header.slot).store;
    const Order order = place == nullptr ? Order::NEWER : order_of(header, place->owner);
    if (order == Order::NEWER) {
        if (place == nullptr) {
            place = std::make_unique<Entry>();
        }
        place->owner = {header.op, header.epoch, header.chunk, header.racks};
        place->pieces.begin(static_cast<LaneOp>(header.op), single, store);
        place->flags = 0;
        place->result.reset();
        place->conflict.reset();
    }
    Entry &entry = *place;
    if (order == Order::OLDER) {
        return {Decision::DROP_LATE, &entry};
    }
    if (order == Order::CONFLICT || entry.conflict) {
        return {Decision::REPORT_CONFLICT, &entry};
    }
    if (entry.result) {
        return {Decision::REPLAY, &entry};
    }
    entry.flags |= flags;
    const Fate fate = entry.pieces.add(workers, payload, accumulator_words_, store);
    if (entry.pieces.count() >= workers_) {
        return {order == Order::NEWER ? Decision::CLAIM_AND_COMPLETE : Decision::CONTRIBUTE_AND_COMPLETE, &entry};
    }
    if (order == Order::NEWER) {
        return {Decision::CLAIM, &entry};
    }
    switch (fate) {
        case Fate::DUPLICATE:
            return {Decision::REPORT_PENDING, &entry};
        case Fate::OVERLAP:
            return {Decision::REPORT_OVERLAP, &entry};
        default:
            return {Decision::CONTRIBUTE, &entry};
    }
}

template std::pair<Decision, Entry *> Ledger::take(const Header &, const std::uint32_t &, const Payload &,
                                                   std::uint32_t, bool);
template std::pair<Decision, Entry *> Ledger::take(const Header &, const WorkerSet &, const Payload &, std::uint32_t,
                                                   bool);

}  // namespace lanesum::server
