// The shape of recurrences whose state is a matrix S of shape (keys, values), kept row by row.
//
// q, k are (batch, time, heads, keys), v and o (batch, time, heads, values). The backward passes walk from
// the last chunk to the first: each is recomputed from the state at its border, which the forward pass kept.
#pragma once

#include <cstdint>

#include "vector_math.hpp"

namespace nerode {

struct MatrixShape {
  int64_t batch, time, heads, keys, values, chunk;
  int64_t units() const { return batch * heads; }
  int64_t size() const { return keys * values; }
  int64_t chunks() const { return (time + chunk - 1) / chunk; }
  int64_t effort() const { return units() * time * size(); }
  // Position of (member, t, head) among all of them.
  int64_t index(int64_t unit, int64_t t) const { return (unit / heads * time + t) * heads + unit % heads; }
};

template <class T>
NERODE_INLINE T dot(const T* __restrict x, const T* __restrict y, int64_t n) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace nerode
