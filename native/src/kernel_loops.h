/* The loops that a compiler vectorises well enough: each kernel's file includes this page with its own GO_TARGET, so
 * that the same C is compiled for its instruction set. */
#ifndef GO_TARGET
#error "GO_TARGET names the instruction set"
#endif

static GO_TARGET void loop_pool(const uint8_t *in, int32_t channels, const int32_t *at, int32_t n, uint16_t *restrict sum,
                                uint8_t *restrict max) {
  for (int32_t c = 0; c < channels; c++) sum[c] = 0, max[c] = 0;
  for (int32_t k = 0; k < n; k++) {
    const uint8_t *x = in + (size_t)at[k] * (size_t)channels;
    for (int32_t c = 0; c < channels; c++) {
      sum[c] = (uint16_t)(sum[c] + x[c]); /* at most 127 * 361 */
      max[c] = x[c] > max[c] ? x[c] : max[c];
    }
  }
}

static GO_TARGET void loop_dot(const int16_t *x, const int16_t *w, int32_t inputs, int32_t outputs, int32_t *acc) {
  for (int32_t o = 0; o < outputs; o++, w += inputs) {
    int32_t total = 0;
    for (int32_t i = 0; i < inputs; i++) total += x[i] * w[i];
    acc[o] = total;
  }
}

static GO_TARGET void loop_point_dot(const uint8_t *in, int32_t channels, const int32_t *at, int32_t n, const int16_t *w,
                                     int32_t *acc) {
  for (int32_t k = 0; k < n; k++) {
    const uint8_t *x = in + (size_t)at[k] * (size_t)channels;
    int32_t total = 0;
    for (int32_t i = 0; i < channels; i++) total += x[i] * w[i];
    acc[k] = total;
  }
}
