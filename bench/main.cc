// SPDX-License-Identifier: GPL-2.0-only
// rowan-bench: measures the disk and the engine without a server. `rowan-bench --help` lists the
// commands, `rowan-bench <command> --help` the options of one.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/commands.h"

namespace {

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>& arguments);
  const char* help;
};

constexpr Command kCommands[] = {
    {"sync", rowan::RunSyncCommand,
     "durable writes by sync method, kind of file and size of the write"},
    {"commit", rowan::RunCommitCommand,
     "commits per second and their latency by number of threads, through the engine"},
};

int Usage(std::FILE* stream, int status) {
  std::fputs("usage: rowan-bench <command> [options]\n\ncommands:\n", stream);
  for (const Command& command : kCommands) {
    std::fprintf(stream, "  %-8s%s\n", command.name, command.help);
  }
  std::fputs("\nrowan-bench <command> --help shows the options of a command.\n", stream);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return Usage(stderr, 2);
  if (arguments[0] == "--help" || arguments[0] == "-h") return Usage(stdout, 0);
  for (const Command& command : kCommands) {
    if (arguments[0] != command.name) continue;
    try {
      return command.run({arguments.begin() + 1, arguments.end()});
    } catch (const std::exception& error) {  // bad options; the engine throws nothing
      std::fprintf(stderr, "rowan-bench %s: %s\n", command.name, error.what());
      return 2;
    }
  }
  std::fprintf(stderr, "rowan-bench: no command '%s'\n\n", arguments[0].c_str());
  return Usage(stderr, 2);
}
