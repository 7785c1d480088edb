#include "search.h"

#include <stdlib.h>
#include <string.h>

#include "exact_math.h"
#include "leaf.h"
#include "random.h"

static const double MICRO = 1e6;
enum { VISITS_MAX = 65535, PLIES_MAX = GO_MAX_MOVES };

/* ---- life ----------------------------------------------------------------------------------------------- */

int go_search_new(go_search **out) {
  *out = calloc(1, sizeof **out);
  return *out ? GO_OK : GO_ERR_MEMORY;
}

void go_search_free(go_search *search) {
  if (!search) return;
  go_game_free(search->game);
  free(search->node);
  free(search->edge_prior);
  free(search->edge_move);
  free(search->trace);
  free(search);
}

static int in_range(int32_t x, int32_t low, int32_t high) { return x >= low && x <= high; }

int go_search_config_check(const go_search_config *c) {
  const int ok =
      in_range(c->root, GO_ROOT_PUCT, GO_ROOT_GUMBEL) && in_range(c->visits_full, 2, VISITS_MAX) &&
      in_range(c->visits_fast, 2, VISITS_MAX) &&
      in_range(c->full_share_ppm, 0, GO_MICRO) && in_range(c->cpuct_micro, 0, 100 * GO_MICRO) &&
      in_range(c->fpu_reduction_micro, 0, 10 * GO_MICRO) && in_range(c->root_fpu_reduction_micro, 0, 10 * GO_MICRO) &&
      in_range(c->noise_weight_ppm, 0, GO_MICRO) &&
      in_range(c->noise_alpha_micro, c->noise_weight_ppm > 0, 1000 * GO_MICRO) &&
      in_range(c->root_temperature_micro, GO_MICRO / 100, 100 * GO_MICRO) &&
      in_range(c->forced_playouts_micro, 0, 100 * GO_MICRO) && in_range(c->score_utility_micro, 0, 10 * GO_MICRO) &&
      in_range(c->temperature_start_micro, 0, 10 * GO_MICRO) && in_range(c->temperature_end_micro, 0, 10 * GO_MICRO) &&
      in_range(c->temperature_halflife, 1, GO_MICRO) && in_range(c->gumbel_considered, 1, GO_MAX_POINTS + 1) &&
      in_range(c->gumbel_noise_micro, 0, 10 * GO_MICRO) && in_range(c->gumbel_c_visit_micro, 0, 1000 * GO_MICRO) &&
      in_range(c->gumbel_c_scale_micro, 0, 100 * GO_MICRO) && in_range(c->symmetry, 0, 1);
  return ok ? GO_OK : GO_ERR_ARGUMENT;
}

/* ---- a leaf --------------------------------------------------------------------------------------------- */

/* The position of a new node. */
static const go_game *position(const go_search *search, uint32_t at) { return at == 0 ? search->root : search->game; }

static void add_noise(go_search *search, const go_search_ids *ids, int32_t ply) {
  const go_node *root = search->node;
  double noise[GO_MAX_POINTS + 1];
  double *prior = search->edge_prior + root->edges;
  const double weight = search->tuning.noise_weight;
  go_dirichlet(ids->game_seed, (uint32_t)ply, search->tuning.noise_alpha, search->edge_move + root->edges,
               root->edge_count, noise);
  for (int32_t i = 0; i < root->edge_count; i++) prior[i] = (1.0 - weight) * prior[i] + weight * noise[i];
}

/* The exact value and score of a finished game. */
static int judge(const go_search *search, const go_game *game, int64_t *value, int64_t *score) {
  int32_t half;
  const int status = go_game_score(game, &half, NULL, 0);
  if (status != GO_OK) return status;
  if (search->colour == GO_WHITE) half = -half;
  *value = half > 0 ? (int64_t)1 << 24 : half < 0 ? -((int64_t)1 << 24) : 0;
  *score = (int64_t)half * 2048;
  return GO_OK;
}

