// SPDX-License-Identifier: GPL-2.0-only
// rowan-bench sync: what a durable write costs on the disk under a folder. For each kind of file
// and size of write the methods take turns, so that a disk that varies affects all alike.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/format.h"
#include "base/logging.h"
#include "bench/commands.h"
#include "bench/options.h"
#include "bench/samples.h"
#include "io/aligned_buffer.h"
#include "io/file.h"
#include "wal/sync_strategy.h"

namespace rowan {
namespace {

constexpr uint64_t kFileBytes = uint64_t{16} << 20;
/// How long a method writes before the next one has its turn.
constexpr double kTurnSeconds = 0.02;
constexpr char kFolderName[] = "/rowan-bench-sync";

enum class Kind { kGrowing, kFallocated, kZeroFilled, kRecycled };
struct KindInfo {
  Kind kind;
  const char* title;
};
constexpr KindInfo kKinds[] = {
    {Kind::kGrowing, "growing file: every write extends it"},
    {Kind::kFallocated, "fallocated file: space is set aside, the first write to it converts it"},
    {Kind::kZeroFilled, "zero-filled file: written with zeros and synced before"},
    {Kind::kRecycled, "recycled file: full of old bytes and renamed, as the redo log reuses them"},
};

struct Shape {
  const char* title;
  size_t bytes;
  int writes;  ///< of which the last is made durable
};
constexpr Shape kShapes[] = {{"1 x 8 KiB", size_t{8} << 10, 1},
                             {"2 x 8 KiB", size_t{8} << 10, 2},
                             {"1 x 16 KiB", size_t{16} << 10, 1},
                             {"1 x 2 MiB", size_t{2} << 20, 1}};

/// A file of one kind, written by one method from front to back, again and again.
class Target {
 public:
  Target(std::string path, Kind kind, LogSyncMethod method)
      : path_(std::move(path)), kind_(kind), method_(method) {}
  ~Target() { std::filesystem::remove(path_); }

  Status WriteOnce(const Shape& shape, const AlignedBuffer& bytes) {
    const Bytes content = bytes.span().first(shape.bytes);
    for (int i = 1; i < shape.writes; ++i) {
      const Status status = file_->Write(position_, content);
      if (!status.ok()) return status;
      position_ += shape.bytes;
    }
    const Status status = strategy_->WriteAndSync(file_.get(), position_, content);
    position_ += shape.bytes;
    return status;
  }
  /// Makes sure that the next write finds room. Not part of what is measured.
  std::string MakeRoom(const Shape& shape) {
    const uint64_t end = position_ + shape.bytes * static_cast<uint64_t>(shape.writes);
    if (file_ != nullptr && end <= kFileBytes) return {};
    if (file_ == nullptr || kind_ == Kind::kGrowing || kind_ == Kind::kFallocated) {
      return Prepare();
    }
    position_ = 0;  // what has been written is a recycled file
    return {};
  }

 private:
  /// Why not, or nothing.
  std::string Prepare() {
    std::string reason;
    file_.reset();
    Result<std::unique_ptr<SyncStrategy>> strategy =
        MakeSyncStrategy(PosixFileSystem(), method_, &reason);
    if (!strategy.ok()) return reason;
    strategy_ = std::move(strategy).value();
    const Status status = Fill();
    if (!status.ok()) return status.message();
    Result<std::unique_ptr<File>> file = PosixFileSystem()->Open(path_, strategy_->open_options());
    if (!file.ok()) return file.status().message();
    file_ = std::move(file).value();
    position_ = 0;
    return {};
  }

  Status Fill() {
    std::filesystem::remove(path_);
    const std::string first = kind_ == Kind::kRecycled ? path_ + ".old" : path_;
    Result<std::unique_ptr<File>> opened = PosixFileSystem()->Open(first, {.create = true});
    if (!opened.ok()) return opened.status();
    File* file = opened.value().get();
    Status status = FillContent(file);
    if (!status.ok()) return status;
    status = file->Sync(SyncMethod::kFsync);
    if (!status.ok()) return status;
    if (first != path_) {
      status = PosixFileSystem()->Rename(first, path_);
      if (!status.ok()) return status;
    }
    return PosixFileSystem()->SyncDirectory(std::filesystem::path(path_).parent_path());
  }

