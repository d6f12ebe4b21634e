// SPDX-License-Identifier: GPL-2.0-only
// The path of a dirty page to disk, step by step, with each interleaving that matters forced by the
// order of calls: copy and change, mark and append, sweep and discard.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "buffer/redo_backlog.h"
#include "tests/buffer/pool_parts.h"
#include "tests/support/fault_tally.h"

namespace rowan {
namespace {

class WritePath : public PoolParts {
 protected:
  void SweepAll(SweepMode mode) {
    ASSERT_TRUE(checkpointer_->Sweep(writer_.get(), 0, checkpointer_->shard_count(), mode).ok());
  }
};

TEST_F(WritePath, APageUnchangedSinceItsCopyBecomesClean) {
  Frame* frame = NewPage(1);
  (void)Change(frame);
  EXPECT_EQ(frames_->dirty_frames(), 1u);
  ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
  EXPECT_NE(frame->FirstDirtyLsn(), kNoLsn) << "dirty until written";
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(frame->first_dirty_lsn.load(), 0u);
  EXPECT_EQ(frames_->dirty_frames(), 0u);
  EXPECT_EQ(frame->io_in_progress.load(), 0);
}

TEST_F(WritePath, APageChangedSinceItsCopyStaysDirtyFromCopyTimeOn) {
  Frame* frame = NewPage(1);
  Frame* other = NewPage(2);
  (void)Change(frame);
  (void)Change(other);
  const Lsn copy_time = fixture_.log().tail();
  ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
  (void)Change(other);
  const Lsn before_change = fixture_.log().tail();
  (void)Change(frame);
  EXPECT_LT(frame->FirstDirtyLsn(), copy_time) << "the old change is not written yet";
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(frame->first_dirty_lsn.load(), copy_time.value());
  EXPECT_LE(frame->FirstDirtyLsn(), before_change);
  EXPECT_EQ(frames_->dirty_frames(), 2u);
  ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(frame->first_dirty_lsn.load(), 0u);
}

TEST_F(WritePath, APageRedoneFurtherSinceItsCopyStaysDirtyFromItsFirstRedoneChangeOn) {
  Frame* frame = NewPage(1);
  Frame* other = NewPage(2);
  const auto redo = [&](Lsn group_start) {
    frame->latch.LockExclusive();
    frames_->MarkDirty(frame, group_start);
    frame->latch.UnlockExclusive();
  };
  const Lsn first = Change(other);
  const Lsn second = Change(other);
  (void)Change(other);
  RedoBacklog backlog;
  page_files_->SetBacklog(&backlog);
  redo(first);
  ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
  redo(second);  // of a later stretch of the log, which ends before its tail all the same
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_NE(frame->FirstDirtyLsn(), kNoLsn);
  EXPECT_LE(frame->FirstDirtyLsn(), second) << "a checkpoint would pass it over";
  page_files_->SetBacklog(nullptr);
}

TEST_F(WritePath, OnlyOneCopyOfAPageIsInFlight) {
  const std::unique_ptr<PageWriter> second = MakeWriter(1);
  Frame* frame = NewPage(1);
  (void)Change(frame);
  ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
  (void)Change(frame);
  EXPECT_EQ(second->TryAdd(frame), PageWriter::Added::kBusy);
  EXPECT_FALSE(frames_->TryTakeClean(frame));
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(second->TryAdd(frame), PageWriter::Added::kYes);
  ASSERT_TRUE(second->Flush().ok());
}

TEST_F(WritePath, ALatchedPageIsNotWaitedFor) {
  Frame* frame = NewPage(1);
  (void)Change(frame);
  frame->latch.LockExclusive();
  EXPECT_EQ(writer_->TryAdd(frame), PageWriter::Added::kBusy);
  frame->latch.UnlockExclusive();
}

TEST_F(WritePath, ASweepBetweenMarkAndAppendLeavesTheChangeAboveTheCheckpoint) {
  Frame* frame = NewPage(1);
  (void)Change(NewPage(2));
  SweepAll(SweepMode::kUrgent);
  const Lsn mark = Mark(frame);
  SweepAll(SweepMode::kLazy);
  const Lsn candidate = checkpointer_->Candidate();
  const Lsn end = Append(frame);
  Stamp(frame, end);
  EXPECT_LE(candidate, mark) << "the group begins at or above its mark";
  EXPECT_GT(candidate, Log::kFirstLsn);
}

TEST_F(WritePath, ASweepAfterTheAppendSeesTheMarkThoughThePageIsLatched) {
  Frame* frame = NewPage(1);
  (void)Change(NewPage(2));
  SweepAll(SweepMode::kUrgent);
  const Lsn mark = Mark(frame);
  const Lsn end = Append(frame);
  (void)Append(NewPage(3));
  SweepAll(SweepMode::kLazy);
  EXPECT_LE(checkpointer_->Candidate(), mark);
  Stamp(frame, end);
  SweepAll(SweepMode::kUrgent);
  EXPECT_EQ(checkpointer_->Candidate(), fixture_.log().tail());
}

TEST_F(WritePath, ALateMarkNeverMovesTheCheckpointBack) {
  Frame* frame = NewPage(1);
  const Lsn early = fixture_.log().tail();
  (void)Change(NewPage(2));
  SweepAll(SweepMode::kUrgent);
  const Lsn proven = checkpointer_->Candidate();
  // A mini-transaction that read the tail long ago marks only now; its group is above the sweep.
  frame->latch.LockExclusive();
  frames_->MarkDirty(frame, early);
  const Lsn end = Append(frame);
  SweepAll(SweepMode::kLazy);
  EXPECT_GE(checkpointer_->Candidate(), proven);
  Stamp(frame, end);
}

TEST_F(WritePath, ADiscardDuringASweepHoldsTheCheckpointBelowTheFirstUnwrittenChange) {
  Frame* freed = NewPage(1);
  Frame* other = NewPage(2);
  (void)Change(other);
  (void)Change(freed);
  const Lsn first_dirty = freed->FirstDirtyLsn();
  (void)Change(other);
  // The sweep meets the page latched, so it writes the other one first and comes back. In between
  // the page is freed and discarded.
  freed->latch.LockExclusive();
  Lsn freeing_group;
  hooked_.SetHook([&](const std::string& path, Bytes) {
    if (path.find("space_") == std::string::npos || freeing_group != kNoLsn) return;
    freeing_group = Append(freed);
    checkpointer_->NoteDiscard(freed, first_dirty);
    frames_->Drop(freed);
  });
  SweepAll(SweepMode::kUrgent);
  ASSERT_NE(freeing_group, kNoLsn);
  EXPECT_EQ(checkpointer_->Candidate(), Lsn(first_dirty));
  // A sweep that begins after the freeing group is not held back any more.
  SweepAll(SweepMode::kUrgent);
  EXPECT_EQ(checkpointer_->Candidate(), freeing_group);
}

TEST_F(WritePath, ADiscardedPageWithACopyInFlightIsNotFreedEarly) {
  Frame* frame = NewPage(1);
  (void)Change(frame);
  ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
  frame->latch.LockExclusive();
  (void)frames_->ClearDirty(frame);
  frame->latch.UnlockExclusive();
  EXPECT_FALSE(frames_->TryTakeClean(frame));
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(frame->first_dirty_lsn.load(), 0u);
  EXPECT_EQ(frames_->dirty_frames(), 0u);
  EXPECT_TRUE(frames_->TryTakeClean(frame));
  frames_->Free(frame);
}

TEST_F(WritePath, TheCheckpointIsPublishedAfterLogAndDataAreDurable) {
  (void)Change(NewPage(1));
  SweepAll(SweepMode::kUrgent);
  const uint64_t syncs = fs_.Calls(FileCall::kSync);
  ASSERT_TRUE(checkpointer_->WriteCheckpoint().ok());
  EXPECT_GT(fs_.Calls(FileCall::kSync), syncs);
  const Lsn published = fixture_.control().data().checkpoint_lsn;
  EXPECT_EQ(published, fixture_.log().tail());
  EXPECT_GE(fixture_.log().durable(), published);
  EXPECT_EQ(fixture_.log().checkpoint(), published);
}

TEST_F(WritePath, TheCheckpointsPageVersionsAreThoseThatAreDurableAtHome) {
  {
    const ClosedWriteGate gate(page_files_->write_gate());
    page_files_->SetDoublewriteMode(
        DoublewriteMode::kOff);  // a segment in use would wait for the sync
  }
  const Lsn before = Change(NewPage(1));
  SweepAll(SweepMode::kUrgent);
  Frame* late = NewPage(2);
  const Lsn needed = Change(NewPage(3));
  const auto write = [this](Frame* frame) {
    ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
    ASSERT_TRUE(writer_->Flush().ok());
  };
  // The checkpoint relies on these writes, so the file must tell of them.
  SweepAll(SweepMode::kUrgent);
  // Written when the data files were synced already: lost with the power.
  bool synced = false;
  hooked_.SetSyncHook([&](const std::string& path, Bytes) {
    if (path.find("space_16") == std::string::npos || std::exchange(synced, true)) return;
    (void)Change(late);
    write(late);
  });
  ASSERT_TRUE(checkpointer_->WriteCheckpoint().ok());
  ASSERT_TRUE(synced);
  hooked_.SetSyncHook({});
  fs_.Crash({.keep = CrashPlan::Keep::kNothing}, 1);
  PageLsns found(&fs_, &fixture_.files());
  ASSERT_TRUE(found.Open({}).ok());
  EXPECT_EQ(found.Expected(PoolFixture::Id(1)), before);
  EXPECT_EQ(found.Expected(PoolFixture::Id(2)), kNoLsn);
  EXPECT_EQ(found.Expected(PoolFixture::Id(3)), needed);
}

/// Which of the two kinds of files was written to, in order.
void RecordWrites(HookedFileSystem* files, std::string* order) {
  files->SetHook([order](const std::string& path, Bytes) {
    if (path.find("space_") != std::string::npos) *order += 'H';
    if (path.find(kDoublewriteFileName) != std::string::npos) *order += 'D';
  });
}

TEST_F(WritePath, EachBatchGoesHomeAfterItsDoublewriteWasWaitedFor) {
  std::string order;
  RecordWrites(&hooked_, &order);
  Frame* frames[3] = {NewPage(1), NewPage(2), NewPage(3)};
  for (Frame* frame : frames) (void)Change(frame);
  for (Frame* frame : frames) {
    ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
    ASSERT_TRUE(writer_->Push().ok());
    EXPECT_EQ(frame->io_in_progress.load(), 1);
  }
  // The third is on its way to the doublewrite file, the second home, the first is there.
  EXPECT_EQ(order, "DHD");
  EXPECT_EQ(frames[0]->FirstDirtyLsn(), kNoLsn);
  EXPECT_NE(frames[1]->FirstDirtyLsn(), kNoLsn);
  ASSERT_TRUE(writer_->Flush().ok());
  EXPECT_EQ(order, "DHDDHH");
  for (Frame* frame : frames) EXPECT_EQ(frame->FirstDirtyLsn(), kNoLsn);
  EXPECT_EQ(frames_->dirty_frames(), 0u);
}

TEST_F(WritePath, AFailedDoublewriteSendsNothingHomeAndLeavesItsPagesDirty) {
  std::string order;
  RecordWrites(&hooked_, &order);
  Frame* frames[3] = {NewPage(1), NewPage(2), NewPage(3)};
  for (Frame* frame : frames) (void)Change(frame);
  ASSERT_EQ(writer_->TryAdd(frames[0]), PageWriter::Added::kYes);
  ASSERT_TRUE(writer_->Push().ok());
  ASSERT_EQ(writer_->TryAdd(frames[1]), PageWriter::Added::kYes);
  ASSERT_TRUE(writer_->Push().ok());
  fs_.Inject({.call = FileCall::kWrite, .path_part = kDoublewriteFileName});
  ASSERT_EQ(writer_->TryAdd(frames[2]), PageWriter::Added::kYes);
  // The failure of the second batch comes to light when the third is pushed.
  EXPECT_TRUE(writer_->Push().Is(Code::kStopped));
  EXPECT_EQ(order, "DHD") << "only the first batch went home";
  EXPECT_EQ(frames[0]->FirstDirtyLsn(), kNoLsn);
  for (Frame* frame : {frames[1], frames[2]}) {
    EXPECT_NE(frame->FirstDirtyLsn(), kNoLsn);
    EXPECT_EQ(frame->io_in_progress.load(), 0);
  }
  EXPECT_EQ(frames_->dirty_frames(), 2u);
  EXPECT_TRUE(fixture_.log().stopped());
  EXPECT_TRUE(writer_->empty());
  EXPECT_TRUE(page_files_->write_gate()->empty());
}

TEST_F(WritePath, AFailedWriteHomeEndsTheBatchesBehindIt) {
  Frame* frames[3] = {NewPage(1), NewPage(2), NewPage(3)};
  for (Frame* frame : frames) (void)Change(frame);
  for (Frame* frame : frames) {
    ASSERT_EQ(writer_->TryAdd(frame), PageWriter::Added::kYes);
    if (frame != frames[2]) {
      ASSERT_TRUE(writer_->Push().ok());
    }
  }
  fs_.Inject({.call = FileCall::kWrite, .path_part = "space_"});
  EXPECT_TRUE(writer_->Flush().Is(Code::kStopped));
  for (Frame* frame : frames) {
    EXPECT_NE(frame->FirstDirtyLsn(), kNoLsn);
    EXPECT_EQ(frame->io_in_progress.load(), 0);
  }
  EXPECT_EQ(frames_->dirty_frames(), 3u);
}

TEST_F(WritePath, AnOlderImageInAnotherWritersSegmentIsNotUsed) {
  const std::unique_ptr<PageWriter> second = MakeWriter(1);
  const auto write = [](PageWriter* writer, Frame* frame) {
    ASSERT_EQ(writer->TryAdd(frame), PageWriter::Added::kYes);
    ASSERT_TRUE(writer->Flush().ok());
  };
  Frame* frame = NewPage(1);
  Frame* other = NewPage(2);
  (void)Change(frame);
  write(second.get(), frame);  // and this writer has nothing more to do
  (void)Change(frame);
  write(writer_.get(), frame);
  ASSERT_TRUE(page_files_->syncs()->SyncAll().ok());
  for (uint32_t i = 0; i < PageWriter::SegmentsPerWriter(kFrames); ++i) {
    (void)Change(other);
    write(writer_.get(), other);
  }
  std::vector<std::byte> damaged = fixture_.ReadHome(1);
  damaged[100] ^= std::byte{1};
  fixture_.WriteHome(1, damaged);
  PageLsns nothing_known(&fs_, &fixture_.files());
  ASSERT_TRUE(nothing_known.Open({}).ok());
  DoublewriteFile next_start(&hooked_, &fixture_.files(), page_files_->syncs(), &nothing_known);
  ASSERT_TRUE(next_start.Open(kSlots.total() * PageWriter::SegmentsPerWriter(kFrames)).ok());
  ASSERT_TRUE(next_start.Repair(fixture_.log().tail()).ok());
  EXPECT_EQ(fixture_.ReadHome(1), damaged) << "bit rot is not a torn write";
}

TEST_F(WritePath, OneSyncServesAllWhoWaitForIt) {
  (void)Change(NewPage(1));
  SweepAll(SweepMode::kUrgent);
  ASSERT_TRUE(page_files_->syncs()->SyncAll().ok());
  const auto syncs_of_spaces = [] { return CountsOf(FileCall::kSync, FileClass::kSpace).calls; };
  const uint64_t syncs = syncs_of_spaces();  // the log has some of its own, each second
  ASSERT_TRUE(page_files_->syncs()->SyncAll().ok());
  ASSERT_TRUE(page_files_->syncs()->EnsureSynced(PoolFixture::kSpace, 1).ok());
  EXPECT_EQ(syncs_of_spaces(), syncs);
  // An old ticket stays served when there are new writes.
  fixture_.WriteHome(1, fixture_.ReadHome(1));
  const SyncTracker::Ticket ticket = page_files_->syncs()->NoteWrite(PoolFixture::kSpace);
  ASSERT_TRUE(page_files_->syncs()->EnsureSynced(PoolFixture::kSpace, ticket - 1).ok());
  EXPECT_EQ(syncs_of_spaces(), syncs);
  ASSERT_TRUE(page_files_->syncs()->EnsureSynced(PoolFixture::kSpace, ticket).ok());
  EXPECT_EQ(syncs_of_spaces(), syncs + 1);
}

}  // namespace
}  // namespace rowan
