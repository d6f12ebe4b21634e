// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/fault_file_system.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <set>
#include <utility>

#include "base/crc32c.h"
#include "base/format.h"
#include "tests/support/fault_file.h"
#include "tests/support/fault_queue.h"
#include "tests/support/quiet_memory.h"

namespace rowan {
namespace {

constexpr int64_t kPowerForever = std::numeric_limits<int64_t>::max() / 2;

std::string_view FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? std::string_view("/") : path.substr(0, slash);
}

std::string_view WithoutTrailingSlash(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return folder;
}

CrashPlan DrawPlan(Random& random, uint64_t changes) {
  CrashPlan plan;
  switch (random.Below(8)) {
    case 0: plan.keep = CrashPlan::Keep::kNothing; break;
    case 1: plan.keep = CrashPlan::Keep::kEverything; break;
    case 2:
    case 3:
    case 4: plan.keep = CrashPlan::Keep::kPrefix; break;
    default: plan.keep = CrashPlan::Keep::kSubset; break;
  }
  // Near the end more often than far back: most of what is older was synced anyway.
  const uint64_t reach = uint64_t{1} << random.Below(12);
  plan.last_kept = changes - random.Below(std::min(reach, changes) + 1);
  constexpr uint32_t kPercents[] = {5, 50, 95};
  plan.keep_percent = kPercents[random.Below(std::size(kPercents))];
  return plan;
}

}  // namespace

FaultFileSystem::FaultFileSystem(uint64_t seed)
    : seed_(seed), queue_faults_(seed), power_left_(kPowerForever), fault_random_(seed) {}

FaultFileSystem::~FaultFileSystem() {
  if (::testing::Test::HasFailure()) std::printf("%s\n", Describe().c_str());
}

std::string FaultFileSystem::Describe() const {
  std::lock_guard lock(mutex_);
  std::string text =
      Format("fault file system: seed {}, {} changes, crashes", seed_, next_sequence_.load());
  constexpr size_t kShownMax = 8;
  const size_t first = crash_seeds_.size() > kShownMax ? crash_seeds_.size() - kShownMax : 0;
  if (first > 0) text += " ...";
  for (size_t i = first; i < crash_seeds_.size(); ++i) text += Format(" {}", crash_seeds_[i]);
  return text;
}

void FaultFileSystem::Crash(uint64_t seed) {
  uint64_t mixed = seed_ ^ seed;
  Random random(SplitMix64(&mixed));
  const CrashPlan plan = DrawPlan(random, next_sequence_.load());
  Crash(plan, seed);
}

void FaultFileSystem::Crash(const CrashPlan& plan, uint64_t seed) {
  uint64_t mixed = seed_ + seed;
  Random random(SplitMix64(&mixed));
  std::lock_guard lock(mutex_);
  crash_seeds_.push_back(seed);
  generation_.fetch_add(1);
  CrashNamesLocked(plan, random);
  // A file may have two names in the durable map while a rename is half saved: crash it once.
  std::set<const SimulatedInode*> crashed;
  for (const auto& [path, inode] : durable_) {
    if (crashed.insert(inode.get()).second) inode->Crash(plan, random);
  }
  current_ = durable_;
  locks_.clear();
  ClearFaults();
  power_left_.store(kPowerForever);
}

void FaultFileSystem::CrashNamesLocked(const CrashPlan& plan, Random& random) {
  for (const NameChange& change : name_changes_) {
    bool kept = false;
    switch (plan.keep) {
      case CrashPlan::Keep::kNothing: break;
      case CrashPlan::Keep::kEverything: kept = true; break;
      case CrashPlan::Keep::kPrefix: kept = change.sequence <= plan.last_kept; break;
      case CrashPlan::Keep::kSubset: kept = random.Below(100) < plan.keep_percent; break;
    }
    if (kept) SaveNameLocked(change);
  }
  name_changes_.clear();
  LoseFoldersLocked();
}

void FaultFileSystem::SaveNameLocked(const NameChange& change) {
  if (change.kind == NameChange::Kind::kCreateFolder) {
    folders_[change.path] = true;
  } else {
    ApplyName(durable_, change);
  }
}

