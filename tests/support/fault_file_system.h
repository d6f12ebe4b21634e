// SPDX-License-Identifier: GPL-2.0-only
// FaultFileSystem: a file system in memory that loses power, tears writes and fails on request, as
// disks do. Drop-in for PosixFileSystem() in every test that is about durability.
//
// What it holds to (the contract of io/file.h, and nothing beyond it):
//   - unsynced writes survive a power loss in any subset, in units of 512 B or 4 KiB;
//   - creating, renaming and removing survive only by SyncDirectory, each on its own; syncing a
//     file does not save its name;
//   - a failed sync loses an arbitrary part of what it should have saved, for good;
//   - a folder made by CreateFolder survives, with all that is in it, by SyncDirectory of its
//     parent; folders that nobody made exist always;
//   - descriptor() is -1, unless the file is opened after SetAsynchronous.
// Crash() cuts the power and starts again: handles from before fail, the same object serves the
// next start. PowerOffAfter(n) cuts it in the midst of the work: change n+1 is caught half-way, and
// until Crash() everything fails.
// Same seeds and same order of calls give the same images. The seed is printed when a test fails.
// Thread safety: all members from any thread.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "io/file.h"
#include "tests/support/descriptor_table.h"
#include "tests/support/fault_tally.h"
#include "tests/support/queue_faults.h"
#include "tests/support/simulated_inode.h"

namespace rowan {

/// One fault waiting for its call.
struct InjectedFault {
  enum class Effect {
    kFail,           ///< the call returns `code`; a failed sync loses data as described above
    kShort,          ///< a read or write stops half-way and returns `code`
    kDropWrite,      ///< a write returns Ok and does nothing: the page on disk is stale
    kMisdirectWrite  ///< a write returns Ok and lands `misdirect_bytes` further on
  };
  FileCall call = FileCall::kWrite;
  std::string path_part{};  ///< only calls whose path contains this; empty: all
  uint64_t nth_call = 1;    ///< 1: the next matching call
  bool lasting = false;     ///< all matching calls from the n-th on
  Effect effect = Effect::kFail;
  Code code = Code::kIoError;  ///< kNoSpace for a full disk
  int error = 0;               ///< errno in the status; 0: EIO, or ENOSPC with kNoSpace
  uint64_t misdirect_bytes = 0;
  /// Which threads' calls: all, only those of the thread that injects it, or all but those.
  enum class Whose { kAnybodys, kInjectors, kOthers };
  Whose whose = Whose::kAnybodys;
};

class FaultFile;

class FaultFileSystem final : public FileSystem {
 public:
  explicit FaultFileSystem(uint64_t seed);
  ~FaultFileSystem() override;

  // Power.
  /// Cuts the power, keeps what `seed` decides of the unsynced changes, switches on again.
  void Crash(uint64_t seed);
  /// The same with a chosen plan.
  void Crash(const CrashPlan& plan, uint64_t seed);
  /// `changes` more changing calls succeed; the next is interrupted half-way.
  void PowerOffAfter(uint64_t changes);
  [[nodiscard]] bool powered_off() const { return power_left_.load() < 0; }

  // Faults.
  void Inject(InjectedFault fault);
  void ClearFaults();
  /// Of all injected faults; those of queues not counted.
  [[nodiscard]] uint64_t FaultsMet() const { return faults_met_.load(); }
  /// The part of them that another thread met than the one which injected the fault. What that
  /// thread makes of it may come at any time: only the end of the instance settles it.
  [[nodiscard]] uint64_t FaultsMetElsewhere() const { return faults_met_elsewhere_.load(); }
  /// Bit rot, seen by programs and on disk. False if there is no such byte.
  bool FlipBit(const std::string& path, uint64_t offset, unsigned bit);
  /// The disk that is mounted at `folder` is away: nothing below it is there. Empty: it is back.
  void Unmount(const std::string& folder);
  /// What AtomicWriteUnitMax answers; 0 at first.
  void SetAtomicWriteUnitMax(uint32_t bytes) { atomic_unit_max_.store(bytes); }
  /// Asked in each call, on its thread, before it does anything. Empty: nobody is.
  using Observer = std::function<void(FileCall call)>;
  void SetObserver(Observer observer);
  /// Every Sync takes at least this long, as on a real device.
  void SetSyncDelayMicros(uint32_t micros) { sync_delay_us_.store(micros); }

  // Asynchronous requests.
  /// Files opened from now on have descriptors, and MakeQueue makes queues for them
  /// (fault_queue.h); before, it makes the kernel's.
  void SetAsynchronous(bool asynchronous) { asynchronous_.store(asynchronous); }
  [[nodiscard]] QueueFaults* queue_faults() { return &queue_faults_; }

