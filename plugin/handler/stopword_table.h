// SPDX-License-Identifier: GPL-2.0-only
// Tables of words that new FULLTEXT indexes omit. Thread safety: the session's thread.
#pragma once

#include <string>

#include "base/status.h"
#include "plugin/codec/text_index.h"

class THD;

namespace rowan {

/// The words of a FULLTEXT index that the session creates now: the server's word sizes, and no
/// stopwords, the default ones or, like InnoDB, those of the table named by the session's
/// innodb_ft_user_stopword_table or else innodb_ft_server_stopword_table ("database/table").
/// kUnsupported with what is not supported in `*refusal`: the table cannot be read. Waits for the
/// table's metadata lock: kLockTimeout after lock_wait_timeout seconds, kDeadlock, kInterrupted.
/// Raises no error.
Status WordLimitsNow(THD* thd, WordLimits* limits, std::string* refusal);

}  // namespace rowan
