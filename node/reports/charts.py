"""All charts of a report, in their order: `charts_of`."""

from node.reports.chart import Chart
from node.reports.data_charts import data_chart, rate_chart, shares_chart, verification_chart
from node.reports.facts import RunFacts
from node.reports.game_charts import balance_chart, lengths_chart
from node.reports.training_charts import divergence_chart, losses_chart, same_move_chart, strength_chart, windows_chart

POLICY = ("policy", "opponent_policy")
OUTCOME = ("value", "score", "ownership")


def charts_of(facts: RunFacts) -> list[Chart]:
    """The charts for which a run has numbers."""
    found = (
        strength_chart(facts),
        losses_chart(facts, "policy-loss", "Losses of the policy", POLICY, "nats above the target"),
        losses_chart(facts, "value-loss", "Losses of value, score and ownership", OUTCOME, "loss"),
        data_chart(facts),
        rate_chart(facts),
        lengths_chart(facts),
        balance_chart(facts),
        divergence_chart(facts),
        same_move_chart(facts),
        windows_chart(facts),
        shares_chart(facts),
        verification_chart(facts),
    )
    return [chart for chart in found if chart is not None]
