// The sLSTM cell: exponential gates, a normaliser, and a stabiliser that keeps both in range.
//
// The weights of a member are (heads, 4 * size, size): each head reads its own part of h. The pre-activations
// are stacked gate by gate (i, f, z, o), each over all heads.
#pragma once

#include <limits>

#include "steps.hpp"

namespace nerode {

// One product for each head.
template <class T>
class HeadPanels {
 public:
  HeadPanels(const T* weight, int64_t heads, int64_t size, bool backward)
      : size_(size), wide_(heads * 4 * size), scratch_() {
    for (int64_t head = 0; head < heads; ++head) {
      const T* own = weight + head * 4 * size * size;
      panels_.push_back(backward ? backward_panels(own, 4 * size, size) : forward_panels(own, 4 * size, size));
    }
  }

  // sums[r] = R h[r], gate by gate.
  void forward(const T* h, int64_t stride, T* sums, int64_t rows) {
    scratch_.resize(rows * wide_);
    for (int64_t head = 0; head < count(); ++head)
      panels_[head].multiply(h + head * size_, stride, scratch_.data() + head * 4 * size_, wide_, rows);
    exchange(rows, [&](int64_t r, int64_t from, int64_t to) {
      std::copy_n(scratch_.data() + r * wide_ + from, size_, sums + r * wide_ + to);
    });
  }

  // dh[r] = Rᵀ d[r], where the rows of d are `stride` apart and stacked gate by gate.
  void backward(const T* d, int64_t stride, T* dh, int64_t rows) {
    scratch_.resize(rows * wide_);
    exchange(rows, [&](int64_t r, int64_t to, int64_t from) {
      std::copy_n(d + r * stride + from, size_, scratch_.data() + r * wide_ + to);
    });
    for (int64_t head = 0; head < count(); ++head)
      panels_[head].multiply(scratch_.data() + head * 4 * size_, wide_, dh + head * size_, wide_ / 4, rows);
  }

 private:
  int64_t count() const { return static_cast<int64_t>(panels_.size()); }

  // Calls move(row, place in the order head, gate; place in the order gate, head).
  template <class Move>
  void exchange(int64_t rows, const Move& move) const {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t head = 0; head < count(); ++head)
        for (int64_t gate = 0; gate < 4; ++gate)
          move(r, (head * 4 + gate) * size_, (gate * count() + head) * size_);
  }

  int64_t size_, wide_;
  std::vector<Panels<T>> panels_;
  std::vector<T> scratch_;
};

// The largest number below 1.
template <class T>
constexpr T below_one() {
  return T(1) - std::numeric_limits<T>::epsilon() / 2;
}

// `saved` keeps, for each unit, exp(i - m), exp(log f + m_before - m), tanh(z), sigmoid(o) and the slope of
// log f; or it is null.
template <class T>
int slstm_forward(const T* x, const T* weight, const T* h0, const T* c0, const T* n0, const T* m0, T* h, T* c,
                  T* n, T* m, T* saved, int64_t members, int64_t batch, int64_t time, int64_t heads,
                  int64_t size, int64_t exponential_forget, int64_t threads) {
  const int64_t hidden = heads * size;
  const int64_t effort = cell_effort(members * batch, time, 4 * hidden, size);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    HeadPanels<T> panels(weight + member * 4 * hidden * size, heads, size, false);
    std::vector<T> pre(rows * 4 * hidden), spare(saved ? 0 : 5 * hidden), fade(hidden);
    T* __restrict kept = fade.data();
    for (int64_t t = 0; t < time; ++t) {
      const Before<T> h_before(h0, h, first, t, time, hidden), c_before(c0, c, first, t, time, hidden);
      const Before<T> n_before(n0, n, first, t, time, hidden), m_before(m0, m, first, t, time, hidden);
      panels.forward(h_before.rows, h_before.stride, pre.data(), rows);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict in = x + at * 4 * hidden;
        const T* __restrict sum = pre.data() + r * 4 * hidden;
        const T* __restrict c_old = c_before.row(r);
        const T* __restrict n_old = n_before.row(r);
        const T* __restrict m_old = m_before.row(r);
        T* __restrict save = saved ? saved + at * 5 * hidden : spare.data();
        T* __restrict h_new = h + at * hidden;
        T* __restrict c_new = c + at * hidden;
        T* __restrict n_new = n + at * hidden;
        T* __restrict m_new = m + at * hidden;
        if (exponential_forget) {
#pragma omp simd
          for (int64_t j = 0; j < hidden; ++j) {
            kept[j] = m_old[j] + (in[hidden + j] + sum[hidden + j]);
            save[4 * hidden + j] = 1;
          }
        } else {
#pragma omp simd
          for (int64_t j = 0; j < hidden; ++j) {
            T slope;
            kept[j] = m_old[j] + log_sigmoid(in[hidden + j] + sum[hidden + j], slope);
            save[4 * hidden + j] = slope;
          }
        }
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          save[2 * hidden + j] = hyperbolic_tangent(in[2 * hidden + j] + sum[2 * hidden + j]);
          save[3 * hidden + j] = sigmoid(in[3 * hidden + j] + sum[3 * hidden + j]);
        }
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T enter = in[j] + sum[j];
          // Written so that NaN stays NaN.
          const T larger = kept[j] > enter ? kept[j] : kept[j] <= enter ? enter : kept[j] + enter;
          m_new[j] = n_old[j] == 0 ? enter : larger;
          const T fall = kept[j] - m_new[j];
          save[j] = exponential(enter - m_new[j]);
          save[hidden + j] = exponential(fall > 0 ? T(0) : fall);
        }
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T write = save[j], keep = save[hidden + j];
          c_new[j] = keep * c_old[j] + write * save[2 * hidden + j];
          n_new[j] = keep * n_old[j] + write;
          h_new[j] = save[3 * hidden + j] * c_new[j] / n_new[j];
          // What is saved equals 1 only on the larger side, so that the backward pass knows it.
          const T most = below_one<T>(), most_write = write < most ? write : most,
                  most_keep = keep < most ? keep : most;
          save[j] = in[j] + sum[j] < m_new[j] ? most_write : write;
          save[hidden + j] = kept[j] < m_new[j] ? most_keep : keep;
        }
      }
    }
  });
}

