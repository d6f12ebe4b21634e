// SPDX-License-Identifier: GPL-2.0-only
// Changes of toy rows that are kept in a model as well, by one session or by a thread that goes on
// until it is told to stop. Thread safety: the model is the writer's until it is joined.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

#include "tests/engine/engine_fixture.h"

namespace rowan {

inline void ChangeRow(Session* session, Table* table, ToyRows* model, uint64_t id,
                      const ToyRow& row) {
  ASSERT_TRUE(EngineFixture::Update(session, table, id, (*model)[id], row).ok());
  (*model)[id] = row;
}

/// Changes every third row of 1 to `rows` in a transaction, again and again; one in four of them
/// rolls back.
class WriterAtWork {
 public:
  WriterAtWork(Engine* engine, Table* table, ToyRows* model, uint64_t rows, uint32_t turns_min)
      : engine_(engine),
        table_(table),
        model_(model),
        rows_(rows),
        turns_min_(turns_min),
        thread_([this] { Work(); }) {}
  void Join() {
    stop_.store(true);
    thread_.join();
  }

 private:
  void Work() {
    const std::unique_ptr<Session> session = engine_->NewSession();
    for (uint32_t turn = 0; !stop_.load() || turn < turns_min_; ++turn) {
      ToyRows before = *model_;
      session->Begin(IsolationLevel::kRepeatableRead);
      for (uint64_t id = 1 + turn % 3; id <= rows_; id += 3) {
        ChangeRow(session.get(), table_, model_, id,
                  {turn, static_cast<uint32_t>(id * 4 + turn % 4), "w"});
      }
      if (turn % 4 == 3) {
        *model_ = std::move(before);
        ASSERT_TRUE(session->Rollback().ok());
      } else {
        ASSERT_TRUE(session->Commit().ok());
      }
    }
  }

  Engine* const engine_;
  Table* const table_;
  ToyRows* const model_;
  const uint64_t rows_;
  const uint32_t turns_min_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace rowan
