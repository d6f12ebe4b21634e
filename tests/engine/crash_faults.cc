// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_faults.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/format.h"

namespace rowan {
namespace {

struct FaultKind {
  FileCall call;
  FileClass file;
  const char* path_part;
  uint32_t calls_max;   ///< in a round, about; most faults should come before the calls run out
  uint32_t weight = 1;  ///< how often it is drawn; more for calls that few rounds make
};

constexpr char kTemporaryPart[] = ".temporary";

constexpr FaultKind kKinds[] = {
    {FileCall::kOpen, FileClass::kRedo, "redo", 12},
    {FileCall::kOpen, FileClass::kSpace, "space_", 12},
    {FileCall::kOpen, FileClass::kSort, "sort", 1, 3},
    {FileCall::kRead, FileClass::kRedo, "redo", 60},
    {FileCall::kRead, FileClass::kSpace, "space_", 60},
    {FileCall::kRead, FileClass::kDoublewrite, "doublewrite", 6},
    {FileCall::kRead, FileClass::kSort, "sort", 3, 3},
    {FileCall::kWrite, FileClass::kRedo, "redo", 200},
    {FileCall::kWrite, FileClass::kSpace, "space_", 200},
    {FileCall::kWrite, FileClass::kDoublewrite, "doublewrite", 40},
    {FileCall::kWrite, FileClass::kPageLsns, "page_lsns", 10},
    {FileCall::kWrite, FileClass::kControl, "control", 6},
    {FileCall::kWrite, FileClass::kSort, "sort", 3, 3},
    {FileCall::kSync, FileClass::kRedo, "redo", 150},
    {FileCall::kSync, FileClass::kSpace, "space_", 100},
    {FileCall::kSync, FileClass::kPageLsns, "page_lsns", 6},
    {FileCall::kSync, FileClass::kControl, "control", 6},
    {FileCall::kAllocate, FileClass::kSpace, "space_", 20},
    {FileCall::kPunch, FileClass::kSpace, "space_", 2},
    {FileCall::kRename, FileClass::kRedo, "redo", 6},
    {FileCall::kRename, FileClass::kSpace, "space_", 6},
    {FileCall::kRemove, FileClass::kRedo, "redo", 4},
    {FileCall::kRemove, FileClass::kSpace, "space_", 6},
    {FileCall::kRemove, FileClass::kSort, "sort", 1, 3},
    {FileCall::kSyncDirectory, FileClass::kFolder, "", 20},
};

constexpr FaultKind kSyncs[] = {
    {FileCall::kSync, FileClass::kOther, "", UINT32_MAX},
    {FileCall::kSync, FileClass::kRedo, "redo", UINT32_MAX},
    {FileCall::kSync, FileClass::kSpace, "space_", UINT32_MAX},
    {FileCall::kSync, FileClass::kPageLsns, "page_lsns", 4},
    {FileCall::kSync, FileClass::kControl, "control", 4},
};

/// What undoing rows and their entries needs, undo and temporary tables included.
constexpr FaultKind kOfRollback[] = {
    {FileCall::kRead, FileClass::kSpace, "space_", 4, 4},
    {FileCall::kRead, FileClass::kSpace, kTemporaryPart, 2},
    {FileCall::kWrite, FileClass::kSpace, kTemporaryPart, 2},
    {FileCall::kAllocate, FileClass::kSpace, "space_", 2, 3},
    {FileCall::kTruncate, FileClass::kSpace, "space_", 2},
    {FileCall::kOpen, FileClass::kSpace, "space_", 2},
    {FileCall::kWrite, FileClass::kRedo, "redo", 4},
};

/// And files that were made.
constexpr FaultKind kOfDdlRollback[] = {
    {FileCall::kRead, FileClass::kSpace, "space_", 4, 2},
    {FileCall::kOpen, FileClass::kSpace, "space_", 2},
    {FileCall::kAllocate, FileClass::kSpace, "space_", 2},
    {FileCall::kRename, FileClass::kSpace, "space_", 2, 4},
    {FileCall::kRemove, FileClass::kSpace, "space_", 2, 4},
    {FileCall::kSyncDirectory, FileClass::kFolder, "", 3, 3},
};

const FaultKind& DrawKind(Random* random, std::span<const FaultKind> kinds) {
  uint64_t weights = 0;
  for (const FaultKind& kind : kinds) weights += kind.weight;
  uint64_t drawn = random->Below(weights);
  const FaultKind* kind = kinds.data();
  for (; drawn >= kind->weight; ++kind) drawn -= kind->weight;
  return *kind;
}

InjectedFault AtSomeCall(const FaultKind& kind, Random* random, uint32_t calls_max) {
  InjectedFault fault;
  fault.call = kind.call;
  fault.path_part = kind.path_part;
  const uint64_t most = std::min(kind.calls_max, calls_max);
  fault.nth_call = 1 + random->Below(1 + random->Below(most));
  return fault;
}

}  // namespace

/// How it fails, and how often.
InjectedFault WithEffect(InjectedFault fault, uint32_t lasting_one_in, Random* random) {
  fault.lasting = random->OneIn(lasting_one_in);
  const bool takes_space = fault.call == FileCall::kWrite || fault.call == FileCall::kAllocate ||
                           fault.call == FileCall::kOpen;
  if (takes_space && random->OneIn(2)) {
    fault.code = Code::kNoSpace;
    // A disk may stay full, but files that are there can be opened: with every log file refused for
    // lack of space writers would wait for ever, as they should.
    if (fault.call == FileCall::kOpen) fault.lasting = false;
  }
  if (random->OneIn(2)) fault.effect = InjectedFault::Effect::kShort;
  return fault;
}

InjectedFault DrawFault(Random* random, uint32_t calls_max) {
  return WithEffect(AtSomeCall(DrawKind(random, kKinds), random, calls_max), 4, random);
}

InjectedFault DrawRollbackFault(Random* random, RollbackOf of) {
  const std::span<const FaultKind> kinds =
      of == RollbackOf::kRows ? std::span<const FaultKind>(kOfRollback) : kOfDdlRollback;
  return WithEffect(AtSomeCall(DrawKind(random, kinds), random, UINT32_MAX), 2, random);
}

bool MayStop(const InjectedFault& fault) {
  const FileClass file = FileClassOf(fault.path_part);
  switch (fault.call) {
    // Redo may go on, and a prepared transaction that is to be committed needs its undo.
    case FileCall::kRead: return file == FileClass::kRedo || file == FileClass::kSpace;
    case FileCall::kPunch:
    case FileCall::kAllocate:
    case FileCall::kTruncate:
    case FileCall::kLink: return false;
    case FileCall::kWrite:
    case FileCall::kSync: return file != FileClass::kSort;
    case FileCall::kOpen: return file != FileClass::kSort;  // to write a page, perhaps
    default: return file == FileClass::kRedo || file == FileClass::kFolder;
  }
}

InjectedFault DrawFailedSync(Random* random, uint32_t calls_max) {
  return AtSomeCall(kSyncs[random->Below(std::size(kSyncs))], random, calls_max);
}

QueueFault DrawQueueFault(Random* random) {
  return random->OneIn(2) ? QueueFault::kSubmitRefused : QueueFault::kAnswerFailed;
}

std::string FaultsThatNeverFired() {
  std::string text;
  for (uint32_t number = 0; number < static_cast<uint32_t>(QueueFault::kCount); ++number) {
    const auto fault = static_cast<QueueFault>(number);
    if (CountsOf(fault).fired != 0) continue;
    text +=
        Format("queue, {}: never, in {} chances\n", QueueFaultName(fault), CountsOf(fault).calls);
  }
  for (const FaultKind& kind : kKinds) {
    if (CountsOf(kind.call, kind.file).fired != 0) continue;
    text += Format("{} {}: never, in {} calls\n", FileCallName(kind.call), FileClassName(kind.file),
                   CountsOf(kind.call, kind.file).calls);
  }
  return text;
}

}  // namespace rowan