  Status FillContent(File* file) {
    if (kind_ == Kind::kFallocated) return file->Allocate(0, kFileBytes);
    if (kind_ != Kind::kZeroFilled && kind_ != Kind::kRecycled) return Status::Ok();
    AlignedBuffer content(size_t{1} << 20);
    std::memset(content.data(), kind_ == Kind::kRecycled ? 0x5A : 0, content.size());
    for (uint64_t at = 0; at < kFileBytes; at += content.size()) {
      const Status status = file->Write(at, content.span());
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  const std::string path_;
  const Kind kind_;
  const LogSyncMethod method_;
  std::unique_ptr<SyncStrategy> strategy_;
  std::unique_ptr<File> file_;
  uint64_t position_ = 0;
};

struct Cell {
  Samples samples;
  std::string problem;  ///< the method or the kind of file is not available here
};

void TakeTurn(Target* target, const Shape& shape, const AlignedBuffer& bytes, Cell* cell) {
  uint64_t spent = 0;
  while (spent < static_cast<uint64_t>(kTurnSeconds * 1e9)) {
    cell->problem = target->MakeRoom(shape);
    if (!cell->problem.empty()) return;
    const uint64_t begin = MonotonicNanos();
    const Status status = target->WriteOnce(shape, bytes);
    const uint64_t nanos = MonotonicNanos() - begin;
    if (!status.ok()) {
      cell->problem = status.message();
      return;
    }
    cell->samples.Add(nanos);
    spent += nanos;
  }
}

std::vector<Cell> MeasureShape(const std::string& folder, Kind kind, const Shape& shape,
                               const std::vector<LogSyncMethod>& methods, double seconds) {
  AlignedBuffer bytes(shape.bytes);
  std::memset(bytes.data(), 0xA7, shape.bytes);
  std::vector<Cell> cells(methods.size());
  std::vector<std::unique_ptr<Target>> targets;
  for (const LogSyncMethod method : methods) {
    targets.push_back(
        std::make_unique<Target>(folder + "/" + LogSyncMethodName(method), kind, method));
  }
  const auto rounds = static_cast<size_t>(std::ceil(seconds / kTurnSeconds));
  for (size_t round = 0; round < rounds; ++round) {
    for (size_t turn = 0; turn < methods.size(); ++turn) {
      const size_t i = (turn + round) % methods.size();
      if (!cells[i].problem.empty()) continue;
      TakeTurn(targets[i].get(), shape, bytes, &cells[i]);
    }
  }
  return cells;
}

void PrintKind(const KindInfo& kind, const std::vector<LogSyncMethod>& methods,
               std::vector<std::vector<Cell>>* columns) {
  std::string text = Format("\n{}\n{:<14}", kind.title, "");
  for (const Shape& shape : kShapes) text += Format("{:>36}", shape.title);
  text += Format("\n{:<14}", "method");
  for (size_t i = 0; i < std::size(kShapes); ++i) {
    text += Format("{:>9}{:>9}{:>9}{:>9}", "p10 us", "p50 us", "p99 us", "ops/s");
  }
  for (size_t row = 0; row < methods.size(); ++row) {
    text += Format("\n{:<14}", LogSyncMethodName(methods[row]));
    for (std::vector<Cell>& column : *columns) {
      Cell& cell = column[row];
      if (!cell.problem.empty()) {
        text += Format("{:>36}", cell.problem.substr(0, 34));
        continue;
      }
      const double median = cell.samples.QuantileMicros(0.5);
      text += Format("{:>9.0f}{:>9.0f}{:>9.0f}{:>9.0f}", cell.samples.QuantileMicros(0.1), median,
                     cell.samples.QuantileMicros(0.99), 1e6 / median);
    }
  }
  std::puts(text.c_str());
  std::fflush(stdout);
}

}  // namespace

int RunSyncCommand(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  po::options_description options("options");
  options.add_options()("help,h", "show this")("dir,d", po::value<std::string>()->required(),
                                               "folder on the disk to measure")(
      "seconds,s", po::value<double>()->default_value(0.5), "for each cell of the table")(
      "methods,m", po::value<std::string>()->default_value("all"),
      "comma-separated: fsync, fdatasync, dsync, direct_dsync, uring, all");
  po::variables_map values;
  if (!ParseOptions(arguments,
                    "rowan-bench sync: latency of one durable write (10th, 50th and 99th "
                    "percentile; ops/s from the\nmedian). On a busy machine the 10th is what tells "
                    "the methods apart.\nuring links the last write with an fdatasync in one "
                    "submission; dsync writes with O_DSYNC, direct_dsync\nwith O_DIRECT, too, so "
                    "with them each of 2 x 8 KiB is durable by itself.",
                    options, &values)) {
    return 0;
  }
  SetLogLevel(LogLevel::kError);
  const std::vector<LogSyncMethod> methods = ParseMethods(values["methods"].as<std::string>());
  const std::string folder = values["dir"].as<std::string>() + kFolderName;
  std::filesystem::create_directories(folder);
  std::printf("durable writes below %s, %g s for each cell\n", folder.c_str(),
              values["seconds"].as<double>());
  for (const KindInfo& kind : kKinds) {
    std::vector<std::vector<Cell>> columns;
    for (const Shape& shape : kShapes) {
      columns.push_back(
          MeasureShape(folder, kind.kind, shape, methods, values["seconds"].as<double>()));
    }
    PrintKind(kind, methods, &columns);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace rowan
