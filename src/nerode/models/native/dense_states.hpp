// H_t = A_t H_{t-1} + B_t with dense matrices, block by block.
//
// A is (batch, time, blocks, n, n), H and B are (batch, time, blocks, n, m), contiguous; B may be missing. A
// complex number is two neighbouring entries. Blocks of the sizes of rotations (2, 3, 4, 8) have loops of
// their own, which the compiler unrolls.
#pragma once

#include <type_traits>

#include "threads.hpp"
#include "vector_math.hpp"

namespace nerode {

struct DenseShape {
  int64_t batch, time, blocks, n, m;
  int64_t units() const { return batch * blocks; }
  int64_t effort() const { return units() * time * n * n * m; }
  // Position of (member, t, block) among all of them.
  int64_t index(int64_t unit, int64_t t) const { return (unit / blocks * time + t) * blocks + unit % blocks; }
};

// out += sum over k of weights[k * stride] rows[k]; four rows at a time spare the traffic of `out`.
template <class T>
NERODE_INLINE void combine_rows(const T* __restrict rows, const T* __restrict weights, int64_t stride,
                                T* __restrict out, int64_t count, int64_t width) {
  int64_t k = 0;
  for (; k + 4 <= count; k += 4) {
    const T *r0 = rows + k * width, *r1 = r0 + width, *r2 = r1 + width, *r3 = r2 + width;
    const T *w = weights + k * stride, w0 = w[0], w1 = w[stride], w2 = w[2 * stride], w3 = w[3 * stride];
    for (int64_t j = 0; j < width; ++j) out[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j];
  }
  for (; k < count; ++k)
    for (int64_t j = 0; j < width; ++j) out[j] += weights[k * stride] * rows[k * width + j];
}

// out = B + A H; a missing B counts as zero.
template <class T, bool Complex>
NERODE_INLINE void dense_step(const T* __restrict A, const T* __restrict B, const T* __restrict H,
                              T* __restrict out, int64_t n, int64_t m) {
  constexpr int64_t parts = Complex ? 2 : 1;
  for (int64_t i = 0; i < n; ++i) {
    const T* __restrict row = A + i * n * parts;
    T* __restrict to = out + i * m * parts;
    for (int64_t j = 0; j < m * parts; ++j) to[j] = B ? B[i * m * parts + j] : T(0);
    if constexpr (Complex) {
      if (m == 1) {
        T real = 0, imaginary = 0;
#pragma omp simd reduction(+ : real, imaginary)
        for (int64_t k = 0; k < n; ++k) {
          real += row[2 * k] * H[2 * k] - row[2 * k + 1] * H[2 * k + 1];
          imaginary += row[2 * k] * H[2 * k + 1] + row[2 * k + 1] * H[2 * k];
        }
        to[0] += real;
        to[1] += imaginary;
        continue;
      }
      for (int64_t k = 0; k < n; ++k) {
        const T ar = row[2 * k], ai = row[2 * k + 1];
        const T* __restrict from = H + 2 * k * m;
        for (int64_t j = 0; j < m; ++j) {
          to[2 * j] += ar * from[2 * j] - ai * from[2 * j + 1];
          to[2 * j + 1] += ar * from[2 * j + 1] + ai * from[2 * j];
        }
      }
    } else {
      if (m == 1) {
        T sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int64_t k = 0; k < n; ++k) sum += row[k] * H[k];
        to[0] += sum;
        continue;
      }
      combine_rows(H, row, 1, to, n, m);
    }
  }
}

// With G the gradient of H_t: dA = G Hᴴ, H the state before, and Aᴴ G flows on to it by way of `carry`.
// `turned` is room for Hᵀ.
template <class T>
NERODE_INLINE void real_step_back(const T* __restrict A, const T* __restrict H, const T* __restrict G,
                                  T* __restrict dA, T* __restrict carry, T* __restrict turned, int64_t n,
                                  int64_t m) {
  for (int64_t i = 0; i < n * m; ++i) carry[i] = 0;
  if (m == 1) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < n; ++k) dA[i * n + k] = G[i] * H[k];
    combine_rows(A, G, 1, carry, n, n);
    return;
  }
  for (int64_t i = 0; i < n * n; ++i) dA[i] = 0;
  for (int64_t k = 0; k < n; ++k)
    for (int64_t j = 0; j < m; ++j) turned[j * n + k] = H[k * m + j];
  for (int64_t i = 0; i < n; ++i) combine_rows(turned, G + i * m, 1, dA + i * n, m, n);
  for (int64_t k = 0; k < n; ++k) combine_rows(G, A + k, n, carry + k * m, n, m);
}

