// Norms over the last axis: of the root of the mean square, or, centred, of the standard deviation.
//
// The gradients of weight and bias are sums over all rows: of blocks of rows, and then of the blocks in order,
// so that they do not depend on the number of threads.
#pragma once

#include <cmath>

#include "threads.hpp"
#include "vector_math.hpp"

namespace nerode {

constexpr int64_t NORM_ROWS = 256;

// y = (x - mean) scale weight + bias, with the reciprocal of the size as the scale; `kept` holds the mean and
// the scale of each row. Without `centred` the mean is zero; the bias may be null.
template <class T>
int norm_forward(const T* x, const T* weight, const T* bias, T* y, T* kept, const T* epsilon, int64_t members,
                 int64_t rows, int64_t width, int64_t centred, int64_t threads) {
  const int64_t blocks = (rows + NORM_ROWS - 1) / NORM_ROWS;
  const T least = *epsilon;
  return run_units(members * blocks, threads, 4 * members * rows * width, [=](int64_t unit) {
    const int64_t member = unit / blocks, first = unit % blocks * NORM_ROWS;
    const T* __restrict w = weight + member * width;
    const T* __restrict b = bias ? bias + member * width : nullptr;
    for (int64_t r = first; r < std::min(rows, first + NORM_ROWS); ++r) {
      const int64_t at = member * rows + r;
      const T* __restrict in = x + at * width;
      T* __restrict out = y + at * width;
      T sum = 0, squares = 0;
      if (centred) {
#pragma omp simd reduction(+ : sum)
        for (int64_t j = 0; j < width; ++j) sum += in[j];
      }
      const T mean = sum / width;
#pragma omp simd reduction(+ : squares)
      for (int64_t j = 0; j < width; ++j) squares += (in[j] - mean) * (in[j] - mean);
      const T scale = 1 / std::sqrt(squares / width + least);
      kept[2 * at] = mean;
      kept[2 * at + 1] = scale;
      if (b) {
        for (int64_t j = 0; j < width; ++j) out[j] = (in[j] - mean) * scale * w[j] + b[j];
      } else {
        for (int64_t j = 0; j < width; ++j) out[j] = (in[j] - mean) * scale * w[j];
      }
    }
  });
}

// `parts` has room for two rows per block: the sums of the gradients of weight and bias over its rows.
template <class T>
int norm_backward(const T* x, const T* weight, const T* kept, const T* dy, T* dx, T* dweight, T* dbias, T* parts,
                  int64_t members, int64_t rows, int64_t width, int64_t centred, int64_t threads) {
  const int64_t blocks = (rows + NORM_ROWS - 1) / NORM_ROWS;
  const int failed = run_units(members * blocks, threads, 8 * members * rows * width, [=](int64_t unit) {
    const int64_t member = unit / blocks, first = unit % blocks * NORM_ROWS;
    const T* __restrict w = weight + member * width;
    T* __restrict dw = parts + unit * 2 * width;
    T* __restrict db = dw + width;
    std::fill(dw, dw + 2 * width, T(0));
    for (int64_t r = first; r < std::min(rows, first + NORM_ROWS); ++r) {
      const int64_t at = member * rows + r;
      const T* __restrict in = x + at * width;
      const T* __restrict given = dy + at * width;
      T* __restrict d = dx + at * width;
      const T mean = kept[2 * at], scale = kept[2 * at + 1];
      T along = 0, total = 0;
#pragma omp simd reduction(+ : along, total)
      for (int64_t j = 0; j < width; ++j) {
        const T z = (in[j] - mean) * scale, g = given[j] * w[j];
        along += g * z;
        total += g;
        dw[j] += given[j] * z;
        db[j] += given[j];
      }
      along /= width;
      total = centred ? total / width : T(0);
      for (int64_t j = 0; j < width; ++j)
        d[j] = scale * (given[j] * w[j] - total - (in[j] - mean) * scale * along);
    }
  });
  if (failed) return failed;
  for (int64_t member = 0; member < members; ++member) {
    T* __restrict dw = dweight + member * width;
    T* __restrict db = dbias + member * width;
    std::fill(dw, dw + width, T(0));
    std::fill(db, db + width, T(0));
    for (int64_t block = 0; block < blocks; ++block) {
      const T* __restrict from = parts + (member * blocks + block) * 2 * width;
      for (int64_t j = 0; j < width; ++j) dw[j] += from[j];
      for (int64_t j = 0; j < width; ++j) db[j] += from[width + j];
    }
  }
  return OK;
}

}  // namespace nerode
