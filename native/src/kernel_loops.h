/* The loops that a compiler vectorises well enough: each kernel's file includes this page with its own GO_TARGET, so
 * that the same C is compiled for its instruction set. */
#ifndef GO_TARGET
#error "GO_TARGET names the instruction set"
#endif

typedef int8_t go_i8x16 __attribute__((vector_size(16)));
typedef uint8_t go_u8x16 __attribute__((vector_size(16)));
typedef uint16_t go_u16x16 __attribute__((vector_size(32)));

/* 16 channels at a time in registers; the sums are at most 127 * 361 and the activations at most 127. */
static GO_TARGET void loop_pool(const uint8_t *in, int32_t channels, const int32_t *at, int32_t n, uint16_t *sum,
                                uint8_t *max) {
  for (int32_t c = 0; c < channels; c += 16) {
    go_i8x16 most = {0};
    go_u16x16 total = {0};
    for (int32_t k = 0; k < n; k++) {
      go_i8x16 x;
      memcpy(&x, in + (size_t)at[k] * (size_t)channels + c, sizeof x);
      go_i8x16 more = x > most; /* all ones where true */
      most = (x & more) | (most & ~more);
      total += __builtin_convertvector((go_u8x16)x, go_u16x16);
    }
    memcpy(sum + c, &total, sizeof total);
    memcpy(max + c, &most, sizeof most);
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
