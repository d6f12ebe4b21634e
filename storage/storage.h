// SPDX-License-Identifier: GPL-2.0-only
// Storage: the foundation of an instance, assembled once: control file, tablespace files, redo log,
// buffer pool, page allocator and store of off-page values. Opening one creates the instance or
// recovers it; redo happens nowhere else.
//
// Opening: control file -> checks that may refuse the start -> doublewrite repair -> redo of what
// cannot wait -> ready. The rest is redone while the storage serves: a page is redone before it is
// used, and no checkpoint is published before all are redone (storage/recovery.h).
// An instance whose creation was cut short is recognised by next_table_id == 0 in its control file
// and is created again: nothing can have been stored in it.
//
// Redo functions of layers above are registered before Open (wal/redo.h).
// Thread safety: that of the parts. Open, FinishCreation, StopRedo, Close and Stop: by the owner's
// thread.
#pragma once

#include <functional>
#include <memory>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread_loop.h"
#include "buffer/buffer_pool.h"
#include "io/space_files.h"
#include "space/blob_store.h"
#include "space/page_allocator.h"
#include "storage/damaged_spaces.h"
#include "storage/recovery.h"
#include "storage/storage_options.h"
#include "wal/control_file.h"
#include "wal/log.h"

namespace rowan {

class CarriedFile;
class Scrubber;

/// Questions and notices to the owner. Any of them may be empty.
struct StorageEvents {
  /// Names what is damaged; see buffer/damage_reporter.h.
  DamageNamer name_damaged;
  /// Called before a new instance is created in an empty folder: returns why it must not be, or Ok.
  std::function<Status()> before_creation;
  /// The last run carried a file: the owner brings it to its end (storage/carried_tail.h), and
  /// settles it. Called before anything else is logged; a failure ends the start.
  std::function<Status(CarriedFile*)> settle_carried;
  /// Redo has marked a space as damaged while others were served. Called from a background thread,
  /// possibly before Open returns.
  std::function<void(SpaceId)> space_damaged;
  /// All pages of the last run are redone. Called once, and not for a new instance; otherwise as
  /// space_damaged.
  std::function<void()> redo_done;
};

class Storage {
 public:
  /// Errors are also logged as sentences: a folder that is not ours, another instance using it, a
  /// newer format, a missing or damaged file, options that do not fit. Nothing is overwritten.
  static Result<std::unique_ptr<Storage>> Open(FileSystem* file_system,
                                               const StorageOptions& options,
                                               StorageEvents events = {});
  /// Without Close, acts as Stop.
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  using ControlChange = FunctionRef<void(ControlData&)>;

  /// This start creates the instance, which so far has only the system space. The owner builds what
  /// it needs and ends with FinishCreation.
  [[nodiscard]] bool is_new() const { return is_new_; }
  /// Makes everything that was built durable; the instance exists from here on. `change` sets
  /// next_table_id, which is not 0 in any finished instance.
  Status FinishCreation(ControlChange change);

  /// The instance was restored from a backup and has not been in use since (storage/backup.h).
  [[nodiscard]] bool is_restored() const { return is_restored_; }
  /// The last run did not end by Close.
  [[nodiscard]] bool is_after_crash() const { return is_after_crash_; }
  /// The instance is in use from here on: decisions taken because it was restored are final. Makes
  /// the log durable first.
  Status EndRestore();

  /// Starts the threads that write pages, unless the options forbid them. A second call does
  /// nothing. Errors as StartThread.
  Status StartBackground();

  /// Pages of the last run are still being redone in the background.
  [[nodiscard]] bool redoing() const { return recovery_ != nullptr && !recovery_->finished(); }
  /// Redoes the pages that were left for later. Any thread. kBusy: a page cannot be read now, and
  /// the background thread retries; not on the last try, see Recovery. A failure that no later try
  /// can fix stops the log.
  Status FinishRedo(Recovery::Try which = Recovery::Try::kOneOfSome);
  /// Ends redo in the background: when it is done, or at the deadline (MonotonicNanos), when it is
  /// abandoned as in a crash. UINT64_MAX: it finishes its current unit of work.
  void StopRedo(uint64_t deadline_nanos);

