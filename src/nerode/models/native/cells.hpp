// Step loops of the nonlinear cells. The inputs are projected already: what remains is what must be done one
// step after the other. The backward passes return the gradients of the pre-activations; the gradient of the
// recurrent weights is then one product over the whole sequence, which the caller makes.
#pragma once

#include "steps.hpp"

namespace nerode {

// The functions of an Elman cell, besides tanh.
constexpr int64_t RELU = 1, NONE = 2;

// h_t = f(x_t + W h_{t-1}), f = tanh, relu or none.
template <class T>
int elman_forward(const T* x, const T* weight, const T* initial, T* out, int64_t members, int64_t batch,
                  int64_t time, int64_t hidden, int64_t activation, int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, hidden, hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const auto panels = forward_panels(weight + member * hidden * hidden, hidden, hidden);
    std::vector<T> pre(rows * hidden);
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      panels.multiply(before.rows, before.stride, pre.data(), hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = ((first + r) * time + t) * hidden;
        const T* __restrict in = x + at;
        const T* __restrict sum = pre.data() + r * hidden;
        T* __restrict h = out + at;
        if (activation == RELU) {
          // Written so that NaN stays NaN, as in torch.
          for (int64_t j = 0; j < hidden; ++j) h[j] = in[j] + sum[j] <= 0 ? T(0) : in[j] + sum[j];
        } else if (activation == NONE) {
          for (int64_t j = 0; j < hidden; ++j) h[j] = in[j] + sum[j];
        } else {
          for (int64_t j = 0; j < hidden; ++j) h[j] = hyperbolic_tangent(in[j] + sum[j]);
        }
      }
    }
  });
}

template <class T>
int elman_backward(const T* weight, const T* out, const T* dout, T* dx, T* dinitial, int64_t members,
                   int64_t batch, int64_t time, int64_t hidden, int64_t activation, int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, hidden, hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const auto panels = backward_panels(weight + member * hidden * hidden, hidden, hidden);
    T* carry = dinitial + first * hidden;
    std::fill(carry, carry + rows * hidden, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = ((first + r) * time + t) * hidden;
        const T* __restrict h = out + at;
        const T* __restrict flow = carry + r * hidden;
        const T* __restrict given = dout + at;
        T* __restrict d = dx + at;
        if (activation == RELU) {
          for (int64_t j = 0; j < hidden; ++j) d[j] = h[j] <= 0 ? T(0) : given[j] + flow[j];
        } else if (activation == NONE) {
          for (int64_t j = 0; j < hidden; ++j) d[j] = given[j] + flow[j];
        } else {
          for (int64_t j = 0; j < hidden; ++j) d[j] = (given[j] + flow[j]) * (1 - h[j] * h[j]);
        }
      }
      panels.multiply(dx + (first * time + t) * hidden, time * hidden, carry, hidden, rows);
    }
  });
}

// i, f, g, o in torch's order; `saved` keeps them, or is null. x are features that `read` and `bias` project,
// or, without `read`, projected already: inputs = 4 hidden.
template <class T>
int lstm_forward(const T* x, const T* read, const T* bias, const T* weight, const T* initial,
                 const T* initial_cell, T* out, T* cell, T* saved, int64_t members, int64_t batch, int64_t time,
                 int64_t hidden, int64_t inputs, int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, 4 * hidden, inputs + hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const T* own = weight + member * 4 * hidden * hidden;
    const Panels<T> panels =
        read ? Panels<T>(read + member * 4 * hidden * inputs, inputs, 4 * hidden, 1, inputs, own, hidden, hidden)
             : forward_panels(own, 4 * hidden, hidden);
    std::vector<T> pre(rows * 4 * hidden), spare(saved ? 0 : 4 * hidden);
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> before(initial, out, first, t, time, hidden);
      const Before<T> cell_before(initial_cell, cell, first, t, time, hidden);
      const typename Panels<T>::Rows given{x + (first * time + t) * inputs, time * inputs, inputs, before.rows,
                                           before.stride};
      if (read)
        panels.multiply(given, pre.data(), 4 * hidden, rows, bias + member * 4 * hidden);
      else
        panels.multiply(before.rows, before.stride, pre.data(), 4 * hidden, rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        T* __restrict sum = pre.data() + r * 4 * hidden;
        const T* __restrict old = cell_before.row(r);
        T* __restrict keep = saved ? saved + at * 4 * hidden : spare.data();
        T* __restrict h = out + at * hidden;
        T* __restrict c = cell + at * hidden;
        if (t + 1 < time) fetch(x + (at + 1) * inputs, inputs);
        if (!read)
          for (int64_t j = 0; j < 4 * hidden; ++j) sum[j] += x[at * 4 * hidden + j];
#pragma omp simd
        for (int64_t j = 0; j < 2 * hidden; ++j) keep[j] = sigmoid(sum[j]);
#pragma omp simd
        for (int64_t j = 2 * hidden; j < 3 * hidden; ++j) keep[j] = hyperbolic_tangent(sum[j]);
#pragma omp simd
        for (int64_t j = 3 * hidden; j < 4 * hidden; ++j) keep[j] = sigmoid(sum[j]);
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          c[j] = keep[hidden + j] * old[j] + keep[j] * keep[2 * hidden + j];
          h[j] = keep[3 * hidden + j] * hyperbolic_tangent(c[j]);
        }
      }
    }
  });
}

// `dsum` is the gradient of the gates before they are squashed. `dout` and `dcell` may each be null, and `dx`,
// which nobody may want.
template <class T>
int lstm_backward(const T* weight, const T* read, const T* initial_cell, const T* cell, const T* saved,
                  const T* dout, const T* dcell, T* dsum, T* dx, T* dinitial, T* dinitial_cell, int64_t members,
                  int64_t batch, int64_t time, int64_t hidden, int64_t inputs, int64_t threads) {
  const int64_t effort = cell_effort(members * batch, time, 4 * hidden, inputs + hidden);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    const auto back = backward_panels(dx ? read + member * 4 * hidden * inputs : nullptr, dx ? 4 * hidden : 0, inputs);
    const auto panels = backward_panels(weight + member * 4 * hidden * hidden, 4 * hidden, hidden);
    T* carry = dinitial + first * hidden;
    T* carry_cell = dinitial_cell + first * hidden;
    const Given<T> outside(dout, hidden), outside_cell(dcell, hidden);
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
        const T* __restrict given = outside.row(at);
        const T* __restrict given_cell = outside_cell.row(at);
        T* __restrict flow_cell = carry_cell + r * hidden;
        T* __restrict d = dsum + at * 4 * hidden;
        if (t) {
          fetch(keep - 4 * hidden, 4 * hidden);
          fetch(d - 4 * hidden, 4 * hidden);
          fetch(outside.row(at - 1), hidden);
        }
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
      const T* now = dsum + (first * time + t) * 4 * hidden;
      panels.multiply(now, time * 4 * hidden, carry, hidden, rows);
      if (dx) back.multiply(now, time * 4 * hidden, dx + (first * time + t) * inputs, time * inputs, rows);
    }
  });
}

}  // namespace nerode
