"""The picture of a plan shows every point that was asked for."""

from airbayes import network
from airbayes.experiment.plan import Setting, plan_graph, plan_point
from airbayes.report.plan_figure import plan_figure


def test_the_edge_of_the_picture_cuts_no_point_in_half():
    graph, setting = network.ring(5), Setting()
    plan = plan_graph("ring", graph, 0.5, setting)
    points = [plan_point(plan, graph, snr_db, setting) for snr_db in (-12.0, 42.2)]
    low, high = plan_figure([plan], points, eta=1e-4, rms=1.0, start_rms=0.12).axes[0].get_xlim()
    assert low < -12
    assert high > 42.2


def test_every_graph_has_a_line_of_its_own():
    """The eighth graph had the colour of the first."""
    graph, setting = network.ring(5), Setting()
    plans = [plan_graph(f"ring {number}", graph, 0.5, setting) for number in range(16)]
    points = [plan_point(plans[0], graph, 20.0, setting)]
    drawn = plan_figure(plans, points, eta=1e-4, rms=1.0, start_rms=0.12).axes[0].lines
    named = [line for line in drawn if str(line.get_label()).startswith("ring")]
    assert len({(line.get_color(), line.get_linestyle()) for line in named}) == 16
