#include "leaf.h"

#include <stdlib.h>
#include <string.h>

#include "game.h"

enum { PLANES_MAX = GO_FEATURE_PLANES * GO_MAX_POINTS, SEED_BYTES = 32, SYMMETRIES = 8, ENTRIES_MAX = 1 << 14 };

/* The fixed part of a cache entry; the planes and the policy lie in `planes` and `policy` of the leaf. */
typedef struct go_entry {
  uint64_t hash;
  const go_net *net;
  uint32_t game; /* number of the game it belongs to; 0: empty */
  int32_t value, score_mean;
} go_entry;

struct go_leaf {
  int32_t kernel, symmetry;
  const go_net *net[2];
  go_eval *eval[2];
  uint8_t input[SEED_BYTES + PLANES_MAX]; /* game seed, then the planes of the position */
  uint8_t turned[PLANES_MAX];
  go_output output;
  int32_t policy_scratch[GO_MAX_POINTS + 1];
  int64_t evaluations;

  int32_t size; /* of the board that the tables below are for */
  uint16_t image[SYMMETRIES][GO_MAX_POINTS];

  size_t cache_bytes;
  uint32_t game, mask; /* entries - 1 */
  go_entry *entry;     /* NULL: no cache */
  uint8_t *planes;
  int32_t *policy;
};

/* ---- life ----------------------------------------------------------------------------------------------- */

int go_leaf_new(int32_t kernel, size_t cache_bytes, go_leaf **out) {
  if (kernel != GO_KERNEL_BEST && !go_kernel_available(kernel)) return GO_ERR_KERNEL;
  go_leaf *leaf = calloc(1, sizeof *leaf);
  if (!leaf) return GO_ERR_MEMORY;
  leaf->kernel = kernel;
  leaf->cache_bytes = cache_bytes;
  *out = leaf;
  return GO_OK;
}

static void cache_free(go_leaf *leaf) {
  free(leaf->entry);
  free(leaf->planes);
  free(leaf->policy);
  leaf->entry = NULL;
  leaf->planes = NULL;
  leaf->policy = NULL;
}

static void eval_free(go_leaf *leaf) {
  for (int i = 0; i < 2; i++) {
    go_eval_free(leaf->eval[i]);
    leaf->eval[i] = NULL;
    leaf->net[i] = NULL;
  }
}

void go_leaf_free(go_leaf *leaf) {
  if (!leaf) return;
  cache_free(leaf);
  eval_free(leaf);
  free(leaf);
}

int64_t go_leaf_evaluations(const go_leaf *leaf) { return leaf->evaluations; }

int go_leaf_begin(go_leaf *leaf, const go_net *first, const go_net *second, const uint8_t game_seed[32], int32_t symmetry) {
  eval_free(leaf);
  if (first == second) second = NULL;
  const go_net *nets[2] = {first, second};
  for (int i = 0; i < 2; i++) {
    if (!nets[i]) continue;
    const int status = go_eval_new(nets[i], leaf->kernel, &leaf->eval[i]);
    if (status != GO_OK) return status;
    leaf->net[i] = nets[i];
  }
  memcpy(leaf->input, game_seed, SEED_BYTES);
  leaf->symmetry = symmetry;
  if (++leaf->game == 0) { /* the number wrapped: old entries could be taken for new ones */
    cache_free(leaf);
    leaf->size = 0;
    leaf->game = 1;
  }
  return GO_OK;
}

/* ---- tables for a board size ---------------------------------------------------------------------------- */

/* Symmetry k: bit 2 swaps row and column, then bit 0 mirrors the rows and bit 1 the columns. */
static void symmetry_tables(go_leaf *leaf, int32_t size) {
  for (int k = 0; k < SYMMETRIES; k++)
    for (int32_t p = 0; p < size * size; p++) {
      int32_t row = p / size, col = p % size;
      if (k & 4) {
        const int32_t swap = row;
        row = col;
        col = swap;
      }
      if (k & 1) row = size - 1 - row;
      if (k & 2) col = size - 1 - col;
      leaf->image[k][p] = (uint16_t)(row * size + col);
    }
}

