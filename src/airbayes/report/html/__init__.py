"""`report.html`: one file that shows a run, or several beside each other, to anyone with a browser.

A run is read (`runs`), every section makes text, tables and figure specifications of it (`sections`), and the page puts
them together with its own style and scripts (`page`, `assets`). The figures are drawn in the browser. Nothing is loaded
from anywhere, and whatever comes from files (class names, folders, settings) is text and stays text.
"""

from airbayes.report.html.page import render_page
from airbayes.report.html.runs import Run, make_run, read_run
from airbayes.report.html.write import REPORT, write_report

__all__ = ["REPORT", "Run", "make_run", "read_run", "render_page", "write_report"]
