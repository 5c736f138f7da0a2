// The recurrences of decay_states.hpp in chunks, as products of small matrices: faster for large states.
#pragma once

#include "scalar_chunks.hpp"
#include "vector_chunks.hpp"

namespace nerode {

template <class T, bool Vector>
int chunks_forward(const T* q, const T* k, const T* v, const T* decay, const T* initial, T* o, T* final,
                   T* borders, int64_t batch, int64_t time, int64_t heads, int64_t keys, int64_t values,
                   int64_t chunk, int64_t threads) {
  const MatrixShape s{batch, time, heads, keys, values, chunk};
  return run_units(s.units(), threads, s.effort(), [=](int64_t unit) {
    if constexpr (Vector)
      vector_chunks_forward(s, unit, q, k, v, decay, initial, o, final, borders);
    else
      scalar_chunks_forward(s, unit, q, k, v, decay, initial, o, final, borders);
  });
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T, bool Vector>
int chunks_backward(const T* q, const T* k, const T* v, const T* decay, const T* borders, const T* dout, T* dq,
                    T* dk, T* dv, T* ddecay, T* dinitial, int64_t batch, int64_t time, int64_t heads,
                    int64_t keys, int64_t values, int64_t chunk, int64_t threads) {
  const MatrixShape s{batch, time, heads, keys, values, chunk};
  return run_units(s.units(), threads, 3 * s.effort(), [=](int64_t unit) {
    if constexpr (Vector)
      vector_chunks_backward(s, unit, q, k, v, decay, borders, dout, dq, dk, dv, ddecay, dinitial);
    else
      scalar_chunks_backward(s, unit, q, k, v, decay, borders, dout, dq, dk, dv, ddecay, dinitial);
  });
}

}  // namespace nerode
