/* What a kernel computes: the arithmetic of docs/spec/network.md and the loops that are worth writing for one
 * instruction set. Every kernel gives the same integers as the scalar one. */
#ifndef GO_KERNEL_H
#define GO_KERNEL_H
#include "net.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The kernels load packed weights as little-endian words: a big-endian machine is not supported."
#endif

/* ---- arithmetic of the spec ----------------------------------------------------------------------------- */

static inline int32_t go_rsh(int32_t v, int32_t s) { return s > 0 ? (v + (1 << (s - 1))) >> s : v; }
static inline int32_t go_sat16(int32_t v) { return v < -32768 ? -32768 : v > 32767 ? 32767 : v; }
static inline int32_t go_clamp7(int32_t v) { return v < 0 ? 0 : v > 127 ? 127 : v; }
static inline int32_t go_mulhrs(int32_t a, int32_t m) { return (a * m + (1 << 14)) >> 15; }

/* ---- one convolution over a batch ----------------------------------------------------------------------- */

enum { GO_SPARE_POINTS = 16 }; /* a tile may run this far past the last point */

/* Activations are u8, point-major (NHWC), with a border of zero points: see eval.c. The lists `at` and `image` go on for
 * GO_SPARE_POINTS entries that name a spare point, so that tiles need no remainder. */
typedef struct go_conv_run {
  const go_conv *conv;
  const uint8_t *in;           /* conv->inputs channels a point */
  const int32_t *tap_offset;   /* from a point to its tap t, in bytes of `in` */
  const int32_t *bias;         /* bias[image * bias_stride + out]: half(s) and pooled bias included */
  int32_t bias_stride;
  int32_t points;
  const int32_t *at;           /* where each point is in padded buffers */
  const int32_t *image;        /* which position of the batch it belongs to */
  uint8_t *out;                /* conv->outputs channels a point: the u8 result, or the stream's activation */
  int16_t *stream;             /* NULL for u8 results; else [point][outputs], not padded */
  int32_t add;                 /* stream: 1 adds to what is there, 0 sets it */
  const go_norm *norm;         /* activation written to `out` after the stream */
} go_conv_run;

typedef struct go_kernel {
  const char *name;
  void (*conv)(const go_conv_run *run);
  /* sum and max of each channel over n points of a padded buffer. */
  void (*pool)(const uint8_t *in, int32_t channels, const int32_t *at, int32_t n, uint16_t *sum, uint8_t *max);
  /* acc[o] = sum over i of x[i] w[o][i]. */
  void (*dot)(const int16_t *x, const int16_t *w, int32_t inputs, int32_t outputs, int32_t *acc);
  /* acc[k] = sum over i of in[at[k]][i] w[i]. */
  void (*point_dot)(const uint8_t *in, int32_t channels, const int32_t *at, int32_t n, const int16_t *w, int32_t *acc);
  /* `steps` rounds of the convolution's multiply in registers alone; the multiply-adds done. */
  int64_t (*peak)(int64_t steps);
} go_kernel;

extern const go_kernel go_kernel_scalar;
#if defined(GO_X86)
extern const go_kernel go_kernel_avx2, go_kernel_vnni;
#elif defined(GO_NEON)
extern const go_kernel go_kernel_neon, go_kernel_neon_dot;
#endif

/* The kernel of that number (GO_KERNEL_BEST: the fastest), NULL when this build or machine has none. */
const go_kernel *go_kernel_find(int32_t kernel);

#endif