void FaultFileSystem::LoseFoldersLocked() {
  std::erase_if(folders_, [&](const auto& folder) {
    if (folder.second) return false;
    std::erase_if(durable_,
                  [&](const auto& file) { return file.first.starts_with(folder.first + "/"); });
    return true;
  });
}

void FaultFileSystem::ApplyName(Inodes& names, const NameChange& change) {
  switch (change.kind) {
    case NameChange::Kind::kCreate: names[change.path] = change.inode; break;
    case NameChange::Kind::kRemove: names.erase(change.path); break;
    case NameChange::Kind::kCreateFolder: break;  // not a file
    case NameChange::Kind::kRename: {
      // Missing when the creation was lost: then there is nothing to rename.
      const auto source = names.find(change.path);
      if (source == names.end() || change.path == change.target) break;
      auto inode = source->second;
      names.erase(source);
      names[change.target] = std::move(inode);
      break;
    }
  }
}

void FaultFileSystem::PowerOffAfter(uint64_t changes) {
  power_left_.store(static_cast<int64_t>(changes));
}

void FaultFileSystem::Inject(InjectedFault fault) {
  std::lock_guard lock(faults_mutex_);
  faults_.push_back(std::move(fault));
  injector_ = std::this_thread::get_id();
  faults_armed_.store(true);
}

void FaultFileSystem::ClearFaults() {
  queue_faults_.Clear();
  std::lock_guard lock(faults_mutex_);
  faults_.clear();
  faults_armed_.store(false);
}

uint64_t FaultFileSystem::Calls(FileCall call) const {
  return calls_[static_cast<size_t>(call)].load();
}

std::string FaultFileSystem::FollowLocked(const std::string& path) const {
  const auto found = current_.find(path);
  const bool is_link = found != current_.end() && !found->second->link_target().empty();
  const std::string& place = is_link ? found->second->link_target() : path;
  return IsAwayLocked(place) ? std::string() : place;  // nobody makes a link to a link
}

void FaultFileSystem::Unmount(const std::string& folder) {
  std::lock_guard lock(mutex_);
  unmounted_ = folder;
}

bool FaultFileSystem::FlipBit(const std::string& path, uint64_t offset, unsigned bit) {
  std::lock_guard lock(mutex_);
  const auto found = current_.find(FollowLocked(path));
  return found != current_.end() && found->second->FlipBit(offset, bit);
}

uint64_t FaultFileSystem::AllocatedBytes(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const auto found = current_.find(FollowLocked(path));
  return found == current_.end() ? 0 : found->second->AllocatedBytes();
}

uint64_t FaultFileSystem::Digest() const {
  std::lock_guard lock(mutex_);
  uint64_t digest = 0;
  for (const auto& [path, inode] : current_) {
    digest = digest * 31 + inode->Digest() + Crc32c(AsBytes(path)) +
             Crc32c(AsBytes(inode->link_target()));
  }
  return digest;
}

void FaultFileSystem::SetObserver(Observer observer) {
  std::unique_lock lock(observer_mutex_);
  observed_.store(observer != nullptr);
  observer_ = std::move(observer);
}

FaultFileSystem::Verdict FaultFileSystem::Enter(FileCall call, const std::string& path) {
  calls_[static_cast<size_t>(call)].fetch_add(1);
  CountCall(call, path);
  if (observed_.load()) {
    std::shared_lock lock(observer_mutex_);
    if (observer_) observer_(call);
  }
  Verdict verdict;
  if (faults_armed_.load()) verdict = TakeFault(call, path);
  const bool changes = call != FileCall::kRead && call != FileCall::kOpen;
  int64_t left = power_left_.load();
  if (changes) {
    left = power_left_.fetch_sub(1);
    verdict.sequence = next_sequence_.fetch_add(1);
  }
  if (left < 0) verdict.power = Power::kOff;
  if (changes && left == 0) verdict.power = Power::kCutNow;
  if (verdict.power != Power::kOn) verdict.status = Status(Code::kIoError, "power is off", EIO);
  return verdict;
}

