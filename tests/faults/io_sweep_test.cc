// SPDX-License-Identifier: GPL-2.0-only
// A file system that fails anywhere: while a statement runs, the n-th call of each kind fails, for
// all n, for want of space or for good. The statement succeeds all the same or ends with an error,
// or the engine stops; what was committed is there, in the running instance or after the next
// start, and the same statement then succeeds.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/faults/swept_statements.h"
#include "tests/support/fault_tally.h"
#include "tests/support/test_settings.h"

namespace rowan::faults {
namespace {

/// More than any of them makes of one kind.
constexpr uint64_t kCallsMax = 5000;
constexpr FileCall kSweptCalls[] = {
    FileCall::kOpen,          FileCall::kRead,     FileCall::kWrite,  FileCall::kSync,
    FileCall::kTruncate,      FileCall::kAllocate, FileCall::kRename, FileCall::kRemove,
    FileCall::kSyncDirectory, FileCall::kPunch};

struct IoOutcome {
  Status status;
  bool met = false;  ///< the statement, or work beside it, made so many calls
  bool stopped = false;
};

/// Runs the statement with or without a fault; when it is over, none of what the fault caused is
/// still to come.
IoOutcome RunWith(Scene* scene, const SweptStatement& statement, const InjectedFault* fault) {
  IoOutcome outcome;
  scene->Begin();
  statement.prepare(scene);
  FaultFileSystem& files = scene->world.files;
  const uint64_t met_before = files.FaultsMet();
  const uint64_t met_elsewhere_before = files.FaultsMetElsewhere();
  if (fault != nullptr) files.Inject(*fault);
  outcome.status = statement.run(scene);
  if (fault != nullptr) files.ClearFaults();
  outcome.met = files.FaultsMet() != met_before;
  if (outcome.status.ok() && statement.commits) scene->rows = scene->after;
  const Status ended = scene->End();
  EXPECT_TRUE(ended.ok() || scene->Stopped()) << ended.message();
  outcome.stopped = scene->Stopped();
  // A background thread that met the fault may be about to stop the engine: an end waits for it.
  if (outcome.stopped || files.FaultsMetElsewhere() != met_elsewhere_before) {
    if (!statement.commits) scene->after.clear();
    scene->Restart();
  }
  if (outcome.status.ok() && statement.clean_up) statement.clean_up(scene);
  scene->AwaitRollbacks();
  return outcome;
}

class IoSweepTest : public testing::TestWithParam<size_t> {
 protected:
  void Sweep(Scene* scene, const SweptStatement& statement, FileCall call, Code code) {
    for (uint64_t nth = 1; nth < kCallsMax; ++nth) {
      SCOPED_TRACE(testing::Message() << statement.name << ", " << FileCallName(call) << " " << nth
                                      << ", " << CodeName(code));
      const InjectedFault fault{.call = call, .nth_call = nth, .code = code};
      const IoOutcome failed = RunWith(scene, statement, &fault);
      if (!failed.met) {
        EXPECT_TRUE(failed.status.ok()) << failed.status.message();
        return;
      }
      ++failures_;
      if (failed.status.ok()) ++went_on_;
      if (failed.stopped) ++stops_;
      scene->Check();
      const IoOutcome again = RunWith(scene, statement, nullptr);
      EXPECT_TRUE(again.status.ok()) << again.status.message();
      if (HasFailure()) return;
    }
    FAIL() << "more calls than expected";
  }

  uint64_t failures_ = 0;
  uint64_t went_on_ = 0;
  uint64_t stops_ = 0;
};

TEST_P(IoSweepTest, EachCallMayFail) {
  const SweptStatement& statement = SweptStatements()[GetParam()];
  Scene scene(TestSeed());
  for (const FileCall call : kSweptCalls) {
    for (const Code code : {Code::kIoError, Code::kNoSpace}) {
      Sweep(&scene, statement, call, code);
      if (HasFailure()) return;
    }
  }
  std::printf("%s: %lu calls failed, %lu of them unnoticed, %lu stopped the engine\n",
              statement.name, failures_, went_on_, stops_);
}

INSTANTIATE_TEST_SUITE_P(Statements, IoSweepTest,
                         testing::Range(size_t{0}, SweptStatements().size()), StatementName);

}  // namespace
}  // namespace rowan::faults