/* Completes a node that was evaluated; value and score in the view of its side to move. `logits` NULL: uniform. */
static int expand(go_search *search, uint32_t at, const int32_t *logits, int64_t value, int64_t score) {
  const int32_t temperature = search->tuning.root_temperature_micro;
  int32_t cooled[GO_MAX_POINTS + 1];
  if (at == 0 && logits && temperature != GO_MICRO) {
    for (int32_t i = 0; i <= search->root->board.points; i++)
      cooled[i] = (int32_t)go_floor_div((int64_t)logits[i] * GO_MICRO + temperature / 2, temperature);
    logits = cooled;
  }
  const int status = go_tree_add_edges(search, at, position(search, at), logits);
  if (status != GO_OK) return status;
  if (at == 0 && search->tuning.noise_weight > 0.0) add_noise(search, search->ids, search->root->moves);
  go_tree_rank(search, at);
  const int64_t sign = search->node[at].opponent ? -1 : 1;
  go_tree_back_up(search, at, sign * value, sign * score);
  if (at == 0 && search->config->root == GO_ROOT_GUMBEL) go_gumbel_begin(search, logits);
  return GO_OK;
}

/* A new node: its value at once if the game is over there or evaluation is uniform, else search->leaf is set. */
static int arrive(go_search *search, uint32_t at) {
  const go_game *game = position(search, at);
  if (game->end != GO_END_NONE) {
    int64_t value, score;
    const int status = judge(search, game, &value, &score);
    if (status == GO_OK) go_tree_back_up(search, at, value, score);
    return status;
  }
  if (!search->player->net) return expand(search, at, NULL, 0, 0);
  search->leaf = at;
  return GO_OK;
}

/* One visit below the root, to its new node or to the end of the game. */
static int visit(go_search *search) {
  int status = go_game_copy_into(search->game, search->root);
  uint32_t at = 0;
  search->game->rules.settled_end = 0; /* costly to ask, and known of every node but the new one */
  while (status == GO_OK) {
    const go_node *node = search->node + at;
    if (node->edge_count == 0) { /* the game is over here, and was judged before: the same again */
      go_tree_back_up(search, at, node->value_sum / (int64_t)node->visits, node->score_sum / (int64_t)node->visits);
      return GO_OK;
    }
    const int is_gumbel = at == 0 && search->config->root == GO_ROOT_GUMBEL;
    uint32_t edge, next = is_gumbel ? go_gumbel_select(search, &edge) : go_tree_select(search, at, &edge);
    const int fresh = next == GO_NO_NODE;
    if (fresh) {
      next = go_tree_open(search, at, edge);
      search->game->rules.settled_end = search->root->rules.settled_end;
    }
    status = go_game_play(search->game, search->node[next].move, GO_EMPTY);
    at = next;
    if (fresh && status == GO_OK) return arrive(search, at);
  }
  return status;
}

/* ---- one ply -------------------------------------------------------------------------------------------- */

static go_tuning tune(const go_search_config *c, const go_search_ids *ids, const go_game *game) {
  go_stream stream = go_stream_open(ids->game_seed, (uint32_t)game->moves, GO_PURPOSE_KIND, 0);
  uint32_t word[4];
  go_stream_words(&stream, word);
  const int full = (uint64_t)word[0] * GO_MICRO >> 32 < (uint64_t)c->full_share_ppm;
  const int noisy = full && c->root == GO_ROOT_PUCT;
  const double fpu = (double)c->fpu_reduction_micro / MICRO;
  return (go_tuning){.kind = full ? GO_PLY_FULL : GO_PLY_FAST,
                     .visits = full ? c->visits_full : c->visits_fast,
                     .cpuct = (double)c->cpuct_micro / MICRO,
                     .fpu_reduction = fpu,
                     .root_fpu_reduction = full ? (double)c->root_fpu_reduction_micro / MICRO : fpu,
                     .noise_weight = noisy ? (double)c->noise_weight_ppm / MICRO : 0.0,
                     .noise_alpha = (double)c->noise_alpha_micro / MICRO,
                     .forced = noisy ? (double)c->forced_playouts_micro / MICRO : 0.0,
                     .score_utility = (double)c->score_utility_micro / MICRO,
                     .squash = 4.0 * (double)game->board.points,
                     .root_temperature_micro = full ? c->root_temperature_micro : GO_MICRO};
}

