// The gated recurrent unit, with the reset gate after the product with the weights or before it.
#pragma once

#include "steps.hpp"

namespace nerode {

// r, z, n in torch's order: n = tanh(x_n + r (W_n h + b_n)), h = (1 - z) n + z h. `saved` keeps r, z, n and
// W_n h + b_n. x are features that `read` and `read_bias` project, or, without `read`, projected already:
// inputs = 3 hidden.
template <class T>
int gru_forward(const T* x, const T* read, const T* read_bias, const T* weight, const T* bias, const T* initial,
                T* out, T* saved, int64_t members, int64_t batch, int64_t time, int64_t hidden, int64_t inputs,
                int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, 3 * hidden, inputs + hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const auto panels = forward_panels(weight + member * 3 * hidden * hidden, 3 * hidden, hidden);
    const auto reader = forward_panels(read ? read + member * 3 * hidden * inputs : nullptr, 3 * hidden,
                                       read ? inputs : 0);
    const T* __restrict shift = bias + member * hidden;
    std::vector<T> pre(rows * 3 * hidden), spare(saved ? 0 : 4 * hidden), drive(read ? rows * 3 * hidden : 0);
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      panels.multiply(before.rows, before.stride, pre.data(), 3 * hidden, rows);
      if (read)
        reader.multiply(x + (first * time + t) * inputs, time * inputs, drive.data(), 3 * hidden, rows,
                        read_bias + member * 3 * hidden);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict in = read ? drive.data() + r * 3 * hidden : x + at * 3 * hidden;
        const T* __restrict sum = pre.data() + r * 3 * hidden;
        const T* __restrict old = before.row(r);
        T* __restrict keep = saved ? saved + at * 4 * hidden : spare.data();
        T* __restrict h = out + at * hidden;
        if (t + 1 < time) fetch(x + (at + 1) * inputs, inputs);
#pragma omp simd
        for (int64_t j = 0; j < 2 * hidden; ++j) keep[j] = sigmoid(in[j] + sum[j]);
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T inner = sum[2 * hidden + j] + shift[j];
          const T fresh = hyperbolic_tangent(in[2 * hidden + j] + keep[j] * inner);
          keep[2 * hidden + j] = fresh;
          keep[3 * hidden + j] = inner;
          h[j] = fresh + keep[hidden + j] * (old[j] - fresh);
        }
      }
    }
  });
}

// `dread` is the gradient of what is read, `dsum` that of W h + b: they differ in the third gate. `dx`, which may
// be null, is that of the features that were projected.
template <class T>
int gru_backward(const T* weight, const T* read, const T* initial, const T* out, const T* saved, const T* dout,
                 T* dread, T* dsum, T* dx, T* dinitial, int64_t members, int64_t batch, int64_t time,
                 int64_t hidden, int64_t inputs, int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, 3 * hidden, inputs + hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const auto back =
        backward_panels(dx ? read + member * 3 * hidden * inputs : nullptr, dx ? 3 * hidden : 0, inputs);
    const auto panels = backward_panels(weight + member * 3 * hidden * hidden, 3 * hidden, hidden);
    std::vector<T> direct(rows * hidden);
    T* carry = dinitial + first * hidden;
    std::fill(carry, carry + rows * hidden, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict keep = saved + at * 4 * hidden;
        const T* __restrict old = before.row(r);
        const T* __restrict flow = carry + r * hidden;
        const T* __restrict given = dout + at * hidden;
        T* __restrict past = direct.data() + r * hidden;
        T* __restrict d = dread + at * 3 * hidden;
        T* __restrict e = dsum + at * 3 * hidden;
        if (t) {
          fetch(keep - 4 * hidden, 4 * hidden);
          fetch(d - 3 * hidden, 3 * hidden);
          fetch(e - 3 * hidden, 3 * hidden);
          fetch(given - hidden, hidden);
        }
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T reset = keep[j], update = keep[hidden + j], fresh = keep[2 * hidden + j];
          const T g = given[j] + flow[j];
          const T dfresh = g * (1 - update) * (1 - fresh * fresh);
          const T dreset = dfresh * keep[3 * hidden + j] * reset * (1 - reset);
          const T dupdate = g * (old[j] - fresh) * update * (1 - update);
          d[j] = e[j] = dreset;
          d[hidden + j] = e[hidden + j] = dupdate;
          d[2 * hidden + j] = dfresh;
          e[2 * hidden + j] = dfresh * reset;
          past[j] = g * update;
        }
      }
      panels.multiply(dsum + (first * time + t) * 3 * hidden, time * 3 * hidden, carry, hidden, rows);
      for (int64_t i = 0; i < rows * hidden; ++i) carry[i] += direct[i];
      if (dx)
        back.multiply(dread + (first * time + t) * 3 * hidden, time * 3 * hidden,
                      dx + (first * time + t) * inputs, time * inputs, rows);
    }
  });
}