  struct Closing {
    /// MonotonicNanos. What is not written by then stays in the redo log, and the next start redoes
    /// it while it serves: that is still Ok.
    uint64_t deadline_nanos = UINT64_MAX;
    std::function<Status()> last_changes;     ///< to pages, before they are written; may be empty
    std::function<void(ControlData&)> marks;  ///< with the mark of a clean shutdown; may be empty
  };
  /// Clean shutdown: redo finished, everything flushed, control file marked. No other thread may
  /// use the storage any more.
  Status Close(const Closing& closing);
  /// As in a crash: threads end, and nothing more is written deliberately.
  void Stop();

  /// For ids that are handed out only when `change` is durable in both slots of the control file; a
  /// failure stops the log.
  Status ReserveIds(ControlChange change);

  [[nodiscard]] ControlFile* control() const { return control_.get(); }
  [[nodiscard]] SpaceFiles* files() const { return files_.get(); }
  [[nodiscard]] DamagedSpaces* damaged() const { return damaged_.get(); }
  [[nodiscard]] Log* log() const { return log_.get(); }
  [[nodiscard]] BufferPool* pool() const { return pool_.get(); }
  [[nodiscard]] PageAllocator* allocator() const { return allocator_.get(); }
  [[nodiscard]] BlobStore* blobs() const { return blobs_.get(); }
  [[nodiscard]] FileSystem* file_system() const { return file_system_; }
  /// With the end of a file of the owner's in the log; null if nothing may be written. What the
  /// last run left must be settled before the log is full: until then there is no checkpoint.
  [[nodiscard]] CarriedFile* carried_file() const { return carried_file_.get(); }
  [[nodiscard]] Scrubber* scrubber() const { return scrubber_.get(); }
  /// With the instance's page size, and a pool of at least kPoolPagesMin pages.
  [[nodiscard]] const StorageOptions& options() const { return options_; }
  /// Null in a new instance.
  [[nodiscard]] const Recovery* recovery() const { return recovery_.get(); }
  /// A failed write or sync has stopped the log, and with it all changes.
  [[nodiscard]] bool stopped() const { return log_ != nullptr && log_->stopped(); }

 private:
  Storage(FileSystem* file_system, const StorageOptions& options, StorageEvents events);

  Status OpenOrCreate();
  Status Create();
  Status Recover();
  Status LookForBackup();
  /// Checks that may refuse the start: nothing of the instance is changed.
  Status CheckInstance();
  /// Repair, and redo of what cannot wait.
  Status RedoFirst();
  void AdoptPageSize(uint32_t page_size_bytes);
  void MakeFiles();
  Status OpenSpaces();
  Status OpenLog(Lsn end);
  Status OpenPool();
  void MakeAllocator();
  /// Finishes redo, or leaves that to a thread.
  Status DeferRedo();
  ThreadLoop::Next RedoTick();
  /// Redo holds so much of the log that writers will have to wait for it.
  [[nodiscard]] bool IsLogShort() const;
  Status WriteAll(const Closing& closing);
  /// `written`: the result of writing the pages. Returns the combined result.
  Status CloseLog(const Status& written, const std::function<void(ControlData&)>& marks);
  [[nodiscard]] double RedoSeconds() const;
  void LogRedoDone() const;

  const std::unique_ptr<FileSystem> shadow_;  ///< null unless nothing may be written
  FileSystem* const file_system_;
  StorageOptions options_;
  const StorageEvents events_;
  bool is_new_ = false;
  bool is_restored_ = false;
  bool is_after_crash_ = false;
  uint64_t redo_begin_nanos_ = 0;  ///< MonotonicNanos
  std::unique_ptr<ControlFile> control_;
  std::unique_ptr<SpaceFiles> files_;
  std::unique_ptr<DamagedSpaces> damaged_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<CarriedFile> carried_file_;  ///< the pool asks it
  std::unique_ptr<Recovery> recovery_;         ///< the pool uses it
  std::unique_ptr<BufferPool> pool_;
  std::unique_ptr<PageAllocator> allocator_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<Scrubber> scrubber_;
  Mutex redo_mutex_{LatchRank::kRedoFinish};  ///< held while Finish runs
  std::unique_ptr<ThreadLoop> redo_thread_;   ///< null: redo is finished before serving begins
};

}  // namespace rowan
