/* The NEON kernel of every AArch64 machine: smull and smlal on 4 outputs a register. With |w| <= 64 and activations
 * below 128 four products stay below 2^15, so that they add up in int16 before sadalp widens them. */
#include "kernel_neon.h"

/* ---- tiles ---------------------------------------------------------------------------------------------- */

/* acc[o] += the 4 products of output o in (w0, x0) and those in (w1, x1). */
INLINE int32x4_t multiply_add(int32x4_t acc, int8x16_t w0, int8x16_t x0, int8x16_t w1, int8x16_t x1) {
  int16x8_t low = vmull_s8(vget_low_s8(w0), vget_low_s8(x0)), high = vmull_high_s8(w0, x0);
  low = vmlal_s8(low, vget_low_s8(w1), vget_low_s8(x1)), high = vmlal_high_s8(high, w1, x1);
  return vpadalq_s16(acc, vpaddq_s16(low, high));
}

/* P points from `first` on and 16 outputs. */
INLINE void tile(const int P, const go_conv_run *run, int32_t first, int32_t vector) {
  const go_conv *conv = run->conv;
  const int8_t *w = conv->packed + (size_t)vector * (size_t)(conv->taps * conv->inputs) * GO_NET_VECTOR;
  size_t point[4];
  int32x4_t acc[4][REGISTERS];
#pragma GCC unroll 4
  for (int p = 0; p < P; p++) {
    point[p] = place(run, first + p);
    begin(run, acc[p], first + p, vector * GO_NET_VECTOR);
  }
  for (int32_t t = 0; t < conv->taps; t++) {
    const uint8_t *in = run->in + run->tap_offset[t];
    int32_t left = conv->inputs;
    for (; left >= 8; left -= 8, w += 128, in += 8) {
#pragma GCC unroll 4
      for (int p = 0; p < P; p++) {
        int8x16_t x0 = broadcast4(in + point[p]), x1 = broadcast4(in + point[p] + 4);
#pragma GCC unroll 4
        for (int v = 0; v < REGISTERS; v++)
          acc[p][v] = multiply_add(acc[p][v], vld1q_s8(w + 16 * v), x0, vld1q_s8(w + 64 + 16 * v), x1);
      }
    }
    if (left > 0) {
#pragma GCC unroll 4
      for (int p = 0; p < P; p++) {
        int8x16_t x = broadcast4(in + point[p]), none = vdupq_n_s8(0);
#pragma GCC unroll 4
        for (int v = 0; v < REGISTERS; v++) acc[p][v] = multiply_add(acc[p][v], vld1q_s8(w + 16 * v), x, none, none);
      }
      w += 64;
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < P; p++) finish(run, acc[p], first + p, vector * GO_NET_VECTOR);
}

/* ---- convolution ---------------------------------------------------------------------------------------- */

static void tile_4(const go_conv_run *run, int32_t first, int32_t vector) { tile(4, run, first, vector); }

static void conv_neon(const go_conv_run *run) {
  for (int32_t vector = 0; vector < run->conv->outputs / GO_NET_VECTOR; vector++)
    for (int32_t first = 0; first < run->points; first += 4) tile_4(run, first, vector);
}

/* ---- peak ----------------------------------------------------------------------------------------------- */

/* The mix of the tile's inner loop: 32 multiply-adds a chain and step. */
static int64_t peak_neon(int64_t steps) {
  enum { CHAINS = 16 };
  int32x4_t acc[CHAINS];
  int8x16_t x = vdupq_n_s8(1), w = vdupq_n_s8((int8_t)(steps & 1));
#pragma GCC unroll 16
  for (int i = 0; i < CHAINS; i++) acc[i] = vdupq_n_s32(0);
  for (int64_t s = 0; s < steps; s++) {
#pragma GCC unroll 16
    for (int i = 0; i < CHAINS; i++) {
      __asm__ volatile("" : "+w"(x), "+w"(w)); /* so that nothing leaves the loop */
      acc[i] = multiply_add(acc[i], w, x, x, w);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < CHAINS; i++) __asm__ volatile("" : : "w"(acc[i]));
  return steps * CHAINS * 32;
}

const go_kernel go_kernel_neon = {"neon", conv_neon, loop_pool, loop_dot, loop_point_dot, peak_neon};
