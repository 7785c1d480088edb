#ifndef GO_RANDOM_NET_H
#define GO_RANDOM_NET_H
/* Random numbers for tests, and networks whose numbers are anywhere that a loader allows (docs/spec/network.md, "File"). */
#include "../src/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- random numbers (splitmix64): the same on every machine ---------------------------------------------- */

static inline uint64_t draw_word(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* From low to high, both included. */
static inline int32_t draw_between(uint64_t *state, int32_t low, int32_t high) {
  return low + (int32_t)(draw_word(state) % (uint64_t)((int64_t)high - low + 1));
}

/* ---- layers ---------------------------------------------------------------------------------------------- */

typedef struct net_writer {
  uint8_t *at;
  uint64_t state;
  int extreme; /* convolution weights at their limits, nearly all of one sign in a layer */
} net_writer;

static inline void put_number(net_writer *w, int32_t value, int bytes) {
  for (int i = 0; i < bytes; i++) *w->at++ = (uint8_t)((uint32_t)value >> (8 * i));
}

/* One in twenty from the whole range, the others from the usual one, which keeps activations alive. */
static inline int32_t draw_number(net_writer *w, int32_t low, int32_t high, int32_t usual_low, int32_t usual_high) {
  if (draw_word(&w->state) % 20 == 0) return draw_between(&w->state, low, high);
  return draw_between(&w->state, usual_low, usual_high);
}

static inline void put_numbers(net_writer *w, int32_t count, int bytes, int32_t low, int32_t high, int32_t usual_low,
                               int32_t usual_high) {
  for (int32_t i = 0; i < count; i++) put_number(w, draw_number(w, low, high, usual_low, usual_high), bytes);
}

static inline void put_conv(net_writer *w, int32_t fan_in, int32_t outputs, int stream) {
  int32_t shift[GO_NET_CHANNELS_MAX], top = 0, room = (1 << 24) - 1 - 127 * 64 * fan_in;
  int32_t sign = w->extreme && draw_word(&w->state) % 3 == 0 ? -64 : 64;
  for (int32_t i = 0; i < fan_in * outputs; i++)
    put_number(w, !w->extreme ? draw_between(&w->state, -64, 64) : draw_word(&w->state) % 32 ? sign : -sign, 1);
  while (top < 24 && 1 << (top + 1) < room) top++;
  for (int32_t o = 0; o < outputs; o++) {
    shift[o] = w->extreme ? draw_number(w, 0, top, 6, 11) : draw_number(w, 0, top, 0, 6);
    int32_t most = room - (1 << shift[o]), usual = 1 << (shift[o] + 13 < 24 ? shift[o] + 13 : 24);
    if (most > usual) most = usual;
    put_number(w, draw_between(&w->state, -most, most), 4);
  }
  for (int32_t o = 0; o < outputs; o++) put_number(w, shift[o], 1);
  for (int32_t o = 0; o < outputs; o++)
    put_number(w, stream ? draw_between(&w->state, 16384, 32767) : draw_between(&w->state, 256, 511), 2);
}

static inline void put_activation(net_writer *w, int32_t channels) {
  put_numbers(w, channels, 2, -32768, 32767, -4000, 4000);
  put_numbers(w, channels, 2, 1, 32767, 100, 500);
}

/* Pooled bias, or the hidden layer. */
static inline void put_connected(net_writer *w, int32_t inputs, int32_t outputs, int hidden) {
  for (int32_t i = 0; i < inputs * outputs; i++) put_number(w, draw_between(&w->state, -127, 127), 1);
  int32_t usual = hidden ? 1 << 20 : 1 << 21;
  put_numbers(w, outputs, 4, -(1 << 28), 1 << 28, -usual, usual);
  put_numbers(w, outputs, 1, 0, hidden ? 30 : 24, 5, hidden ? 10 : 9);
  if (hidden) put_numbers(w, outputs, 2, 256, 511, 256, 511);
}

static inline void put_one_logit(net_writer *w, int32_t inputs, int pooled) {
  for (int32_t i = 0; i < inputs; i++) put_number(w, draw_between(&w->state, -127, 127), 1);
  put_number(w, draw_number(w, -(1 << 29), 1 << 29, -4096, 4096), 4);
  put_number(w, draw_between(&w->state, 1, 32767), 2);
  put_number(w, pooled ? draw_number(w, 1, 46, 22, 27) : draw_number(w, 1, 46, 15, 20), 1);
}

/* ---- files ----------------------------------------------------------------------------------------------- */

/* A network file that the seed draws; *len its bytes. The caller frees it. */
static inline uint8_t *random_net_file(uint64_t seed, int32_t blocks, int32_t c, int extreme, size_t *len) {
  const uint8_t digest[32] = {0};
  int32_t k = go_net_head(c), h = 2 * k;
  *len = 0;
  go_net_first(digest, blocks, c, NULL, len);
  uint8_t *file = malloc(*len);
  if (!file || go_net_first(digest, blocks, c, file, len) != GO_OK) abort();
  net_writer w = {file + GO_NET_HEADER, seed, extreme};
  put_conv(&w, 9 * GO_FEATURE_PLANES, c, 1);
  for (int32_t i = 0; i < blocks; i++) {
    put_activation(&w, c);
    put_conv(&w, 9 * c, c, 0);
    if (go_net_is_pooled(i)) put_connected(&w, 2 * c, c, 0);
    put_conv(&w, 9 * c, c, 1);
  }
  put_activation(&w, c);
  put_conv(&w, c, k, 0);
  put_conv(&w, c, k, 0);
  put_connected(&w, 2 * k, k, 0);
  put_one_logit(&w, k, 0);
  put_one_logit(&w, 2 * k, 1);
  put_conv(&w, c, k, 0);
  put_connected(&w, 3 * k, h, 1);
  for (int i = 0; i < 3; i++) put_one_logit(&w, h, 0);
  put_one_logit(&w, k, 0);
  if (w.at != file + *len - GO_NET_DIGEST) abort();
  go_sha256(file, *len - GO_NET_DIGEST, w.at);
  return file;
}

static inline go_net *random_net(uint64_t seed, int32_t blocks, int32_t channels, int extreme) {
  size_t len;
  char why[200];
  uint8_t *file = random_net_file(seed, blocks, channels, extreme, &len);
  go_net *net;
  if (go_net_load(file, len, &net, why, sizeof why) != GO_OK) {
    fprintf(stderr, "%s\n", why);
    abort();
  }
  free(file);
  return net;
}

#endif
