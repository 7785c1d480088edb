/* Reads a network file (docs/spec/network.md). Every size and bound is checked before anything uses it; a network
 * that loads cannot overflow any kernel. */
#include "net.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reader --------------------------------------------------------------------------------------------- */

/* Walks a body whose length is already known to be right, and keeps the first failure. */
typedef struct reader {
  const uint8_t *at;
  uint8_t *free, *end; /* the arena's unused part */
  int status;
  char *why;
  size_t why_len;
  const char *layer; /* the one that is read, by its name in the spec; block is -1 outside the tower */
  int32_t block;
} reader;

/* `stem`, or `conv1[3]` in the tower. */
static void name_layer(char *name, size_t len, const char *layer, int32_t block) {
  if (block < 0)
    snprintf(name, len, "%s", layer);
  else
    snprintf(name, len, "%s[%d]", layer, block);
}

static int fail(reader *r, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));

static int fail(reader *r, int status, const char *format, ...) {
  if (r->status != GO_OK) return r->status;
  r->status = status;
  if (r->why && r->why_len > 0) {
    char name[32] = "";
    if (r->layer) name_layer(name, sizeof name, r->layer, r->block);
    int used = r->layer ? snprintf(r->why, r->why_len, "Layer %s: ", name) : 0;
    if (used >= 0 && (size_t)used < r->why_len) {
      va_list args;
      va_start(args, format);
      vsnprintf(r->why + used, r->why_len - (size_t)used, format, args);
      va_end(args);
    }
  }
  return status;
}

static void enter(reader *r, const char *layer, int32_t block) { r->layer = layer, r->block = block; }

static uint32_t read_u16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }
static uint32_t read_u32(const uint8_t *p) { return read_u16(p) | read_u16(p + 2) << 16; }
static int32_t to_i32(uint32_t v) { return v < 1u << 31 ? (int32_t)v : -(int32_t)(UINT32_MAX - v) - 1; }

/* `bytes` of the arena, on a boundary of 64. The arena's size (arena_bytes) is never too small. */
static void *take(reader *r, size_t bytes) {
  size_t rounded = (bytes + 63) / 64 * 64;
  if (rounded > (size_t)(r->end - r->free)) abort();
  void *taken = r->free;
  r->free += rounded;
  return taken;
}

/* A body byte makes at most 3 bytes here (weights as read and packed, or widened), and each array is rounded up. */
static size_t arena_bytes(size_t body, int32_t blocks) { return 3 * body + (size_t)(blocks + 2) * 64 * 32; }

/* ---- numbers -------------------------------------------------------------------------------------------- */

static const int8_t *read_weights(reader *r, size_t count, int32_t limit, const char *what) {
  int8_t *weights = take(r, count);
  memcpy(weights, r->at, count);
  r->at += count;
  for (size_t i = 0; i < count; i++)
    if (weights[i] > limit || weights[i] < -limit) {
      fail(r, GO_ERR_BOUNDS, "The %s weights are -%d to %d, not %d.", what, limit, limit, weights[i]);
      break;
    }
  return weights;
}

static const int16_t *read_wide_weights(reader *r, size_t count, const char *what) {
  int16_t *wide = take(r, 2 * count);
  for (size_t i = 0; i < count; i++) {
    wide[i] = (int16_t)(r->at[i] < 128 ? r->at[i] : r->at[i] - 256);
    if (wide[i] == -128) fail(r, GO_ERR_BOUNDS, "The %s weights are -127 to 127, not -128.", what);
  }
  r->at += count;
  return wide;
}

static int32_t *read_biases(reader *r, int32_t count) {
  int32_t *bias = take(r, (size_t)count * sizeof *bias);
  for (int32_t i = 0; i < count; i++, r->at += 4) bias[i] = to_i32(read_u32(r->at));
  return bias;
}

static int32_t *read_shifts(reader *r, int32_t count, int32_t high, const char *what) {
  int32_t *shift = take(r, (size_t)count * sizeof *shift);
  for (int32_t i = 0; i < count; i++) {
    shift[i] = *r->at++;
    if (shift[i] > high) fail(r, GO_ERR_BOUNDS, "The %s shifts are 0 to %d, not %d.", what, high, shift[i]);
  }
  return shift;
}

static int16_t *read_multipliers(reader *r, int32_t count, int32_t low, int32_t high, const char *what) {
  int16_t *multiplier = take(r, (size_t)count * sizeof *multiplier);
  for (int32_t i = 0; i < count; i++, r->at += 2) {
    int32_t m = (int32_t)read_u16(r->at);
    if (m < low || m > high) fail(r, GO_ERR_BOUNDS, "The %s multipliers are %d to %d, not %d.", what, low, high, m);
    multiplier[i] = (int16_t)(m <= 32767 ? m : 32767);
  }
  return multiplier;
}

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

