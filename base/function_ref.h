// SPDX-License-Identifier: GPL-2.0-only
// FunctionRef: a parameter that is anything callable. It refers to the caller's object, copies and
// allocates nothing, and is valid until the call it was passed to returns: never store one (store a
// std::function instead). C++26 has std::function_ref.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace rowan {

template <typename Signature>
class FunctionRef;

template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  FunctionRef() = default;        ///< refers to nothing; only operator bool may be called
  FunctionRef(std::nullptr_t) {}  // NOLINT: implicit, as for pointers
  template <typename Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
           std::is_invocable_r_v<Result, Callable&, Arguments...>)
      FunctionRef(Callable&& callable)  // NOLINT: implicit by intent
      : object_(AddressOf(callable)), call_([](void* object, Arguments... arguments) -> Result {
          using Object = std::remove_reference_t<Callable>;
          return (*reinterpret_cast<Object*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  /// Also for functions: POSIX lets a void* hold a pointer to one.
  template <typename Object>
  static void* AddressOf(Object& object) {
    return const_cast<void*>(reinterpret_cast<const volatile void*>(std::addressof(object)));
  }

  void* object_ = nullptr;
  Result (*call_)(void* object, Arguments... arguments) = nullptr;
};

}  // namespace rowan