template <class T>
NERODE_INLINE void complex_step_back(const T* __restrict A, const T* __restrict H, const T* __restrict G,
                                     T* __restrict dA, T* __restrict carry, int64_t n, int64_t m) {
  for (int64_t i = 0; i < 2 * n * n; ++i) dA[i] = 0;
  for (int64_t i = 0; i < 2 * n * m; ++i) carry[i] = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T* __restrict row = A + 2 * i * n;
    T* __restrict drow = dA + 2 * i * n;
    for (int64_t j = 0; j < m; ++j) {
      const T gr = G[2 * (i * m + j)], gi = G[2 * (i * m + j) + 1];
      for (int64_t k = 0; k < n; ++k) {
        const T hr = H[2 * (k * m + j)], hi = H[2 * (k * m + j) + 1], ar = row[2 * k], ai = row[2 * k + 1];
        drow[2 * k] += gr * hr + gi * hi;
        drow[2 * k + 1] += gi * hr - gr * hi;
        carry[2 * (k * m + j)] += ar * gr + ai * gi;
        carry[2 * (k * m + j) + 1] += ar * gi - ai * gr;
      }
    }
  }
}

// Calls loop(n, m) with sizes that the compiler knows where they are those of a rotation.
template <int64_t N>
using Known = std::integral_constant<int64_t, N>;

template <class Loop>
NERODE_INLINE void with_known_sizes(const DenseShape& s, const Loop& loop) {
  if (s.n == 2 && s.m == 2) return loop(Known<2>{}, Known<2>{});
  if (s.n == 3 && s.m == 3) return loop(Known<3>{}, Known<3>{});
  if (s.n == 4 && s.m == 4) return loop(Known<4>{}, Known<4>{});
  if (s.n == 8 && s.m == 8) return loop(Known<8>{}, Known<8>{});
  if (s.m == 1) return loop(s.n, Known<1>{});
  loop(s.n, s.m);
}

template <class T, bool Complex>
int dense_forward(const T* A, const T* B, const T* initial, T* out, int64_t batch, int64_t time, int64_t blocks,
                  int64_t n, int64_t m, int64_t threads) {
  const DenseShape s{batch, time, blocks, n, m};
  return run_units(s.units(), threads, s.effort(), [=](int64_t unit) {
    with_known_sizes(s, [&](auto rows, auto columns) {
      constexpr int64_t parts = Complex ? 2 : 1;
      const int64_t size = rows * columns * parts, square = rows * rows * parts;
      const T* before = initial + unit * size;
      for (int64_t t = 0; t < time; ++t) {
        const int64_t at = s.index(unit, t);
        T* now = out + at * size;
        dense_step<T, Complex>(A + at * square, B ? B + at * size : nullptr, before, now, rows, columns);
        before = now;
      }
    });
  });
}

// `dB` may be missing; `dinitial` serves as the carry from one position to the one before.
template <class T, bool Complex>
int dense_backward(const T* A, const T* initial, const T* out, const T* dout, T* dA, T* dB, T* dinitial,
                   int64_t batch, int64_t time, int64_t blocks, int64_t n, int64_t m, int64_t threads) {
  const DenseShape s{batch, time, blocks, n, m};
  return run_units(s.units(), threads, 2 * s.effort(), [=](int64_t unit) {
    with_known_sizes(s, [&](auto rows, auto columns) {
      constexpr int64_t parts = Complex ? 2 : 1;
      const int64_t size = rows * columns * parts, square = rows * rows * parts;
      std::vector<T> gradient(size), turned(size);
      T* carry = dinitial + unit * size;
      std::fill(carry, carry + size, T(0));
      for (int64_t t = time - 1; t >= 0; --t) {
        const int64_t at = s.index(unit, t);
        const T* before = t ? out + s.index(unit, t - 1) * size : initial + unit * size;
        for (int64_t j = 0; j < size; ++j) gradient[j] = dout[at * size + j] + carry[j];
        if (dB) std::copy(gradient.begin(), gradient.end(), dB + at * size);
        if constexpr (Complex)
          complex_step_back(A + at * square, before, gradient.data(), dA + at * square, carry, rows, columns);
        else
          real_step_back(A + at * square, before, gradient.data(), dA + at * square, carry, turned.data(), rows,
                         columns);
      }
    });
  });
}

}  // namespace nerode
