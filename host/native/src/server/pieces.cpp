// SPDX-FileCopyrightText: 2026 the lanesum authors
// SPDX-License-Identifier: Apache-2.0
#include "server/pieces.hpp"

#include <utility>

#include "lanes/lanes.hpp"

namespace lanesum::server {

std::unique_ptr<Piece> PieceStore::take(std::size_t words) {
    if (spare_.empty()) {
        spare_.reserve(made_ + 1);
        std::unique_ptr<Piece> piece = std::make_unique<Piece>(words);
        ++made_;
        return piece;
    }
    std::unique_ptr<Piece> piece = std::move(spare_.back());
    spare_.pop_back();
    return piece;
}

void Pieces::begin(LaneOp op, bool single, PieceStore &store) {
    op_ = op;
    single_ = single;
    workers_ = {};
    count_ = 0;
    for (std::unique_ptr<Piece> &piece : held_) {
        store.give(std::move(piece));
    }
    held_.clear();
}

Fate Pieces::add(std::uint32_t worker, const Payload &payload, std::size_t words, PieceStore &store) {
    if (workers_.has(worker)) {
        return Fate::DUPLICATE;
    }
    if (single_ && !held_.empty()) {
        Piece &piece = *held_.front();
        contribute(op_, piece.words(), payload.bytes, payload.wide, payload.code_table, false);
        piece.workers.insert(worker);
        workers_.insert(worker);
        ++count_;
        return Fate::KEPT;
    }
    return keep(WorkerSet::of(worker), payload, words, store);
}

Fate Pieces::add(const WorkerSet &workers, const Payload &payload, std::size_t words, PieceStore &store) {
    if (workers_.covers(workers)) {
        return Fate::DUPLICATE;
    }
    if (!workers_.meets(workers)) {
        return keep(workers, payload, words, store);
    }
    WorkerSet replaced;
    for (const std::unique_ptr<Piece> &piece : held_) {
        if (piece->workers.meets(workers)) {
            replaced |= piece->workers;
        }
    }
    if (!workers.covers(replaced) && workers.count() <= replaced.count()) {
        return Fate::OVERLAP;
    }
    for (std::size_t i = 0; i < held_.size();) {
        if (held_[i]->workers.meets(workers)) {
            store.give(std::move(held_[i]));
            held_[i] = std::move(held_.back());
            held_.pop_back();
        } else {
            ++i;
        }
    }
    workers_ -= replaced;
    return keep(workers, payload, words, store);
}

Fate Pieces::keep(const WorkerSet &workers, const Payload &payload, std::size_t words, PieceStore &store) {
    if (single_ && !held_.empty()) {
        Piece &piece = *held_.front();
        contribute(op_, piece.words(), payload.bytes, payload.wide, payload.code_table, false);
        piece.workers |= workers;
    } else {
        std::unique_ptr<Piece> piece = store.take(words);
        contribute(op_, piece->words(), payload.bytes, payload.wide, payload.code_table, true);
        piece->workers = workers;
        held_.push_back(std::move(piece));
    }
    workers_ |= workers;
    count_ = workers_.count();
    return Fate::KEPT;
}

void Pieces::join(PieceStore &store) {
    Piece &all = *held_.front();
    while (held_.size() > 1) {
        merge(op_, all.words(), held_.back()->words());
        store.give(std::move(held_.back()));
        held_.pop_back();
    }
    all.workers = workers_;
}

}  // namespace lanesum::server
