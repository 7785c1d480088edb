#ifndef GO_SEARCH_H
#define GO_SEARCH_H
/* Deterministic search (docs/spec/search.md): one tree, one thread, memory kept from ply to ply.
 *
 * search.c runs a ply, which stops wherever it needs a network's evaluation; tree.c grows the tree, choose.c reads the
 * move and the policy target off it, trace.c digests it. */
#include <stdatomic.h>

#include "cache.h"

enum { GO_NO_NODE = 0xffffffff, GO_MICRO = 1000000 };

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

/* How sequential halving gives out `visits` visits: `level` is the visits that the next move has, `written` of `width`
 * moves on it have had theirs, and `rounds` levels are left before the width halves. */
typedef struct go_halving {
  int32_t visits, least, log2, width, written, rounds;
  uint32_t level;
} go_halving;

/* A Gumbel root, by move. */
typedef struct go_gumbel {
  double logit[GO_MAX_POINTS + 1];
  double base[GO_MAX_POINTS + 1]; /* noise and logit */
  double first;                   /* the root's utility after its own evaluation */
  go_halving halving;
} go_gumbel;

/* The numbers of a config as the search uses them in one ply. */
typedef struct go_tuning {
  int32_t kind, visits;
  double cpuct, fpu_reduction, root_fpu_reduction, noise_weight, noise_alpha, forced, score_utility;
  double squash; /* square of the score, in points, at which the squash gives 1 / sqrt 2 */
  int32_t root_temperature_micro;
} go_tuning;

typedef struct go_search {
  go_node *node;
  uint32_t nodes, node_capacity;
  double *edge_prior;  /* -1 once visited */
  uint16_t *edge_move;
  uint32_t edges, edge_capacity;
  uint8_t *trace;
  size_t trace_capacity;
  go_tuning tuning;
  go_gumbel gumbel;
  /* the ply under way; what it was begun with is the caller's */
  const go_player *player;
  const go_search_config *config;
  const go_search_ids *ids;
  const go_game *root;
  go_game *game;       /* where the visit is */
  uint32_t leaf;       /* the node that waits for its evaluation, or GO_NO_NODE */
  int32_t colour;      /* to move at the root */
} go_search;

/* ---- search.c ------------------------------------------------------------------------------------------- */

int go_search_new(go_search **out);
void go_search_free(go_search *search);
/* GO_OK if every number lies in its range and the root is one that is there. */
int go_search_config_check(const go_search_config *config);
/* Begins a ply at the position of `game`. All five are read until it is finished. */
int go_search_begin(go_search *search, const go_player *player, const go_search_config *config,
                    const go_search_ids *ids, const go_game *game);
/* Goes on to the next position that the player's network has to evaluate, in *leaf until the answer; NULL: the ply has
 * its visits. GO_ERR_STOPPED when *stop (or NULL) is not 0. */
int go_search_advance(go_search *search, const atomic_int *stop, const go_game **leaf);
/* What the network says of that position; one call for each. */
int go_search_answer(go_search *search, const go_answer *answer);
/* The record of a ply that has its visits. */
int go_search_finish(go_search *search, go_ply *out);

/* ---- tree.c --------------------------------------------------------------------------------------------- */

/* Memory for so many nodes in all. */
int go_tree_reserve(go_search *search, uint32_t count);
/* A new node without edges below `parent` (or GO_NO_NODE). */
uint32_t go_tree_add(go_search *search, uint32_t parent, uint16_t move, double prior);
/* Gives a node its edges: the legal moves in order, with priors from `logits` (NULL: uniform). */
int go_tree_add_edges(go_search *search, uint32_t at, const go_game *game, const int32_t *logits);
/* Sets `unvisited` of a node whose edges' priors have changed. */
void go_tree_rank(go_search *search, uint32_t at);
/* The child to descend to; or GO_NO_NODE, and *edge is to be opened. Not for a node without edges. */
uint32_t go_tree_select(const go_search *search, uint32_t at, uint32_t *edge);
/* The new node of an unvisited edge. */
uint32_t go_tree_open(go_search *search, uint32_t at, uint32_t edge);
/* One visit more with these sums, in the view of the root's side, for a node and all above it. */
void go_tree_back_up(go_search *search, uint32_t at, int64_t value, int64_t score);
/* What the selection maximises for a visited child with `visits` in place of its own (docs/spec/search.md). */
double go_search_puct(const go_search *search, const go_node *node, const go_node *child, uint32_t visits);

/* ---- gumbel.c ------------------------------------------------------------------------------------------- */

/* `considered` moves (at least 1) that share `visits` visits. */
void go_halving_begin(go_halving *halving, int32_t considered, int32_t visits);
/* How many visits the move that gets the next one has to have. */
uint32_t go_halving_next(go_halving *halving);
/* After the root's own evaluation: draws the noise on `logits` (a move; NULL: uniform). */
void go_gumbel_begin(go_search *search, const int32_t *logits);
/* As go_tree_select, at the root; once for each visit. */
uint32_t go_gumbel_select(go_search *search, uint32_t *edge);
/* The move of a finished tree; weight[move], 0 before, is set for the legal ones. */
int32_t go_gumbel_choose(const go_search *search, uint32_t *weight);

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
