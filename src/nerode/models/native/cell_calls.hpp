// The C interface of the nonlinear cells; `kernels.cpp` includes it after the definition of EXPORT and I.
#pragma once

#include "cells.hpp"
#include "gru.hpp"
#include "nru.hpp"
#include "slstm.hpp"

#define CELLS(NAME, T)                                                                                       \
  EXPORT int elman_forward_##NAME(const T* x, const T* weight, const T* initial, T* out, I members, I batch, \
                                  I time, I hidden, I activation, I threads) {                               \
    return nerode::elman_forward<T>(x, weight, initial, out, members, batch, time, hidden, activation,       \
                                    threads);                                                                \
  }                                                                                                          \
  EXPORT int elman_backward_##NAME(const T* weight, const T* out, const T* dout, T* dx, T* dinitial,         \
                                   I members, I batch, I time, I hidden, I activation, I threads) {          \
    return nerode::elman_backward<T>(weight, out, dout, dx, dinitial, members, batch, time, hidden,          \
                                     activation, threads);                                                   \
  }                                                                                                          \
  EXPORT int gru_forward_##NAME(const T* x, const T* read, const T* read_bias, const T* weight,              \
                                const T* bias, const T* initial, T* out, T* saved, I members, I batch,       \
                                I time, I hidden, I inputs, I threads) {                                     \
    return nerode::gru_forward<T>(x, read, read_bias, weight, bias, initial, out, saved, members, batch,     \
                                  time, hidden, inputs, threads);                                            \
  }                                                                                                          \
  EXPORT int gru_backward_##NAME(const T* weight, const T* read, const T* initial, const T* out,             \
                                 const T* saved, const T* dout, T* dread, T* dsum, T* dx, T* dinitial,       \
                                 I members, I batch, I time, I hidden, I inputs, I threads) {                \
    return nerode::gru_backward<T>(weight, read, initial, out, saved, dout, dread, dsum, dx, dinitial,       \
                                   members, batch, time, hidden, inputs, threads);                           \
  }                                                                                                          \
  EXPORT int gru_reset_first_forward_##NAME(const T* x, const T* weight, const T* initial, T* out, T* saved, \
                                            I members, I batch, I time, I hidden, I threads) {               \
    return nerode::gru_reset_first_forward<T>(x, weight, initial, out, saved, members, batch, time, hidden,  \
                                              threads);                                                      \
  }                                                                                                          \
  EXPORT int gru_reset_first_backward_##NAME(const T* weight, const T* initial, const T* out,                \
                                             const T* saved, const T* dout, T* dx, T* dinitial, I members,   \
                                             I batch, I time, I hidden, I threads) {                         \
    return nerode::gru_reset_first_backward<T>(weight, initial, out, saved, dout, dx, dinitial, members,     \
                                               batch, time, hidden, threads);                                \
  }                                                                                                          \
  EXPORT int lstm_forward_##NAME(const T* x, const T* read, const T* bias, const T* weight,                  \
                                 const T* initial, const T* initial_cell, T* out, T* cell, T* saved,         \
                                 I members, I batch, I time, I hidden, I inputs, I threads) {                \
    return nerode::lstm_forward<T>(x, read, bias, weight, initial, initial_cell, out, cell, saved, members,  \
                                   batch, time, hidden, inputs, threads);                                    \
  }                                                                                                          \
  EXPORT int lstm_backward_##NAME(const T* weight, const T* read, const T* initial_cell, const T* cell,      \
                                  const T* saved, const T* dout, const T* dcell, T* dsum, T* dx,             \
                                  T* dinitial, T* dinitial_cell, I members, I batch, I time, I hidden,       \
                                  I inputs, I threads) {                                                     \
    return nerode::lstm_backward<T>(weight, read, initial_cell, cell, saved, dout, dcell, dsum, dx,          \
                                    dinitial, dinitial_cell, members, batch, time, hidden, inputs, threads); \
  }                                                                                                          \
  EXPORT int nru_forward_##NAME(const T* x, const T* weight, const T* head_weight, const T* head_bias,       \
                                const T* h0, const T* m0, T* h, T* memory, T* saved, I members, I batch,     \
                                I time, I hidden, I places, I count, I factored, I rectified, I threads) {   \
    return nerode::nru_forward<T>(x, weight, head_weight, head_bias, h0, m0, h, memory, saved, members,      \
                                  batch, time, {hidden, places, count, factored, rectified}, threads);       \
  }                                                                                                          \
  EXPORT int nru_backward_##NAME(const T* weight, const T* head_weight, const T* h, const T* saved,          \
                                 const T* dh, const T* dmemory, T* dx, T* dheads, T* dh0, T* dm0, I members, \
                                 I batch, I time, I hidden, I places, I count, I factored, I rectified,      \
                                 I threads) {                                                                \
    return nerode::nru_backward<T>(weight, head_weight, h, saved, dh, dmemory, dx, dheads, dh0, dm0,         \
                                   members, batch, time, {hidden, places, count, factored, rectified},       \
                                   threads);                                                                 \
  }                                                                                                          \
  EXPORT int slstm_forward_##NAME(const T* x, const T* weight, const T* h0, const T* c0, const T* n0,        \
                                  const T* m0, T* h, T* c, T* n, T* m, T* saved, I members, I batch, I time, \
                                  I heads, I size, I exponential_forget, I threads) {                        \
    return nerode::slstm_forward<T>(x, weight, h0, c0, n0, m0, h, c, n, m, saved, members, batch, time,      \
                                    heads, size, exponential_forget, threads);                               \
  }                                                                                                          \
  EXPORT int slstm_backward_##NAME(const T* weight, const T* c0, const T* n0, const T* c, const T* n,        \
                                   const T* saved, const T* dh, const T* dc, const T* dn, const T* dm,       \
                                   T* dx, T* dh0, T* dc0, T* dn0, T* dm0, I members, I batch, I time,        \
                                   I heads, I size, I threads) {                                             \
    return nerode::slstm_backward<T>(weight, c0, n0, c, n, saved, dh, dc, dn, dm, dx, dh0, dc0, dn0, dm0,    \
                                     members, batch, time, heads, size, threads);                            \
  }

CELLS(float32, float)
CELLS(float64, double)