// The gradients of h, c, n, m may each be null.
template <class T>
int slstm_backward(const T* weight, const T* c0, const T* n0, const T* c, const T* n, const T* saved,
                   const T* dh, const T* dc, const T* dn, const T* dm, T* dx, T* dh0, T* dc0, T* dn0, T* dm0,
                   int64_t members, int64_t batch, int64_t time, int64_t heads, int64_t size, int64_t threads) {
  const int64_t hidden = heads * size;
  const int64_t effort = cell_effort(members * batch, time, 4 * hidden, size);
  return run_members(members, batch, threads, effort, [=](int64_t member, int64_t first, int64_t rows) {
    HeadPanels<T> panels(weight + member * 4 * hidden * size, heads, size, true);
    const Given<T> outside_h(dh, hidden), outside_c(dc, hidden), outside_n(dn, hidden), outside_m(dm, hidden);
    for (T* carry : {dh0, dc0, dn0, dm0}) std::fill_n(carry + first * hidden, rows * hidden, T(0));
    for (int64_t t = time - 1; t >= 0; --t) {
      const Before<T> c_before(c0, c, first, t, time, hidden), n_before(n0, n, first, t, time, hidden);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = (first + r) * time + t;
        const T* __restrict save = saved + at * 5 * hidden;
        const T* __restrict c_new = c + at * hidden;
        const T* __restrict n_new = n + at * hidden;
        const T* __restrict c_old = c_before.row(r);
        const T* __restrict n_old = n_before.row(r);
        const T* __restrict given_h = outside_h.row(at);
        const T* __restrict given_c = outside_c.row(at);
        const T* __restrict given_n = outside_n.row(at);
        const T* __restrict given_m = outside_m.row(at);
        const T* __restrict flow_h = dh0 + (first + r) * hidden;
        T* __restrict flow_c = dc0 + (first + r) * hidden;
        T* __restrict flow_n = dn0 + (first + r) * hidden;
        T* __restrict flow_m = dm0 + (first + r) * hidden;
        T* __restrict d = dx + at * 4 * hidden;
#pragma omp simd
        for (int64_t j = 0; j < hidden; ++j) {
          const T write = save[j], keep = save[hidden + j], value = save[2 * hidden + j],
                  open = save[3 * hidden + j];
          const T g = given_h[j] + flow_h[j], inverse = 1 / n_new[j], mean = c_new[j] * inverse;
          const T gc = given_c[j] + flow_c[j] + g * open * inverse;
          const T gn = given_n[j] + flow_n[j] - g * open * mean * inverse;
          const bool fresh = n_old[j] == 0;
          const T dwrite = (gc * value + gn) * write;
          const T dkeep = fresh && keep == 1 ? T(0) : (gc * c_old[j] + gn * n_old[j]) * keep;
          const T gm = given_m[j] + flow_m[j] - dwrite - dkeep;
          // How much of m is i: all, nothing, or half where both sides of the maximum are equal.
          const T share = fresh || keep < 1 ? T(1) : write < 1 ? T(0) : T(0.5);
          const T dkept = dkeep + (1 - share) * gm;
          d[j] = dwrite + share * gm;
          d[hidden + j] = dkept * save[4 * hidden + j];
          d[2 * hidden + j] = gc * write * (1 - value * value);
          d[3 * hidden + j] = g * mean * open * (1 - open);
          flow_c[j] = gc * keep;
          flow_n[j] = gn * keep;
          flow_m[j] = dkept;
        }
      }
      panels.backward(dx + (first * time + t) * 4 * hidden, time * 4 * hidden, dh0 + first * hidden, rows);
    }
  });
}

}  // namespace nerode
