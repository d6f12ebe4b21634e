// SPDX-License-Identifier: GPL-2.0-only
#include "wal/control_file.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/crc32c.h"
#include "base/logging.h"
#include "base/mutex.h"

namespace rowan {
namespace {

constexpr size_t kSlotBytes = 4096;
constexpr size_t kSlots = 2;
constexpr std::string_view kMagic = "ROWANCTL";
constexpr const char* kFileName = "rowan.control";

/// A slot as it lies on disk; little-endian, the rest of the 4 KiB is zero.
struct SlotLayout {
  char magic[8];
  uint32_t format_version;
  uint32_t crc;  ///< CRC-32C of the whole slot with this field zero
  uint64_t sequence;
  uint8_t instance_id[16];
  uint32_t page_size_bytes;
  uint32_t epoch;
  uint64_t checkpoint_lsn;
  uint64_t log_file_bytes;
  uint64_t log_buffer_bytes;
  uint64_t next_txn_id;
  uint64_t next_csn;
  uint64_t next_index_id;
  uint64_t next_table_id;
  uint32_t next_space_id;
  uint8_t clean_shutdown;
  uint8_t unused[3];
  uint64_t run_start_lsn;
  uint32_t run_epoch;
  uint8_t unused_too[4];
  uint64_t log_durable_lsn;
  uint8_t features[kFormatFeaturesBytes];
};
static_assert(sizeof(SlotLayout) == 160);
static_assert(offsetof(SlotLayout, crc) == 12);
static_assert(offsetof(SlotLayout, instance_id) == 24);
static_assert(offsetof(SlotLayout, checkpoint_lsn) == 48);
static_assert(offsetof(SlotLayout, next_txn_id) == 72);
static_assert(offsetof(SlotLayout, next_space_id) == 104);
static_assert(offsetof(SlotLayout, clean_shutdown) == 108);
static_assert(offsetof(SlotLayout, run_start_lsn) == 112);
static_assert(offsetof(SlotLayout, run_epoch) == 120);
static_assert(offsetof(SlotLayout, log_durable_lsn) == 128);
static_assert(offsetof(SlotLayout, features) == 136);

using Slot = std::array<std::byte, kSlotBytes>;

uint32_t SlotCrc(Slot slot) {
  StoreLe<uint32_t>(slot.data() + offsetof(SlotLayout, crc), 0);
  return Crc32c(slot);
}

/// Into `slot`, whose bytes behind the fields stay.
Slot Encode(const ControlData& data, uint64_t sequence, Slot slot) {
  SlotLayout layout{};
  std::memcpy(layout.magic, kMagic.data(), kMagic.size());
  layout.format_version = data.format_version;
  layout.sequence = sequence;
  std::copy(data.instance_id.begin(), data.instance_id.end(), layout.instance_id);
  layout.page_size_bytes = data.page_size_bytes;
  layout.epoch = data.epoch;
  layout.checkpoint_lsn = data.checkpoint_lsn.value();
  layout.log_file_bytes = data.log_file_bytes;
  layout.log_buffer_bytes = data.log_buffer_bytes;
  layout.next_txn_id = data.next_txn_id.value();
  layout.next_csn = data.next_csn.value();
  layout.next_index_id = data.next_index_id.value();
  layout.next_table_id = data.next_table_id.value();
  layout.next_space_id = data.next_space_id.value();
  layout.clean_shutdown = data.clean_shutdown ? 1 : 0;
  layout.run_start_lsn = data.run_start_lsn.value();
  layout.run_epoch = data.run_epoch;
  layout.log_durable_lsn = data.log_durable_lsn.value();
  StoreFeatures(reinterpret_cast<std::byte*>(layout.features), data.features);
  StoreLe(slot.data(), layout);
  StoreLe<uint32_t>(slot.data() + offsetof(SlotLayout, crc), SlotCrc(slot));
  return slot;
}

ControlData Decode(const SlotLayout& layout) {
  ControlData data;
  std::copy(std::begin(layout.instance_id), std::end(layout.instance_id), data.instance_id.begin());
  data.format_version = layout.format_version;
  data.page_size_bytes = layout.page_size_bytes;
  data.epoch = layout.epoch;
  data.checkpoint_lsn = Lsn(layout.checkpoint_lsn);
  data.log_file_bytes = layout.log_file_bytes;
  data.log_buffer_bytes = layout.log_buffer_bytes;
  data.next_txn_id = TxnId(layout.next_txn_id);
  data.next_csn = Csn(layout.next_csn);
  data.next_index_id = IndexId(layout.next_index_id);
  data.next_table_id = TableId(layout.next_table_id);
  data.next_space_id = SpaceId(layout.next_space_id);
  data.clean_shutdown = layout.clean_shutdown != 0;
  data.run_start_lsn = Lsn(layout.run_start_lsn);
  data.run_epoch = layout.run_epoch;
  data.log_durable_lsn = Lsn(layout.log_durable_lsn);
  data.features = LoadFeatures(reinterpret_cast<const std::byte*>(layout.features));
  return data;
}

bool HasMagic(const Slot& slot) {
  return std::memcmp(slot.data(), kMagic.data(), kMagic.size()) == 0;
}

bool IsGood(const Slot& slot) {
  return HasMagic(slot) &&
         SlotCrc(slot) == LoadLe<uint32_t>(slot.data() + offsetof(SlotLayout, crc));
}

Status LockInstance(File* file) {
  const Status status = file->Lock();
  return status.Is(Code::kBusy) ? Status(Code::kBusy, "another process has the instance open")
                                : status;
}

}  // namespace

struct ControlFile::Impl {
  std::string folder;
  std::unique_ptr<File> file;
  mutable Mutex mutex{LatchRank::kControlFile};
  ControlData data ROWAN_GUARDED_BY(mutex);
  /// The newer one when the file was opened: may hold more than is known.
  Slot slot ROWAN_GUARDED_BY(mutex){};
  uint64_t sequence ROWAN_GUARDED_BY(mutex) = 0;  // of the newer slot; slot = sequence modulo 2
  bool broken ROWAN_GUARDED_BY(mutex) = false;    // a write failed: what is on disk is not known

