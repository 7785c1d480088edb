/* The tree of a search: its memory, the descent by PUCT, new nodes and edges, and the sums on the way up. */
#include <math.h>
#include <stdlib.h>

#include "exact_math.h"
#include "search.h"

/* ---- memory --------------------------------------------------------------------------------------------- */

int go_tree_reserve(go_search *search, uint32_t count) {
  if (count <= search->node_capacity) return GO_OK;
  go_node *node = realloc(search->node, count * sizeof *node);
  if (!node) return GO_ERR_MEMORY;
  search->node = node;
  search->node_capacity = count;
  return GO_OK;
}

static int reserve_edges(go_search *search, uint32_t count) {
  if (count <= search->edge_capacity) return GO_OK;
  uint32_t capacity = search->edge_capacity ? search->edge_capacity : 4096;
  while (capacity < count) capacity *= 2;
  double *prior = realloc(search->edge_prior, capacity * sizeof *prior);
  if (!prior) return GO_ERR_MEMORY;
  search->edge_prior = prior;
  uint16_t *move = realloc(search->edge_move, capacity * sizeof *move);
  if (!move) return GO_ERR_MEMORY;
  search->edge_move = move;
  search->edge_capacity = capacity;
  return GO_OK;
}

/* ---- selection ------------------------------------------------------------------------------------------ */

static double explore(const go_search *search, const go_node *node) {
  return search->tuning.cpuct * sqrt((double)(node->visits - 1) + 0.01);
}

static double to_move_view(const go_node *node, double utility) { return node->opponent ? -utility : utility; }

static double puct(const go_node *node, const go_node *child, double scale, uint32_t visits) {
  return to_move_view(node, child->utility) + scale * child->prior / (1.0 + (double)visits);
}

double go_search_puct(const go_search *search, const go_node *node, const go_node *child, uint32_t visits) {
  return puct(node, child, explore(search, node), visits);
}

uint32_t go_tree_select(const go_search *search, uint32_t at, uint32_t *edge) {
  const go_node *node = search->node + at;
  const go_tuning *t = &search->tuning;
  const double scale = explore(search, node), siblings = (double)(node->visits - 1);
  uint32_t best = GO_NO_NODE, forced = GO_NO_NODE;
  double most = -INFINITY;
  for (uint32_t i = node->first_child; i != GO_NO_NODE; i = search->node[i].sibling) {
    const go_node *child = search->node + i;
    if (at == 0 && t->forced > 0.0) {
      const double n = (double)child->visits;
      if (n * n < t->forced * child->prior * siblings && (forced == GO_NO_NODE || child->move < search->node[forced].move))
        forced = i;
    }
    const double u = puct(node, child, scale, child->visits);
    if (u > most || (u == most && child->move < search->node[best].move)) {
      most = u;
      best = i;
    }
  }
  if (forced != GO_NO_NODE) return forced;
  if (node->unvisited == node->edge_count) return best;
  const double reduction = at == 0 ? t->root_fpu_reduction : t->fpu_reduction;
  const double first = to_move_view(node, node->utility) - reduction * sqrt(node->visited_mass);
  *edge = node->edges + node->unvisited;
  const double u = first + scale * search->edge_prior[*edge];
  const uint16_t move = search->edge_move[*edge];
  return u > most || (u == most && move < search->node[best].move) ? GO_NO_NODE : best;
}

/* ---- growth --------------------------------------------------------------------------------------------- */

void go_tree_rank(go_search *search, uint32_t at) {
  go_node *node = search->node + at;
  const double *prior = search->edge_prior + node->edges;
  double most = -0.5;
  uint16_t best = node->edge_count;
  for (uint16_t i = 0; i < node->edge_count; i++)
    if (prior[i] > most) {
      most = prior[i];
      best = i;
    }
  node->unvisited = best;
}

int go_tree_add_edges(go_search *search, uint32_t at, const go_game *game, const int32_t *logits) {
  const int32_t moves = game->board.points + 1;
  uint8_t legal[GO_MAX_POINTS + 1];
  double prob[GO_MAX_POINTS + 1];
  int status = go_game_legal(game, legal, (size_t)moves);
  if (status == GO_OK) status = reserve_edges(search, search->edges + (uint32_t)moves);
  if (status != GO_OK) return status;
  if (logits) {
    status = go_softmax(logits, legal, moves, prob);
    if (status != GO_OK) return status;
  }
  go_node *node = search->node + at;
  uint16_t *move = search->edge_move + search->edges;
  double *prior = search->edge_prior + search->edges;
  uint16_t count = 0;
  for (int32_t i = 0; i < moves; i++)
    if (legal[i]) {
      move[count] = (uint16_t)i;
      prior[count++] = logits ? prob[i] : 0.0;
    }
  if (!logits)
    for (uint16_t i = 0; i < count; i++) prior[i] = 1.0 / (double)count;
  node->edges = search->edges;
  node->edge_count = count;
  search->edges += count;
  return GO_OK;
}

uint32_t go_tree_add(go_search *search, uint32_t parent, uint16_t move, double prior) {
  const uint32_t at = search->nodes++;
  search->node[at] = (go_node){.prior = prior, .parent = parent, .first_child = GO_NO_NODE, .last_child = GO_NO_NODE,
                               .sibling = GO_NO_NODE, .move = move};
  if (parent == GO_NO_NODE) return at;
  go_node *above = search->node + parent;
  search->node[at].opponent = !above->opponent;
  if (above->last_child == GO_NO_NODE) above->first_child = at;
  else search->node[above->last_child].sibling = at;
  above->last_child = at;
  above->visited_mass += prior;
  return at;
}

uint32_t go_tree_open(go_search *search, uint32_t at, uint32_t edge) {
  const uint32_t child = go_tree_add(search, at, search->edge_move[edge], search->edge_prior[edge]);
  search->edge_prior[edge] = -1.0;
  go_tree_rank(search, at);
  return child;
}

void go_tree_back_up(go_search *search, uint32_t at, int64_t value, int64_t score) {
  const go_tuning *t = &search->tuning;
  for (; at != GO_NO_NODE; at = search->node[at].parent) {
    go_node *node = search->node + at;
    node->visits++;
    node->value_sum += value;
    node->score_sum += score;
    const double n = (double)node->visits;
    node->utility = (double)node->value_sum / n * 0x1p-24;
    if (t->score_utility > 0.0) {
      const double x = (double)node->score_sum / n * 0x1p-12;
      node->utility = node->utility + t->score_utility * (x / sqrt(x * x + t->squash));
    }
  }
}
