// SPDX-License-Identifier: GPL-2.0-only
#include "tests/buffer/pool_fixture.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "buffer/buffer_redo.h"
#include "buffer/page/page_header.h"
#include "io/aligned_buffer.h"

namespace rowan {
namespace {

constexpr uint32_t kCounterOffset = kPageHeaderBytes;
constexpr uint32_t kChangeLogBytes = 256;

}  // namespace

StorageOptions PoolFixture::StorageOptionsOf(const Options& options) {
  StorageOptions storage = SmallOptions();
  storage.folder = options.folder;
  storage.page_size_bytes = options.page_size;
  storage.log.capacity_bytes = options.log_capacity;
  storage.buffer.pool_bytes = uint64_t{options.page_size} * options.pool_pages;
  storage.buffer.doublewrite = options.doublewrite;
  storage.buffer.cleaners = options.cleaners;
  storage.buffer.session_writers = options.session_writers;
  storage.buffer.idle_round_micros = options.idle_round_micros;
  storage.buffer.memory = options.memory;
  storage.background = options.background;
  return storage;
}

Result<std::unique_ptr<LogGroups>> PoolFixture::OpenLogGroups() {
  const ControlData data = control().data();
  return LogGroups::Open(&file_system(), options().folder, data,
                         {std::max(data.checkpoint_lsn, Log::kFirstLsn), log().tail()});
}

Result<LogRange> PoolFixture::AppendGroup(GroupBuilder* group) {
  const auto size_bytes = static_cast<uint32_t>(group->size_bytes());
  Status status = log().ReserveOrWait(size_bytes);
  if (!status.ok()) return status;
  const Lsn end = log().Append(group);
  log().Release(size_bytes);
  status = log().WaitWritten(end);
  if (!status.ok()) return status;
  return LogRange{Lsn(end.value() - size_bytes), end};
}

void PoolFixture::Create(bool with_pages) {
  const Status created = StorageFixture::Create();
  ASSERT_TRUE(created.ok()) << created.message();
  ASSERT_TRUE(files().Create(kSpace, space_pages_).ok());
  if (!with_pages) return;
  for (uint32_t page = 1; page < space_pages_; ++page) {
    ASSERT_TRUE(Init(page, 0).ok());
    // Without background nobody else makes room in the log.
    if (options().background || page % 64 != 0) continue;
    ASSERT_TRUE(pool().FlushAndCheckpoint().ok());
  }
  ASSERT_TRUE(pool().FlushAndCheckpoint().ok());
}

void PoolFixture::Change(MiniTxn* mini_txn, const MutablePage& page, uint64_t counter) const {
  std::byte bytes[8];
  StoreLe<uint64_t>(bytes, counter);
  LogPageBytes(mini_txn, page, kCounterOffset, bytes);
  LogPageBytes(mini_txn, page, page_size() - 8, bytes);
}

Result<Lsn> PoolFixture::Init(uint32_t page, uint64_t counter) {
  MiniTxn mini_txn(&pool());
  const Status status = mini_txn.Start(kChangeLogBytes);
  if (!status.ok()) return status;
  Result<MutablePage> fixed = mini_txn.FixNew(Id(page));
  if (!fixed.ok()) return fixed.status();
  InitPageHeader({fixed->bytes, page_size()}, Id(page), PageType::kTreeNode, 1, IndexId(1));
  StoreLe<uint64_t>(fixed->bytes + kCounterOffset, counter);
  StoreLe<uint64_t>(fixed->bytes + page_size() - 8, counter);
  LogPageImage(&mini_txn, *fixed);
  return mini_txn.Commit();
}

Result<Lsn> PoolFixture::Add(uint32_t page, uint64_t amount) {
  MiniTxn mini_txn(&pool());
  const Status status = mini_txn.Start(kChangeLogBytes);
  if (!status.ok()) return status;
  Result<MutablePage> fixed = mini_txn.Fix(Id(page));
  if (!fixed.ok()) return fixed.status();
  Change(&mini_txn, *fixed, CounterOf(fixed->bytes) + amount);
  return mini_txn.Commit();
}

uint64_t PoolFixture::CounterOf(const std::byte* page) const {
  const auto first = LoadLe<uint64_t>(page + kCounterOffset);
  const auto last = LoadLe<uint64_t>(page + page_size() - 8);
  EXPECT_EQ(first, last) << "half a change is visible";
  return first;
}

Result<uint64_t> PoolFixture::Read(uint32_t page, FixHint hint) {
  Result<PageGuard> guard = pool().Fix(Id(page), LatchMode::kShared, hint);
  if (!guard.ok()) return guard.status();
  EXPECT_EQ(PageIdOf(guard->page()), Id(page));
  return CounterOf(guard->page());
}

std::vector<std::byte> PoolFixture::ReadHome(uint32_t page) {
  AlignedBuffer buffer(page_size());
  EXPECT_TRUE(files().ReadPage(Id(page), buffer.span()).ok());
  return {buffer.data(), buffer.data() + buffer.size()};
}

void PoolFixture::WriteHome(uint32_t page, const std::vector<std::byte>& image) {
  AlignedBuffer buffer(page_size());
  std::copy(image.begin(), image.end(), buffer.data());
  EXPECT_TRUE(files().WritePage(Id(page), buffer.span()).ok());
}

}  // namespace rowan
