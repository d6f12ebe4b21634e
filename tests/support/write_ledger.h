// SPDX-License-Identifier: GPL-2.0-only
// WriteLedger: what the ledger of bytes written (base/write_cause.h) has since this was made, next
// to what a fault double got. Thread safety: none.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "base/format.h"
#include "base/write_cause.h"
#include "tests/support/fault_file_system.h"

namespace rowan {

inline constexpr WriteCause kWriteCauses[] = {
#define X(id, name, help) WriteCause::k##id,
#include "base/write_causes.def"
#undef X
};

class WriteLedger {
 public:
  explicit WriteLedger(const FaultFileSystem* files) : files_(files), given_(files->BytesGiven()) {
    for (size_t i = 0; i < std::size(kWriteCauses); ++i) before_[i] = Total(kWriteCauses[i]);
  }

  [[nodiscard]] uint64_t Of(WriteCause cause) const {
    const auto first = static_cast<uint32_t>(kWriteCauses[0]);
    return Total(cause) - before_[static_cast<uint32_t>(cause) - first];
  }
  /// Each byte that the files got has one cause. REQUIRES: nobody writes now.
  void ExpectWhole() const {
    uint64_t sum = 0;
    std::string causes;
    for (const WriteCause cause : kWriteCauses) {
      sum += Of(cause);
      causes += Format("{} {}\n", CounterDescription(CounterOf(cause)).name, Of(cause));
    }
    EXPECT_EQ(sum, files_->BytesGiven() - given_) << causes;
  }

 private:
  static uint64_t Total(WriteCause cause) { return ReadCounter(CounterOf(cause)); }

  const FaultFileSystem* const files_;
  const uint64_t given_;
  uint64_t before_[std::size(kWriteCauses)];
};

}  // namespace rowan
