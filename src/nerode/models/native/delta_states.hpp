// The delta rule: each token first scales the matrix state, then makes `steps` writes, and is read once.
//
// A write replaces what the key retrieves: S <- S + k u^T with u = beta (v - S^T k), which multiplies S by
// I - beta k k^T. Keys, values and beta of the writes are (batch, time, steps, heads, ...).
#pragma once

#include "matrix_states.hpp"

namespace nerode {

template <class T>
struct DeltaInputs {
  const T *q, *k, *v, *beta, *decay;
  MatrixShape shape;
  int64_t steps;

  int64_t write(int64_t unit, int64_t t, int64_t step) const {
    return ((unit / shape.heads * shape.time + t) * steps + step) * shape.heads + unit % shape.heads;
  }

  // The correction u of one write.
  void correction(const T* S, int64_t at, T* __restrict u) const {
    weigh_rows(S, k + at * shape.keys, u, shape.keys, shape.values);
    const T* __restrict value = v + at * shape.values;
    for (int64_t j = 0; j < shape.values; ++j) u[j] = beta[at] * (value[j] - u[j]);
  }

  // One write from `from` to `to`, which may be the same; the first of a token also scales.
  void apply(const T* from, T* to, int64_t unit, int64_t t, int64_t step, T* u) const {
    const int64_t at = write(unit, t, step);
    if (step == 0 && decay) {
      const T keep = decay[shape.index(unit, t)];
      for (int64_t i = 0; i < shape.size(); ++i) to[i] = keep * from[i];
      from = to;
    }
    correction(from, at, u);
    for (int64_t i = 0; i < shape.keys; ++i) {
      const T key = k[at * shape.keys + i];
      const T* old = from + i * shape.values;
      T* now = to + i * shape.values;
#pragma omp simd
      for (int64_t j = 0; j < shape.values; ++j) now[j] = old[j] + key * u[j];
    }
  }
};

template <class T>
int delta_forward(const T* q, const T* k, const T* v, const T* beta, const T* decay, const T* initial, T* o,
                  T* final, T* borders, int64_t batch, int64_t time, int64_t steps, int64_t heads, int64_t keys,
                  int64_t values, int64_t chunk, int64_t threads) {
  const DeltaInputs<T> in{q, k, v, beta, decay, {batch, time, heads, keys, values, chunk}, steps};
  return run_units(in.shape.units(), threads, steps * in.shape.effort(), [=](int64_t unit) {
    const MatrixShape& s = in.shape;
    std::vector<T> u(values);
    T* S = final + unit * s.size();
    std::copy(initial + unit * s.size(), initial + (unit + 1) * s.size(), S);
    for (int64_t t = 0; t < time; ++t) {
      if (borders && t % chunk == 0)
        std::copy(S, S + s.size(), borders + (unit * s.chunks() + t / chunk) * s.size());
      for (int64_t step = 0; step < steps; ++step) in.apply(S, S, unit, t, step, u.data());
      const int64_t at = s.index(unit, t);
      weigh_rows(S, q + at * keys, o + at * values, keys, values);
    }
  });
}

template <class T>
struct DeltaGradients {
  T *dq, *dk, *dv, *dbeta, *ddecay;
};

// One write backwards. S is the state before the write (scaled already), G the gradient after it.
template <class T>
NERODE_INLINE void delta_write_back(const DeltaInputs<T>& in, const DeltaGradients<T>& out, const T* S, T* G,
                                    int64_t at, T* __restrict u, T* __restrict du) {
  const int64_t keys = in.shape.keys, values = in.shape.values;
  const T* key = in.k + at * keys;
  const T* __restrict value = in.v + at * values;
  const T beta = in.beta[at];
  weigh_rows(S, key, u, keys, values);
  weigh_rows(G, key, du, keys, values);
  T dbeta = 0;
#pragma omp simd reduction(+ : dbeta)
  for (int64_t j = 0; j < values; ++j) {
    const T miss = value[j] - u[j];
    dbeta += du[j] * miss;
    u[j] = beta * miss;
    du[j] *= beta;
    out.dv[at * values + j] = du[j];
  }
  out.dbeta[at] = dbeta;
  for (int64_t i = 0; i < keys; ++i) {
    const T* __restrict s = S + i * values;
    T* __restrict g = G + i * values;
    T dkey = 0;
#pragma omp simd reduction(+ : dkey)
    for (int64_t j = 0; j < values; ++j) {
      dkey += g[j] * u[j] - s[j] * du[j];
      g[j] -= key[i] * du[j];
    }
    out.dk[at * keys + i] = dkey;
  }
}

template <class T>
void delta_read_back(const DeltaInputs<T>& in, const DeltaGradients<T>& out, const T* S, T* G, const T* dread,
                     int64_t at) {
  const int64_t keys = in.shape.keys, values = in.shape.values;
  for (int64_t i = 0; i < keys; ++i) {
    T* __restrict g = G + i * values;
    const T* __restrict s = S + i * values;
    const T query = in.q[at * keys + i];
    T dquery = 0;
#pragma omp simd reduction(+ : dquery)
    for (int64_t j = 0; j < values; ++j) {
      dquery += dread[j] * s[j];
      g[j] += query * dread[j];
    }
    out.dq[at * keys + i] = dquery;
  }
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T>
int delta_backward(const T* q, const T* k, const T* v, const T* beta, const T* decay, const T* borders,
                   const T* dout, T* dq, T* dk, T* dv, T* dbeta, T* ddecay, T* dinitial, int64_t batch,
                   int64_t time, int64_t steps, int64_t heads, int64_t keys, int64_t values, int64_t chunk,
                   int64_t threads) {
  const DeltaInputs<T> in{q, k, v, beta, decay, {batch, time, heads, keys, values, chunk}, steps};
  const DeltaGradients<T> out{dq, dk, dv, dbeta, ddecay};
  return run_units(in.shape.units(), threads, 3 * steps * in.shape.effort(), [=](int64_t unit) {
    const MatrixShape& s = in.shape;
    const int64_t size = s.size();
    std::vector<T> states((chunk * steps + 1) * size), scaled(decay ? size : 0), u(values), du(values);
    T* G = dinitial + unit * size;
    for (int64_t c = s.chunks() - 1; c >= 0; --c) {
      const int64_t begin = c * chunk, end = std::min(time, begin + chunk);
      const T* border = borders + (unit * s.chunks() + c) * size;
      std::copy(border, border + size, states.data());
      T* S = states.data();
      for (int64_t t = begin; t < end; ++t)
        for (int64_t step = 0; step < steps; ++step, S += size) in.apply(S, S + size, unit, t, step, u.data());
      for (int64_t t = end - 1; t >= begin; --t) {
        const int64_t at = s.index(unit, t);
        delta_read_back(in, out, S, G, dout + at * values, at);
        for (int64_t step = steps - 1; step > 0; --step) {
          S -= size;
          delta_write_back(in, out, S, G, in.write(unit, t, step), u.data(), du.data());
        }
        S -= size;
        if (!decay) {
          delta_write_back(in, out, S, G, in.write(unit, t, 0), u.data(), du.data());
          continue;
        }
        for (int64_t i = 0; i < size; ++i) scaled[i] = decay[at] * S[i];
        delta_write_back(in, out, scaled.data(), G, in.write(unit, t, 0), u.data(), du.data());
        ddecay[at] = dot(G, S, size);
        for (int64_t i = 0; i < size; ++i) G[i] *= decay[at];
      }
    }
  });
}

}  // namespace nerode