/* The cache is a help, not a need: without memory for it the leaf works without. */
static void set_size(go_leaf *leaf, int32_t size) {
  if (leaf->size == size) return;
  cache_free(leaf);
  symmetry_tables(leaf, size);
  leaf->size = size;
  const size_t points = (size_t)size * (size_t)size;
  const size_t each = sizeof(go_entry) + GO_FEATURE_PLANES * points + sizeof(int32_t) * (points + 1);
  size_t entries = ENTRIES_MAX;
  while (entries * each > leaf->cache_bytes && entries > 0) entries /= 2;
  if (entries == 0) return;
  leaf->entry = calloc(entries, sizeof *leaf->entry);
  leaf->planes = malloc(entries * GO_FEATURE_PLANES * points);
  leaf->policy = malloc(entries * (points + 1) * sizeof(int32_t));
  leaf->mask = (uint32_t)entries - 1;
  if (!leaf->entry || !leaf->planes || !leaf->policy) cache_free(leaf);
}

/* ---- evaluation ----------------------------------------------------------------------------------------- */

/* A hash that spreads; equality is decided by the planes themselves. */
static uint64_t spread(const uint8_t *data, size_t len) {
  uint64_t h = 0x9e3779b97f4a7c15u ^ len;
  while (len >= 8) {
    uint64_t word;
    memcpy(&word, data, 8);
    h = (h ^ word) * 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    data += 8;
    len -= 8;
  }
  for (size_t i = 0; i < len; i++) h = (h ^ data[i]) * 0xd6e8feb86659fd93u;
  return h ^ h >> 32;
}

/* Evaluates the planes in leaf->input, turned by the drawn symmetry; the policy goes to `policy`. */
static int evaluate(go_leaf *leaf, const go_net *net, int32_t size, int32_t *policy) {
  const size_t points = (size_t)size * (size_t)size, len = GO_FEATURE_PLANES * points;
  const uint8_t *planes = leaf->input + SEED_BYTES;
  int k = 0;
  if (leaf->symmetry) {
    uint8_t digest[32];
    go_sha256(leaf->input, SEED_BYTES + len, digest);
    k = digest[0] & 7;
  }
  const uint16_t *image = leaf->image[k];
  if (k) {
    for (size_t plane = 0; plane < GO_FEATURE_PLANES; plane++)
      for (size_t p = 0; p < points; p++) leaf->turned[plane * points + image[p]] = planes[plane * points + p];
    planes = leaf->turned;
  }
  go_eval *eval = net == leaf->net[0] ? leaf->eval[0] : net == leaf->net[1] ? leaf->eval[1] : NULL;
  if (!eval) return GO_ERR_ARGUMENT;
  const int status = go_eval_run(eval, size, size, 1, planes, len, &leaf->output);
  if (status != GO_OK) return status;
  leaf->evaluations++;
  for (size_t p = 0; p < points; p++) policy[p] = leaf->output.policy[image[p]];
  policy[points] = leaf->output.policy[points];
  return GO_OK;
}

int go_leaf_run(go_leaf *leaf, const go_net *net, const go_game *game, go_answer *out) {
  const int32_t size = game->rules.rows;
  if (size != game->rules.cols) return GO_ERR_ARGUMENT;
  set_size(leaf, size);
  const size_t points = (size_t)size * (size_t)size, len = GO_FEATURE_PLANES * points;
  uint8_t *planes = leaf->input + SEED_BYTES;
  int status = go_game_features(game, planes, len);
  if (status != GO_OK) return status;
  if (!leaf->entry) {
    status = evaluate(leaf, net, size, leaf->policy_scratch);
    *out = (go_answer){leaf->policy_scratch, leaf->output.value, leaf->output.score_mean};
    return status;
  }
  /* The symmetry is a function of game seed and planes, so equal planes within a game mean an equal symmetry. */
  const uint64_t hash = spread(planes, len);
  const size_t slot = (size_t)(hash & leaf->mask);
  go_entry *entry = leaf->entry + slot;
  int32_t *policy = leaf->policy + slot * (points + 1);
  if (entry->game != leaf->game || entry->net != net || entry->hash != hash ||
      memcmp(leaf->planes + slot * len, planes, len) != 0) {
    entry->game = 0;
    status = evaluate(leaf, net, size, policy);
    if (status != GO_OK) return status;
    memcpy(leaf->planes + slot * len, planes, len);
    *entry = (go_entry){hash, net, leaf->game, leaf->output.value, leaf->output.score_mean};
  }
  *out = (go_answer){policy, entry->value, entry->score_mean};
  return GO_OK;
}
