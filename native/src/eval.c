/* Evaluation of a network (docs/spec/network.md, "Architecture") over a batch of positions of one size.
 *
 * Activations lie point-major with C channels a point. Rows are cols + 1 points long, the one more being a zero that
 * serves as the border on both sides; a zero row lies above each position and below the last:
 *
 *     point(image, row, col) = 1 + (image * (rows + 1) + row + 1) * (cols + 1) + col
 *
 * so a tap is a constant offset and no kernel tests for the edge. The residual stream is kept for the points on the
 * board alone, in the order of the list `at`. After the last point both go on with spare ones (see kernel.h). */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH_POINTS = 512, SIDE_MAX = 19 }; /* a batch runs in parts of about BATCH_POINTS points */

struct go_eval {
  const go_net *net;
  const go_kernel *kernel;
  int32_t rows, cols, images; /* what the lists and borders are for */
  int32_t points;             /* images * rows * cols */
  int32_t *at, *image;
  int32_t taps_in[9], taps_channels[9], tap_one[1]; /* offsets in bytes for 20 and for C channels; 1x1 */
  uint8_t *planes, *a, *t;    /* padded buffers: input; activations in turn */
  uint8_t *g, *p, *v;         /* padded buffers of the heads */
  int16_t *stream;
  int32_t *bias;              /* [image][channels]: bias with pooled bias */
  int32_t *logits;            /* [points] */
  size_t capacity;            /* padded points */
};

/* ---- memory --------------------------------------------------------------------------------------------- */

static int32_t images_at_once(int32_t points) { return BATCH_POINTS > points ? BATCH_POINTS / points : 1; }

/* Index of the spare point, two rows past the border of the last position. */
static size_t spare_point(int32_t rows, int32_t cols, int32_t images) {
  size_t stride = (size_t)cols + 1;
  return ((size_t)images * (size_t)(rows + 1) + 1) * stride + 2 + stride + 1;
}

static size_t padded_points(int32_t rows, int32_t cols, int32_t images) {
  return spare_point(rows, cols, images) + (size_t)cols + 3;
}

static size_t most_padded_points(void) {
  size_t most = 0;
  for (int32_t rows = 1; rows <= SIDE_MAX; rows++)
    for (int32_t cols = 1; cols <= SIDE_MAX; cols++) {
      size_t padded = padded_points(rows, cols, images_at_once(rows * cols));
      if (padded > most) most = padded;
    }
  return most;
}

static void *zeroed(size_t count, size_t size) {
  size_t bytes = (count * size + 63) / 64 * 64;
  void *memory = aligned_alloc(64, bytes);
  if (memory) memset(memory, 0, bytes);
  return memory;
}

int go_eval_new(const go_net *net, int32_t kernel, go_eval **out) {
  *out = NULL;
  const go_kernel *found = go_kernel_find(kernel);
  if (!found) return GO_ERR_KERNEL;
  go_eval *e = calloc(1, sizeof *e);
  if (!e) return GO_ERR_MEMORY;
  size_t channels = (size_t)net->channels, head = (size_t)net->head, listed = BATCH_POINTS + GO_SPARE_POINTS;
  e->net = net, e->kernel = found, e->capacity = most_padded_points();
  e->at = zeroed(listed, sizeof *e->at);
  e->image = zeroed(listed, sizeof *e->image);
  e->planes = zeroed(e->capacity, GO_FEATURE_PLANES);
  e->a = zeroed(e->capacity, channels);
  e->t = zeroed(e->capacity, channels);
  e->g = zeroed(e->capacity, head);
  e->p = zeroed(e->capacity, head);
  e->v = zeroed(e->capacity, head);
  e->stream = zeroed(listed, channels * sizeof *e->stream);
  e->bias = zeroed(BATCH_POINTS, channels * sizeof *e->bias);
  e->logits = zeroed(BATCH_POINTS, sizeof *e->logits);
  if (!e->at || !e->image || !e->planes || !e->a || !e->t || !e->g || !e->p || !e->v || !e->stream || !e->bias || !e->logits) {
    go_eval_free(e);
    return GO_ERR_MEMORY;
  }
  *out = e;
  return GO_OK;
}

void go_eval_free(go_eval *e) {
  if (!e) return;
  void *owned[] = {e->at, e->image, e->planes, e->a, e->t, e->g, e->p, e->v, e->stream, e->bias, e->logits};
  for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) free(owned[i]);
  free(e);
}

/* ---- geometry ------------------------------------------------------------------------------------------- */

