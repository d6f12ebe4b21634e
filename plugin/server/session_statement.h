// SPDX-License-Identifier: GPL-2.0-only
// What a session of the server is doing, for reports of which session blocks others. Thread safety:
// any thread except one that holds THD::LOCK_thd_data.
#pragma once

#include <cstdint>
#include <string>

namespace rowan {

/// The statement that the session with this connection id runs, truncated if long. Empty: it runs
/// none, or there is no such session.
std::string StatementOfThread(uint64_t connection_id);

}  // namespace rowan
