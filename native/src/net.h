/* Inside view of a loaded network: what the loader fills and the evaluation reads. Spec: docs/spec/network.md. */
#ifndef GO_NET_H
#define GO_NET_H
#include "go_engine.h"

enum {
  GO_NET_HEADER = 24,
  GO_NET_DIGEST = 32,
  GO_NET_VERSION = 1,
  GO_NET_FEATURES = 1,
  GO_NET_BLOCKS_MAX = 64,
  GO_NET_CHANNELS_MAX = 224,
  GO_NET_HEAD_MAX = 80,
  GO_NET_VECTOR = 16, /* outputs that one packed row of weights holds */
  GO_NET_LIMIT = 1 << 17,
  GO_NET_SCORE_LIMIT = 1 << 21
};

#define GO_NET_MAGIC "GONODENN"

typedef struct go_conv {
  int32_t inputs, outputs, taps;
  const int8_t *weights;     /* [out][tap][in], as in the file */
  const int8_t *packed;      /* [out / 16][tap][in / 4][16][4] */
  const int32_t *bias;       /* b + half(s) */
  const int32_t *shift;
  const int16_t *multiplier;
} go_conv;

typedef struct go_norm {
  const int16_t *bias, *multiplier;
} go_norm;

/* Pooled bias or hidden layer; `multiplier` is NULL for the former. */
typedef struct go_connected {
  int32_t inputs, outputs;
  const int16_t *weights;    /* [out][in], widened */
  const int32_t *bias;
  const int32_t *shift;
  const int16_t *multiplier;
} go_connected;

typedef struct go_logit {
  int32_t inputs;
  const int16_t *weights;
  int32_t bias, multiplier, shift, limit;
} go_logit;

/* One residual block of the tower. */
typedef struct go_residual {
  go_norm norm;
  go_conv conv1, conv2;
  go_connected pool;         /* outputs 0: the block has none */
} go_residual;

struct go_net {
  int32_t blocks, channels, head, hidden_width;
  go_conv stem;
  go_residual *block;
  go_norm tip;
  go_conv pool_conv, policy_conv, value_conv;
  go_connected policy_pool, hidden;
  go_logit policy_point, policy_pass, value, score_mean, score_spread, ownership;
  uint8_t *arena;            /* all arrays above */
};

static inline int32_t go_net_head(int32_t channels) { return 16 * ((channels + 47) / 48); }
static inline int32_t go_net_is_pooled(int32_t block) { return block % 2 == 1; }

/* Bytes of a file's body; blocks and channels must be in range. */
static inline uint32_t go_net_body(int32_t blocks, int32_t channels) {
  uint32_t n = (uint32_t)blocks, c = (uint32_t)channels, k = (uint32_t)go_net_head(channels), h = 2 * k;
  uint32_t tower = c * (GO_FEATURE_PLANES * 9 + 7) + n * (4 * c + 2 * c * (9 * c + 7)) + n / 2 * (2 * c * c + 5 * c) + 4 * c;
  uint32_t policy = 2 * k * (c + 7) + 2 * k * k + 5 * k + k + 7 + 2 * k + 7;
  return tower + policy + k * (c + 7) + h * (3 * k + 7) + 3 * (h + 7) + k + 7;
}

#endif
