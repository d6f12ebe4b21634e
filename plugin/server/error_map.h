// SPDX-License-Identifier: GPL-2.0-only
// Status -> handler error code, and the client messages of our own codes: the only place that knows
// both. Thread safety: any thread; `thd` is the session to which the error belongs.
#pragma once

#include <string>

#include "base/status.h"

class THD;

namespace rowan {

/// Our own handler errors, above the server's last one; ErrorText words them.
enum HandlerErrorCode : int {
  kErrorIo = 1001,
  kErrorStopped,
  kErrorNewerFormat,
  kErrorReadOnly,
  kErrorInternal,
};

/// The handler error for `status` (0 for Ok). Tells the server what the error means for the
/// transaction (deadlock: roll all of it back) and raises messages the server has no code for.
int HandlerError(THD* thd, Status status);

/// Sentence for one of our own codes; empty for the server's codes.
std::string ErrorText(int handler_error);

/// Raises a client error that names what Rowan does not support; returns HA_ERR_UNSUPPORTED for
/// callers to pass on. Only the first message of a statement reaches the client.
int RefuseUnsupported(const std::string& sentence);

/// Raises the error for a commit or prepare refused because the transaction is not serializable;
/// the server's own message would only say that it failed.
void RaiseNotSerializable();

}  // namespace rowan