// n = tanh(x_n + W_n (r h)), the rest as above. `saved` keeps r, z, n.
template <class T>
int gru_reset_first_forward(const T* x, const T* weight, const T* initial, T* out, T* saved, int64_t members,
                            int64_t batch, int64_t time, int64_t hidden, int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, 3 * hidden, hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const T* own = weight + member * 3 * hidden * hidden;
    const auto gates = forward_panels(own, 2 * hidden, hidden);
    const auto candidate = forward_panels(own + 2 * hidden * hidden, hidden, hidden);
    std::vector<T> pre(rows * 2 * hidden), held(rows * hidden), inner(rows * hidden);
    std::vector<T> spare(saved ? 0 : rows * 3 * hidden);
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      const auto kept = [&](int64_t r) {
        return saved ? saved + ((first + r) * time + t) * 3 * hidden : spare.data() + r * 3 * hidden;
      };
      gates.multiply(before.rows, before.stride, pre.data(), 2 * hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const T* __restrict in = x + ((first + r) * time + t) * 3 * hidden;
        const T* __restrict sum = pre.data() + r * 2 * hidden;
        const T* __restrict old = before.row(r);
        T* __restrict keep = kept(r);
        T* __restrict passed = held.data() + r * hidden;
#pragma omp simd
        for (int64_t j = 0; j < 2 * hidden; ++j) keep[j] = sigmoid(in[j] + sum[j]);
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) passed[j] = keep[j] * old[j];
      }
      candidate.multiply(held.data(), hidden, inner.data(), hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict in = x + at * 3 * hidden + 2 * hidden;
        const T* __restrict sum = inner.data() + r * hidden;
        const T* __restrict old = before.row(r);
        T* __restrict keep = kept(r);
        T* __restrict h = out + at * hidden;
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T fresh = hyperbolic_tangent(in[j] + sum[j]);
          keep[2 * hidden + j] = fresh;
          h[j] = fresh + keep[hidden + j] * (old[j] - fresh);
        }
      }
    }
  });
}

template <class T>
int gru_reset_first_backward(const T* weight, const T* initial, const T* out, const T* saved, const T* dout,
                             T* dx, T* dinitial, int64_t members, int64_t batch, int64_t time, int64_t hidden,
                             int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, 3 * hidden, hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const T* own = weight + member * 3 * hidden * hidden;
    const auto gates = backward_panels(own, 2 * hidden, hidden);
    const auto candidate = backward_panels(own + 2 * hidden * hidden, hidden, hidden);
    std::vector<T> direct(rows * hidden), dheld(rows * hidden);
    T* carry = dinitial + first * hidden;
    std::fill(carry, carry + rows * hidden, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict keep = saved + at * 3 * hidden;
        const T* __restrict old = before.row(r);
        const T* __restrict flow = carry + r * hidden;
        const T* __restrict given = dout + at * hidden;
        T* __restrict past = direct.data() + r * hidden;
        T* __restrict d = dx + at * 3 * hidden;
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T update = keep[hidden + j], fresh = keep[2 * hidden + j];
          const T g = given[j] + flow[j];
          d[hidden + j] = g * (old[j] - fresh) * update * (1 - update);
          d[2 * hidden + j] = g * (1 - update) * (1 - fresh * fresh);
          past[j] = g * update;
        }
      }
      T* now = dx + (first * time + t) * 3 * hidden;
      candidate.multiply(now + 2 * hidden, time * 3 * hidden, dheld.data(), hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict reset = saved + at * 3 * hidden;
        const T* __restrict old = before.row(r);
        const T* __restrict flow = dheld.data() + r * hidden;
        T* __restrict past = direct.data() + r * hidden;
        T* __restrict d = dx + at * 3 * hidden;
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          d[j] = flow[j] * old[j] * reset[j] * (1 - reset[j]);
          past[j] += flow[j] * reset[j];
        }
      }
      gates.multiply(now, time * 3 * hidden, carry, hidden, rows);
      for (int64_t i = 0; i < rows * hidden; ++i) carry[i] += direct[i];
    }
  });
}

}  // namespace nerode
