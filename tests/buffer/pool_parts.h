// SPDX-License-Identifier: GPL-2.0-only
// The parts of a pool below BufferPool, each by itself, over the files and the log of an instance
// whose own pool is not used meanwhile. No thread runs. Thread safety: the owner's thread, except
// what the parts themselves allow.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "buffer/checkpoint.h"
#include "buffer/damage_reporter.h"
#include "buffer/eviction.h"
#include "buffer/frame_supply.h"
#include "buffer/frame_table.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page/page_header.h"
#include "buffer/page_files.h"
#include "buffer/page_loader.h"
#include "buffer/page_writer.h"
#include "tests/buffer/hooked_file_system.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"

namespace rowan {

class PoolParts : public ::testing::Test {
 protected:
  static constexpr uint32_t kFrames = 16;

  /// `with_pages`: the space has counter pages, else pages of zeros.
  explicit PoolParts(bool with_pages = false) : with_pages_(with_pages) {}

  void SetUp() override {
    fixture_.Create(with_pages_);
    BufferOptions options;
    options.pool_bytes = kFrames * uint64_t{TestPageSizeBytes()};
    options.io_backend = IoBackend::kThreads;
    options.idle_round_micros = uint64_t{3600} * 1'000'000;  // nothing is written for its age
    auto arena = FrameArena::Create(TestPageSizeBytes(), kFrames, 4 * kFrames);
    ASSERT_TRUE(arena.ok());
    frames_ = std::make_unique<FrameTable>(std::move(arena).value());
    page_files_ = std::make_unique<PageFiles>(options, &fixture_.files(), &fs_, &fixture_.log(),
                                              &fixture_.control());
    doublewrite_ = std::make_unique<DoublewriteFile>(
        &hooked_, &fixture_.files(), page_files_->syncs(), page_files_->page_lsns());
    ASSERT_TRUE(page_files_->page_lsns()->Open({}).ok());
    ASSERT_TRUE(doublewrite_->Open(kSlots.total() * PageWriter::SegmentsPerWriter(kFrames)).ok());
    writer_ = MakeWriter(0);
    checkpointer_ =
        std::make_unique<Checkpointer>(frames_.get(), page_files_.get(), Log::kFirstLsn);
    supply_ =
        std::make_unique<FrameSupply>(frames_.get(), page_files_.get(), doublewrite_.get(), kSlots);
    damage_ = std::make_unique<DamageReporter>(&fixture_.files());
    loader_ = std::make_unique<PageLoader>(frames_.get(), page_files_.get(), supply_.get(),
                                           damage_.get());
  }

  void TearDown() override {
    hooked_.SetHook({});
    hooked_.SetReadHook({});
  }

  std::unique_ptr<PageWriter> MakeWriter(uint32_t slot) {
    return std::make_unique<PageWriter>(frames_.get(), page_files_.get(), doublewrite_.get(), slot);
  }

  /// A resident, unlatched, clean page, next to go.
  Frame* NewPage(uint32_t page, uint8_t usage = kUsageScan) {
    Frame* frame = frames_->Claim();
    EXPECT_EQ(frames_->Publish(frame, PoolFixture::Id(page).Packed()), PageTable::kNone);
    InitPageHeader(frames_->PageOf(frame), PoolFixture::Id(page), PageType::kTreeNode, 1,
                   IndexId(1));
    FrameTable::EndLoad(frame, usage);
    frame->latch.UnlockExclusive();
    return frame;
  }
  /// From now on, on the way to or from the files of spaces and the doublewrite file.
  void CountPageIo() {
    hooked_.SetHook([this](const std::string& path, Bytes) { page_writes_ += IsOfPages(path); });
    hooked_.SetReadHook([this](const std::string& path, Bytes) { page_reads_ += IsOfPages(path); });
  }
  static bool IsOfPages(const std::string& path) {
    return path.find("/space_") != std::string::npos ||
           path.find(kDoublewriteFileName) != std::string::npos;
  }
  /// Pages [first, first + count), in that order.
  std::vector<Frame*> NewPages(uint32_t first, uint32_t count) {
    std::vector<Frame*> pages;
    for (uint32_t i = 0; i < count; ++i) pages.push_back(NewPage(first + i));
    return pages;
  }
  [[nodiscard]] bool IsResident(uint32_t page) const {
    return frames_->Lookup(PoolFixture::Id(page).Packed()) != PageTable::kNone;
  }

  // The three steps of a mini-transaction's commit. The frame stays latched in between.
  Lsn Mark(Frame* frame) {
    frame->latch.LockExclusive();
    const Lsn lower_bound = fixture_.log().tail();
    frames_->MarkDirty(frame, lower_bound);
    return lower_bound;
  }
  Lsn Append(Frame* frame) {
    GroupBuilder group;
    std::byte* body = group.Add(RecordType::kPageBytes, PageId::Unpack(frame->page_id.load()), 10);
    std::memset(body, 0, 10);
    StoreLe<uint16_t>(body, kPageHeaderBytes);
    EXPECT_TRUE(fixture_.log().ReserveOrWait(256).ok());
    const Lsn end = fixture_.log().Append(&group);
    fixture_.log().Release(256);
    return end;
  }
  void Stamp(Frame* frame, Lsn end) {
    SetPageLsn(frames_->PageOf(frame).data(), end);
    frame->latch.UnlockExclusive();
  }
  Lsn Change(Frame* frame) {
    (void)Mark(frame);
    const Lsn end = Append(frame);
    Stamp(frame, end);
    return end;
  }

  std::atomic<uint64_t> page_writes_{0};
  std::atomic<uint64_t> page_reads_{0};

  static constexpr WriterSlots kSlots{.sessions = 1, .cleaners = 1};

  FaultFileSystem fs_{TestSeed()};
  HookedFileSystem hooked_{&fs_};
  PoolFixture fixture_{&hooked_, {.space_pages = 64}};
  std::unique_ptr<FrameTable> frames_;
  std::unique_ptr<PageFiles> page_files_;
  std::unique_ptr<DoublewriteFile> doublewrite_;
  std::unique_ptr<PageWriter> writer_;
  std::unique_ptr<Checkpointer> checkpointer_;
  std::unique_ptr<FrameSupply> supply_;
  std::unique_ptr<DamageReporter> damage_;
  std::unique_ptr<PageLoader> loader_;

 private:
  const bool with_pages_;
};

}  // namespace rowan
