// Step loops of the nonlinear cells. The inputs are projected already: what remains is what must be done one
// step after the other. The backward passes return the gradients of the pre-activations; the gradient of the
// recurrent weights is then one product over the whole sequence, which the caller makes.
//
// Arrays are (batch, time, ...); a weight is (gates * hidden, hidden), as torch stores it.
#pragma once

#include "panels.hpp"

namespace nerode {

template <class T>
Panels<T> forward_panels(const T* weight, int64_t gates, int64_t hidden) {
  return Panels<T>(weight, hidden, gates * hidden, 1, hidden);
}

template <class T>
Panels<T> backward_panels(const T* weight, int64_t gates, int64_t hidden) {
  return Panels<T>(weight, gates * hidden, hidden, hidden, 1);
}

// The state before step t, and the distance between its rows.
template <class T>
struct Before {
  const T* rows;
  int64_t stride;
  Before(const T* initial, const T* states, int64_t first, int64_t t, int64_t time, int64_t hidden)
      : rows(t ? states + (first * time + t - 1) * hidden : initial + first * hidden),
        stride(t ? time * hidden : hidden) {}
  const T* row(int64_t r) const { return rows + r * stride; }
};

inline int64_t cell_effort(int64_t batch, int64_t time, int64_t gates, int64_t hidden) {
  return batch * time * gates * hidden * (hidden + 16);
}

// h_t = f(x_t + W h_{t-1}), f = tanh or relu.
template <class T>
int elman_forward(const T* x, const T* weight, const T* initial, T* out, int64_t batch, int64_t time,
                  int64_t hidden, int64_t relu, int64_t threads) {
  return run_rows(batch, threads, cell_effort(batch, time, 1, hidden), [=](int64_t first, int64_t rows) {
    const auto panels = forward_panels(weight, 1, hidden);
    std::vector<T> pre(rows * hidden);
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      panels.multiply(before.rows, before.stride, pre.data(), hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = ((first + r) * time + t) * hidden;
        const T* __restrict in = x + at;
        const T* __restrict sum = pre.data() + r * hidden;
        T* __restrict h = out + at;
        if (relu) {
          // Written so that NaN stays NaN, as in torch.
          for (int64_t j = 0; j < hidden; ++j) h[j] = in[j] + sum[j] <= 0 ? T(0) : in[j] + sum[j];
        } else {
          for (int64_t j = 0; j < hidden; ++j) h[j] = hyperbolic_tangent(in[j] + sum[j]);
        }
      }
    }
  });
}

template <class T>
int elman_backward(const T* weight, const T* out, const T* dout, T* dx, T* dinitial, int64_t batch,
                   int64_t time, int64_t hidden, int64_t relu, int64_t threads) {
  return run_rows(batch, threads, cell_effort(batch, time, 1, hidden), [=](int64_t first, int64_t rows) {
    const auto panels = backward_panels(weight, 1, hidden);
    T* carry = dinitial + first * hidden;
    std::fill(carry, carry + rows * hidden, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = ((first + r) * time + t) * hidden;
        const T* __restrict h = out + at;
        const T* __restrict flow = carry + r * hidden;
        const T* __restrict given = dout + at;
        T* __restrict d = dx + at;
        if (relu) {
          for (int64_t j = 0; j < hidden; ++j) d[j] = h[j] <= 0 ? T(0) : given[j] + flow[j];
        } else {
          for (int64_t j = 0; j < hidden; ++j) d[j] = (given[j] + flow[j]) * (1 - h[j] * h[j]);
        }
      }
      panels.multiply(dx + (first * time + t) * hidden, time * hidden, carry, hidden, rows);
    }
  });
}

// r, z, n in torch's order: n = tanh(x_n + r (W_n h + b_n)), h = (1 - z) n + z h. `saved` keeps r, z, n and
// W_n h + b_n.
template <class T>
int gru_forward(const T* x, const T* weight, const T* bias, const T* initial, T* out, T* saved, int64_t batch,
                int64_t time, int64_t hidden, int64_t threads) {
  return run_rows(batch, threads, cell_effort(batch, time, 3, hidden), [=](int64_t first, int64_t rows) {
    const auto panels = forward_panels(weight, 3, hidden);
    std::vector<T> pre(rows * 3 * hidden), spare(saved ? 0 : 4 * hidden);
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      panels.multiply(before.rows, before.stride, pre.data(), 3 * hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict in = x + at * 3 * hidden;
        const T* __restrict sum = pre.data() + r * 3 * hidden;
        const T* __restrict old = before.row(r);
        T* __restrict keep = saved ? saved + at * 4 * hidden : spare.data();
        T* __restrict h = out + at * hidden;
#pragma omp simd
        for (int64_t j = 0; j < 2 * hidden; ++j) keep[j] = sigmoid(in[j] + sum[j]);
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T inner = sum[2 * hidden + j] + bias[j];
          const T fresh = hyperbolic_tangent(in[2 * hidden + j] + keep[j] * inner);
          keep[2 * hidden + j] = fresh;
          keep[3 * hidden + j] = inner;
          h[j] = fresh + keep[hidden + j] * (old[j] - fresh);
        }
      }
    }
  });
}

