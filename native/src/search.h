#ifndef GO_SEARCH_H
#define GO_SEARCH_H
/* Deterministic PUCT (docs/spec/search.md): one tree, one thread, memory kept from ply to ply.
 *
 * search.c grows the tree, choose.c reads the move and the policy target off it, trace.c digests it. */
#include <stdatomic.h>

#include "game.h"
#include "leaf.h"

enum { GO_NO_NODE = 0xffffffff };

/* One position of the tree. Sums and utility are in the view of the side to move at the root. */
typedef struct go_node {
  int64_t value_sum;   /* 2^-24 */
  int64_t score_sum;   /* 2^-12 points */
  double utility;      /* of the means */
  double prior;        /* of the move that leads here */
  double visited_mass; /* sum of the children's priors, in order of creation */
  uint32_t parent, visits;
  uint32_t first_child, last_child, sibling; /* children in order of creation */
  uint32_t edges;      /* its legal moves start here; 0 of them: the game is over */
  uint16_t edge_count;
  uint16_t unvisited;  /* the unvisited edge with the highest prior, or edge_count */
  uint16_t move;       /* that leads here */
  uint8_t opponent;    /* 1: the other side than at the root is to move */
} go_node;

/* The numbers of a config as the search uses them in one ply. */
typedef struct go_tuning {
  int32_t kind, visits;
  double cpuct, fpu_reduction, root_fpu_reduction, noise_weight, noise_alpha, forced, score_utility;
  double squash; /* square of the score, in points, at which the squash gives 1 / sqrt 2 */
  int32_t root_temperature_micro;
} go_tuning;

typedef struct go_search {
  go_leaf *leaf;
  go_game *game;
  go_node *node;
  uint32_t nodes, node_capacity;
  double *edge_prior;  /* -1 once visited */
  uint16_t *edge_move;
  uint32_t edges, edge_capacity;
  uint8_t *trace;
  size_t trace_capacity;
  go_tuning tuning;
  int32_t colour;      /* to move at the root */
} go_search;

/* ---- search.c ------------------------------------------------------------------------------------------- */

int go_search_new(int32_t kernel, size_t cache_bytes, go_search **out);
void go_search_free(go_search *search);
/* GO_OK if every number lies in its range and the root is one that is there. */
int go_search_config_check(const go_search_config *config);
/* One ply; go_leaf_begin was called for this game with the player's network. GO_ERR_STOPPED once *stop (or NULL)
 * is not 0. */
int go_search_run(go_search *search, const go_player *player, const go_search_config *config, const go_search_ids *ids,
                  const go_game *game, const atomic_int *stop, go_ply *out);
/* What the selection maximises for a visited child with `visits` in place of its own (docs/spec/search.md). */
double go_search_puct(const go_search *search, const go_node *node, const go_node *child, uint32_t visits);

/* ---- choose.c ------------------------------------------------------------------------------------------- */

/* Fills visits, policy_target and move of a finished tree. */
void go_search_choose(const go_search *search, const go_search_config *config, const go_search_ids *ids, int32_t ply,
                      int32_t points, go_ply *out);

/* ---- trace.c -------------------------------------------------------------------------------------------- */

/* D of the tree. */
int go_search_trace(go_search *search, const uint8_t release[32], const go_search_ids *ids, uint32_t ply,
                    uint8_t digest[32]);

/* ---- selftest.c ----------------------------------------------------------------------------------------- */

/* The digest that go_search_selftest compares with the known one. */
int go_search_selftest_digest(int32_t kernel, uint8_t digest[32]);

#endif
