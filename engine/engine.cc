// SPDX-License-Identifier: GPL-2.0-only
// Closing, and the calls that only pass on to one part.
#include "engine/engine.h"

#include <set>

#include "base/clock.h"
#include "engine/engine_impl.h"
#include "io/file.h"

namespace rowan {

Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Engine>> Engine::Open(const EngineOptions& options) {
  return Open(PosixFileSystem(), options);
}

Engine::~Engine() = default;

Engine::Impl::~Impl() {
  // As after a crash: threads end, nothing is flushed on purpose.
  StopBackground();
  // Whoever it tells about redo goes before it does.
  if (storage != nullptr) storage->Stop();
  names.store(nullptr, std::memory_order_release);
}

Status Engine::Close(uint64_t limit_nanos) {
  if (impl_->closed) return Status::Ok();
  impl_->closed = true;
  const uint64_t now = MonotonicNanos();
  Storage::Closing closing;
  closing.deadline_nanos = limit_nanos < UINT64_MAX - now ? now + limit_nanos : UINT64_MAX;
  closing.last_changes = [this] { return impl_->PersistCounters(); };
  {
    const MutexLock lock(&impl_->id_mutex);
    closing.marks = [space = SpaceId(impl_->next_space), table = TableId(impl_->next_table),
                     index = IndexId(impl_->next_index)](ControlData& data) {
      data.next_space_id = space;
      data.next_table_id = table;
      data.next_index_id = index;
    };
  }
  // Redo ends last: the others may wait for log space, which its end gives free.
  impl_->StopBackground();
  return impl_->storage->Close(closing);
}

Status Engine::FlushLog() { return impl_->txns->MakeDurable(); }
Lsn Engine::durable_lsn() const { return impl_->storage->log()->durable(); }
Lsn Engine::written_lsn() const { return impl_->storage->log()->written(); }
Status Engine::WaitDurable(Lsn lsn) { return impl_->storage->log()->WaitDurable(lsn); }
Status Engine::WaitWritten(Lsn lsn) { return impl_->storage->log()->WaitWritten(lsn); }

Status Engine::WaitCommitted(Lsn lsn, Durability durability) {
  return impl_->storage->log()->WaitCommitted(lsn, durability);
}

Status Engine::WaitDurableFor(Lsn lsn, uint64_t limit_nanos, FunctionRef<bool()> interrupted) {
  return impl_->storage->log()->WaitDurableFor(lsn, limit_nanos, interrupted);
}

std::vector<std::string> Engine::PreparedXids() const { return impl_->txns->PreparedXids(); }

std::vector<std::string> Engine::TablesChangedBy(const std::string& xid) const {
  std::set<std::string> names;  // a table's indexes come one by one
  for (const IndexId index : impl_->txns->IndexesChangedBy(xid)) {
    std::string name = impl_->catalog->NameOfTableWith(index);
    if (!name.empty()) names.insert(std::move(name));
  }
  return {names.begin(), names.end()};
}

Status Engine::CommitPrepared(const std::string& xid, Durability durability) {
  const TxnId txn = impl_->txns->PreparedId(xid);
  const Status status = impl_->txns->CommitPrepared(xid, durability);
  if (status.ok()) impl_->catalog->SettlePrepared(txn);
  return status;
}

Status Engine::RollbackPrepared(const std::string& xid) {
  return impl_->txns->RollbackPrepared(xid);
}

Status Engine::SetLogSyncMethod(LogSyncMethod method) {
  return impl_->storage->log()->SetSyncMethod(method);
}
Status Engine::SetRedoLogCapacity(uint64_t bytes) {
  return impl_->storage->log()->SetCapacity(bytes);
}
Status Engine::SetBufferPoolBytes(uint64_t bytes) {
  const Status status = impl_->storage->pool()->Resize(bytes);
  if (status.ok()) impl_->txns->locks()->SetMemoryMax(impl_->LockMemoryBytesMax());
  return status;
}
void Engine::SetLockMemory(uint64_t bytes_max) {
  impl_->lock_memory_bytes_max.store(bytes_max, std::memory_order_relaxed);
  impl_->txns->locks()->SetMemoryMax(impl_->LockMemoryBytesMax());
}
uint64_t Engine::Impl::LockMemoryBytesMax() const {
  const uint64_t wanted = lock_memory_bytes_max.load(std::memory_order_relaxed);
  if (wanted != 0) return wanted;
  const uint64_t pool_bytes =
      storage->pool()->Statistics().frames * storage->pool()->page_size_bytes();
  return std::max(kLockMemoryBytesDefault, pool_bytes / 4);
}
Status Engine::SetDoublewrite(DoublewriteMode mode) {
  return impl_->storage->pool()->SetDoublewriteMode(mode);
}
void Engine::SetDataSyncMethod(SyncMethod method) {
  impl_->storage->pool()->SetDataSyncMethod(method);
}
void Engine::SetIoCapacity(uint32_t pages_per_second) {
  impl_->storage->pool()->SetIoCapacity(pages_per_second);
}

const EngineOptions& Engine::options() const { return impl_->options; }
bool Engine::redoing() const { return impl_->storage->redoing(); }
bool Engine::stopped() const { return impl_->storage->stopped(); }

}  // namespace rowan