  /// Makes `contents` the state, durably.
  Status WriteNextLocked(const ControlData& contents) ROWAN_REQUIRES(mutex);
  /// Chooses the newer good slot.
  Status LoadLocked() ROWAN_REQUIRES(mutex);
  /// The next update takes the other slot, so the newer one must be durable. A process that died
  /// may not have synced it; after a sync that failed, only what is written again reaches the disk.
  Status Open() {
    const MutexLock lock(&mutex);
    const Status status = LoadLocked();
    if (!status.ok()) return status;
    return WriteSlotLocked(data, sequence);
  }
  /// Durable at return.
  Status WriteSlotLocked(const ControlData& contents, uint64_t number) ROWAN_REQUIRES(mutex) {
    const Slot bytes = Encode(contents, number, slot);
    const Status status = file->Write(number % kSlots * kSlotBytes, bytes);
    if (!status.ok()) return status;
    return file->Sync(SyncMethod::kFdatasync);
  }
};

Status ControlFile::Impl::LoadLocked() {
  const Result<uint64_t> size = file->Size();
  if (!size.ok()) return size.status();
  bool any_magic = false;
  bool any_good = false;
  size_t bad = 0;
  SlotLayout newest{};
  for (size_t index = 0; index < kSlots; ++index) {
    Slot read{};
    if (size.value() < (index + 1) * kSlotBytes) continue;
    const Status status = file->Read(index * kSlotBytes, read);
    if (!status.ok()) return status;
    any_magic |= HasMagic(read);
    if (!IsGood(read)) {
      ++bad;
      continue;
    }
    const auto layout = LoadLe<SlotLayout>(read.data());
    if (!any_good || layout.sequence > newest.sequence) {
      newest = layout;
      slot = read;
    }
    any_good = true;
  }
  if (!any_magic) {
    LogError("'{}' is not a Rowan control file", file->path());
    return Status(Code::kInvalidArgument, "not a Rowan control file");
  }
  if (!any_good) {
    LogError("Control file '{}' is damaged: neither of its two slots has a right checksum",
             file->path());
    return Status(Code::kCorrupt, "both slots of the control file are damaged");
  }
  if (newest.format_version > kFormatVersion) {
    LogError(
        "Control file '{}' has format version {}, this build knows versions up to {}: a newer "
        "version of Rowan wrote it.",
        file->path(), newest.format_version, kFormatVersion);
    return Status(Code::kNewerFormat, "the instance was written by a newer version of Rowan",
                  newest.format_version);
  }
  data = Decode(newest);
  if (!IsPageSize(data.page_size_bytes)) {
    LogError("Control file '{}' names a page size of {} bytes, which no instance has.",
             file->path(), data.page_size_bytes);
    return Status(Code::kCorrupt, "the control file names no page size");
  }
  const Status usable = CheckFeatures(data.features, kInstanceFeatures, file->path());
  if (!usable.ok()) return usable;
  if (bad > 0) {
    LogWarning(
        "A slot of control file '{}' has a wrong checksum; the other, number {}, is used. "
        "After a crash that tore its last update this is in order, otherwise the disk "
        "changed it.",
        file->path(), newest.sequence);
  }
  sequence = newest.sequence;
  return Status::Ok();
}

ControlFile::ControlFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ControlFile::~ControlFile() = default;

const std::string& ControlFile::folder() const { return impl_->folder; }

Result<std::unique_ptr<ControlFile>> ControlFile::Open(FileSystem* file_system,
                                                       const std::string& folder) {
  auto impl = std::make_unique<Impl>();
  impl->folder = folder;
  Result<std::unique_ptr<File>> file = file_system->Open(folder + "/" + kFileName, {});
  if (!file.ok()) return file.status();
  impl->file = std::move(file).value();
  // Before the first byte is read: what another process has open changes meanwhile.
  Status status = LockInstance(impl->file.get());
  if (!status.ok()) return status;
  status = impl->Open();
  if (!status.ok()) return status;
  return std::unique_ptr<ControlFile>(new ControlFile(std::move(impl)));
}

namespace {

/// Both slots are written, so that the first update has a good one to fall back to.
Status WriteNew(File* file, const ControlData& data) {
  for (uint64_t sequence = 0; sequence < kSlots; ++sequence) {
    const Slot slot = Encode(data, sequence, Slot{});
    const Status status = file->Write(sequence * kSlotBytes, slot);
    if (!status.ok()) return status;
  }
  return file->Sync(SyncMethod::kFsync);
}

Status CheckAbsent(FileSystem* file_system, const std::string& path) {
  const Result<bool> exists = file_system->Exists(path);
  if (!exists.ok()) return exists.status();
  return exists.value() ? Status(Code::kInvalidArgument, "a control file exists already")
                        : Status::Ok();
}

}  // namespace

Result<std::unique_ptr<ControlFile>> ControlFile::Create(FileSystem* file_system,
                                                         const std::string& folder,
                                                         const ControlData& data) {
  const std::string path = folder + "/" + kFileName;
  const std::string draft_path = path + ".tmp";
  Status status = CheckAbsent(file_system, path);
  if (!status.ok()) return status;
  // A file of an interrupted creation may be there: it is overwritten.
  Result<std::unique_ptr<File>> draft = file_system->Open(draft_path, {.create = true});
  if (!draft.ok()) return draft.status();
  // The draft's lock is what two creations meet at. Whoever gets it after the other's rename finds
  // the control file.
  status = LockInstance(draft.value().get());
  if (!status.ok()) return status;
  status = CheckAbsent(file_system, path);
  if (!status.ok()) return status;
  status = WriteNew(draft.value().get(), data);
  if (!status.ok()) return status;
  // Renamed into place, so that a crash leaves a whole control file or none.
  status = file_system->Rename(draft_path, path);
  if (!status.ok()) return status;
  status = file_system->SyncDirectory(folder);
  if (!status.ok()) return status;
  draft.value().reset();  // its lock is that of the control file now
  return Open(file_system, folder);
}

ControlData ControlFile::data() const {
  const MutexLock lock(&impl_->mutex);
  return impl_->data;
}

Status ControlFile::Impl::WriteNextLocked(const ControlData& contents) {
  if (broken) return Status(Code::kStopped, "an earlier write of the control file failed");
  const Status status = WriteSlotLocked(contents, sequence + 1);
  if (!status.ok()) {
    broken = true;
    LogError("Cannot write control file '{}': {}", file->path(), status.message());
    return status;
  }
  data = contents;
  ++sequence;
  return status;
}

Status ControlFile::Update(FunctionRef<void(ControlData&)> change) {
  const MutexLock lock(&impl_->mutex);
  ControlData data = impl_->data;
  change(data);
  return impl_->WriteNextLocked(data);
}

Status ControlFile::UpdateBothSlots(FunctionRef<void(ControlData&)> change) {
  const MutexLock lock(&impl_->mutex);
  ControlData data = impl_->data;
  change(data);
  const Status status = impl_->WriteNextLocked(data);
  if (!status.ok()) return status;
  return impl_->WriteNextLocked(data);
}

}  // namespace rowan
