// SPDX-License-Identifier: GPL-2.0-only
// Feeds each parser of bytes from disk with what an engine wrote, changed a little or a lot.
// ROWAN_TEST_FUZZ_ROUNDS: inputs for each target. The input that ends the process is printed by its
// seed: ROWAN_TEST_SEED and one round repeat it. Most is found in a build with -DROWAN_SANITIZE.
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstring>

#include "base/random.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

constexpr uint64_t kRounds = 3000;
constexpr size_t kInputBytesMax = size_t{1} << 20;

/// What a crash prints.
char g_doing[200];

void SayWhatCrashed(int signal) {
  (void)!write(STDERR_FILENO, g_doing, std::strlen(g_doing));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

class Mutator {
 public:
  Mutator(uint64_t seed, std::span<const FuzzInput> samples) : random_(seed), samples_(samples) {}

  FuzzInput Make() {
    FuzzInput input = samples_[random_.Below(samples_.size())];
    for (uint64_t changes = random_.Below(6); changes > 0; --changes) Change(&input);
    return input;
  }

 private:
  void Change(FuzzInput* input) {
    if (input->empty()) return;
    const size_t at = Place(input->size());
    switch (random_.Below(6)) {
      case 0: (*input)[at] ^= static_cast<std::byte>(1u << random_.Below(8)); break;
      case 1: (*input)[at] = static_cast<std::byte>(random_.Below(256)); break;
      case 2: PutNumber(input, at); break;
      case 3: Splice(input, at); break;
      case 4: input->resize(at); break;
      default:
        std::fill_n(input->begin() + static_cast<ptrdiff_t>(at),
                    std::min<size_t>(random_.Below(64), input->size() - at),
                    static_cast<std::byte>(random_.OneIn(2) ? 0xFF : 0));
    }
  }

  /// What stands at the front of a page, and of a file, decides most.
  size_t Place(size_t size) {
    return random_.Below(random_.OneIn(2) ? std::min<size_t>(size, 128) : size);
  }

  /// A 16- or 32-bit number at the edges of what lengths and offsets can be.
  void PutNumber(FuzzInput* input, size_t at) {
    constexpr uint32_t kEdges[] = {0,      1,      0x7F,   0xFF,    0x100,      0xFFF,
                                   0x1000, 0x7FFF, 0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFF};
    std::byte bytes[4];
    StoreLe<uint32_t>(bytes, kEdges[random_.Below(std::size(kEdges))]);
    const size_t length = std::min<size_t>(random_.OneIn(2) ? 2 : 4, input->size() - at);
    std::copy_n(bytes, length, input->begin() + static_cast<ptrdiff_t>(at));
  }

  /// A piece of another sample.
  void Splice(FuzzInput* input, size_t at) {
    const FuzzInput& other = samples_[random_.Below(samples_.size())];
    if (other.empty()) return;
    const size_t from = random_.Below(other.size());
    const size_t length = std::min({random_.Below(200) + 1, uint64_t{other.size() - from},
                                    uint64_t{kInputBytesMax - std::min(kInputBytesMax, at)}});
    if (at + length > input->size()) input->resize(at + length);
    std::copy_n(other.begin() + static_cast<ptrdiff_t>(from), length,
                input->begin() + static_cast<ptrdiff_t>(at));
  }

  Random random_;
  std::span<const FuzzInput> samples_;
};

class Fuzz : public testing::TestWithParam<FuzzTarget> {};

TEST_P(Fuzz, ComesBackFromAnyBytes) {
  const FuzzTarget& target = GetParam();
  const std::vector<FuzzInput> samples = target.samples();
  ASSERT_FALSE(samples.empty()) << "nothing to begin with";
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(signal, SayWhatCrashed);
  const uint64_t rounds = TestSetting("ROWAN_TEST_FUZZ_ROUNDS", kRounds);
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t seed = TestSeed() + round;
    std::snprintf(g_doing, sizeof(g_doing),
                  "%s: ROWAN_TEST_SEED=%llu ROWAN_TEST_FUZZ_ROUNDS=1 repeats it\n", target.name,
                  static_cast<unsigned long long>(seed));
    const FuzzInput input = Mutator(seed, samples).Make();
    target.run(input);
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE}) std::signal(signal, SIG_DFL);
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz,
                         testing::ValuesIn(FuzzTargets().begin(), FuzzTargets().end()),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace rowan
