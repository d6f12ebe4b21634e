// SPDX-License-Identifier: GPL-2.0-only
// What the server's character sets (cmake/MySQL.cmake) and the parts of the plugin that use them
// ask for beyond themselves: tables of Chinese and Japanese weights, which no test uses, a
// collation by its number, and stopwords.
#include "tests/codec/server_strings.h"

#include <cstdlib>

#include "my_sys.h"
#include "strings/uca900_ja_data.h"
#include "strings/uca900_zh_data.h"

extern const char* fts_default_stopword[];
const char* fts_default_stopword[] = {"a", "in", "is", "of", "the", nullptr};

int (*my_string_stack_guard)(int) = nullptr;
uint16_t* ja_han_pages[1] = {nullptr};
const int MIN_JA_HAN_PAGE = 0;
const int MAX_JA_HAN_PAGE = 0;
uint16_t* zh_han_pages[1] = {nullptr};
const int MIN_ZH_HAN_PAGE = 0;
const int MAX_ZH_HAN_PAGE = 0;
int zh_han_to_single_weight[1] = {0};
const int ZH_HAN_WEIGHT_PAIRS = 0;

CHARSET_INFO* get_charset(unsigned number, myf) {
  return number == my_charset_latin1.number ? &my_charset_latin1 : nullptr;
}

namespace rowan {
namespace {

/// The collations loaded here need nothing from files.
class NoLoader : public MY_CHARSET_LOADER {
 public:
  void reporter(loglevel, unsigned, ...) override { std::abort(); }
  void* read_file(const char*, size_t*) override { return nullptr; }
};

}  // namespace

const CHARSET_INFO* Utf8mb4AiCi() {
  static const bool failed = [] {
    NoLoader loader;
    MY_CHARSET_ERRMSG message;
    CHARSET_INFO* collation = &my_charset_utf8mb4_0900_ai_ci;
    return collation->coll->init(collation, &loader, &message);
  }();
  return failed ? nullptr : &my_charset_utf8mb4_0900_ai_ci;
}

}  // namespace rowan
