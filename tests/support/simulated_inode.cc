// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/simulated_inode.h"

#include <algorithm>
#include <mutex>

namespace rowan {

bool SimulatedInode::Read(uint64_t offset, MutableBytes buffer) const {
  std::shared_lock lock(mutex_);
  if (offset > current_.size() || buffer.size() > current_.size() - offset) return false;
  current_.Read(offset, buffer);
  return true;
}

void SimulatedInode::Write(uint64_t offset, Bytes bytes, Change change) {
  std::unique_lock lock(mutex_);
  RecordLocked(Kind::kWrite, change, offset, bytes);
}

void SimulatedInode::Truncate(uint64_t size_bytes, Change change) {
  std::unique_lock lock(mutex_);
  RecordLocked(Kind::kTruncate, change, size_bytes, {});
}

void SimulatedInode::Extend(uint64_t size_bytes, Change change) {
  std::unique_lock lock(mutex_);
  RecordLocked(Kind::kExtend, change, size_bytes, {});
}

void SimulatedInode::Punch(uint64_t offset, uint64_t length, Change change) {
  std::unique_lock lock(mutex_);
  const uint64_t size = current_.size();
  if (offset >= size) return;
  const std::vector<std::byte> zeros(std::min(length, size - offset));
  RecordLocked(Kind::kWrite, change, offset, zeros);
}

uint64_t SimulatedInode::AllocatedBytes() const {
  constexpr uint64_t kUnit = 4096;
  std::shared_lock lock(mutex_);
  std::vector<std::byte> unit(kUnit);
  uint64_t bytes = 0;
  for (uint64_t offset = 0; offset + kUnit <= current_.size(); offset += kUnit) {
    current_.Read(offset, unit);
    if (!IsAllZero(unit)) bytes += kUnit;
  }
  return bytes;
}

uint64_t SimulatedInode::Size() const {
  std::shared_lock lock(mutex_);
  return current_.size();
}

uint64_t SimulatedInode::Digest() const {
  std::shared_lock lock(mutex_);
  return current_.Digest();
}

void SimulatedInode::RecordLocked(Kind kind, Change change, uint64_t offset, Bytes bytes) {
  ApplyTo(current_, kind, offset, bytes);
  const bool through = change.durability == Durability::kThrough;
  if (through) ApplyTo(durable_, kind, offset, bytes);
  // A durable change is remembered only to win over older pending ones at a crash.
  if (through && pending_.empty()) return;
  pending_.push_back({kind, change, offset, {bytes.begin(), bytes.end()}});
}

void SimulatedInode::ApplyTo(Image& image, Kind kind, uint64_t offset, Bytes bytes) {
  if (kind == Kind::kTruncate) {
    image.Resize(offset);
  } else if (kind == Kind::kExtend) {
    if (offset > image.size()) image.Resize(offset);
  } else {
    image.Write(offset, bytes);
  }
}

void SimulatedInode::ApplyTorn(Image& image, const Pending& pending, uint32_t keep_percent,
                               Random& random) {
  if (pending.kind != Kind::kWrite || pending.change.untorn) {
    if (random.Below(100) < keep_percent) {
      ApplyTo(image, pending.kind, pending.offset, pending.bytes);
    }
    return;
  }
  // Units are aligned in the file: devices tear at sectors, page caches at pages.
  const uint64_t unit_bytes = random.OneIn(2) ? 512 : 4096;
  const uint64_t end = pending.offset + pending.bytes.size();
  for (uint64_t offset = pending.offset; offset < end;) {
    const uint64_t unit_end = std::min(end, (offset / unit_bytes + 1) * unit_bytes);
    if (random.Below(100) < keep_percent) {
      const Bytes unit(pending.bytes.data() + (offset - pending.offset), unit_end - offset);
      ApplyTo(image, Kind::kWrite, offset, unit);
    }
    offset = unit_end;
  }
}

void SimulatedInode::Sync() {
  std::unique_lock lock(mutex_);
  for (const Pending& pending : pending_) {
    ApplyTo(durable_, pending.kind, pending.offset, pending.bytes);
  }
  pending_.clear();
}

void SimulatedInode::FailSync(Random& random) {
  std::unique_lock lock(mutex_);
  for (const Pending& pending : pending_) {
    const bool certain = pending.change.durability == Durability::kThrough;
    ApplyTorn(durable_, pending, certain ? 100 : 50, random);
  }
  pending_.clear();
  diverged_ = true;
}

void SimulatedInode::Crash(const CrashPlan& plan, Random& random) {
  std::unique_lock lock(mutex_);
  if (pending_.empty() && !diverged_) return;
  for (const Pending& pending : pending_) {
    uint32_t percent = 0;
    switch (plan.keep) {
      case CrashPlan::Keep::kNothing: break;
      case CrashPlan::Keep::kEverything: percent = 100; break;
      case CrashPlan::Keep::kSubset: percent = plan.keep_percent; break;
      case CrashPlan::Keep::kPrefix:
        if (pending.change.sequence < plan.last_kept) percent = 100;
        if (pending.change.sequence == plan.last_kept) percent = plan.keep_percent;
        break;
    }
    if (pending.change.durability == Durability::kThrough) percent = 100;
    if (percent > 0) ApplyTorn(durable_, pending, percent, random);
  }
  pending_.clear();
  diverged_ = false;
  current_ = durable_;
}

bool SimulatedInode::FlipBit(uint64_t offset, unsigned bit) {
  std::unique_lock lock(mutex_);
  if (offset >= current_.size()) return false;
  const auto mask = static_cast<std::byte>(1u << (bit % 8));
  for (Image* image : {&current_, &durable_}) {
    if (offset >= image->size()) continue;
    std::byte byte;
    image->Read(offset, {&byte, 1});
    byte ^= mask;
    image->Write(offset, {&byte, 1});
  }
  return true;
}

}  // namespace rowan