/* Sets the lists and clears the borders for a batch's shape. */
static void set_shape(go_eval *e, int32_t rows, int32_t cols, int32_t images) {
  if (e->rows == rows && e->cols == cols && e->images == images) return;
  e->rows = rows, e->cols = cols, e->images = images, e->points = images * rows * cols;
  int32_t stride = cols + 1, k = 0;
  for (int32_t image = 0; image < images; image++)
    for (int32_t row = 0; row < rows; row++)
      for (int32_t col = 0; col < cols; col++, k++) {
        e->at[k] = 1 + (image * (rows + 1) + row + 1) * stride + col;
        e->image[k] = image;
      }
  for (int32_t i = 0; i < GO_SPARE_POINTS; i++, k++) {
    e->at[k] = (int32_t)spare_point(rows, cols, images);
    e->image[k] = images - 1;
  }
  for (int32_t tap = 0; tap < 9; tap++) {
    int32_t away = (tap / 3 - 1) * stride + tap % 3 - 1;
    e->taps_in[tap] = away * GO_FEATURE_PLANES;
    e->taps_channels[tap] = away * e->net->channels;
  }
  size_t padded = padded_points(rows, cols, images), channels = (size_t)e->net->channels;
  memset(e->planes, 0, padded * GO_FEATURE_PLANES);
  memset(e->a, 0, padded * channels);
  memset(e->t, 0, padded * channels);
}

/* Planes of each position, plane-major, into the padded buffer. */
static void load_planes(go_eval *e, const uint8_t *planes) {
  int32_t n = e->rows * e->cols;
  for (int32_t image = 0; image < e->images; image++) {
    const int32_t *at = e->at + (size_t)image * (size_t)n;
    for (int32_t plane = 0; plane < GO_FEATURE_PLANES; plane++, planes += n) {
      uint8_t *to = e->planes + plane;
      for (int32_t k = 0; k < n; k++) to[(size_t)at[k] * GO_FEATURE_PLANES] = planes[k];
    }
  }
}

/* ---- layers --------------------------------------------------------------------------------------------- */

/* `bias` NULL: the layer's own. `norm` NULL: u8 result; else the stream is set (add 0) or added to. */
static void convolve(go_eval *e, const go_conv *conv, const uint8_t *in, const int32_t *bias, uint8_t *out,
                     const go_norm *norm, int32_t add) {
  go_conv_run run = {
      .conv = conv,
      .in = in,
      .tap_offset = conv->taps == 1 ? e->tap_one : conv->inputs == GO_FEATURE_PLANES ? e->taps_in : e->taps_channels,
      .bias = bias ? bias : conv->bias,
      .bias_stride = bias ? conv->outputs : 0,
      .points = e->points,
      .at = e->at,
      .image = e->image,
      .out = out,
      .stream = norm ? e->stream : NULL,
      .add = add,
      .norm = norm,
  };
  e->kernel->conv(&run);
}

/* Pooled features of one position: means, maxima and, when `total`, totals. `features` holds 3 * channels. */
static void pool(const go_eval *e, const uint8_t *in, int32_t channels, int32_t image, int total, int16_t *features) {
  uint16_t sum[GO_NET_CHANNELS_MAX];
  uint8_t max[GO_NET_CHANNELS_MAX];
  int32_t n = e->rows * e->cols, reciprocal = ((1 << 22) + n / 2) / n;
  e->kernel->pool(in, channels, e->at + (size_t)image * (size_t)n, n, sum, max);
  for (int32_t c = 0; c < channels; c++) {
    features[c] = (int16_t)((sum[c] * reciprocal + (1 << 15)) >> 16);
    features[channels + c] = (int16_t)(64 * max[c]);
    if (total) features[2 * channels + c] = (int16_t)((sum[c] * 11618 + (1 << 15)) >> 16);
  }
}

/* e->bias[image] = the convolution's bias plus the pooled bias of `in`. */
static const int32_t *pooled_bias(go_eval *e, const uint8_t *in, int32_t channels, const go_connected *fc,
                                  const go_conv *conv) {
  int16_t features[2 * GO_NET_CHANNELS_MAX];
  for (int32_t image = 0; image < e->images; image++) {
    int32_t *bias = e->bias + (size_t)image * (size_t)fc->outputs;
    pool(e, in, channels, image, 0, features);
    e->kernel->dot(features, fc->weights, fc->inputs, fc->outputs, bias);
    for (int32_t o = 0; o < fc->outputs; o++) bias[o] = go_rsh(bias[o] + fc->bias[o], fc->shift[o]) + conv->bias[o];
  }
  return e->bias;
}