static int64_t sum_wide(const int16_t *w, int32_t count) {
  int64_t sum = 0;
  for (int32_t i = 0; i < count; i++) sum += magnitude(w[i]);
  return sum;
}

/* ---- layers --------------------------------------------------------------------------------------------- */

/* Regroups weights for the SIMD kernels: [out / 16][tap][in / 4][16][4]. */
static const int8_t *pack(reader *r, const go_conv *conv) {
  int32_t fan_in = conv->taps * conv->inputs;
  int8_t *packed = take(r, (size_t)(conv->outputs * fan_in));
  for (int32_t o = 0; o < conv->outputs; o++)
    for (int32_t i = 0; i < fan_in; i++) {
      size_t row = (size_t)(o / GO_NET_VECTOR * (fan_in / 4) + i / 4);
      packed[row * 64 + (size_t)(o % GO_NET_VECTOR * 4 + i % 4)] = conv->weights[(size_t)o * (size_t)fan_in + (size_t)i];
    }
  return packed;
}

static void read_conv(reader *r, go_conv *conv, int32_t inputs, int32_t outputs, int32_t taps, int stream) {
  conv->inputs = inputs, conv->outputs = outputs, conv->taps = taps;
  int32_t fan_in = inputs * taps;
  conv->weights = read_weights(r, (size_t)(outputs * fan_in), 64, "convolution");
  int32_t *bias = read_biases(r, outputs);
  conv->shift = read_shifts(r, outputs, 24, "convolution");
  conv->multiplier = stream ? read_multipliers(r, outputs, 16384, 32767, "stream")
                            : read_multipliers(r, outputs, 256, 511, "convolution");
  conv->bias = bias;
  if (r->status != GO_OK) return;
  for (int32_t o = 0; o < outputs; o++) {
    int64_t sum = 0, half = conv->shift[o] > 0 ? (int64_t)1 << (conv->shift[o] - 1) : 0;
    for (int32_t i = 0; i < fan_in; i++) sum += magnitude(conv->weights[(size_t)o * (size_t)fan_in + (size_t)i]);
    if (127 * sum + magnitude(bias[o] + half) >= 1 << 24) {
      fail(r, GO_ERR_BOUNDS, "A convolution's sums can leave 24 bits.");
      return;
    }
    bias[o] += (int32_t)half;
  }
  conv->packed = pack(r, conv);
}

static void read_norm(reader *r, go_norm *norm, int32_t channels) {
  int16_t *bias = take(r, (size_t)channels * sizeof *bias);
  for (int32_t c = 0; c < channels; c++, r->at += 2) {
    int32_t v = (int32_t)read_u16(r->at);
    bias[c] = (int16_t)(v < 32768 ? v : v - 65536);
  }
  norm->bias = bias;
  norm->multiplier = read_multipliers(r, channels, 1, 32767, "activation");
}

static void read_connected(reader *r, go_connected *fc, int32_t inputs, int32_t outputs, int hidden) {
  const char *what = hidden ? "hidden layer" : "pooled bias";
  fc->inputs = inputs, fc->outputs = outputs;
  fc->weights = read_wide_weights(r, (size_t)(inputs * outputs), what);
  fc->bias = read_biases(r, outputs);
  fc->shift = read_shifts(r, outputs, hidden ? 30 : 24, what);
  fc->multiplier = hidden ? read_multipliers(r, outputs, 256, 511, what) : NULL;
  for (int32_t o = 0; o < outputs; o++)
    if (8128 * sum_wide(fc->weights + (size_t)o * (size_t)inputs, inputs) + magnitude(fc->bias[o]) >= 1 << 30)
      fail(r, GO_ERR_BOUNDS, "A %s's sums can leave 30 bits.", what);
}

static void read_logit(reader *r, go_logit *logit, int32_t inputs, int pooled, int32_t limit) {
  logit->inputs = inputs, logit->limit = limit;
  logit->weights = read_wide_weights(r, (size_t)inputs, "logit");
  logit->bias = to_i32(read_u32(r->at));
  logit->multiplier = (int32_t)read_u16(r->at + 4);
  logit->shift = r->at[6];
  r->at += 7;
  if (logit->multiplier < 1 || logit->multiplier > 32767)
    fail(r, GO_ERR_BOUNDS, "A logit's multiplier is 1 to 32767, not %d.", logit->multiplier);
  if (logit->shift < 1 || logit->shift > 46) fail(r, GO_ERR_BOUNDS, "A logit's shift is 1 to 46, not %d.", logit->shift);
  if ((pooled ? 8128 : 127) * sum_wide(logit->weights, inputs) + magnitude(logit->bias) >= 1 << 30)
    fail(r, GO_ERR_BOUNDS, "A logit's sums can leave 30 bits.");
}

