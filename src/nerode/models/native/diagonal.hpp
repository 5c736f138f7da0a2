// h_t = a_t h_{t-1} + b_t, channel by channel; arrays are (batch, time, channels), contiguous.
//
// A complex number is two neighbouring entries. With a constant gate, `a` is (channels) and its gradient is
// returned for each batch member, (batch, channels), to be summed by the caller in a fixed order.
#pragma once

#include "threads.hpp"
#include "vector_math.hpp"

namespace nerode {

// Whole rows stream best; a narrow split is only worth it when the batch cannot occupy the threads.
inline int64_t channel_block(int64_t batch, int64_t channels) {
  return std::min<int64_t>(channels, batch >= 8 ? 4096 : 64);
}

template <class T, bool Complex>
NERODE_INLINE void scan_row(const T* __restrict a, const T* __restrict b, const T* __restrict before,
                            T* __restrict out, int64_t n) {
  if constexpr (Complex) {
    for (int64_t c = 0; c < n; ++c) {
      const T ar = a[2 * c], ai = a[2 * c + 1], hr = before[2 * c], hi = before[2 * c + 1];
      out[2 * c] = b[2 * c] + ar * hr - ai * hi;
      out[2 * c + 1] = b[2 * c + 1] + ar * hi + ai * hr;
    }
  } else {
    for (int64_t c = 0; c < n; ++c) out[c] = a[c] * before[c] + b[c];
  }
}

template <class T, bool Complex>
int diagonal_forward(const T* a, const T* b, const T* initial, T* out, int64_t batch, int64_t time,
                     int64_t channels, int64_t constant, int64_t threads) {
  constexpr int64_t parts = Complex ? 2 : 1;
  const int64_t block = channel_block(batch, channels);
  const int64_t blocks = (channels + block - 1) / block;
  const int64_t row = channels * parts;
  return run_units(batch * blocks, threads, batch * time * row, [=](int64_t unit) {
    const int64_t member = unit / blocks, first = unit % blocks * block;
    const int64_t n = std::min(block, channels - first);
    const int64_t offset = member * time * row + first * parts;
    const T* before = initial + member * row + first * parts;
    const T* gate = constant ? a + first * parts : a + offset;
    for (int64_t t = 0; t < time; ++t) {
      T* now = out + offset + t * row;
      scan_row<T, Complex>(constant ? gate : gate + t * row, b + offset + t * row, before, now, n);
      before = now;
    }
  });
}

// With g the gradient of h_t summed over everything after it: db_t = g, da_t = g conj(h_{t-1}), and
// conj(a_t) g flows on to h_{t-1}, by way of `carry`.
template <class T, bool Complex, bool Sum>
NERODE_INLINE void scan_row_back(const T* __restrict a, const T* __restrict before, const T* __restrict dout,
                                 T* __restrict carry, T* __restrict da, T* __restrict db, int64_t n) {
  if constexpr (Complex) {
    for (int64_t c = 0; c < n; ++c) {
      const T ar = a[2 * c], ai = a[2 * c + 1], hr = before[2 * c], hi = before[2 * c + 1];
      const T gr = dout[2 * c] + carry[2 * c], gi = dout[2 * c + 1] + carry[2 * c + 1];
      db[2 * c] = gr;
      db[2 * c + 1] = gi;
      const T dr = gr * hr + gi * hi, di = gi * hr - gr * hi;
      da[2 * c] = Sum ? da[2 * c] + dr : dr;
      da[2 * c + 1] = Sum ? da[2 * c + 1] + di : di;
      carry[2 * c] = ar * gr + ai * gi;
      carry[2 * c + 1] = ar * gi - ai * gr;
    }
  } else {
    for (int64_t c = 0; c < n; ++c) {
      const T g = dout[c] + carry[c];
      db[c] = g;
      da[c] = Sum ? da[c] + g * before[c] : g * before[c];
      carry[c] = a[c] * g;
    }
  }
}

// `dinitial` comes back as the gradient of the initial state; `da` must be zero when the gate is constant.
template <class T, bool Complex>
int diagonal_backward(const T* a, const T* initial, const T* out, const T* dout, T* da, T* db, T* dinitial,
                      int64_t batch, int64_t time, int64_t channels, int64_t constant, int64_t threads) {
  constexpr int64_t parts = Complex ? 2 : 1;
  const int64_t block = channel_block(batch, channels);
  const int64_t blocks = (channels + block - 1) / block;
  const int64_t row = channels * parts;
  return run_units(batch * blocks, threads, batch * time * row, [=](int64_t unit) {
    const int64_t member = unit / blocks, first = unit % blocks * block;
    const int64_t n = std::min(block, channels - first);
    const int64_t offset = member * time * row + first * parts;
    const int64_t side = member * row + first * parts;
    T* carry = dinitial + side;
    std::fill(carry, carry + n * parts, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      const int64_t at = offset + t * row;
      const T* before = t ? out + at - row : initial + side;
      if (constant) {
        scan_row_back<T, Complex, true>(a + first * parts, before, dout + at, carry, da + side, db + at, n);
      } else {
        scan_row_back<T, Complex, false>(a + at, before, dout + at, carry, da + at, db + at, n);
      }
    }
  });
}

}  // namespace nerode
