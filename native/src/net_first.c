/* The network that a manifest's digest draws (docs/spec/network.md, "First network"), written as a network file. */
#include "net.h"

#include <string.h>

typedef struct writer {
  uint8_t *at;
  uint32_t key[2];
  uint32_t layer; /* index among the layers that have weights */
} writer;

/* ---- numbers -------------------------------------------------------------------------------------------- */

static void put(writer *w, uint32_t v, int bytes) {
  for (int i = 0; i < bytes; i++) *w->at++ = (uint8_t)(v >> (8 * i));
}

static void put_zeros(writer *w, int32_t bytes) {
  memset(w->at, 0, (size_t)bytes);
  w->at += bytes;
}

static void put_weights(writer *w, int32_t count) {
  for (uint32_t block = 0; count > 0; block++, count -= 16) {
    const uint32_t counter[4] = {block, w->layer, 0, 0};
    uint32_t words[4];
    go_philox(counter, w->key, words);
    for (uint32_t i = 0; i < 16 && i < (uint32_t)count; i++) {
      int32_t byte = (int32_t)(words[i / 4] >> (8 * (i % 4)) & 255);
      *w->at++ = (uint8_t)(((2 * byte + 1) * 129 >> 9) - 64);
    }
  }
  w->layer++;
}

static uint32_t isqrt(uint32_t v) {
  uint32_t root = 0;
  for (uint32_t bit = 1u << 15; bit > 0; bit >>= 1)
    if ((uint64_t)(root + bit) * (root + bit) <= v) root += bit;
  return root;
}

typedef struct scale {
  uint32_t multiplier, shift;
} scale;

/* The first shift from `shift` on at which (factor << shift) div isqrt(65536 fan_in) reaches `low`. */
static scale scaled(uint64_t factor, uint32_t low, uint32_t shift, int32_t fan_in) {
  uint32_t q = isqrt(65536u * (uint32_t)fan_in);
  while ((factor << shift) / q < low) shift++;
  return (scale){(uint32_t)((factor << shift) / q), shift};
}

/* ---- layers --------------------------------------------------------------------------------------------- */

static void put_layer(writer *w, int32_t fan_in, int32_t outputs, scale s) {
  put_weights(w, fan_in * outputs);
  put_zeros(w, 4 * outputs);
  for (int32_t o = 0; o < outputs; o++) put(w, s.shift, 1);
  for (int32_t o = 0; o < outputs; o++) put(w, s.multiplier, 2);
}

static void put_u8_conv(writer *w, int32_t fan_in, int32_t outputs) {
  put_layer(w, fan_in, outputs, scaled(318809, 256, 0, fan_in));
}

static void put_norm(writer *w, int32_t channels, int32_t index) {
  uint32_t multiplier = isqrt((1u << 18) / (uint32_t)(4 + index));
  put_zeros(w, 2 * channels);
  for (int32_t c = 0; c < channels; c++) put(w, multiplier, 2);
}

static void put_pool(writer *w, int32_t inputs, int32_t outputs) {
  put_weights(w, inputs * outputs);
  put_zeros(w, 4 * outputs);
  for (int32_t o = 0; o < outputs; o++) put(w, 8, 1);
}

static void put_logit(writer *w, int32_t inputs, uint64_t factor) {
  scale s = scaled(factor, 16384, 1, inputs);
  put_weights(w, inputs);
  put_zeros(w, 4);
  put(w, s.multiplier, 2);
  put(w, s.shift, 1);
}

static void put_body(writer *w, int32_t blocks, int32_t c) {
  int32_t k = go_net_head(c), h = 2 * k;
  put_layer(w, 9 * GO_FEATURE_PLANES, c, scaled(39850720, 16384, 0, 9 * GO_FEATURE_PLANES));
  for (int32_t i = 0; i < blocks; i++) {
    put_norm(w, c, i);
    put_u8_conv(w, 9 * c, c);
    if (go_net_is_pooled(i)) put_pool(w, 2 * c, c);
    put_layer(w, 9 * c, c, scaled(19925360, 16384, 0, 9 * c));
  }
  put_norm(w, c, blocks);
  put_u8_conv(w, c, k); /* pool_conv */
  put_u8_conv(w, c, k); /* policy_conv */
  put_pool(w, 2 * k, k);
  put_logit(w, k, 62);    /* policy_point */
  put_logit(w, 2 * k, 1); /* policy_pass */
  put_u8_conv(w, c, k);   /* value_conv */
  put_layer(w, 3 * k, h, scaled(2004, 256, 0, 3 * k));
  put_logit(w, h, 62);    /* value */
  put_logit(w, h, 125);   /* score_mean */
  put_logit(w, h, 125);   /* score_spread */
  put_logit(w, k, 623);   /* ownership */
}

int go_net_first(const uint8_t digest[32], int32_t blocks, int32_t channels, uint8_t *out, size_t *len) {
  if (blocks < 1 || blocks > GO_NET_BLOCKS_MAX || channels < 16 || channels > GO_NET_CHANNELS_MAX || channels % 16 != 0)
    return GO_ERR_ARGUMENT;
  uint32_t body = go_net_body(blocks, channels);
  size_t capacity = *len;
  *len = (size_t)GO_NET_HEADER + body + GO_NET_DIGEST;
  if (!out || capacity < *len) return GO_ERR_ARGUMENT;

  static const char label[] = "gonode/init/v1"; /* its final zero byte is hashed, too */
  uint8_t drawn[sizeof label + 32], seed[32];
  memcpy(drawn, label, sizeof label);
  memcpy(drawn + sizeof label, digest, 32);
  go_sha256(drawn, sizeof drawn, seed);
  writer w = {.at = out};
  for (int i = 0; i < 8; i++) w.key[i / 4] |= (uint32_t)seed[i] << (8 * (i % 4));

  memcpy(w.at, GO_NET_MAGIC, 8);
  w.at += 8;
  put(&w, GO_NET_VERSION, 4);
  put(&w, GO_NET_FEATURES, 2);
  put(&w, GO_FEATURE_PLANES, 2);
  put(&w, (uint32_t)blocks, 2);
  put(&w, (uint32_t)channels, 2);
  put(&w, body, 4);
  put_body(&w, blocks, channels);
  go_sha256(out, (size_t)(w.at - out), w.at);
  return GO_OK;
}
