// The non-saturating recurrent unit: a rectified network beside a memory that heads add to and take from.
//
// The heads' numbers are: `count` strengths to write and `count` to erase, then the directions to write and those
// to erase, each either count * memory numbers or two vectors whose outer product those are.
#pragma once

#include <cmath>

#include "steps.hpp"

namespace nerode {

struct NruSizes {
  int64_t hidden, memory, count, factored, rectified;

  int64_t state() const { return hidden + memory; }
  int64_t places() const { return count * memory; }
  int64_t side() const { return std::llround(std::sqrt(static_cast<double>(places()))); }
  int64_t span() const { return factored ? 2 * side() : places(); }
  int64_t width() const { return 2 * (count + span()); }
};

// The directions of all heads that write, or of all that erase, with the reciprocals of their norms.
template <class T>
struct Directions {
  static constexpr T least = T(1e-12);
  NruSizes sizes;
  std::vector<T> values, inverse;

  explicit Directions(const NruSizes& s) : sizes(s), values(s.places()), inverse(s.count) {}

  void read(const T* __restrict numbers) {
    T* __restrict v = values.data();
    if (sizes.factored) {
      const int64_t side = sizes.side();
      for (int64_t a = 0; a < side; ++a)
        for (int64_t b = 0; b < side; ++b) v[a * side + b] = numbers[a] * numbers[side + b];
    } else {
      std::copy_n(numbers, sizes.places(), v);
    }
    // Written so that NaN stays NaN, as in torch.
    if (sizes.rectified)
      for (int64_t i = 0; i < sizes.places(); ++i) v[i] = v[i] <= 0 ? T(0) : v[i];
    for (int64_t head = 0; head < sizes.count; ++head) {
      const T* __restrict own = v + head * sizes.memory;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t j = 0; j < sizes.memory; ++j) {
        const T square = own[j] * own[j];
        sum += square * square * (own[j] < 0 ? -own[j] : own[j]);
      }
      const T norm = std::pow(sum, T(0.2));
      inverse[head] = 1 / (norm < least ? least : norm);
    }
  }

  T strength(T given) const { return sizes.rectified && given <= 0 ? T(0) : given; }

  // memory += sign / count * (sum over heads of strength * direction).
  void add(const T* strengths, T sign, T* __restrict memory) const {
    for (int64_t head = 0; head < sizes.count; ++head) {
      const T scale = sign / sizes.count * strength(strengths[head]) * inverse[head];
      const T* __restrict own = values.data() + head * sizes.memory;
      for (int64_t j = 0; j < sizes.memory; ++j) memory[j] += scale * own[j];
    }
  }

  // The gradients of the strengths and of the numbers that `read` was given, from that of the memory.
  void differentiate(const T* strengths, T sign, const T* __restrict numbers, const T* __restrict dmemory,
                     T* dstrengths, T* __restrict dnumbers, T* __restrict scratch) const {
    for (int64_t head = 0; head < sizes.count; ++head) {
      const T* __restrict own = values.data() + head * sizes.memory;
      T* __restrict d = scratch + head * sizes.memory;
      const T given = strength(strengths[head]), unit = inverse[head], part = sign / sizes.count;
      T dot = 0;
#pragma omp simd reduction(+ : dot)
      for (int64_t j = 0; j < sizes.memory; ++j) dot += dmemory[j] * own[j];
      dstrengths[head] = sizes.rectified && strengths[head] <= 0 ? T(0) : part * dot * unit;
      // Below the least norm the divisor is a constant.
      const T along = unit < 1 / least ? dot * unit : T(0), scale = part * given * unit;
      const bool rectified = sizes.rectified;
#pragma omp simd
      for (int64_t j = 0; j < sizes.memory; ++j) {
        const T e = own[j] * unit, square = e * e, fourth = e < 0 ? -square * square : square * square;
        const T value = scale * (dmemory[j] - along * fourth);
        d[j] = rectified && own[j] <= 0 ? T(0) : value;
      }
    }
    if (!sizes.factored) {
      std::copy_n(scratch, sizes.places(), dnumbers);
      return;
    }
    const int64_t side = sizes.side();
    std::fill_n(dnumbers + side, side, T(0));
    for (int64_t a = 0; a < side; ++a) {
      const T* __restrict d = scratch + a * side;
      T sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t b = 0; b < side; ++b) {
        sum += d[b] * numbers[side + b];
        dnumbers[side + b] += d[b] * numbers[a];
      }
      dnumbers[a] = sum;
    }
  }
};

