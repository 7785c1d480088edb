#ifndef GO_LEAF_H
#define GO_LEAF_H
/* Evaluation of positions for one thread: the drawn symmetry, the exact network, and a cache within a game. */
#include "go_engine.h"

typedef struct go_leaf go_leaf;

/* What a network says, in the orientation of the board; `policy` holds until the next call. */
typedef struct go_answer {
  const int32_t *policy;     /* Q12 logits, the pass last */
  int32_t value, score_mean; /* side to move's view */
} go_answer;

/* `cache_bytes`: most memory the cache may take; 0: none. */
int go_leaf_new(int32_t kernel, size_t cache_bytes, go_leaf **out);
void go_leaf_free(go_leaf *leaf);
/* Starts a game: every cached evaluation is forgotten, scratch memory for the networks is made. Either may be NULL. */
int go_leaf_begin(go_leaf *leaf, const go_net *first, const go_net *second, const uint8_t game_seed[32], int32_t symmetry);
/* Evaluates the position with `net`, which go_leaf_begin was given. Square boards. */
int go_leaf_run(go_leaf *leaf, const go_net *net, const go_game *game, go_answer *out);
/* Network evaluations since go_leaf_new, cache hits not counted. */
int64_t go_leaf_evaluations(const go_leaf *leaf);

#endif
