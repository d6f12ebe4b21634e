// SPDX-License-Identifier: GPL-2.0-only
#include "engine/report/deadlock_report.h"

#include <array>
#include <ctime>

#include "base/format.h"

namespace rowan {
namespace {

const char* KindName(LockKind kind) {
  switch (kind) {
    case LockKind::kRecord: return "record";
    case LockKind::kGap: return "gap";
    case LockKind::kNextKey: return "next-key";
    case LockKind::kInsertIntention: return "insert intention";
    case LockKind::kUniqueValue: return "unique value";
  }
  return "unknown";
}

std::string TimeText(int64_t unix_seconds) {
  const auto seconds = static_cast<time_t>(unix_seconds);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return {text.data(), size};
}

std::string LockText(const LockInfo& lock, const Catalog& catalog) {
  std::string index = catalog.NameOfIndex(lock.index);
  if (index.empty()) index = Format("index {}", lock.index.value());
  return Format("{} {} lock, {}, key hash {}", lock.mode == LockMode::kShared ? "S" : "X",
                KindName(lock.kind), index, lock.key_hash);
}

}  // namespace

std::string DescribeDeadlock(const Deadlock& deadlock, const Catalog& catalog) {
  if (deadlock.number == 0) return "none since the start\n";
  std::string text = Format(
      "number {} since the start, at {}, {} transactions: each waits for the "
      "next one, the last one for the first\n",
      deadlock.number, TimeText(deadlock.unix_seconds), deadlock.members.size());
  for (const Deadlock::Member& member : deadlock.members) {
    text += Format("transaction {}, {} undo records, {} row locks{}\n", member.id.value(),
                   member.undo_records, member.locks,
                   member.victim ? ", ROLLED BACK as the one with the least work" : "");
    text += Format("  waits for {}\n", LockText(member.wanted, catalog));
    for (const LockInfo& held : member.held) {
      text += Format("  holds {}\n", LockText(held, catalog));
    }
  }
  return text;
}

}  // namespace rowan