  // Observation.
  [[nodiscard]] uint64_t Calls(FileCall call) const;
  /// To all writes, failed ones too.
  [[nodiscard]] uint64_t BytesGiven() const { return bytes_given_.load(); }
  /// Changing calls so far: an upper bound for PowerOffAfter when the same program runs again.
  [[nodiscard]] uint64_t Changes() const { return next_sequence_.load(); }
  [[nodiscard]] uint64_t seed() const { return seed_; }
  /// Of a file, in units of 4 KiB that are not all zero: about what it would take on a disk.
  [[nodiscard]] uint64_t AllocatedBytes(const std::string& path) const;
  /// Of all names and contents; the same program with the same seeds ends with the same one.
  [[nodiscard]] uint64_t Digest() const;
  /// For SCOPED_TRACE: the seed, and those of all crashes so far.
  [[nodiscard]] std::string Describe() const;

  // FileSystem.
  Result<std::unique_ptr<File>> Open(const std::string& path, FileOptions options) override;
  Status Rename(const std::string& source, const std::string& target) override;
  Status Remove(const std::string& path) override;
  Result<bool> Exists(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Status CreateLink(const std::string& target, const std::string& path) override;
  Result<std::string> ReadLink(const std::string& path) override;
  Status CreateFolder(const std::string& path) override;
  Status SyncDirectory(const std::string& folder) override;
  Result<uint32_t> AtomicWriteUnitMax(const std::string& path) override;
  Result<std::unique_ptr<AsyncQueue>> MakeQueue(QueueKind kind, uint32_t entries,
                                                std::string* refusal) override;

 private:
  friend class FaultFile;
  using Inodes = std::map<std::string, std::shared_ptr<SimulatedInode>>;

  /// A change of names that no SyncDirectory has saved yet.
  struct NameChange {
    enum class Kind { kCreate, kRename, kRemove, kCreateFolder } kind;
    uint64_t sequence;
    std::string path;
    std::string target;                     // of a rename
    std::shared_ptr<SimulatedInode> inode;  // of a create
  };
  enum class Power { kOn, kCutNow, kOff };
  /// What a call has to do: the fault it met, and its place in the order of changes.
  struct Verdict {
    Status status;  // not Ok: the call fails with it
    InjectedFault fault;
    bool faulty = false;
    Power power = Power::kOn;
    uint64_t sequence = 0;
  };

  Verdict Enter(FileCall call, const std::string& path);
  Verdict TakeFault(FileCall call, const std::string& path);
  [[nodiscard]] bool IsMeantLocked(const InjectedFault& fault, FileCall call,
                                   const std::string& path) const;
  void FailSync(SimulatedInode& inode);
  bool TryLock(const SimulatedInode* inode, const FaultFile* holder);
  void Unlock(const SimulatedInode* inode, const FaultFile* holder);
  [[nodiscard]] bool IsAwayLocked(const std::string& path) const {
    return !unmounted_.empty() && path.starts_with(unmounted_ + "/");
  }
  /// Where links lead from here; other paths as they are. Empty: there nothing can be.
  [[nodiscard]] std::string FollowLocked(const std::string& path) const;
  static void ApplyName(Inodes& names, const NameChange& change);
  void SaveNameLocked(const NameChange& change);
  void LoseFoldersLocked();
  void CrashNamesLocked(const CrashPlan& plan, Random& random);

  const uint64_t seed_;
  QueueFaults queue_faults_;
  DescriptorTable descriptors_;
  std::atomic<bool> asynchronous_{false};
  std::atomic<uint64_t> queues_made_{0};
  std::atomic<int64_t> power_left_;
  std::atomic<uint64_t> next_sequence_{0};
  std::atomic<uint64_t> generation_{0};  // handles of earlier generations are dead
  std::atomic<uint32_t> atomic_unit_max_{0};
  std::atomic<uint32_t> sync_delay_us_{0};
  std::array<std::atomic<uint64_t>, static_cast<size_t>(FileCall::kCount)> calls_{};
  std::atomic<uint64_t> bytes_given_{0};

  mutable std::mutex mutex_;
  Inodes current_;  // guarded by mutex_, as all below
  Inodes durable_;
  std::vector<NameChange> name_changes_;
  std::string unmounted_;
  std::map<std::string, bool> folders_;  // made by CreateFolder; true: durably
  std::vector<uint64_t> crash_seeds_;
  std::map<const SimulatedInode*, const FaultFile*> locks_;  // by holder; a crash ends them all

  std::shared_mutex observer_mutex_;
  Observer observer_;                  // guarded by observer_mutex_
  std::atomic<bool> observed_{false};  // false: nobody needs observer_mutex_

  std::mutex faults_mutex_;
  std::atomic<bool> faults_armed_{false};  // false: nobody needs faults_mutex_
  std::vector<InjectedFault> faults_;      // guarded by faults_mutex_
  Random fault_random_;                    // guarded by faults_mutex_
  std::thread::id injector_;               // guarded by faults_mutex_
  std::atomic<uint64_t> faults_met_{0};
  std::atomic<uint64_t> faults_met_elsewhere_{0};
};

}  // namespace rowan
