// What the step loops of the nonlinear cells share.
//
// Arrays are (members, batch, time, ...): the members are networks with weights of their own. Every row of every
// member is numbered through, so that only the weights need to know which member a row belongs to.
#pragma once

#include "panels.hpp"

namespace nerode {

// The state before step t, and the distance between its rows.
template <class T>
struct Before {
  const T* rows;
  int64_t stride;
  Before(const T* initial, const T* states, int64_t first, int64_t t, int64_t time, int64_t hidden)
      : rows(t ? states + (first * time + t - 1) * hidden : initial + first * hidden),
        stride(t ? time * hidden : hidden) {}
  const T* row(int64_t r) const { return rows + r * stride; }
};

// Fetches a row of the next step while this one is computed: rows of one step lie far apart.
template <class T>
NERODE_INLINE void fetch(const T* row, int64_t n) {
  for (int64_t j = 0; j < n; j += 64 / sizeof(T)) __builtin_prefetch(row + j);
}

// The gradients of an output that may not have been used at all.
template <class T>
class Given {
 public:
  Given(const T* values, int64_t width) : values_(values), width_(width), zeros_(values ? 0 : width) {}
  const T* row(int64_t at) const { return values_ ? values_ + at * width_ : zeros_.data(); }

 private:
  const T* values_;
  int64_t width_;
  std::vector<T> zeros_;
};

// About how many steps it takes to multiply every row at every time with a weight.
inline int64_t cell_effort(int64_t rows, int64_t time, int64_t outputs, int64_t inputs) {
  return rows * time * outputs * (inputs + 16);
}

// Calls work(member, first, rows) for parts of the members' batches.
inline int run_members(int64_t members, int64_t batch, int64_t threads, int64_t effort,
                       const std::function<void(int64_t, int64_t, int64_t)>& work) {
  const int64_t tiles = (batch + TILE_ROWS - 1) / TILE_ROWS;
  const int64_t wanted = (threads + members - 1) / members;
  const int64_t parts = std::max<int64_t>(1, std::min(wanted, tiles));
  return run_units(members * parts, threads, effort, [&](int64_t unit) {
    const int64_t member = unit / parts, part = unit % parts;
    const int64_t first = tiles * part / parts * TILE_ROWS;
    const int64_t last = std::min(batch, tiles * (part + 1) / parts * TILE_ROWS);
    work(member, member * batch + first, last - first);
  });
}

}  // namespace nerode
