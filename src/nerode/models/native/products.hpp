// Products of tall matrices, whose rows are the positions of a batch: what a linear map and its gradients need.
//
// Every entry of a result is one chain of operations, whatever thread computes it and however many there are.
#pragma once

#include "columns.hpp"

namespace nerode {

// out[r][j] = bias[j] + sum over k of in[r][k] M[k][j] for the rows of each member, where M is the member's
// weight (outputs, inputs) turned over, or, `back`, the weight itself: out has `inputs` columns then.
template <class T>
int product_rows(const T* in, const T* weight, const T* bias, T* out, int64_t members, int64_t rows,
                 int64_t inputs, int64_t outputs, int64_t back, int64_t threads) {
  return within_memory([&] {
    const int64_t depth = back ? outputs : inputs, width = back ? inputs : outputs;
    // Few enough to stay in the first caches while all of the weights pass.
    constexpr int64_t block = 64;
    const int64_t blocks = (rows + block - 1) / block;
    const int64_t effort = members * rows * width * (depth / 16 + 2);
    std::vector<Panels<T>> packed;
    packed.reserve(members);
    for (int64_t m = 0; m < members; ++m) {
      const T* own = weight + m * inputs * outputs;
      packed.push_back(back ? backward_panels(own, outputs, inputs) : forward_panels(own, outputs, inputs));
    }
    return run_units(members * blocks, threads, effort, [&](int64_t unit) {
      const int64_t member = unit / blocks, first = unit % blocks * block;
      const int64_t at = member * rows + first;
      packed[member].multiply(in + at * depth, depth, out + at * width, width, std::min(block, rows - first),
                              bias ? bias + member * width : nullptr);
    });
  });
}

// The rows of a matrix, or, with an initial row for each sequence, the states before each position: the first
// of a sequence is the initial one, the others are those after the position before.
template <class T>
struct Positions {
  const T* rows;
  int64_t width;
  const T* initial = nullptr;
  int64_t time = 1;

  const T* row(int64_t k) const {
    if (!initial) return rows + k * width;
    return k % time ? rows + (k - 1) * width : initial + k / time * width;
  }
};

// The sums over k of left[k][i] right[k][j], for some columns of each, and the sums of the columns themselves.
template <class T>
class SumsOfProducts {
 public:
  static constexpr int64_t lanes = Lanes<T>::count, width = 2 * lanes, block = 128;

  SumsOfProducts(int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns), tiles_((rows + TILE_ROWS - 1) / TILE_ROWS),
        panels_((columns + width - 1) / width), left_(block * tiles_ * TILE_ROWS), right_(block * panels_ * width),
        sums_(tiles_ * TILE_ROWS * panels_ * width), left_sums_(tiles_ * TILE_ROWS), right_sums_(panels_ * width) {}

  // The columns of `left` from `i` on and those of `right` from `j` on.
  void run(const Positions<T>& left, int64_t i, const Positions<T>& right, int64_t j, int64_t depth) {
    for (int64_t first = 0; first < depth; first += block) {
      const int64_t n = std::min(block, depth - first);
      pack<TILE_ROWS>(left, i, rows_, first, n, left_, left_sums_);
      pack<width>(right, j, columns_, first, n, right_, right_sums_);
      for (int64_t p = 0; p < panels_; ++p) {
        const T* panel = right_.data() + p * block * width;
        for (int64_t t = 0; t < tiles_; ++t) {
          T* to = sums_.data() + (p * tiles_ + t) * TILE_ROWS * width;
          if (columns_ - p * width > lanes)
            tile<2>(left_.data() + t * block * TILE_ROWS, panel, n, to);
          else
            tile<1>(left_.data() + t * block * TILE_ROWS, panel, n, to);
        }
      }
    }
  }

  // out[i * row + j * column] becomes the sum of the products of the columns i and j.
  void give(T* out, int64_t row, int64_t column) const {
    for (int64_t j = 0; j < panels_; ++j) {
      const int64_t n = std::min(width, columns_ - j * width);
      const T* from = sums_.data() + j * tiles_ * TILE_ROWS * width;
      T* to = out + j * width * column;
      if (column == 1) {
        for (int64_t i = 0; i < rows_; ++i) std::copy_n(from + i * width, n, to + i * row);
        continue;
      }
      // A few rows at a time, which stay in the first cache while they are turned into columns.
      for (int64_t first = 0; first < rows_; first += 16)
        for (int64_t c = 0; c < n; ++c)
          for (int64_t i = first; i < std::min(rows_, first + 16); ++i) to[c * column + i * row] = from[i * width + c];
    }
  }
  void give_left_sums(T* out) const { std::copy_n(left_sums_.data(), rows_, out); }
  void give_right_sums(T* out) const { std::copy_n(right_sums_.data(), columns_, out); }