// `saved` keeps the heads' numbers, or is null.
template <class T>
int nru_forward(const T* x, const T* weight, const T* head_weight, const T* head_bias, const T* h0, const T* m0,
                T* h, T* memory, T* saved, int64_t members, int64_t batch, int64_t time, NruSizes sizes,
                int64_t threads) {
  const int64_t hidden = sizes.hidden, places = sizes.memory, state = sizes.state(), width = sizes.width();
  const int64_t effort = cell_effort(members * batch, time, hidden + width, state);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const auto recurrent = forward_panels(weight + member * hidden * state, hidden, state);
    const auto to_heads = forward_panels(head_weight + member * width * state, width, state);
    const T* __restrict bias = head_bias + member * width;
    std::vector<T> both(rows * state), pre(rows * hidden), sums(rows * width), spare(saved ? 0 : width);
    Directions<T> write(sizes), erase(sizes);
    for (int64_t r = 0; r < rows; ++r) {
      std::copy_n(h0 + (first + r) * hidden, hidden, both.data() + r * state);
      std::copy_n(m0 + (first + r) * places, places, both.data() + r * state + hidden);
    }
    for (int64_t t = 0; t < time; ++t) {
      recurrent.multiply(both.data(), state, pre.data(), hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict in = x + at * hidden;
        const T* __restrict sum = pre.data() + r * hidden;
        T* __restrict now = both.data() + r * state;
        for (int64_t j = 0; j < hidden; ++j) now[j] = in[j] + sum[j] <= 0 ? T(0) : in[j] + sum[j];
        std::copy_n(now, hidden, h + at * hidden);
      }
      to_heads.multiply(both.data(), state, sums.data(), width, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict sum = sums.data() + r * width;
        T* __restrict numbers = saved ? saved + at * width : spare.data();
        for (int64_t j = 0; j < width; ++j) numbers[j] = sum[j] + bias[j];
        const T* directions = numbers + 2 * sizes.count;
        write.read(directions);
        erase.read(directions + sizes.span());
        T* now = both.data() + r * state + hidden;
        write.add(numbers, T(1), now);
        erase.add(numbers + sizes.count, T(-1), now);
        std::copy_n(now, places, memory + at * places);
      }
    }
  });
}

// `dx` is the gradient of x, `dheads` that of the heads' numbers. The gradients of h and of the memory may each
// be null.
template <class T>
int nru_backward(const T* weight, const T* head_weight, const T* h, const T* saved, const T* dh, const T* dmemory,
                 T* dx, T* dheads, T* dh0, T* dm0, int64_t members, int64_t batch, int64_t time, NruSizes sizes,
                 int64_t threads) {
  const int64_t hidden = sizes.hidden, places = sizes.memory, state = sizes.state(), width = sizes.width();
  const int64_t effort = cell_effort(members * batch, time, hidden + width, state);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const auto recurrent = backward_panels(weight + member * hidden * state, hidden, state);
    const auto to_heads = backward_panels(head_weight + member * width * state, width, state);
    const Given<T> outside_h(dh, hidden), outside_m(dmemory, places);
    std::vector<T> dboth(rows * state), scratch(sizes.places());
    Directions<T> directions(sizes);
    std::fill_n(dh0 + first * hidden, rows * hidden, T(0));
    std::fill_n(dm0 + first * places, rows * places, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict given = outside_m.row(at);
        T* __restrict flow = dm0 + (first + r) * places;
        for (int64_t j = 0; j < places; ++j) flow[j] += given[j];
        for (const bool erase : {false, true}) {
          const T* strengths = saved + at * width + (erase ? sizes.count : 0);
          const int64_t numbers = 2 * sizes.count + (erase ? sizes.span() : 0);
          T* d = dheads + at * width;
          directions.read(saved + at * width + numbers);
          directions.differentiate(strengths, erase ? T(-1) : T(1), saved + at * width + numbers, flow,
                                   d + (erase ? sizes.count : 0), d + numbers, scratch.data());
        }
      }
      to_heads.multiply(dheads + (first * time + t) * width, time * width, dboth.data(), state, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict given = outside_h.row(at);
        const T* __restrict now = h + at * hidden;
        const T* __restrict d = dboth.data() + r * state;
        const T* __restrict flow = dh0 + (first + r) * hidden;
        T* __restrict flow_memory = dm0 + (first + r) * places;
        T* __restrict out = dx + at * hidden;
        for (int64_t j = 0; j < hidden; ++j) out[j] = now[j] <= 0 ? T(0) : given[j] + flow[j] + d[j];
        for (int64_t j = 0; j < places; ++j) flow_memory[j] += d[hidden + j];
      }
      recurrent.multiply(dx + (first * time + t) * hidden, time * hidden, dboth.data(), state, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const T* __restrict d = dboth.data() + r * state;
        T* __restrict flow_memory = dm0 + (first + r) * places;
        std::copy_n(d, hidden, dh0 + (first + r) * hidden);
        for (int64_t j = 0; j < places; ++j) flow_memory[j] += d[hidden + j];
      }
    }
  });
}

}  // namespace nerode