// `dx` is the gradient of x, `dsum` that of W h + b: they differ in the third gate.
template <class T>
int gru_backward(const T* weight, const T* initial, const T* out, const T* saved, const T* dout, T* dx, T* dsum,
                 T* dinitial, int64_t batch, int64_t time, int64_t hidden, int64_t threads) {
  return run_rows(batch, threads, cell_effort(batch, time, 3, hidden), [=](int64_t first, int64_t rows) {
    const auto panels = backward_panels(weight, 3, hidden);
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
        T* __restrict d = dx + at * 3 * hidden;
        T* __restrict e = dsum + at * 3 * hidden;
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
    }
  });
}

// i, f, g, o in torch's order; `saved` keeps them, or is null.
template <class T>
int lstm_forward(const T* x, const T* weight, const T* initial, const T* initial_cell, T* out, T* cell, T* saved,
                 int64_t batch, int64_t time, int64_t hidden, int64_t threads) {
  return run_rows(batch, threads, cell_effort(batch, time, 4, hidden), [=](int64_t first, int64_t rows) {
    const auto panels = forward_panels(weight, 4, hidden);
    std::vector<T> pre(rows * 4 * hidden), spare(saved ? 0 : 4 * hidden);
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      const Before<T> cell_before(initial_cell, cell, first, t, time, hidden);
      panels.multiply(before.rows, before.stride, pre.data(), 4 * hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict in = x + at * 4 * hidden;
        const T* __restrict sum = pre.data() + r * 4 * hidden;
        const T* __restrict old = cell_before.row(r);
        T* __restrict keep = saved ? saved + at * 4 * hidden : spare.data();
        T* __restrict h = out + at * hidden;
        T* __restrict c = cell + at * hidden;
#pragma omp simd
        for (int64_t j = 0; j < 2 * hidden; ++j) keep[j] = sigmoid(in[j] + sum[j]);
#pragma omp simd
        for (int64_t j = 2 * hidden; j < 3 * hidden; ++j) keep[j] = hyperbolic_tangent(in[j] + sum[j]);
#pragma omp simd
        for (int64_t j = 3 * hidden; j < 4 * hidden; ++j) keep[j] = sigmoid(in[j] + sum[j]);
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          c[j] = keep[hidden + j] * old[j] + keep[j] * keep[2 * hidden + j];
          h[j] = keep[3 * hidden + j] * hyperbolic_tangent(c[j]);
        }
      }
    }
  });
}

template <class T>
int lstm_backward(const T* weight, const T* initial_cell, const T* cell, const T* saved, const T* dout,
                  const T* dcell, T* dx, T* dinitial, T* dinitial_cell, int64_t batch, int64_t time,
                  int64_t hidden, int64_t threads) {
  return run_rows(batch, threads, cell_effort(batch, time, 4, hidden), [=](int64_t first, int64_t rows) {
    const auto panels = backward_panels(weight, 4, hidden);
    T* carry = dinitial + first * hidden;
    T* carry_cell = dinitial_cell + first * hidden;
    std::fill(carry, carry + rows * hidden, T(0));
    std::fill(carry_cell, carry_cell + rows * hidden, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      const Before<T> cell_before(initial_cell, cell, first, t, time, hidden);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict keep = saved + at * 4 * hidden;
        const T* __restrict c = cell + at * hidden;
        const T* __restrict old = cell_before.row(r);
        const T* __restrict flow = carry + r * hidden;
        const T* __restrict given = dout + at * hidden;
        const T* __restrict given_cell = dcell + at * hidden;
        T* __restrict flow_cell = carry_cell + r * hidden;
        T* __restrict d = dx + at * 4 * hidden;
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T in = keep[j], forget = keep[hidden + j], fresh = keep[2 * hidden + j],
                  open = keep[3 * hidden + j];
          const T g = given[j] + flow[j], shown = hyperbolic_tangent(c[j]);
          const T dc = flow_cell[j] + given_cell[j] + g * open * (1 - shown * shown);
          d[j] = dc * fresh * in * (1 - in);
          d[hidden + j] = dc * old[j] * forget * (1 - forget);
          d[2 * hidden + j] = dc * in * (1 - fresh * fresh);
          d[3 * hidden + j] = g * shown * open * (1 - open);
          flow_cell[j] = dc * forget;
        }
      }
      panels.multiply(dx + (first * time + t) * 4 * hidden, time * 4 * hidden, carry, hidden, rows);
    }
  });
}

}  // namespace nerode