static void read_body(reader *r, go_net *net) {
  int32_t c = net->channels, k = net->head, h = net->hidden_width;
  enter(r, "stem", -1), read_conv(r, &net->stem, GO_FEATURE_PLANES, c, 9, 1);
  for (int32_t i = 0; i < net->blocks && r->status == GO_OK; i++) {
    go_residual *block = &net->block[i];
    enter(r, "norm", i), read_norm(r, &block->norm, c);
    enter(r, "conv1", i), read_conv(r, &block->conv1, c, c, 9, 0);
    if (go_net_is_pooled(i)) enter(r, "pool", i), read_connected(r, &block->pool, 2 * c, c, 0);
    enter(r, "conv2", i), read_conv(r, &block->conv2, c, c, 9, 1);
  }
  if (r->status != GO_OK) return;
  enter(r, "tip", -1), read_norm(r, &net->tip, c);
  enter(r, "pool_conv", -1), read_conv(r, &net->pool_conv, c, k, 1, 0);
  enter(r, "policy_conv", -1), read_conv(r, &net->policy_conv, c, k, 1, 0);
  enter(r, "policy_pool", -1), read_connected(r, &net->policy_pool, 2 * k, k, 0);
  enter(r, "policy_point", -1), read_logit(r, &net->policy_point, k, 0, GO_NET_LIMIT);
  enter(r, "policy_pass", -1), read_logit(r, &net->policy_pass, 2 * k, 1, GO_NET_LIMIT);
  enter(r, "value_conv", -1), read_conv(r, &net->value_conv, c, k, 1, 0);
  enter(r, "value_hidden", -1), read_connected(r, &net->hidden, 3 * k, h, 1);
  enter(r, "value", -1), read_logit(r, &net->value, h, 0, GO_NET_LIMIT);
  enter(r, "score_mean", -1), read_logit(r, &net->score_mean, h, 0, GO_NET_SCORE_LIMIT);
  enter(r, "score_spread", -1), read_logit(r, &net->score_spread, h, 0, GO_NET_SCORE_LIMIT);
  enter(r, "ownership", -1), read_logit(r, &net->ownership, k, 0, GO_NET_LIMIT);
}

/* ---- where a file ends ---------------------------------------------------------------------------------- */

typedef struct part {
  const char *name;
  size_t bytes;
} part;

/* The part that byte `*at` of a row of them lies in, NULL after all; takes the parts before it off `*at`. */
static const char *part_at(size_t *at, const part *parts, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (*at < parts[i].bytes) return parts[i].name;
    *at -= parts[i].bytes;
  }
  return NULL;
}

static size_t conv_bytes(size_t inputs, size_t outputs, size_t taps) { return outputs * (inputs * taps + 7); }

/* The name of the layer that has byte `at` of a body. */
static void name_layer_at(char *name, size_t len, size_t at, int32_t blocks, int32_t channels) {
  size_t c = (size_t)channels, k = (size_t)go_net_head(channels), h = 2 * k;
  const part stem = {"stem", conv_bytes(GO_FEATURE_PLANES, c, 9)};
  const part head[] = {{"tip", 4 * c},
                       {"pool_conv", conv_bytes(c, k, 1)},
                       {"policy_conv", conv_bytes(c, k, 1)},
                       {"policy_pool", 2 * k * k + 5 * k},
                       {"policy_point", k + 7},
                       {"policy_pass", 2 * k + 7},
                       {"value_conv", conv_bytes(c, k, 1)},
                       {"value_hidden", conv_bytes(3 * k, h, 1)},
                       {"value", h + 7},
                       {"score_mean", h + 7},
                       {"score_spread", h + 7},
                       {"ownership", k + 7}};
  int32_t block = -1;
  const char *found = part_at(&at, &stem, 1);
  for (int32_t i = 0; !found && i < blocks; i++) {
    const size_t pool = go_net_is_pooled(i) ? 2 * c * c + 5 * c : 0;
    const part parts[] = {{"norm", 4 * c}, {"conv1", conv_bytes(c, c, 9)}, {"pool", pool}, {"conv2", conv_bytes(c, c, 9)}};
    found = part_at(&at, parts, sizeof parts / sizeof *parts);
    if (found) block = i;
  }
  if (!found) found = part_at(&at, head, sizeof head / sizeof *head);
  name_layer(name, len, found ? found : "ownership", block);
}

/* ---- file ----------------------------------------------------------------------------------------------- */

