// SPDX-License-Identifier: GPL-2.0-only
// The one engine instance of this server and its handlerton. Set by plugin initialisation before
// any session can use it, cleared by deinitialisation after the last one has ended.
#pragma once

struct handlerton;

namespace rowan {

class Engine;

extern handlerton* g_hton;
extern Engine* g_engine;

}  // namespace rowan
