#ifndef GO_LEAF_H
#define GO_LEAF_H
/* A position on its way to a network and back: its planes turned by the drawn symmetry, and the output turned back. */
#include "cache.h"

enum { GO_SEED_BYTES = 32, GO_PLANES_MAX = GO_FEATURE_PLANES * GO_MAX_POINTS };

typedef struct go_leaf {
  const go_net *net;
  int32_t size, symmetry; /* the symmetry that turned the planes, 0..7 */
  uint8_t input[GO_SEED_BYTES + GO_PLANES_MAX]; /* game seed, then the planes */
  go_key key;
  int32_t policy[GO_MAX_POINTS + 1];
} go_leaf;

static inline size_t go_leaf_points(const go_leaf *leaf) { return (size_t)leaf->size * (size_t)leaf->size; }
static inline const uint8_t *go_leaf_planes(const go_leaf *leaf) { return leaf->input + GO_SEED_BYTES; }

/* Sets planes and key for a position of a square board; `game_no` names the game within its thread. */
int go_leaf_set(go_leaf *leaf, const go_game *game, const go_net *net, const uint8_t game_seed[32], uint64_t game_no);
/* Turns the planes by the symmetry that is drawn from game seed and planes: they are then what the network is given. */
void go_leaf_turn(go_leaf *leaf);
/* What the network said of the turned planes, in the orientation of the board; the policy holds until the leaf's next. */
go_answer go_leaf_answer(go_leaf *leaf, const go_output *output);

#endif