static int32_t scale_logit(const go_logit *logit, int32_t acc) {
  int64_t v = ((int64_t)acc + logit->bias) * logit->multiplier;
  v = (v + ((int64_t)1 << (logit->shift - 1))) >> logit->shift;
  return (int32_t)(v < -logit->limit ? -logit->limit : v > logit->limit - 1 ? logit->limit - 1 : v);
}

static int32_t one_logit(const go_eval *e, const go_logit *logit, const int16_t *x) {
  int32_t acc;
  e->kernel->dot(x, logit->weights, logit->inputs, 1, &acc);
  return scale_logit(logit, acc);
}

/* ---- network -------------------------------------------------------------------------------------------- */

static void tower(go_eval *e) {
  const go_net *net = e->net;
  convolve(e, &net->stem, e->planes, NULL, e->a, &net->block[0].norm, 0);
  for (int32_t i = 0; i < net->blocks; i++) {
    const go_residual *block = &net->block[i];
    const go_norm *next = i + 1 < net->blocks ? &net->block[i + 1].norm : &net->tip;
    const int32_t *bias = NULL;
    if (block->pool.outputs > 0) bias = pooled_bias(e, e->a, net->channels, &block->pool, &block->conv1);
    convolve(e, &block->conv1, e->a, bias, e->t, NULL, 0);
    convolve(e, &block->conv2, e->t, NULL, e->a, next, 1);
  }
}

static void policy_head(go_eval *e, go_output *out) {
  const go_net *net = e->net;
  int32_t n = e->rows * e->cols;
  convolve(e, &net->pool_conv, e->a, NULL, e->g, NULL, 0);
  const int32_t *bias = pooled_bias(e, e->g, net->head, &net->policy_pool, &net->policy_conv);
  convolve(e, &net->policy_conv, e->a, bias, e->p, NULL, 0);
  e->kernel->point_dot(e->p, net->head, e->at, e->points, net->policy_point.weights, e->logits);
  for (int32_t image = 0; image < e->images; image++) {
    int16_t features[2 * GO_NET_HEAD_MAX];
    pool(e, e->p, net->head, image, 0, features);
    for (int32_t k = 0; k < n; k++) out[image].policy[k] = scale_logit(&net->policy_point, e->logits[image * n + k]);
    out[image].policy[n] = one_logit(e, &net->policy_pass, features);
  }
}

static void value_head(go_eval *e, go_output *out) {
  const go_net *net = e->net;
  const go_connected *fc = &net->hidden;
  int32_t n = e->rows * e->cols;
  convolve(e, &net->value_conv, e->a, NULL, e->v, NULL, 0);
  e->kernel->point_dot(e->v, net->head, e->at, e->points, net->ownership.weights, e->logits);
  for (int32_t image = 0; image < e->images; image++) {
    int16_t features[3 * GO_NET_HEAD_MAX], hidden[2 * GO_NET_HEAD_MAX];
    int32_t acc[2 * GO_NET_HEAD_MAX];
    pool(e, e->v, net->head, image, 1, features);
    e->kernel->dot(features, fc->weights, fc->inputs, fc->outputs, acc);
    for (int32_t o = 0; o < fc->outputs; o++)
      hidden[o] = (int16_t)go_clamp7(go_mulhrs(go_sat16(go_rsh(acc[o] + fc->bias[o], fc->shift[o])), fc->multiplier[o]));
    out[image].value = one_logit(e, &net->value, hidden);
    out[image].score_mean = one_logit(e, &net->score_mean, hidden);
    out[image].score_spread = one_logit(e, &net->score_spread, hidden);
    for (int32_t k = 0; k < n; k++) out[image].ownership[k] = scale_logit(&net->ownership, e->logits[image * n + k]);
  }
}

int go_eval_run(go_eval *e, int32_t rows, int32_t cols, int32_t n, const uint8_t *planes, size_t len, go_output *out) {
  if (rows < 1 || rows > SIDE_MAX || cols < 1 || cols > SIDE_MAX || n < 0) return GO_ERR_ARGUMENT;
  size_t position = (size_t)GO_FEATURE_PLANES * (size_t)(rows * cols);
  if (len / position != (size_t)n || len % position != 0) return GO_ERR_ARGUMENT;
  uint8_t used = 0;
  for (size_t i = 0; i < len; i++) used |= planes[i];
  if (used > 127) return GO_ERR_ARGUMENT;

  int32_t most = images_at_once(rows * cols), parts = n / most + (n % most > 0);
  for (; n > 0; parts--) {
    int32_t images = (n + parts - 1) / parts;
    set_shape(e, rows, cols, images);
    load_planes(e, planes);
    tower(e);
    policy_head(e, out);
    value_head(e, out);
    n -= images, planes += (size_t)images * position, out += images;
  }
  return GO_OK;
}
