/* The reference kernel: the spec's formulas in plain C, on the weights as the file has them. */
#include "kernel.h"

#include <string.h>

#define GO_TARGET
#include "kernel_loops.h"

static int32_t accumulate(const go_conv *conv, const uint8_t *point, const int32_t *tap_offset, int32_t o) {
  const int8_t *w = conv->weights + (size_t)o * (size_t)(conv->taps * conv->inputs);
  int32_t acc = 0;
  for (int32_t t = 0; t < conv->taps; t++, w += conv->inputs) {
    const uint8_t *x = point + tap_offset[t];
    for (int32_t i = 0; i < conv->inputs; i++) acc += x[i] * w[i];
  }
  return acc;
}

static void conv_scalar(const go_conv_run *run) {
  const go_conv *conv = run->conv;
  for (int32_t k = 0; k < run->points; k++) {
    const uint8_t *point = run->in + (size_t)run->at[k] * (size_t)conv->inputs;
    const int32_t *bias = run->bias + (size_t)run->image[k] * (size_t)run->bias_stride;
    uint8_t *out = run->out + (size_t)run->at[k] * (size_t)conv->outputs;
    int16_t *stream = run->stream ? run->stream + (size_t)k * (size_t)conv->outputs : NULL;
    for (int32_t o = 0; o < conv->outputs; o++) {
      int32_t v = go_sat16((accumulate(conv, point, run->tap_offset, o) + bias[o]) >> conv->shift[o]);
      int32_t r = go_mulhrs(v, conv->multiplier[o]);
      if (stream) {
        int32_t x = go_sat16(run->add ? stream[o] + r : r);
        stream[o] = (int16_t)x;
        r = go_mulhrs(go_sat16(x + run->norm->bias[o]), run->norm->multiplier[o]);
      }
      out[o] = (uint8_t)go_clamp7(r);
    }
  }
}

static int64_t peak_scalar(int64_t steps) {
  enum { LANES = 64 };
  uint8_t x[LANES];
  int8_t w[LANES];
  int32_t acc[LANES] = {0};
  for (int i = 0; i < LANES; i++) x[i] = (uint8_t)(i + (steps & 1)), w[i] = (int8_t)(i - 32);
  for (int64_t s = 0; s < steps; s++) {
    for (int i = 0; i < LANES; i++) acc[i] += x[i] * w[i];
    __asm__ volatile("" : : "r"(acc), "r"(x), "r"(w) : "memory"); /* every round is really done */
  }
  return steps * LANES;
}

const go_kernel go_kernel_scalar = {"scalar", conv_scalar, loop_pool, loop_dot, loop_point_dot, peak_scalar};
