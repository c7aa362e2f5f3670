"""The two pictures of docs/simulator.md: a gallery, and what makes it look like lidar.

python examples/04_simulator_pictures.py docs/figures
"""

import dataclasses
import sys
from pathlib import Path

from airbayes.data.simulator import SimulatorConfig, simulate
from airbayes.report.gallery_figure import gallery_figure
from airbayes.report.scan_figure import scan_figure

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(parents=True, exist_ok=True)  # before the work: a folder that cannot be made is found out at once
config = SimulatorConfig()
unhidden = dataclasses.replace(config, occlusion=0.0, truncation=0.0)
pictures = {
    "simulator-gallery.png": gallery_figure(simulate(config, {"gallery": 24}, seed=0)),
    "simulator-scan.png": scan_figure(simulate(unhidden, {"gallery": 80}, seed=0)),
}
for name, figure in pictures.items():
    figure.savefig(folder / name, dpi=110)
    print(folder / name)
