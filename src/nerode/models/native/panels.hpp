// Small matrix products in which the right-hand matrix is used again and again: the recurrent weights.
//
// The weights are packed once into panels of a few vectors' width; a tile of rows then stays in registers
// while one panel streams past. Every entry is the same chain of products whatever the tile, so results do
// not depend on how the batch is split.
#pragma once

#include <cstring>

#include "threads.hpp"
#include "vector_math.hpp"

namespace nerode {

#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64, TILE_ROWS = 8;
#elif defined(__AVX__)
constexpr int VECTOR_BYTES = 32, TILE_ROWS = 4;
#else
constexpr int VECTOR_BYTES = 16, TILE_ROWS = 4;
#endif

template <class T>
class Panels {
 public:
  using Vector __attribute__((vector_size(VECTOR_BYTES))) = T;
  static constexpr int64_t lanes = VECTOR_BYTES / sizeof(T);
  static constexpr int64_t width = 2 * lanes;

  // The matrix with M[k][j] = weight[k * row + j * column], k < inputs, j < outputs.
  Panels(const T* weight, int64_t inputs, int64_t outputs, int64_t row, int64_t column)
      : inputs_(inputs), outputs_(outputs), packed_((outputs + width - 1) / width * width * inputs) {
    for (int64_t first = 0; first < outputs; first += width)
      for (int64_t k = 0; k < inputs; ++k)
        for (int64_t j = first; j < std::min(outputs, first + width); ++j)
          packed_[first * inputs + k * width + j - first] = weight[k * row + j * column];
  }

  // out[r][j] = sum over k of in[r][k] M[k][j].
  void multiply(const T* in, int64_t in_row, T* out, int64_t out_row, int64_t rows) const {
    for (int64_t first = 0; first < outputs_; first += width) {
      const T* panel = packed_.data() + first * inputs_;
      const int64_t columns = std::min(width, outputs_ - first);
      int64_t r = 0;
      for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
        tile<TILE_ROWS>(in + r * in_row, in_row, panel, out + r * out_row + first, out_row, columns);
      for (; r + 2 <= rows; r += 2)
        tile<2>(in + r * in_row, in_row, panel, out + r * out_row + first, out_row, columns);
      for (; r < rows; ++r)
        tile<1>(in + r * in_row, in_row, panel, out + r * out_row + first, out_row, columns);
    }
  }

 private:
  template <int Rows>
  void tile(const T* in, int64_t in_row, const T* panel, T* out, int64_t out_row, int64_t columns) const {
    Vector sums[Rows][2] = {};
    for (int64_t k = 0; k < inputs_; ++k) {
      Vector left, right;
      std::memcpy(&left, panel + k * width, sizeof left);
      std::memcpy(&right, panel + k * width + lanes, sizeof right);
      // Unrolled for certain: otherwise the sums live in memory.
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) {
        const T x = in[r * in_row + k];
        sums[r][0] += x * left;
        sums[r][1] += x * right;
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      if (columns == width) {
        std::memcpy(out + r * out_row, sums[r], sizeof sums[r]);
      } else {
        std::memcpy(out + r * out_row, sums[r], columns * sizeof(T));
      }
    }
  }

  int64_t inputs_, outputs_;
  std::vector<T> packed_;
};

// Calls work(first, rows) for consecutive parts of the batch, one for each thread.
inline int run_rows(int64_t batch, int64_t threads, int64_t effort,
                    const std::function<void(int64_t, int64_t)>& work) {
  const int64_t tiles = (batch + TILE_ROWS - 1) / TILE_ROWS;
  const int64_t parts = std::max<int64_t>(1, std::min(threads, tiles));
  return run_units(parts, threads, effort, [&](int64_t part) {
    const int64_t first = tiles * part / parts * TILE_ROWS;
    const int64_t last = std::min(batch, tiles * (part + 1) / parts * TILE_ROWS);
    work(first, last - first);
  });
}

}  // namespace nerode
