/* The NEON kernel of AArch64 machines with dot products: sdot on 4 outputs a register. CMakeLists.txt compiles this
 * file for them; dispatch.c asks the machine before anything here runs. */
#include "kernel_neon.h"

/* ---- tiles ---------------------------------------------------------------------------------------------- */

/* P points from `first` on and 16 outputs. */
INLINE void tile(const int P, const go_conv_run *run, int32_t first, int32_t vector) {
  const go_conv *conv = run->conv;
  const int8_t *w = conv->packed + (size_t)vector * (size_t)(conv->taps * conv->inputs) * GO_NET_VECTOR;
  size_t point[5];
  int32x4_t acc[5][REGISTERS];
#pragma GCC unroll 5
  for (int p = 0; p < P; p++) {
    point[p] = place(run, first + p);
    begin(run, acc[p], first + p, vector * GO_NET_VECTOR);
  }
  for (int32_t t = 0; t < conv->taps; t++) {
    const uint8_t *in = run->in + run->tap_offset[t];
    int32_t left = conv->inputs;
    for (; left >= 16; left -= 16, in += 16) {
      int8x16_t x[5];
#pragma GCC unroll 5
      for (int p = 0; p < P; p++) x[p] = vreinterpretq_s8_u8(vld1q_u8(in + point[p]));
#define LANE(lane)                                                                                       \
  for (int v = 0; v < REGISTERS; v++, w += 16) {                                                         \
    int8x16_t weights = vld1q_s8(w);                                                                     \
    _Pragma("GCC unroll 5") for (int p = 0; p < P; p++) acc[p][v] = vdotq_laneq_s32(acc[p][v], weights, x[p], lane); \
  }
#pragma GCC unroll 4
      LANE(0)
#pragma GCC unroll 4
      LANE(1)
#pragma GCC unroll 4
      LANE(2)
#pragma GCC unroll 4
      LANE(3)
#undef LANE
    }
    for (; left > 0; left -= 4, w += 64, in += 4) {
#pragma GCC unroll 5
      for (int p = 0; p < P; p++) {
        int8x16_t x = broadcast4(in + point[p]);
#pragma GCC unroll 4
        for (int v = 0; v < REGISTERS; v++) acc[p][v] = vdotq_s32(acc[p][v], vld1q_s8(w + 16 * v), x);
      }
    }
  }
#pragma GCC unroll 5
  for (int p = 0; p < P; p++) finish(run, acc[p], first + p, vector * GO_NET_VECTOR);
}

/* ---- convolution ---------------------------------------------------------------------------------------- */

static void tile_5(const go_conv_run *run, int32_t first, int32_t vector) { tile(5, run, first, vector); }
static void tile_4(const go_conv_run *run, int32_t first, int32_t vector) { tile(4, run, first, vector); }

static void conv_dot(const go_conv_run *run) {
  for (int32_t vector = 0; vector < run->conv->outputs / GO_NET_VECTOR; vector++) {
    int32_t first = 0;
    for (; run->points - first > 4; first += 5) tile_5(run, first, vector);
    if (first < run->points) tile_4(run, first, vector);
  }
}

/* ---- peak ----------------------------------------------------------------------------------------------- */

static int64_t peak_dot(int64_t steps) {
  enum { CHAINS = 24 };
  int32x4_t acc[CHAINS];
  int8x16_t x = vdupq_n_s8(1), w = vdupq_n_s8((int8_t)(steps & 1));
#pragma GCC unroll 24
  for (int i = 0; i < CHAINS; i++) acc[i] = vdupq_n_s32(0);
  for (int64_t s = 0; s < steps; s++) {
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++) acc[i] = vdotq_laneq_s32(acc[i], w, x, 0);
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++) __asm__ volatile("" : "+w"(acc[i]));
  }
  return steps * CHAINS * 16;
}

const go_kernel go_kernel_neon_dot = {"neon-dot", conv_dot, loop_pool, loop_dot, loop_point_dot, peak_dot};
