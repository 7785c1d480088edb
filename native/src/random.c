#include "random.h"

#include <math.h>

#include "block.h"

/* ---- words and uniform numbers -------------------------------------------------------------------------- */

go_stream go_stream_open(const uint8_t seed[32], uint32_t ply, uint32_t purpose, uint32_t slot) {
  const go_stream stream = {{go_read_u32(seed), go_read_u32(seed + 4)}, {0, slot, ply, purpose}};
  return stream;
}

void go_stream_words(go_stream *stream, uint32_t out[4]) {
  go_philox(stream->counter, stream->key, out);
  stream->counter[0]++;
}

static double unit(uint32_t low, uint32_t high) {
  const uint64_t word = (uint64_t)high << 32 | low;
  return ((double)(word >> 12) + 0.5) * 0x1p-52;
}

void go_stream_pair(go_stream *stream, double out[2]) {
  uint32_t word[4];
  go_stream_words(stream, word);
  out[0] = unit(word[0], word[1]);
  out[1] = unit(word[2], word[3]);
}

/* ---- distributions -------------------------------------------------------------------------------------- */

double go_stream_normal(go_stream *stream) {
  for (;;) {
    double u[2];
    go_stream_pair(stream, u);
    const double x = 2.0 * u[0] - 1.0, y = 2.0 * u[1] - 1.0, s = x * x + y * y;
    if (s < 1.0 && s > 0.0) return x * sqrt(-2.0 * go_log(s) / s);
  }
}

double go_stream_log_gamma(go_stream *stream, double alpha) {
  const double shape = alpha < 1.0 ? alpha + 1.0 : alpha;
  const double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
  double u[2], log_v, log_gamma;
  for (;;) {
    const double x = go_stream_normal(stream), root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double v = root * root * root;
    go_stream_pair(stream, u);
    log_v = go_log(v);
    if (go_log(u[0]) < 0.5 * x * x + d - d * v + d * log_v) break;
  }
  log_gamma = go_log(d) + log_v;
  return alpha < 1.0 ? log_gamma + go_log(u[1]) / alpha : log_gamma;
}

double go_gumbel_draw(const uint8_t seed[32], uint32_t ply, uint16_t move) {
  go_stream stream = go_stream_open(seed, ply, GO_PURPOSE_GUMBEL, move);
  double u[2];
  go_stream_pair(&stream, u);
  return -go_log(-go_log(u[0]));
}

int go_dirichlet(const uint8_t seed[32], uint32_t ply, double total, const uint16_t *moves, int32_t n, double *out) {
  if (!seed || !moves || !out || n < 1 || !(total > 0.0)) return GO_ERR_ARGUMENT;
  const double alpha = total / (double)n;
  double most = 0.0, sum = 0.0;
  for (int32_t i = 0; i < n; i++) {
    go_stream stream = go_stream_open(seed, ply, GO_PURPOSE_NOISE, moves[i]);
    out[i] = go_stream_log_gamma(&stream, alpha);
    if (i == 0 || out[i] > most) most = out[i];
  }
  for (int32_t i = 0; i < n; i++) {
    out[i] = go_exp(out[i] - most);
    sum += out[i];
  }
  for (int32_t i = 0; i < n; i++) out[i] /= sum;
  return GO_OK;
}