int go_search_begin(go_search *search, const go_player *player, const go_search_config *config,
                    const go_search_ids *ids, const go_game *game) {
  int status = go_search_config_check(config);
  if (status != GO_OK) return status;
  if (game->end != GO_END_NONE) return GO_ERR_FINISHED;
  if (game->moves >= PLIES_MAX) return GO_ERR_ARGUMENT;
  search->tuning = tune(config, ids, game);
  search->player = player;
  search->config = config;
  search->ids = ids;
  search->root = game;
  search->colour = game->to_move;
  search->nodes = 0;
  search->edges = 0;
  search->leaf = GO_NO_NODE;
  status = go_tree_reserve(search, (uint32_t)search->tuning.visits);
  if (status == GO_OK && !search->game) status = go_game_copy(game, &search->game);
  return status;
}

int go_search_advance(go_search *search, const atomic_int *stop, const go_game **leaf) {
  int status = GO_OK;
  *leaf = NULL;
  if (search->leaf != GO_NO_NODE) return GO_ERR_ARGUMENT;
  if (stop && atomic_load_explicit(stop, memory_order_relaxed)) return GO_ERR_STOPPED;
  if (search->nodes == 0) status = arrive(search, go_tree_add(search, GO_NO_NODE, 0xffff, 1.0));
  while (status == GO_OK && search->leaf == GO_NO_NODE && search->node->visits < (uint32_t)search->tuning.visits) {
    if (stop && atomic_load_explicit(stop, memory_order_relaxed)) return GO_ERR_STOPPED;
    status = visit(search);
  }
  if (status == GO_OK && search->leaf != GO_NO_NODE) *leaf = position(search, search->leaf);
  return status;
}

int go_search_answer(go_search *search, const go_answer *answer) {
  const uint32_t at = search->leaf;
  if (at == GO_NO_NODE) return GO_ERR_ARGUMENT;
  search->leaf = GO_NO_NODE;
  return expand(search, at, answer->policy, go_fix(go_tanh(answer->value), 24), answer->score_mean);
}

int go_search_finish(go_search *search, go_ply *out) {
  const go_node *root = search->node;
  const go_game *game = search->root;
  memset(out, 0, sizeof *out);
  out->ply = game->moves;
  out->kind = search->tuning.kind;
  out->nodes = (int32_t)search->nodes;
  out->value = (int32_t)go_mean(root->value_sum, root->visits);
  out->score = (int32_t)go_mean(root->score_sum, root->visits);
  go_search_choose(search, search->config, search->ids, game->moves, game->board.points, out);
  return go_search_trace(search, search->player->release, search->ids, (uint32_t)game->moves, out->digest);
}

/* Searches the ply, each leaf by itself; `eval` is the player's network's. */
static int run(go_search *search, go_eval *eval, go_ply *out) {
  const go_search_ids *ids = search->ids;
  go_leaf leaf;
  go_output output;
  for (;;) {
    const go_game *position;
    int status = go_search_advance(search, NULL, &position);
    if (status == GO_OK && !position) return go_search_finish(search, out);
    if (status == GO_OK) status = go_leaf_set(&leaf, position, search->player->net, ids->game_seed, 0);
    if (status != GO_OK) return status;
    if (search->config->symmetry) go_leaf_turn(&leaf);
    status = go_eval_run(eval, leaf.size, leaf.size, 1, go_leaf_planes(&leaf),
                         GO_FEATURE_PLANES * go_leaf_points(&leaf), &output);
    if (status != GO_OK) return status;
    const go_answer answer = go_leaf_answer(&leaf, &output);
    status = go_search_answer(search, &answer);
    if (status != GO_OK) return status;
  }
}

int go_search_ply(const go_player *player, int32_t kernel, const go_search_config *config, const go_search_ids *ids,
                  const go_game *game, go_ply *out) {
  if (!player || !config || !ids || !game || !out) return GO_ERR_ARGUMENT;
  if (kernel != GO_KERNEL_BEST && !go_kernel_available(kernel)) return GO_ERR_KERNEL;
  go_search *search;
  go_eval *eval = NULL;
  int status = go_search_new(&search);
  if (status != GO_OK) return status;
  const go_fp_mode before = go_fp_enter();
  if (player->net) status = go_eval_new(player->net, kernel, &eval);
  if (status == GO_OK) status = go_search_begin(search, player, config, ids, game);
  if (status == GO_OK) status = run(search, eval, out);
  go_fp_leave(before);
  go_eval_free(eval);
  go_search_free(search);
  return status;
}
