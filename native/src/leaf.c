#include "leaf.h"

#include <string.h>

/* ---- symmetries ----------------------------------------------------------------------------------------- */

/* Where symmetry k takes the points: point (row, col) goes to origin + row * down + col * right. */
typedef struct go_turn {
  int32_t origin, down, right;
} go_turn;

/* Bit 2 swaps row and column, then bit 0 mirrors the rows and bit 1 the columns. */
static go_turn turn_of(int32_t k, int32_t size) {
  const int32_t row = k & 1 ? -size : size, col = k & 2 ? -1 : 1;
  return (go_turn){.origin = (k & 1 ? (size - 1) * size : 0) + (k & 2 ? size - 1 : 0),
                   .down = k & 4 ? col : row,
                   .right = k & 4 ? row : col};
}

void go_leaf_turn(go_leaf *leaf) {
  const size_t points = go_leaf_points(leaf), len = GO_FEATURE_PLANES * points;
  uint8_t digest[32], turned[GO_PLANES_MAX];
  go_sha256(leaf->input, GO_SEED_BYTES + len, digest);
  leaf->symmetry = digest[0] & 7;
  if (leaf->symmetry == 0) return;
  const go_turn turn = turn_of(leaf->symmetry, leaf->size);
  const uint8_t *from = leaf->input + GO_SEED_BYTES;
  for (uint8_t *plane = turned; plane < turned + len; plane += points)
    for (int32_t row = 0; row < leaf->size; row++) {
      uint8_t *to = plane + turn.origin + row * turn.down;
      for (int32_t col = 0; col < leaf->size; col++) to[col * turn.right] = *from++;
    }
  memcpy(leaf->input + GO_SEED_BYTES, turned, len);
}

go_answer go_leaf_answer(go_leaf *leaf, const go_output *output) {
  const size_t points = go_leaf_points(leaf);
  const go_turn turn = turn_of(leaf->symmetry, leaf->size);
  int32_t *to = leaf->policy;
  for (int32_t row = 0; row < leaf->size; row++) {
    const int32_t *from = output->policy + turn.origin + row * turn.down;
    for (int32_t col = 0; col < leaf->size; col++) *to++ = from[col * turn.right];
  }
  *to = output->policy[points];
  return (go_answer){leaf->policy, output->value, output->score_mean};
}

/* ---- positions ------------------------------------------------------------------------------------------ */

int go_leaf_set(go_leaf *leaf, const go_game *game, const go_net *net, const uint8_t game_seed[32], uint64_t game_no) {
  if (game->rules.rows != game->rules.cols) return GO_ERR_ARGUMENT;
  leaf->net = net;
  leaf->size = game->rules.rows;
  leaf->symmetry = 0;
  memcpy(leaf->input, game_seed, GO_SEED_BYTES);
  const size_t points = go_leaf_points(leaf);
  const int status = go_game_features(game, leaf->input + GO_SEED_BYTES, GO_FEATURE_PLANES * points);
  if (status == GO_OK) go_key_set(&leaf->key, game_no, net, go_leaf_planes(leaf), leaf->size);
  return status;
}