 private:
  // The columns of some rows in panels of `Wide` columns; what lies beyond the last column stays zero. The sums
  // of the columns are added to `sums`.
  template <int64_t Wide>
  static void pack(const Positions<T>& from, int64_t column, int64_t columns, int64_t first, int64_t rows,
                   std::vector<T>& to, std::vector<T>& sums) {
    const int64_t whole = columns / Wide;
    for (int64_t k = 0; k < rows; ++k) {
      const T* row = from.row(first + k) + column;
      T* place = to.data() + k * Wide;
      for (int64_t p = 0; p < whole; ++p) std::memcpy(place + p * block * Wide, row + p * Wide, Wide * sizeof(T));
      for (int64_t j = whole * Wide; j < columns; ++j) place[whole * block * Wide + j - whole * Wide] = row[j];
    }
    for (int64_t p = 0; p * Wide < columns; ++p) {
      const T* panel = to.data() + p * block * Wide;
      T sum[Wide] = {};
      for (int64_t k = 0; k < rows; ++k)
        for (int64_t j = 0; j < Wide; ++j) sum[j] += panel[k * Wide + j];
      for (int64_t j = 0; j < Wide; ++j) sums[p * Wide + j] += sum[j];
    }
  }

  template <int Vectors>
  static void tile(const T* left, const T* right, int64_t depth, T* to) {
    typename Lanes<T>::Vector sums[TILE_ROWS][Vectors] = {};
    for (int64_t k = 0; k < depth; ++k) {
      typename Lanes<T>::Vector b[Vectors];
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) b[j] = Lanes<T>::load(right + k * width + j * lanes);
#pragma GCC unroll 16
      for (int r = 0; r < TILE_ROWS; ++r) {
        const T x = left[k * TILE_ROWS + r];
#pragma GCC unroll 2
        for (int j = 0; j < Vectors; ++j) sums[r][j] += x * b[j];
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < TILE_ROWS; ++r) {
#pragma GCC unroll 2
      for (int j = 0; j < Vectors; ++j) {
        T* place = to + r * width + j * lanes;
        Lanes<T>::store(place, Lanes<T>::load(place) + sums[r][j]);
      }
    }
  }

  int64_t rows_, columns_, tiles_, panels_;
  std::vector<T> left_, right_, sums_, left_sums_, right_sums_;
};

// The gradient of a weight, of each member: dweight[i][j] = sum over the rows r of dout[r][i] in[r][j]; and
// that of a bias, unless `dbias` is null: the sum of the rows of dout. With `initial`, the rows of `in` are the
// states after each of `time` positions, and those before them count.
template <class T>
int product_sums(const T* dout, const T* in, const T* initial, T* dweight, T* dbias, int64_t members, int64_t batch,
                 int64_t time, int64_t inputs, int64_t outputs, int64_t threads) {
  // Vectors lie along the longer side.
  const bool turned = inputs < outputs;
  const int64_t rows = batch * time, p = turned ? inputs : outputs, q = turned ? outputs : inputs;
  const int64_t tiles = (p + TILE_ROWS - 1) / TILE_ROWS;
  const int64_t panels = (q + SumsOfProducts<T>::width - 1) / SumsOfProducts<T>::width;
  const int64_t wanted = (threads + members - 1) / members;
  const int64_t down = std::max<int64_t>(1, std::min(wanted, tiles));
  const int64_t across = std::max<int64_t>(1, std::min((wanted + down - 1) / down, panels));
  const int64_t effort = members * rows * q * (p / 16 + 2);
  return run_units(members * down * across, threads, effort, [=](int64_t unit) {
    const int64_t member = unit / (down * across), part = unit / across % down, side = unit % across;
    const int64_t p0 = tiles * part / down * TILE_ROWS;
    const int64_t p1 = std::min(p, tiles * (part + 1) / down * TILE_ROWS);
    const int64_t q0 = panels * side / across * SumsOfProducts<T>::width;
    const int64_t q1 = std::min(q, panels * (side + 1) / across * SumsOfProducts<T>::width);
    const Positions<T> ends{dout + member * rows * outputs, outputs};
    const Positions<T> starts{in + member * rows * inputs, inputs,
                              initial ? initial + member * batch * inputs : nullptr, time};
    SumsOfProducts<T> sums(p1 - p0, q1 - q0);
    sums.run(turned ? starts : ends, p0, turned ? ends : starts, q0, rows);
    const int64_t row = turned ? 1 : q, column = turned ? p : 1;
    sums.give(dweight + member * p * q + p0 * row + q0 * column, row, column);
    if (dbias && turned && part == 0) sums.give_right_sums(dbias + member * q + q0);
    if (dbias && !turned && side == 0) sums.give_left_sums(dbias + member * p + p0);
  });
}

}  // namespace nerode
