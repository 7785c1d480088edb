/* What the two NEON kernels share. */
#ifndef GO_KERNEL_NEON_H
#define GO_KERNEL_NEON_H
#include "kernel.h"

#include <arm_neon.h>
#include <string.h>

#define GO_TARGET
#include "kernel_loops.h"

#define INLINE static inline __attribute__((always_inline))

enum { REGISTERS = GO_NET_VECTOR / 4 }; /* a packed row has 4 inputs of 16 outputs: 4 outputs a register */

INLINE int8x16_t broadcast4(const uint8_t *at) {
  int32_t four;
  memcpy(&four, at, sizeof four);
  return vreinterpretq_s8_s32(vdupq_n_s32(four));
}

/* Where the point number k of a run is in its padded input. */
INLINE size_t place(const go_conv_run *run, int32_t k) { return (size_t)run->at[k] * (size_t)run->conv->inputs; }

/* Sums of point k and 16 outputs, from their bias on. */
INLINE void begin(const go_conv_run *run, int32x4_t acc[REGISTERS], int32_t k, int32_t output) {
  const int32_t *bias = run->bias + (size_t)run->image[k] * (size_t)run->bias_stride + output;
#pragma GCC unroll 4
  for (int v = 0; v < REGISTERS; v++) acc[v] = vld1q_s32(bias + 4 * v);
}

/* Requantises the sums of 8 outputs of point k, in two registers, and stores them. sqrdmulh is the spec's mulhrs. */
INLINE void finish_half(const go_conv_run *run, int32x4_t low, int32x4_t high, int32_t k, int32_t output) {
  const go_conv *conv = run->conv;
  low = vshlq_s32(low, vnegq_s32(vld1q_s32(conv->shift + output)));
  high = vshlq_s32(high, vnegq_s32(vld1q_s32(conv->shift + output + 4)));
  int16x8_t r = vcombine_s16(vqmovn_s32(low), vqmovn_s32(high));
  r = vqrdmulhq_s16(r, vld1q_s16(conv->multiplier + output));
  if (run->stream) {
    int16_t *stream = run->stream + (size_t)k * (size_t)conv->outputs + output;
    if (run->add) r = vqaddq_s16(vld1q_s16(stream), r);
    vst1q_s16(stream, r);
    r = vqrdmulhq_s16(vqaddq_s16(r, vld1q_s16(run->norm->bias + output)), vld1q_s16(run->norm->multiplier + output));
  }
  uint8x8_t bytes = vqmovun_s16(vminq_s16(r, vdupq_n_s16(127)));
  vst1_u8(run->out + (size_t)run->at[k] * (size_t)conv->outputs + output, bytes);
}

INLINE void finish(const go_conv_run *run, const int32x4_t acc[REGISTERS], int32_t k, int32_t output) {
  finish_half(run, acc[0], acc[1], k, output);
  finish_half(run, acc[2], acc[3], k, output + 8);
}

#endif
