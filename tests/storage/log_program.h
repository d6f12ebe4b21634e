// SPDX-License-Identifier: GPL-2.0-only
// LogProgram: a redo log written as text, for tests of what reads one. Groups end with `;`, and
// each word is a record of page 3 of space 17, say:
//   new:17:3  initialises it
//   set:17:3  changes it
//   far:17:3  is of a type that no build knows
//   gone:17   the space is dropped
// Not thread-safe.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "buffer/buffer_redo.h"
#include "space/page_allocator.h"
#include "tests/storage/text_cases.h"
#include "tests/wal/log_fixture.h"
#include "wal/redo.h"

namespace rowan {

/// Of `17:3`, or of `17`.
inline PageId PageOf(const std::string& text) {
  const std::vector<std::string> parts = Split(text, ':');
  return {SpaceId(static_cast<uint32_t>(std::stoul(parts[0]))),
          PageNumber(parts.size() < 2 ? 0 : static_cast<uint32_t>(std::stoul(parts[1])))};
}

class LogProgram {
 public:
  LogProgram(FileSystem* file_system, const std::string& folder) : world_(file_system, folder) {
    RegisterBufferRedo();
    RegisterSpaceRedo();
    EXPECT_TRUE(world_.Start().ok());
  }

  /// Durably; where each group begins.
  std::vector<Lsn> Write(const std::string& text) {
    std::vector<Lsn> starts;
    for (const std::string& part : Split(text, ';')) {
      GroupBuilder group;
      for (const std::string& word : Words(part)) Add(word, &group);
      if (group.empty()) continue;
      const auto bytes = static_cast<uint32_t>(group.size_bytes());
      EXPECT_TRUE(world_.log->ReserveOrWait(bytes).ok());
      starts.push_back(world_.log->Append(&group) - bytes);
      world_.log->Release(bytes);
    }
    EXPECT_TRUE(world_.log->WaitDurable(world_.log->tail()).ok());
    return starts;
  }
  /// Nobody appends any more; the end of the log.
  Lsn Close() {
    EXPECT_TRUE(world_.log->Close().ok());
    return world_.log->tail();
  }
  [[nodiscard]] ControlData control() const { return world_.control->data(); }
  LogFixture& world() { return world_; }

 private:
  static void Add(const std::string& word, GroupBuilder* group) {
    const size_t colon = word.find(':');
    const std::string what = word.substr(0, colon);
    const PageId page = PageOf(word.substr(colon + 1));
    if (what == "gone") {
      group->Add(RecordType::kSpaceDropped, page, 0);
      return;
    }
    const RecordType type = what == "new"   ? RecordType::kPageImage
                            : what == "set" ? RecordType::kPageBytes
                                            : static_cast<RecordType>(126);
    EXPECT_EQ(FindRedo(type) == nullptr, what == "far") << word;
    group->Add(type, page, 0);
  }

  LogFixture world_;
};

}  // namespace rowan
