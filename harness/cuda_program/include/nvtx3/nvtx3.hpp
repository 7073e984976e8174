// NVTX for C++: ranges that do nothing (nvToolsExt.h).
#pragma once

#include <nvtx3/nvToolsExt.h>

namespace nvtx3 {
inline namespace v1 {
struct domain {
  struct global {};
};
struct rgb {
  template <class... T>
  explicit constexpr rgb(T...) {}
};
struct argb {
  template <class... T>
  explicit constexpr argb(T...) {}
};
struct color {
  template <class... T>
  explicit constexpr color(T...) {}
};
struct category {
  template <class... T>
  explicit constexpr category(T...) {}
};
struct payload {
  template <class... T>
  explicit constexpr payload(T...) {}
};
struct message {
  template <class... T>
  explicit constexpr message(T...) {}
};
struct event_attributes {
  template <class... T>
  explicit constexpr event_attributes(const T&...) {}
};
template <class D = domain::global>
struct scoped_range_in {
  template <class... T>
  explicit scoped_range_in(const T&...) {}
  ~scoped_range_in() {}
};
using scoped_range = scoped_range_in<domain::global>;
template <class D = domain::global>
struct unique_range_in {
  template <class... T>
  explicit unique_range_in(const T&...) {}
};
using unique_range = unique_range_in<domain::global>;
struct range_handle {};
template <class D = domain::global, class... T>
range_handle start_range_in(const T&...) {
  return {};
}
template <class... T>
range_handle start_range(const T&...) {
  return {};
}
template <class D = domain::global>
void end_range_in(range_handle) {}
inline void end_range(range_handle) {}
template <class D = domain::global, class... T>
void mark_in(const T&...) {}
template <class... T>
void mark(const T&...) {}
}  // namespace v1
}  // namespace nvtx3
#define NVTX3_FUNC_RANGE() ((void)0)
#define NVTX3_FUNC_RANGE_IN(D) ((void)0)
