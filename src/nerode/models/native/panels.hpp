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

  // The matrix with M[k][j] = weight[k * row + j * column], k < inputs, j < outputs; below it there may be
  // another one, laid out in the same way, with `more_inputs` rows: see `Rows`.
  Panels(const T* weight, int64_t inputs, int64_t outputs, int64_t row, int64_t column,
         const T* more = nullptr, int64_t more_inputs = 0, int64_t more_column = 0)
      : inputs_(inputs + more_inputs), outputs_(outputs),
        packed_((outputs + width - 1) / width * width * (inputs + more_inputs)) {
    pack(weight, 0, inputs, row, column);
    if (more) pack(more, inputs, more_inputs, row, more_column);
  }

  // Rows of numbers, `stride` apart; they may go on elsewhere after the first `first` numbers.
  struct Rows {
    const T* at;
    int64_t stride, first;
    const T* more = nullptr;
    int64_t more_stride = 0;
    Rows from(int64_t r) const { return {at + r * stride, stride, first, more + r * more_stride, more_stride}; }
  };

  // out[r][j] = bias[j] + sum over k of in[r][k] M[k][j]; without a bias, the sum.
  void multiply(const T* in, int64_t in_row, T* out, int64_t out_row, int64_t rows,
                const T* bias = nullptr) const {
    multiply(Rows{in, in_row, inputs_}, out, out_row, rows, bias);
  }
  void multiply(const Rows& in, T* out, int64_t out_row, int64_t rows, const T* bias = nullptr) const {
    for (int64_t first = 0; first < outputs_; first += width) {
      T starts[width] = {};
      const int64_t columns = std::min(width, outputs_ - first);
      if (bias) std::copy_n(bias + first, columns, starts);
      const T* panel = packed_.data() + first * inputs_;
      if (columns > lanes)
        panel_rows<2>(in, panel, starts, out + first, out_row, rows, columns);
      else
        panel_rows<1>(in, panel, starts, out + first, out_row, rows, columns);
    }
  }

 private:
  void pack(const T* weight, int64_t from, int64_t inputs, int64_t row, int64_t column) {
    for (int64_t first = 0; first < outputs_; first += width)
      for (int64_t k = 0; k < inputs; ++k)
        for (int64_t j = first; j < std::min(outputs_, first + width); ++j)
          packed_[first * inputs_ + (from + k) * width + j - first] = weight[k * row + j * column];
  }

  template <int Vectors>
  void panel_rows(const Rows& in, const T* panel, const T* starts, T* out, int64_t out_row, int64_t rows,
                  int64_t columns) const {
    int64_t r = 0;
    for (; r + TILE_ROWS <= rows; r += TILE_ROWS)
      tile<TILE_ROWS, Vectors>(in.from(r), panel, starts, out + r * out_row, out_row, columns);
    for (; r + 2 <= rows; r += 2)
      tile<2, Vectors>(in.from(r), panel, starts, out + r * out_row, out_row, columns);
    for (; r < rows; ++r) tile<1, Vectors>(in.from(r), panel, starts, out + r * out_row, out_row, columns);
  }

  template <int Count, int Vectors>
  void tile(const Rows& in, const T* panel, const T* starts, T* out, int64_t out_row, int64_t columns) const {
    Vector sums[Count][Vectors];
    // Unrolled for certain: otherwise the sums live in memory.
#pragma GCC unroll 16
    for (int r = 0; r < Count; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) std::memcpy(&sums[r][v], starts + v * lanes, sizeof(Vector));
    }
    add(in.at, in.stride, panel, in.first, sums);
    if (in.first < inputs_) add(in.more, in.more_stride, panel + in.first * width, inputs_ - in.first, sums);
#pragma GCC unroll 16
    for (int r = 0; r < Count; ++r) {
      if (columns == Vectors * lanes) {
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v)
          std::memcpy(out + r * out_row + v * lanes, &sums[r][v], sizeof(Vector));
      } else {
        T row[Vectors * lanes];
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) std::memcpy(row + v * lanes, &sums[r][v], sizeof(Vector));
        std::memcpy(out + r * out_row, row, columns * sizeof(T));
      }
    }
  }

  template <int Count, int Vectors>
  static NERODE_INLINE void add(const T* in, int64_t stride, const T* panel, int64_t depth,
                                Vector (&sums)[Count][Vectors]) {
    for (int64_t k = 0; k < depth; ++k) {
      Vector right[Vectors];
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) std::memcpy(&right[v], panel + k * width + v * lanes, sizeof(Vector));
#pragma GCC unroll 16
      for (int r = 0; r < Count; ++r) {
        const T x = in[r * stride + k];
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) sums[r][v] += x * right[v];
      }
    }
  }

  int64_t inputs_, outputs_;
  std::vector<T> packed_;
};

// The products of rows with a weight (outputs, inputs), as torch stores it, and of their gradients with it.
template <class T>
Panels<T> forward_panels(const T* weight, int64_t outputs, int64_t inputs) {
  return Panels<T>(weight, inputs, outputs, 1, inputs);
}

template <class T>
Panels<T> backward_panels(const T* weight, int64_t outputs, int64_t inputs) {
  return Panels<T>(weight, outputs, inputs, inputs, 1);
}

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
