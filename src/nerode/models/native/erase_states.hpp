// A matrix state with a decay for each row and a key of its own for what is taken away:
// S <- decay S - erase f^T + k v^T with f = S^T lookup, the state before the token; read as o = S^T q.
#pragma once

#include "matrix_states.hpp"

namespace nerode {

template <class T>
struct EraseInputs {
  const T *q, *k, *v, *decay, *lookup, *erase;
  MatrixShape shape;

  // The new state in `to`, which may be `from`; `found` is f.
  void apply(const T* from, T* to, int64_t at, const T* __restrict found) const {
    const T* __restrict value = v + at * shape.values;
    for (int64_t i = 0; i < shape.keys; ++i) {
      const T keep = decay[at * shape.keys + i], write = k[at * shape.keys + i], take = erase[at * shape.keys + i];
      const T* old = from + i * shape.values;
      T* now = to + i * shape.values;
#pragma omp simd
      for (int64_t j = 0; j < shape.values; ++j) now[j] = keep * old[j] - take * found[j] + write * value[j];
    }
  }
};

template <class T>
int erase_forward(const T* q, const T* k, const T* v, const T* decay, const T* lookup, const T* erase,
                  const T* initial, T* o, T* final, T* borders, int64_t batch, int64_t time, int64_t heads,
                  int64_t keys, int64_t values, int64_t chunk, int64_t threads) {
  const EraseInputs<T> in{q, k, v, decay, lookup, erase, {batch, time, heads, keys, values, chunk}};
  return run_units(in.shape.units(), threads, 2 * in.shape.effort(), [=](int64_t unit) {
    const MatrixShape& s = in.shape;
    std::vector<T> found(values);
    T* S = final + unit * s.size();
    std::copy(initial + unit * s.size(), initial + (unit + 1) * s.size(), S);
    for (int64_t t = 0; t < time; ++t) {
      if (borders && t % chunk == 0)
        std::copy(S, S + s.size(), borders + (unit * s.chunks() + t / chunk) * s.size());
      const int64_t at = s.index(unit, t);
      weigh_rows(S, lookup + at * keys, found.data(), keys, values);
      in.apply(S, S, at, found.data());
      weigh_rows(S, q + at * keys, o + at * values, keys, values);
    }
  });
}

template <class T>
struct EraseGradients {
  T *dq, *dk, *dv, *ddecay, *dlookup, *derase;
};

// One token backwards. `before` and `after` are the states around it, `found` is its f, G the gradient after it.
template <class T>
NERODE_INLINE void erase_back(const EraseInputs<T>& in, const EraseGradients<T>& out, const T* before,
                              const T* after, T* G, int64_t at, const T* __restrict found,
                              const T* __restrict dread, T* __restrict dfound) {
  const int64_t keys = in.shape.keys, values = in.shape.values;
  const T* __restrict value = in.v + at * values;
  T* __restrict dvalue = out.dv + at * values;
  std::fill(dvalue, dvalue + values, T(0));
  std::fill(dfound, dfound + values, T(0));
  for (int64_t row = at * keys, i = 0; i < keys; ++i, ++row) {
    T* __restrict g = G + i * values;
    const T* __restrict old = before + i * values;
    const T* __restrict now = after + i * values;
    const T read = in.q[row], write = in.k[row], take = in.erase[row];
    T dquery = 0, dkey = 0, dkeep = 0, dtake = 0;
#pragma omp simd reduction(+ : dquery, dkey, dkeep, dtake)
    for (int64_t j = 0; j < values; ++j) {
      const T gradient = g[j] + read * dread[j];
      dquery += dread[j] * now[j];
      dkey += gradient * value[j];
      dkeep += gradient * old[j];
      dtake -= gradient * found[j];
      dvalue[j] += write * gradient;
      dfound[j] -= take * gradient;
      g[j] = gradient;
    }
    out.dq[row] = dquery;
    out.dk[row] = dkey;
    out.ddecay[row] = dkeep;
    out.derase[row] = dtake;
  }
  for (int64_t row = at * keys, i = 0; i < keys; ++i, ++row) {
    T* __restrict g = G + i * values;
    const T* __restrict old = before + i * values;
    const T keep = in.decay[row], look = in.lookup[row];
    T dlook = 0;
#pragma omp simd reduction(+ : dlook)
    for (int64_t j = 0; j < values; ++j) {
      dlook += old[j] * dfound[j];
      g[j] = keep * g[j] + look * dfound[j];
    }
    out.dlookup[row] = dlook;
  }
}

// `dinitial` comes in as the gradient of the final state and leaves as that of the initial one.
template <class T>
int erase_backward(const T* q, const T* k, const T* v, const T* decay, const T* lookup, const T* erase,
                   const T* borders, const T* dout, T* dq, T* dk, T* dv, T* ddecay, T* dlookup, T* derase,
                   T* dinitial, int64_t batch, int64_t time, int64_t heads, int64_t keys, int64_t values,
                   int64_t chunk, int64_t threads) {
  const EraseInputs<T> in{q, k, v, decay, lookup, erase, {batch, time, heads, keys, values, chunk}};
  const EraseGradients<T> out{dq, dk, dv, ddecay, dlookup, derase};
  return run_units(in.shape.units(), threads, 6 * in.shape.effort(), [=](int64_t unit) {
    const MatrixShape& s = in.shape;
    const int64_t size = s.size();
    std::vector<T> states((chunk + 1) * size), found(chunk * values), dfound(values);
    T* G = dinitial + unit * size;
    for (int64_t c = s.chunks() - 1; c >= 0; --c) {
      const int64_t begin = c * chunk, end = std::min(time, begin + chunk);
      const T* border = borders + (unit * s.chunks() + c) * size;
      std::copy(border, border + size, states.data());
      for (int64_t t = begin; t < end; ++t) {
        const int64_t at = s.index(unit, t);
        T* old = states.data() + (t - begin) * size;
        T* f = found.data() + (t - begin) * values;
        weigh_rows(old, lookup + at * keys, f, keys, values);
        in.apply(old, old + size, at, f);
      }
      for (int64_t t = end - 1; t >= begin; --t) {
        const int64_t at = s.index(unit, t);
        const T* old = states.data() + (t - begin) * size;
        erase_back(in, out, old, old + size, G, at, found.data() + (t - begin) * values, dout + at * values,
                   dfound.data());
      }
    }
  });
}

}  // namespace nerode
