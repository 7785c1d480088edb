/* The Gumbel root (docs/spec/search.md, "Gumbel root"; Danihelka et al., 2022): noise on the logits chooses the moves
 * that are tried, sequential halving divides the visits among them, the best of the last ones is played. */
#include "exact_math.h"
#include "random.h"
#include "search.h"

static int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* ---- sequential halving --------------------------------------------------------------------------------- */

static int32_t rounds_of(const go_halving *h) { return larger(1, h->visits / (h->log2 * h->width)); }

void go_halving_begin(go_halving *h, int32_t considered, int32_t visits) {
  int32_t log2 = 0;
  while (1 << log2 < considered) log2++;
  *h = (go_halving){.visits = visits, .least = smaller(2, considered), .log2 = larger(1, log2), .width = considered};
  h->rounds = rounds_of(h);
}

uint32_t go_halving_next(go_halving *h) {
  const uint32_t level = h->level;
  if (++h->written < h->width) return level;
  h->written = 0;
  h->level++;
  if (--h->rounds == 0) {
    h->width = larger(h->least, h->width / 2);
    h->rounds = rounds_of(h);
  }
  return level;
}

/* ---- the root ------------------------------------------------------------------------------------------- */

void go_gumbel_begin(go_search *search, const int32_t *logits) {
  go_gumbel *g = &search->gumbel;
  const go_search_config *config = search->config;
  const go_node *root = search->node;
  g->first = root->utility;
  const double noise = (double)config->gumbel_noise_micro / GO_MICRO;
  const uint32_t ply = (uint32_t)search->root->moves;
  for (uint32_t i = root->edges; i < root->edges + root->edge_count; i++) {
    const uint16_t move = search->edge_move[i];
    g->logit[move] = logits ? (double)logits[move] / 4096.0 : 0.0;
    g->base[move] = noise * go_gumbel_draw(search->ids->game_seed, ply, move) + g->logit[move];
  }
  go_halving_begin(&g->halving, smaller(config->gumbel_considered, root->edge_count), search->tuning.visits - 1);
}

/* What a unit of utility weighs against logits. */
static double value_scale(const go_search *search) {
  uint32_t most = 0;
  for (uint32_t i = search->node->first_child; i != GO_NO_NODE; i = search->node[i].sibling)
    if (search->node[i].visits > most) most = search->node[i].visits;
  return ((double)search->config->gumbel_c_visit_micro / GO_MICRO + (double)most) *
         ((double)search->config->gumbel_c_scale_micro / GO_MICRO);
}

/* The child with `visits` and the highest score, the lowest move among equals. */
static uint32_t best_child(const go_search *search, uint32_t visits, double scale) {
  uint32_t best = GO_NO_NODE;
  double most = 0.0;
  for (uint32_t i = search->node->first_child; i != GO_NO_NODE; i = search->node[i].sibling) {
    const go_node *child = search->node + i;
    if (child->visits != visits) continue;
    const double score = search->gumbel.base[child->move] + scale * child->utility;
    if (best == GO_NO_NODE || score > most || (score == most && child->move < search->node[best].move)) {
      most = score;
      best = i;
    }
  }
  return best;
}

uint32_t go_gumbel_select(go_search *search, uint32_t *edge) {
  const uint32_t level = go_halving_next(&search->gumbel.halving);
  if (level > 0) return best_child(search, level, value_scale(search));
  const go_node *root = search->node;
  uint32_t best = GO_NO_NODE;
  for (uint32_t i = root->edges; i < root->edges + root->edge_count; i++) {
    const double *base = search->gumbel.base;
    if (search->edge_prior[i] < 0.0) continue; /* visited */
    if (best == GO_NO_NODE || base[search->edge_move[i]] > base[search->edge_move[best]]) best = i;
  }
  *edge = best;
  return GO_NO_NODE;
}

/* ---- result --------------------------------------------------------------------------------------------- */

/* What an unvisited move is worth: the root's own evaluation and its children's utilities by prior (appendix D). */
static double mixed_value(const go_search *search) {
  const go_node *root = search->node;
  const double n = (double)(root->visits - 1);
  double sum = 0.0;
  for (uint32_t i = root->first_child; i != GO_NO_NODE; i = search->node[i].sibling)
    sum += search->node[i].prior * search->node[i].utility;
  if (!(root->visited_mass > 0.0)) return search->gumbel.first;
  return (search->gumbel.first + n * (sum / root->visited_mass)) / (1.0 + n);
}

int32_t go_gumbel_choose(const go_search *search, uint32_t *weight) {
  const go_node *root = search->node;
  const double scale = value_scale(search), mixed = mixed_value(search);
  double improved[GO_MAX_POINTS + 1], most = 0.0;
  uint32_t visits = 0;
  for (uint32_t i = root->edges; i < root->edges + root->edge_count; i++) {
    const uint16_t move = search->edge_move[i];
    improved[move] = search->gumbel.logit[move] + scale * mixed;
  }
  for (uint32_t i = root->first_child; i != GO_NO_NODE; i = search->node[i].sibling) {
    const go_node *child = search->node + i;
    improved[child->move] = search->gumbel.logit[child->move] + scale * child->utility;
    if (child->visits > visits) visits = child->visits;
  }
  for (uint32_t i = root->edges; i < root->edges + root->edge_count; i++)
    if (i == root->edges || improved[search->edge_move[i]] > most) most = improved[search->edge_move[i]];
  for (uint32_t i = root->edges; i < root->edges + root->edge_count; i++) {
    const uint16_t move = search->edge_move[i];
    weight[move] = (uint32_t)go_fix(go_exp(improved[move] - most), 30);
  }
  return search->node[best_child(search, visits, scale)].move;
}
