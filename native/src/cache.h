#ifndef GO_CACHE_H
#define GO_CACHE_H
/* Evaluations that one thread's games keep for themselves: found by the game and all input bytes, never by a hash alone.
 *
 * A cache is a help, not a need: what it holds changes how often a network is asked, never a result. */
#include "game.h"

enum { GO_KEY_PLANE = 1 + (GO_MAX_POINTS + 7) / 8, GO_KEY_MAX = GO_FEATURE_PLANES * GO_KEY_PLANE };

/* What a network says, in the orientation of the board; `policy` holds until the cache's next call. */
typedef struct go_answer {
  const int32_t *policy;     /* Q12 logits, the pass last */
  int32_t value, score_mean; /* side to move's view */
} go_answer;

/* Which evaluation: a game of this thread, a network, and the planes without loss: a byte of value and a bit a point
 * for each. */
typedef struct go_key {
  uint64_t hash, game;
  const go_net *net;
  int32_t size; /* of the board; 0: planes that hold two values beside 0, which are not cached */
  size_t len;
  uint8_t bytes[GO_KEY_MAX];
} go_key;

/* Sets the key of `planes`, GO_FEATURE_PLANES of size * size bytes in 0..127. */
void go_key_set(go_key *key, uint64_t game, const go_net *net, const uint8_t *planes, int32_t size);

typedef struct go_cache go_cache;

/* `bytes`: most memory for each board size that it is used with; with too little for any entry it holds nothing. */
int go_cache_new(size_t bytes, go_cache **out);
void go_cache_free(go_cache *cache);
/* 1 and the answer if the key's evaluation is there. */
int go_cache_find(go_cache *cache, const go_key *key, go_answer *out);
/* Keeps an answer, in the place of the one of its set that was used longest ago. */
void go_cache_add(go_cache *cache, const go_key *key, const go_answer *answer);

#endif