static int check_frame(reader *r, const uint8_t *file, size_t len, int32_t *blocks, int32_t *channels) {
  if (len < GO_NET_HEADER + GO_NET_DIGEST) return fail(r, GO_ERR_FORMAT, "The network file is shorter than its header.");
  if (memcmp(file, GO_NET_MAGIC, 8) != 0) return fail(r, GO_ERR_FORMAT, "This is not a network file.");
  uint32_t version = read_u32(file + 8), features = read_u16(file + 12), planes = read_u16(file + 14);
  if (version != GO_NET_VERSION || features != GO_NET_FEATURES || planes != GO_FEATURE_PLANES)
    return fail(r, GO_ERR_FORMAT, "The network file has version %u, features %u, which this build does not read.",
                (unsigned)version, (unsigned)features);
  *blocks = (int32_t)read_u16(file + 16), *channels = (int32_t)read_u16(file + 18);
  if (*blocks < 1 || *blocks > GO_NET_BLOCKS_MAX)
    return fail(r, GO_ERR_FORMAT, "A network has 1 to %d blocks, not %d.", GO_NET_BLOCKS_MAX, *blocks);
  if (*channels < 16 || *channels > GO_NET_CHANNELS_MAX || *channels % 16 != 0)
    return fail(r, GO_ERR_FORMAT, "Channels are a multiple of 16 from 16 to %d, not %d.", GO_NET_CHANNELS_MAX, *channels);
  uint32_t body = go_net_body(*blocks, *channels), said = read_u32(file + 20);
  size_t whole = (size_t)GO_NET_HEADER + body + GO_NET_DIGEST;
  char name[32];
  if (said < body) {
    name_layer_at(name, sizeof name, said, *blocks, *channels);
    return fail(r, GO_ERR_FORMAT, "The network file's body of %u bytes does not fit b%dc%d: it ends in layer %s.",
                (unsigned)said, *blocks, *channels, name);
  }
  if (said > body)
    return fail(r, GO_ERR_FORMAT, "The network file's body of %u bytes does not fit b%dc%d.", (unsigned)said, *blocks,
                *channels);
  if (len < (size_t)GO_NET_HEADER + body) {
    name_layer_at(name, sizeof name, len - GO_NET_HEADER, *blocks, *channels);
    return fail(r, GO_ERR_FORMAT, "The network file ends early, in layer %s: it has %zu bytes, not %zu.", name, len, whole);
  }
  if (len != whole) return fail(r, GO_ERR_FORMAT, "The network file has %zu bytes, not %zu.", len, whole);
  uint8_t digest[GO_NET_DIGEST];
  go_sha256(file, len - GO_NET_DIGEST, digest);
  if (memcmp(digest, file + len - GO_NET_DIGEST, GO_NET_DIGEST) != 0)
    return fail(r, GO_ERR_FORMAT, "The network file is damaged: its digest differs.");
  return GO_OK;
}

int go_net_load(const uint8_t *file, size_t len, go_net **out, char *why, size_t why_len) {
  reader r = {.why = why, .why_len = why_len};
  int32_t blocks = 0, channels = 0;
  *out = NULL;
  if (why && why_len > 0) why[0] = '\0';
  if (check_frame(&r, file, len, &blocks, &channels) != GO_OK) return r.status;

  size_t arena = arena_bytes(len, blocks);
  go_net *net = calloc(1, sizeof *net);
  if (net) net->block = calloc((size_t)blocks, sizeof *net->block);
  if (net) net->arena = aligned_alloc(64, (arena + 63) / 64 * 64);
  if (!net || !net->block || !net->arena) {
    go_net_free(net);
    return fail(&r, GO_ERR_MEMORY, "No memory for the network.");
  }
  net->blocks = blocks, net->channels = channels;
  net->head = go_net_head(channels), net->hidden_width = 2 * net->head;
  r.at = file + GO_NET_HEADER;
  r.free = net->arena, r.end = net->arena + arena / 64 * 64;
  read_body(&r, net);
  if (r.status != GO_OK) {
    go_net_free(net);
    return r.status;
  }
  *out = net;
  return GO_OK;
}

void go_net_free(go_net *net) {
  if (!net) return;
  free(net->block);
  free(net->arena);
  free(net);
}

int32_t go_net_blocks(const go_net *net) { return net->blocks; }
int32_t go_net_channels(const go_net *net) { return net->channels; }

int64_t go_net_macs(const go_net *net, int32_t rows, int32_t cols) {
  int64_t n = net->blocks, c = net->channels, k = net->head, h = net->hidden_width;
  int64_t a_point = 9 * GO_FEATURE_PLANES * c + n * 2 * 9 * c * c + 3 * c * k + 2 * k;
  int64_t once = n / 2 * 2 * c * c + 2 * k * k + 2 * k + 3 * k * h + 3 * h;
  return a_point * rows * cols + once;
}