bool FaultFileSystem::IsMeantLocked(const InjectedFault& fault, FileCall call,
                                    const std::string& path) const {
  if (fault.call != call || path.find(fault.path_part) == std::string::npos) return false;
  const bool injects = injector_ == std::this_thread::get_id();
  switch (fault.whose) {
    case InjectedFault::Whose::kAnybodys: return true;
    case InjectedFault::Whose::kInjectors: return injects;
    case InjectedFault::Whose::kOthers: return !injects;
  }
  return false;
}

FaultFileSystem::Verdict FaultFileSystem::TakeFault(FileCall call, const std::string& path) {
  std::lock_guard lock(faults_mutex_);
  Verdict verdict;
  for (size_t i = 0; i < faults_.size(); ++i) {
    InjectedFault& fault = faults_[i];
    if (!IsMeantLocked(fault, call, path)) continue;
    if (fault.nth_call > 1) {
      --fault.nth_call;
      continue;
    }
    verdict.fault = fault;
    verdict.faulty = true;
    CountFault(call, path);
    faults_met_.fetch_add(1);
    if (injector_ != std::this_thread::get_id()) faults_met_elsewhere_.fetch_add(1);
    if (fault.effect == InjectedFault::Effect::kFail ||
        fault.effect == InjectedFault::Effect::kShort) {
      const int usual = fault.code == Code::kNoSpace ? ENOSPC : EIO;
      const int error = fault.error != 0 ? fault.error : usual;
      verdict.status = Status(fault.code, "injected fault", static_cast<uint32_t>(error));
    }
    if (!fault.lasting) faults_.erase(faults_.begin() + static_cast<ptrdiff_t>(i));
    break;
  }
  faults_armed_.store(!faults_.empty());
  return verdict;
}

void FaultFileSystem::FailSync(SimulatedInode& inode) {
  std::lock_guard lock(faults_mutex_);
  inode.FailSync(fault_random_);
}

bool FaultFileSystem::TryLock(const SimulatedInode* inode, const FaultFile* holder) {
  std::lock_guard lock(mutex_);
  return locks_.try_emplace(inode, holder).first->second == holder;
}

void FaultFileSystem::Unlock(const SimulatedInode* inode, const FaultFile* holder) {
  std::lock_guard lock(mutex_);
  const auto found = locks_.find(inode);
  if (found != locks_.end() && found->second == holder) locks_.erase(found);
}

Result<std::unique_ptr<File>> FaultFileSystem::Open(const std::string& path, FileOptions options) {
  const QuietMemory quiet;
  const Verdict verdict = Enter(FileCall::kOpen, path);
  if (!verdict.status.ok()) return verdict.status;
  std::lock_guard lock(mutex_);
  if (current_.contains(path) && options.create && options.exclusive) {
    return Status(Code::kInvalidArgument, "file exists already", EEXIST);
  }
  const std::string place = FollowLocked(path);
  auto found = current_.find(place);
  const bool exists = found != current_.end();
  if (!exists && !options.create) return Status(Code::kNotFound, "no such file");
  if (place.empty()) return Status(Code::kIoError, "no such folder", ENOENT);
  if (!exists) {
    // Creating is a change, so the power may end here; opening is not.
    const int64_t left = power_left_.fetch_sub(1);
    if (left < 0) return Status(Code::kIoError, "power is off", EIO);
    found = current_.emplace(place, std::make_shared<SimulatedInode>()).first;
    name_changes_.push_back(
        {NameChange::Kind::kCreate, next_sequence_.fetch_add(1), place, "", found->second});
    if (left == 0) return Status(Code::kIoError, "power is off", EIO);
  }
  return std::unique_ptr<File>(
      std::make_unique<FaultFile>(this, path, options, found->second, generation_.load()));
}

Status FaultFileSystem::Rename(const std::string& source, const std::string& target) {
  const QuietMemory quiet;
  const Verdict verdict = Enter(FileCall::kRename, source);
  if (!verdict.status.ok() && verdict.power != Power::kCutNow) return verdict.status;
  std::lock_guard lock(mutex_);
  if (!current_.contains(source)) return Status(Code::kNotFound, "no such file");
  name_changes_.push_back({NameChange::Kind::kRename, verdict.sequence, source, target, nullptr});
  ApplyName(current_, name_changes_.back());
  return verdict.status;
}

