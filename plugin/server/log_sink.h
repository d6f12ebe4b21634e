// SPDX-License-Identifier: GPL-2.0-only
// Sends the engine's log messages to the server's error log. Call from plugin initialisation and
// deinitialisation only; messages in between may come from any thread.
#pragma once

namespace rowan {

/// False when the server's logging service is not available.
bool OpenLogSink();
/// Messages go to stderr afterwards.
void CloseLogSink();

}  // namespace rowan