Status FaultFileSystem::Remove(const std::string& path) {
  const QuietMemory quiet;
  const Verdict verdict = Enter(FileCall::kRemove, path);
  if (!verdict.status.ok() && verdict.power != Power::kCutNow) return verdict.status;
  std::lock_guard lock(mutex_);
  if (!current_.contains(path) || IsAwayLocked(path)) {
    return Status(Code::kNotFound, "no such file");
  }
  name_changes_.push_back({NameChange::Kind::kRemove, verdict.sequence, path, "", nullptr});
  ApplyName(current_, name_changes_.back());
  return verdict.status;
}

Result<bool> FaultFileSystem::Exists(const std::string& path) {
  const QuietMemory quiet;
  if (powered_off()) return Status(Code::kIoError, "power is off", EIO);
  std::lock_guard lock(mutex_);
  return current_.contains(FollowLocked(path)) || (folders_.contains(path) && !IsAwayLocked(path));
}

Result<std::vector<std::string>> FaultFileSystem::List(const std::string& folder) {
  const QuietMemory quiet;
  if (powered_off()) return Status(Code::kIoError, "power is off", EIO);
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [path, inode] : current_) {
    if (FolderOf(path) != WithoutTrailingSlash(folder)) continue;
    names.push_back(path.substr(path.rfind('/') + 1));
  }
  return names;
}

Status FaultFileSystem::CreateLink(const std::string& target, const std::string& path) {
  const QuietMemory quiet;
  const Verdict verdict = Enter(FileCall::kLink, path);
  if (!verdict.status.ok() && verdict.power != Power::kCutNow) return verdict.status;
  std::lock_guard lock(mutex_);
  if (current_.contains(path)) {
    return Status(Code::kInvalidArgument, "file exists already", EEXIST);
  }
  name_changes_.push_back({NameChange::Kind::kCreate, verdict.sequence, path, "",
                           std::make_shared<SimulatedInode>(target)});
  ApplyName(current_, name_changes_.back());
  return verdict.status;
}

Result<std::string> FaultFileSystem::ReadLink(const std::string& path) {
  const QuietMemory quiet;
  if (powered_off()) return Status(Code::kIoError, "power is off", EIO);
  std::lock_guard lock(mutex_);
  const auto found = current_.find(path);
  if (found == current_.end()) return Status(Code::kNotFound, "no such file");
  return found->second->link_target();
}

Status FaultFileSystem::CreateFolder(const std::string& path) {
  const QuietMemory quiet;
  if (powered_off()) return Status(Code::kIoError, "power is off", EIO);
  const std::string folder(WithoutTrailingSlash(path));
  std::lock_guard lock(mutex_);
  if (!folders_.try_emplace(folder, false).second) return Status::Ok();
  const int64_t left = power_left_.fetch_sub(1);
  name_changes_.push_back(
      {NameChange::Kind::kCreateFolder, next_sequence_.fetch_add(1), folder, "", nullptr});
  return left > 0 ? Status::Ok() : Status(Code::kIoError, "power is off", EIO);
}

Status FaultFileSystem::SyncDirectory(const std::string& folder) {
  const QuietMemory quiet;
  const Verdict verdict = Enter(FileCall::kSyncDirectory, folder);
  if (!verdict.status.ok()) return verdict.status;
  std::lock_guard lock(mutex_);
  const std::string_view wanted = WithoutTrailingSlash(folder);
  std::erase_if(name_changes_, [&](const NameChange& change) {
    if (FolderOf(change.path) != wanted) return false;
    SaveNameLocked(change);
    return true;
  });
  return Status::Ok();
}

Result<uint32_t> FaultFileSystem::AtomicWriteUnitMax(const std::string&) {
  return atomic_unit_max_.load();
}

Result<std::unique_ptr<AsyncQueue>> FaultFileSystem::MakeQueue(QueueKind kind, uint32_t entries,
                                                               std::string* refusal) {
  if (!asynchronous_.load()) return FileSystem::MakeQueue(kind, entries, refusal);
  const FaultQueue::Below below{&descriptors_, &queue_faults_};
  const uint64_t seed = seed_ + queues_made_.fetch_add(1);
  return std::unique_ptr<AsyncQueue>(std::make_unique<FaultQueue>(below, kind, entries, seed));
}

}  // namespace rowan
